//! `blkio.throttle.io_service_bytes_recursive` of a version 1 control group.

use super::{Device, device, lines, number, words};

/// Which way bytes went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From the device.
    Read,
    /// To the device.
    Write,
}

/// Reads the file as (device, direction, bytes). Its `Sync`, `Async` and `Total` are the same bytes again, and
/// `Discard` moves none. Buffered writes are the root group's, not the writer's (cAdvisor 1946).
pub fn parse_blkio(file: &[u8]) -> impl Iterator<Item = (Device, Direction, u64)> {
    lines(file).filter_map(|line| {
        let mut fields = words(line);
        let device = device(fields.next()?)?;
        let direction = match fields.next()? {
            b"Read" => Direction::Read,
            b"Write" => Direction::Write,
            _ => return None,
        };
        Some((device, direction, number(fields.next()?)?))
    })
}

#[cfg(test)]
mod tests {
    use super::Direction::{Read, Write};
    use super::*;

    #[test]
    fn the_same_bytes_under_other_words_are_not_added() {
        let file = include_bytes!("../../../../test/fixtures/proc/blkio_totals");
        let read: Vec<_> = parse_blkio(file).map(|(device, way, bytes)| (device.minor, way, bytes)).collect();
        assert_eq!(read, [(0, Read, 4096), (0, Write, 8192), (16, Read, 1), (16, Write, 2)]);
        assert_eq!(parse_blkio(b"Total 0\n").count(), 0);
    }
}
