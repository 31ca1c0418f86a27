//! `/proc/meminfo`.

use super::{keyed, lines, number};

/// The machine's memory, in units of 1024 bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Meminfo {
    /// All of it, less what the kernel took at boot.
    pub total_kb: Option<u64>,
    /// What programs could get without swapping. Since 3.14.
    pub available_kb: Option<u64>,
}

/// Reads `/proc/meminfo`. `None` if it has neither.
pub fn parse_meminfo(file: &[u8]) -> Option<Meminfo> {
    let mut meminfo = Meminfo::default();
    for (key, value) in lines(file).filter_map(keyed) {
        match key {
            b"MemTotal" => meminfo.total_kb = number(value),
            b"MemAvailable" => meminfo.available_kb = number(value),
            _ => {}
        }
    }
    (meminfo != Meminfo::default()).then_some(meminfo)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_without_its_blank_or_without_a_value_is_tolerated() {
        let file = include_bytes!("../../../../test/fixtures/proc/meminfo_no_blank_after_colon");
        let meminfo = Meminfo { total_kb: Some(24_683_648), available_kb: Some(23_000_000) };
        assert_eq!(parse_meminfo(file), Some(meminfo));
    }

    #[test]
    fn an_old_kernel_has_no_available() {
        let meminfo = Meminfo { total_kb: Some(10), available_kb: None };
        assert_eq!(parse_meminfo(b"MemTotal: 10 kB\nMemFree: 3 kB\n"), Some(meminfo));
        assert_eq!(parse_meminfo(b"MemFree: 3 kB\n"), None);
    }
}
