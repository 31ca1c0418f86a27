//! `cpu.stat` of a version 2 control group.

use super::{keyed, lines, number};

/// Reads `usage_usec`: the CPU the group and all below it have used, dead processes too, in microseconds. Exact, where
/// the kernel's split into user and system is scaled from ticks and either part may fall.
pub fn parse_cpu_usage_usec(file: &[u8]) -> Option<u64> {
    let (_, value) = lines(file).filter_map(keyed).find(|(key, _)| *key == b"usage_usec")?;
    number(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usage_is_found_by_its_whole_key() {
        let file = b"core_sched.force_idle_usec 1\nuser_usec 2\nxusage_usec 3\nusage_usec 194296893\n";
        assert_eq!(parse_cpu_usage_usec(file), Some(194_296_893));
        assert_eq!(parse_cpu_usage_usec(b"user_usec 2\n"), None);
    }
}
