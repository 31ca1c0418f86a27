//! `/proc/<pid>/io`.

use super::{keyed, lines, number};

/// What a process made the disks do, its reaped children's included. The page cache's part, `rchar` and `wchar`, isn't
/// taken.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Io {
    /// Bytes fetched from a disk.
    pub read_bytes: Option<u64>,
    /// Bytes made dirty, to be written to a disk.
    pub write_bytes: Option<u64>,
    /// Bytes of those that were thrown away before they were written.
    pub cancelled_write_bytes: Option<u64>,
}

/// Reads `/proc/<pid>/io`. `None` if it has none of the three.
pub fn parse_io(file: &[u8]) -> Option<Io> {
    let mut io = Io::default();
    for (key, value) in lines(file).filter_map(keyed) {
        match key {
            b"read_bytes" => io.read_bytes = number(value),
            b"write_bytes" => io.write_bytes = number(value),
            b"cancelled_write_bytes" => io.cancelled_write_bytes = number(value),
            _ => {}
        }
    }
    (io != Io::default()).then_some(io)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cancelled_writes_are_not_writes() {
        let file = b"rchar: 9\nwchar: 9\nsyscr: 9\nsyscw: 9\nread_bytes: 1\nwrite_bytes: 2\ncancelled_write_bytes: 3\n";
        let io = Io { read_bytes: Some(1), write_bytes: Some(2), cancelled_write_bytes: Some(3) };
        assert_eq!(parse_io(file), Some(io));
    }

    #[test]
    fn blank_and_broken_lines_cost_only_themselves() {
        let io = parse_io(include_bytes!("../../../../test/fixtures/proc/io_broken_lines")).expect("a record");
        assert_eq!(io, Io { read_bytes: Some(4096), write_bytes: None, cancelled_write_bytes: Some(512) });
        assert_eq!(parse_io(b"rchar: 1\n"), None);
    }
}
