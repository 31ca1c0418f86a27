//! Where the control groups are mounted: each controller for itself, since a machine may have some of version 1 and
//! some of version 2.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::CWD;

use super::file::KernelFile;
use crate::parse::mountinfo::{Mount, parse_mountinfo, unescape};
use crate::{Absent, Why};

const MOUNTINFO: &str = "/proc/self/mountinfo";
const CGROUP: &str = "control group";

/// How a machine has its control groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// One hierarchy, with every controller.
    V2,
    /// A version 2 hierarchy beside version 1's, which usually have all controllers.
    Hybrid,
    /// Version 1 alone.
    V1,
    /// None mounted.
    Missing,
}

/// The mounted hierarchies.
#[derive(Debug)]
pub struct Layout {
    root: PathBuf,
    v2: Vec<Hierarchy>,
    v1: Vec<(Vec<u8>, Hierarchy)>,
}

/// One mount of a hierarchy.
#[derive(Debug)]
struct Hierarchy {
    mount_point: PathBuf,
    /// The group that is mounted: not `/` in a container without a control group namespace.
    root: Vec<u8>,
}

impl Layout {
    /// Reads what is mounted, from `proc/self/mountinfo` below `root`.
    ///
    /// # Errors
    /// Whatever reading says.
    pub fn read(root: &Path) -> Result<Layout, Absent> {
        let path = root.join("proc/self/mountinfo");
        let path = path.to_str().ok_or_else(|| Absent::invalid(MOUNTINFO, "path in UTF-8"))?;
        let mut buffer = Vec::new();
        Ok(Layout::of(KernelFile::open(CWD, path, MOUNTINFO)?.read(&mut buffer)?, root))
    }

    fn of(mountinfo: &[u8], root: &Path) -> Layout {
        let hierarchy = |mount: &Mount<'_>| {
            let point = unescape(mount.mount_point);
            let below = point.strip_prefix(b"/").unwrap_or(&point);
            let mount_point = root.join(OsStr::from_bytes(below));
            Hierarchy { mount_point, root: unescape(mount.root).into_owned() }
        };
        let mut layout = Layout { root: root.to_path_buf(), v2: Vec::new(), v1: Vec::new() };
        for mount in parse_mountinfo(mountinfo) {
            match mount.fs_type {
                b"cgroup2" => layout.v2.push(hierarchy(&mount)),
                b"cgroup" => layout.v1.push((mount.super_options.to_vec(), hierarchy(&mount))),
                _ => {}
            }
        }
        layout
    }

    /// How this machine has them.
    pub fn kind(&self) -> Kind {
        match (self.v2.is_empty(), self.v1.is_empty()) {
            (false, true) => Kind::V2,
            (false, false) => Kind::Hybrid,
            (true, false) => Kind::V1,
            (true, true) => Kind::Missing,
        }
    }

    /// Whether a version 1 hierarchy has this controller: then version 2 hasn't.
    pub fn v1_has(&self, controller: &[u8]) -> bool {
        self.v1.iter().any(|(options, _)| has(options, controller))
    }

    /// What it was read below: `/`, or what stands for it in a test.
    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// The directory of a version 2 group.
    ///
    /// # Errors
    /// As [`Group::open`](super::cgroup::Group::open) has them for a path.
    pub fn v2_dir(&self, path: &[u8]) -> Result<PathBuf, Absent> {
        if self.v2.is_empty() {
            return Err(Absent::new(Why::Unsupported, CGROUP, "no version 2 hierarchy is mounted"));
        }
        find(self.v2.iter(), path)
    }

    /// The directory of a version 1 group, in the hierarchy that has `controller`, and that hierarchy's own.
    ///
    /// # Errors
    /// As [`Layout::v2_dir`].
    pub fn v1_dirs(&self, controller: &[u8], path: &[u8]) -> Result<(PathBuf, &Path), Absent> {
        let mut hierarchies = self.v1.iter().filter(|(options, _)| has(options, controller)).map(|(_, one)| one);
        let missing = || Absent::new(Why::Unsupported, CGROUP, "no hierarchy with this controller is mounted");
        let hierarchy = hierarchies.next().ok_or_else(missing)?;
        Ok((find(std::iter::once(hierarchy), path)?, &hierarchy.mount_point))
    }
}

fn has(options: &[u8], controller: &[u8]) -> bool {
    options.split(|byte| *byte == b',').any(|one| one == controller)
}

