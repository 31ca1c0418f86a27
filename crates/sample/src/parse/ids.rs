//! `/proc/<pid>/status`, for whose a process is.

use super::{keyed, lines, number32};

/// Reads the real user of `/proc/<pid>/status`. A name can't pass for the line: the kernel escapes its newlines here.
pub fn parse_real_uid(file: &[u8]) -> Option<u32> {
    let (_, value) = lines(file).filter_map(keyed).find(|(key, _)| *key == b"Uid")?;
    number32(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_real_user_is_the_first_of_four() {
        assert_eq!(parse_real_uid(b"Name:\tUid: 9\\nUid: 8\nState:\tS\nUid:\t1000\t0\t0\t0\nGid:\t5\n"), Some(1000));
        assert_eq!(parse_real_uid(b"Name:\tsh\nUid:\n"), None);
        assert_eq!(parse_real_uid(b"Uid:\t4294967296\t0\t0\t0\n"), None);
    }
}
