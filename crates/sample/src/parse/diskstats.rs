//! `/proc/diskstats`.

use super::{Device, lines, number, number32, words};

/// What one block device, whole or a part, has read and written since it appeared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiskStat<'a> {
    /// Which.
    pub device: Device,
    /// Its name, with a `/` where its folder in `/sys` has a `!`.
    pub name: &'a [u8],
    /// Sectors read.
    pub sectors_read: u64,
    /// Sectors written.
    pub sectors_written: u64,
}

/// A sector of `/proc/diskstats`, in bytes, whatever the device's own sectors are (psutil gh-1305).
pub const SECTOR_BYTES: u64 = 512;

/// Reads `/proc/diskstats`: kernels have had 14, 18 and 20 columns. Lines that can't be read are skipped.
pub fn parse_diskstats(file: &[u8]) -> impl Iterator<Item = DiskStat<'_>> {
    lines(file).filter_map(|line| {
        let mut columns = words(line);
        let device = Device { major: number32(columns.next()?)?, minor: number32(columns.next()?)? };
        let name = columns.next()?;
        let sectors_read = number(columns.nth(2)?)?;
        let sectors_written = number(columns.nth(3)?)?;
        Some(DiskStat { device, name, sectors_read, sectors_written })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_of_columns_reads_the_same() {
        let file = include_bytes!("../../../../test/fixtures/proc/diskstats_14_18_20_columns");
        let disks: Vec<_> = parse_diskstats(file).collect();
        assert_eq!(disks.len(), 4);
        for disk in &disks {
            assert_eq!((disk.sectors_read, disk.sectors_written), (3_872_250, 3_226_200), "{:?}", disk.device);
        }
        assert_eq!(disks[1].name, b"cciss/c0d0");
        assert_eq!(disks[3].device, Device { major: 259, minor: 1 });
    }

    #[test]
    fn a_partitions_short_line_of_old_kernels_is_skipped() {
        assert_eq!(parse_diskstats(b"   8    1 sda1 35486 38030 38030 38030\n\n").count(), 0);
    }
}