fn find<'h>(mut mounts: impl Iterator<Item = &'h Hierarchy>, path: &[u8]) -> Result<PathBuf, Absent> {
    let path = checked(path)?;
    let dir = mounts.find_map(|mount| {
        let root = mount.root.strip_prefix(b"/")?;
        // Of the group that is mounted itself nothing is left: it is a whole container's, nobody's own.
        let below = if root.is_empty() { path } else { path.strip_prefix(root)?.strip_prefix(b"/")? };
        Some(mount.mount_point.join(OsStr::from_bytes(below)))
    });
    dir.ok_or_else(|| Absent::new(Why::Unsupported, CGROUP, "is outside what is mounted here"))
}

/// A path without its first `/`, once it is sure to lead to a group below the root. Paths come from other programs, and
/// `/..` from the kernel, of groups outside our namespace.
fn checked(path: &[u8]) -> Result<&[u8], Absent> {
    let refused = |detail: &'static str| Err(Absent::new(Why::Invalid, CGROUP, detail));
    let Some(below) = path.strip_prefix(b"/") else { return refused("path doesn't begin with /") };
    let below = below.strip_suffix(b"/").unwrap_or(below);
    if below.is_empty() {
        return Err(Absent::new(Why::NotEnabled, CGROUP, "is the root, which is nobody's own"));
    }
    let strange = |part: &[u8]| part.is_empty() || part == b"." || part == b".." || part.contains(&0);
    if below.split(|byte| *byte == b'/').any(strange) { refused("path leads elsewhere") } else { Ok(below) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HYBRID: &[u8] = b"\
31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755
39 31 0:36 / /sys/fs/cgroup/blkio rw shared:9 - cgroup cgroup rw,blkio
33 31 0:30 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct
41 31 0:38 / /sys/fs/cgroup/uni\\040fied rw - cgroup2 cgroup2 rw\n";

    fn layout(mountinfo: &[u8]) -> Layout {
        Layout::of(mountinfo, Path::new("/r"))
    }

    #[test]
    fn each_controller_is_found_where_it_is_mounted() {
        let layout = layout(HYBRID);
        assert_eq!(layout.kind(), Kind::Hybrid);
        assert!(layout.v1_has(b"blkio") && layout.v1_has(b"cpuacct") && !layout.v1_has(b"memory"));
        assert_eq!(layout.v2_dir(b"/a/b:c d"), Ok(PathBuf::from("/r/sys/fs/cgroup/uni fied/a/b:c d")));
        assert_eq!(
            layout.v1_dirs(b"cpu", b"/a").map(|(dir, _)| dir),
            Ok(PathBuf::from("/r/sys/fs/cgroup/cpu,cpuacct/a"))
        );
        assert_eq!(layout.v1_dirs(b"memory", b"/a").map_err(|absent| absent.why), Err(Why::Unsupported));
    }

    #[test]
    fn every_layout_is_told_from_the_others() {
        assert_eq!(layout(b"1 1 0:1 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n").kind(), Kind::V2);
        assert_eq!(layout(b"1 1 0:1 / /c rw - cgroup cgroup rw,memory\n").kind(), Kind::V1);
        assert_eq!(layout(b"1 1 0:1 / / rw - ext4 /dev/vda rw\n").kind(), Kind::Missing);
    }

    #[test]
    fn what_is_mounted_is_taken_off_the_path() {
        let layout = layout(b"1 1 0:1 /docker/4f /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
        assert_eq!(layout.v2_dir(b"/docker/4f/agent"), Ok(PathBuf::from("/r/sys/fs/cgroup/agent")));
        for outside in [b"/docker/4f".as_slice(), b"/docker/4fe/agent", b"/system.slice/a"] {
            assert_eq!(layout.v2_dir(outside).map_err(|absent| absent.why), Err(Why::Unsupported));
        }
    }

    #[test]
    fn a_path_that_leads_elsewhere_is_refused() {
        for path in [b"".as_slice(), b"a", b"/../a", b"/a/../../etc", b"/a/.", b"/a//b", b"/a\0b", b"/a/.."] {
            assert_eq!(layout(HYBRID).v2_dir(path).map_err(|absent| absent.why), Err(Why::Invalid), "{path:?}");
        }
        for root in [b"/".as_slice(), b"//"] {
            assert_eq!(layout(HYBRID).v2_dir(root).map_err(|absent| absent.why), Err(Why::NotEnabled));
        }
        assert!(layout(HYBRID).v2_dir(b"/a/").is_ok());
    }
}
