//! `/proc/<pid>/smaps_rollup`.

use super::{keyed, lines, number};

/// A process's memory as its page tables have it, in units of 1024 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rollup {
    /// Every mapped page in full.
    pub rss_kb: u64,
    /// Every mapped page divided by how often it is mapped: the only one that adds up over processes. May exceed
    /// `rss_kb` of another file, which lags (process-exporter 164).
    pub pss_kb: u64,
    /// Huge pages nobody shares, which neither of the two counts. Not on every kernel.
    pub private_hugetlb_kb: Option<u64>,
}

/// Reads `/proc/<pid>/smaps_rollup`. `None` without an `Rss` and a `Pss`.
pub fn parse_rollup(file: &[u8]) -> Option<Rollup> {
    let (mut rss, mut pss, mut private_hugetlb_kb) = (None, None, None);
    for (key, value) in lines(file).filter_map(keyed) {
        // Whole keys: by prefix `SwapPss` and `Pss_Anon` would pass for `Pss` (psutil gh-1222).
        match key {
            b"Rss" => rss = number(value),
            b"Pss" => pss = number(value),
            b"Private_Hugetlb" => private_hugetlb_kb = number(value),
            _ => {}
        }
    }
    Some(Rollup { rss_kb: rss?, pss_kb: pss?, private_hugetlb_kb })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pss_is_neither_its_parts_nor_what_is_swapped_out() {
        let file = include_bytes!("../../../../test/fixtures/proc/smaps_rollup_swap_pss");
        let rollup = Rollup { rss_kb: 1716, pss_kb: 339, private_hugetlb_kb: Some(2048) };
        assert_eq!(parse_rollup(file), Some(rollup));
    }

    #[test]
    fn a_rollup_without_pss_is_none() {
        assert_eq!(parse_rollup(b"Rss: 5 kB\nSwapPss: 7 kB\nPss_Anon: 3 kB\n"), None);
        assert_eq!(parse_rollup(b""), None);
    }

    #[test]
    fn pss_may_exceed_rss() {
        assert_eq!(parse_rollup(b"Rss: 5 kB\nPss: 7 kB\n").expect("a record").pss_kb, 7);
    }
}
