//! `io.stat` of a version 2 control group.

use super::{Device, device, number, words};

/// What a group's processes made one device do, each level of stacked devices on a line of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeviceIo {
    /// Which device.
    pub device: Device,
    /// Bytes read, read-ahead included.
    pub read_bytes: u64,
    /// Bytes written, at write-back.
    pub written_bytes: u64,
}

/// Reads `io.stat`. Skipped: lines of a device without a key, of an `(unknown)` device (LXD 18609), and a last line
/// without its newline, whose number may have lost digits: a counter read too low passes for one that began anew.
pub fn parse_io_stat(file: &[u8]) -> impl Iterator<Item = DeviceIo> {
    let whole = memchr::memrchr(b'\n', file).map_or(0, |end| end + 1);
    super::lines(&file[..whole]).filter_map(|line| {
        let mut fields = words(line);
        let device = device(fields.next()?)?;
        let (mut read, mut written) = (None, None);
        for field in fields {
            if let Some(value) = field.strip_prefix(b"rbytes=") {
                read = number(value);
            } else if let Some(value) = field.strip_prefix(b"wbytes=") {
                written = number(value);
            }
        }
        Some(DeviceIo { device, read_bytes: read?, written_bytes: written? })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(file: &[u8]) -> Vec<(u32, u32, u64, u64)> {
        parse_io_stat(file).map(|io| (io.device.major, io.device.minor, io.read_bytes, io.written_bytes)).collect()
    }

    #[test]
    fn devices_without_keys_are_skipped() {
        let file = include_bytes!("../../../../test/fixtures/proc/io_stat_devices_without_keys");
        assert_eq!(read(file), [(254, 0, 14_700_544, 8_388_608)]);
    }

    #[test]
    fn an_unknown_device_costs_only_its_line() {
        let file = include_bytes!("../../../../test/fixtures/proc/io_stat_unknown_device");
        assert_eq!(read(file), [(8, 0, 10, 20), (259, 3, 30, 40)]);
    }

    #[test]
    fn a_line_cut_off_is_skipped() {
        assert_eq!(read(b"8:0 rbytes=10 wbytes=20 rios=1\n8:16 rbytes=30 wbytes=400"), [(8, 0, 10, 20)]);
        assert_eq!(read(b""), []);
    }
}
