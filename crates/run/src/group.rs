//! A control group of the command's own, where one can be made.

use std::ffi::OsStr;
use std::fs::{DirBuilder, File, OpenOptions};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use lnk_sample::linux::cgroup::{Group, read_membership, v2_path};
use lnk_sample::linux::layout::Layout;
use lnk_sample::parse::cgroup::parse_cgroup;
use lnk_sample::{Absent, Why};

use crate::manager;

const GROUP: &str = "control group";

/// What the kernel keeps of a version 1 group's most memory.
const V1_PEAK: &str = "memory.max_usage_in_bytes";

/// A group below this process's own, and its twin of version 1's memory hierarchy where that is apart.
///
/// Below its own: that is where a delegated tree may be written, and it keeps the limits this process is under. The group
/// of version 2 says who is in it and what CPU time they took even where it has no controller.
#[derive(Debug)]
pub struct OwnGroup {
    path: Vec<u8>,
    group: Group,
    dirs: Vec<PathBuf>,
    doors: Vec<File>,
    v1_memory: Option<PathBuf>,
    in_scope: bool,
}

impl OwnGroup {
    /// Makes a group of that name below this process's own; where that may not be, below a scope that the user's manager
    /// makes for this process.
    ///
    /// # Errors
    /// As [`OwnGroup::make`]; where a manager was asked, what came of that.
    pub(crate) fn make_or_ask(name: &str) -> Result<OwnGroup, Absent> {
        match OwnGroup::make(name) {
            Err(absent) if absent.why == Why::Denied => {
                manager::enter_scope(name)?;
                Ok(OwnGroup { in_scope: true, ..OwnGroup::make(name)? })
            }
            made => made,
        }
    }

    /// Makes a group of that name.
    ///
    /// # Errors
    /// The reason there can be none: no version 2 hierarchy, no right to make one, or anything else the kernel says.
    pub fn make(name: &str) -> Result<OwnGroup, Absent> {
        let root = Path::new("/");
        let layout = Layout::read(root)?;
        let own = v2_path(root, std::process::id())?;
        let path = below(&own, name);
        let mut made = Made::default();
        let dir = made.add(layout.v2_dir(&path)?)?;
        let group = Group::open(&layout, &path)?;
        debug_assert!(dir.is_dir());
        let v1_memory = layout.v1_has(b"memory").then(|| made.add_v1(&layout, root, name)).flatten();
        let (dirs, doors) = made.take();
        Ok(OwnGroup { path, group, dirs, doors, v1_memory, in_scope: false })
    }

    /// Whether it is below a scope of the user's manager.
    pub(crate) fn is_in_scope(&self) -> bool {
        self.in_scope
    }

    /// The version 2 path, as `/proc/<pid>/cgroup` has it.
    pub fn path(&self) -> &[u8] {
        &self.path
    }

    /// The group itself.
    pub fn group(&mut self) -> &mut Group {
        &mut self.group
    }

    /// What a process writes `0` to, to be in it.
    pub(crate) fn doors(&self) -> Vec<RawFd> {
        self.doors.iter().map(AsRawFd::as_raw_fd).collect()
    }

    /// Whether a process is in it.
    pub(crate) fn has(&self, pid: u32) -> bool {
        v2_path(Path::new("/"), pid).is_ok_and(|path| path == self.path)
    }

    /// The most memory the kernel charged it with, page cache included, in bytes.
    ///
    /// # Errors
    /// [`Why::NotEnabled`] where no memory controller counts for it.
    pub fn peak_bytes(&self) -> Result<u64, Absent> {
        let Some(dir) = &self.v1_memory else { return self.group.memory_peak_bytes() };
        let text = std::fs::read_to_string(dir.join(V1_PEAK));
        let invalid = || Absent::invalid(V1_PEAK, "number");
        text.map_err(|_| Absent::new(Why::NotEnabled, V1_PEAK, "can't be read"))?.trim().parse().map_err(|_| invalid())
    }

    /// Its directories: what is to be removed once nobody is in it any more.
    pub fn dirs(&self) -> &[PathBuf] {
        &self.dirs
    }

    /// Removes it. Says whether it is gone: not while somebody is in it.
    pub fn remove(&self) -> bool {
        // All of them, whether or not one can't be.
        let kept = self.dirs.iter().filter(|dir| std::fs::remove_dir(dir).is_err()).count();
        kept == 0
    }
}

fn below(own: &[u8], name: &str) -> Vec<u8> {
    [own.strip_suffix(b"/").unwrap_or(own), b"/", name.as_bytes()].concat()
}

/// Directories made so far; removed again if it doesn't come to a group.
#[derive(Default)]
struct Made {
    dirs: Vec<PathBuf>,
    doors: Vec<File>,
}

impl Made {
    fn add(&mut self, dir: PathBuf) -> Result<PathBuf, Absent> {
        let failed = |error: std::io::Error| {
            let errno = rustix::io::Errno::from_io_error(&error).unwrap_or(rustix::io::Errno::IO);
            Absent::failed(GROUP, errno)
        };
        DirBuilder::new().mode(0o755).create(&dir).map_err(failed)?;
        self.dirs.push(dir.clone());
        self.doors.push(OpenOptions::new().write(true).open(dir.join("cgroup.procs")).map_err(failed)?);
        Ok(dir)
    }

    fn add_v1(&mut self, layout: &Layout, root: &Path, name: &str) -> Option<PathBuf> {
        let mut buffer = Vec::new();
        let file = read_membership(root, std::process::id(), &mut buffer).ok()?;
        let own = parse_cgroup(file).find(|one| one.has(b"memory"))?.path;
        let (dir, _) = layout.v1_dirs(b"memory", &below(own, name)).ok()?;
        self.add(dir).ok()
    }

    fn take(mut self) -> (Vec<PathBuf>, Vec<File>) {
        (std::mem::take(&mut self.dirs), std::mem::take(&mut self.doors))
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        for dir in &self.dirs {
            let _ = std::fs::remove_dir(dir);
        }
    }
}

/// A version 2 path as text, where it is some.
pub(crate) fn text_of(path: &[u8]) -> Option<String> {
    OsStr::from_bytes(path).to_str().map(str::to_owned)
}
