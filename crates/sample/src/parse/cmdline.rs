//! `/proc/<pid>/cmdline`.

/// A process's arguments, of any bytes. None of a kernel thread and of a zombie. A process that wrote a title over
/// them has one argument with blanks in it, and may be followed by empty ones.
pub fn parse_cmdline(file: &[u8]) -> impl Iterator<Item = &[u8]> {
    let whole = file.strip_suffix(b"\0").unwrap_or(file);
    whole.split(|byte| *byte == 0).take(if file.is_empty() { 0 } else { usize::MAX })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(file: &[u8]) -> Vec<&[u8]> {
        parse_cmdline(file).collect()
    }

    #[test]
    fn arguments_may_be_empty_and_of_any_bytes() {
        assert_eq!(read(b"/usr/bin/node\0\0a b\xff\n\0"), [b"/usr/bin/node".as_slice(), b"", b"a b\xff\n"]);
        assert_eq!(read(b"sh\0\0"), [b"sh".as_slice(), b""]);
    }

    #[test]
    fn a_kernel_thread_has_none() {
        assert!(read(b"").is_empty());
    }

    #[test]
    fn a_title_written_over_them_is_one_argument() {
        assert_eq!(read(b"nginx: worker process"), [b"nginx: worker process"]);
    }
}
