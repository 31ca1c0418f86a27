//! `/proc/<pid>/mountinfo`.

use std::borrow::Cow;

use super::{lines, words};

/// One mount. `root` and `mount_point` are as the kernel writes them, blanks and newlines escaped: see [`unescape`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mount<'a> {
    /// What part of the file system is mounted; of a control group's, the namespace's root where it isn't all.
    pub root: &'a [u8],
    /// Where.
    pub mount_point: &'a [u8],
    /// The file system's type: `cgroup2`, `proc`.
    pub fs_type: &'a [u8],
    /// The file system's own options, parted by commas: controllers of a `cgroup`, `hidepid` of a `proc`.
    pub super_options: &'a [u8],
}

impl Mount<'_> {
    /// Whether the file system has this option.
    pub fn has(&self, option: &[u8]) -> bool {
        self.options().any(|one| one == option)
    }

    /// The value of an option, `hidepid=` being its name.
    pub fn value(&self, name: &[u8]) -> Option<&[u8]> {
        self.options().find_map(|one| one.strip_prefix(name))
    }

    fn options(&self) -> impl Iterator<Item = &[u8]> {
        self.super_options.split(|byte| *byte == b',')
    }
}

/// Reads `/proc/<pid>/mountinfo`, in its order: a later mount hides an earlier one at the same place. Lines that can't
/// be read are skipped.
pub fn parse_mountinfo(file: &[u8]) -> impl Iterator<Item = Mount<'_>> {
    lines(file).filter_map(|line| {
        let mut fields = words(line);
        let root = fields.nth(3)?;
        let mount_point = fields.next()?;
        fields.next()?;
        // Any number of optional fields, none too, then a lone hyphen.
        fields.find(|field| *field == b"-")?;
        let fs_type = fields.next()?;
        // The source may be empty, and then only the options are left.
        let (source, options) = (fields.next()?, fields.next());
        let super_options = options.unwrap_or(source);
        Some(Mount { root, mount_point, fs_type, super_options })
    })
}

/// Undoes the kernel's `\040` for a blank, a tab, a newline and a backslash. Borrows where there is none.
pub fn unescape(field: &[u8]) -> Cow<'_, [u8]> {
    let Some(first) = memchr::memchr(b'\\', field) else { return Cow::Borrowed(field) };
    let mut plain = field[..first].to_vec();
    let mut rest = &field[first..];
    while let Some((byte, after)) = rest.split_first() {
        if let [b'\\', a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', after @ ..] = rest {
            plain.push((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'));
            rest = after;
        } else {
            plain.push(*byte);
            rest = after;
        }
    }
    Cow::Owned(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn none_one_and_many_optional_fields() {
        let file = include_bytes!("../../../../test/fixtures/proc/mountinfo_optional_fields");
        let mounts: Vec<_> = parse_mountinfo(file).collect();
        let types: Vec<_> = mounts.iter().map(|mount| mount.fs_type).collect();
        assert_eq!(types, [b"proc".as_slice(), b"cgroup2", b"cgroup", b"tmpfs"]);
        assert!(mounts[0].has(b"hidepid=invisible"));
        assert_eq!(mounts[1].root, b"/system.slice/lnk");
        assert!(mounts[2].has(b"cpuacct") && !mounts[2].has(b"cpua"));
        assert_eq!(unescape(mounts[3].mount_point).as_ref(), b"/mnt/a b\\c");
        assert_eq!(mounts[3].super_options, b"rw,size=4k");
    }

    #[test]
    fn an_escape_that_is_none_stays() {
        for plain in [b"/a\\".as_slice(), b"/a\\04", b"/a\\0x0", b"/a\\777", b""] {
            assert_eq!(unescape(plain).as_ref(), plain);
        }
        assert_eq!(unescape(b"\\134040\\012").as_ref(), b"\\040\n");
    }
}
