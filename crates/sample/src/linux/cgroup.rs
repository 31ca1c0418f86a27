//! One control group: who is in it and what it has used.

use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{Access, AtFlags, CWD, FileType, Mode, OFlags, RawDir, SeekFrom, accessat, fstat, openat, seek};
use rustix::io::Errno;

use super::disks::{BlockDevices, Counted, Disks};
use super::file::KernelFile;
use super::kept::Kept;
use super::layout::Layout;
use crate::parse::Device;
use crate::parse::blkio::{Direction, parse_blkio};
use crate::parse::cgroup::{Membership, parse_cgroup, parse_members};
use crate::parse::cpustat::parse_cpu_usage_usec;
use crate::parse::iostat::parse_io_stat;
use crate::parse::number;
use crate::{Absent, DiskBytes, Why};

const PROCS: &str = "cgroup.procs";
const PID_CGROUP: &str = "/proc/<pid>/cgroup";
const BLKIO: &str = "blkio.throttle.io_service_bytes_recursive";

/// A group and all below it, at one look. Both lists are sorted, each entry once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Subtree {
    /// The processes.
    pub members: Vec<u32>,
    /// The groups' inodes, by which the kernel names a socket's group.
    pub ids: Vec<u64>,
}

/// Where a group's disk bytes are from, since they don't mean the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiskSource {
    /// Version 2's `io.stat`: every byte, written ones at write-back.
    IoStat,
    /// Version 1's `blkio`: no buffered writes, which it has the root group pay for.
    Blkio,
}

/// A version 2 group, open. Once the group is removed everything says [`Why::Gone`], even if another group has its name.
#[derive(Debug)]
pub struct Group {
    id: u64,
    dir: OwnedFd,
    procs: Kept,
    cpu_stat: Kept,
    io_stat: Kept,
    blkio: Blkio,
    disks: Disks,
    buffer: Vec<u8>,
}

/// The group's own group in the version 1 hierarchy of `blkio`.
#[derive(Debug)]
enum Blkio {
    NotSought,
    None,
    Own(OwnedFd, Kept),
}

impl Group {
    /// Opens the group of a version 2 `path`, as `/proc/<pid>/cgroup` has it.
    ///
    /// # Errors
    /// [`Why::NotEnabled`] for the root group; [`Why::Unsupported`] without version 2, or outside what is mounted;
    /// [`Why::Invalid`] for a path that leads elsewhere; whatever opening says.
    pub fn open(layout: &Layout, path: &[u8]) -> Result<Group, Absent> {
        let dir = open_group(CWD, layout.v2_dir(path)?)?;
        let id = fstat(&dir).map_err(|errno| Absent::failed("control group", errno))?.st_ino;
        Ok(Group {
            id,
            dir,
            procs: Kept::new(PROCS, PROCS),
            cpu_stat: Kept::new("cpu.stat", "cpu.stat"),
            io_stat: Kept::new("io.stat", "io.stat"),
            blkio: Blkio::NotSought,
            disks: Disks::new(Counted::Leaf),
            buffer: Vec::new(),
        })
    }

    /// Opens the group that process `pid` is in.
    ///
    /// # Errors
    /// As [`Group::open`]; [`Why::Gone`] if the process or its group is.
    pub fn of_pid(layout: &Layout, pid: u32) -> Result<Group, Absent> {
        Group::open(layout, &v2_path(layout.root(), pid)?)
    }

    /// The inode of its directory: who it is. A group made again under its name has another.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Everybody in the group and in all groups below it.
    ///
    /// # Errors
    /// [`Why::Gone`] once it is removed; [`Why::Unsupported`] of a threaded group, whose processes are its parent's;
    /// whatever else reading says: a list with somebody missing is none.
    pub fn subtree(&mut self) -> Result<Subtree, Absent> {
        let mut subtree = Subtree { members: Vec::new(), ids: vec![self.id] };
        let file = self.procs.read(&self.dir, &mut self.buffer)?;
        subtree.members.extend(parse_members(file));
        let mut waiting = Vec::new();
        list_groups(&self.dir, b"", &mut waiting)?;
        read_groups(&self.dir, waiting, &mut subtree, &mut self.buffer)?;
        subtree.members.sort_unstable();
        subtree.members.dedup();
        subtree.ids.sort_unstable();
        Ok(subtree)
    }

    /// CPU time used by everybody who ever was in the group or below it, in microseconds.
    ///
    /// # Errors
    /// As reading says.
    pub fn cpu_usage_usec(&mut self) -> Result<u64, Absent> {
        let file = read_kept(&mut self.cpu_stat, &self.dir, &mut self.buffer)?;
        parse_cpu_usage_usec(file).ok_or_else(|| Absent::invalid("cpu.stat", "usage_usec"))
    }

    /// Bytes the group and all below it moved from and to devices that pass nothing on. Never falls while the group is
    /// open. Of `io.stat` if the group has one, else of its own `blkio` group.
    ///
    /// # Errors
    /// [`Why::NotEnabled`] without either: the io controller isn't switched on for it.
    pub fn disk_bytes(&mut self, layout: &Layout, block: &BlockDevices) -> Result<(DiskBytes, DiskSource), Absent> {
        let source = match read_kept(&mut self.io_stat, &self.dir, &mut self.buffer) {
            Ok(file) => {
                let each = parse_io_stat(file);
                let bytes = |read, written| DiskBytes { read, written };
                self.disks.note(block, each.map(|io| (io.device, bytes(io.read_bytes, io.written_bytes))));
                DiskSource::IoStat
            }
            Err(absent) if absent.why == Why::NotEnabled && layout.v1_has(b"blkio") => {
                self.note_blkio(layout, block, absent)?;
                DiskSource::Blkio
            }
            Err(absent) => return Err(absent),
        };
        // A file without a device: nothing was moved yet.
        Ok((self.disks.total().unwrap_or_default(), source))
    }

    fn note_blkio(&mut self, layout: &Layout, block: &BlockDevices, otherwise: Absent) -> Result<(), Absent> {
        if matches!(self.blkio, Blkio::NotSought) {
            let members = self.subtree()?.members;
            self.blkio = own_blkio(layout, &members);
        }
        let Blkio::Own(dir, kept) = &mut self.blkio else { return Err(otherwise) };
        let file = kept.read(dir.as_fd(), &mut self.buffer)?;
        let mut each: Vec<(Device, DiskBytes)> = Vec::new();
        for (device, direction, bytes) in parse_blkio(file) {
            if each.last().is_none_or(|(last, _)| *last != device) {
                each.push((device, DiskBytes::default()));
            }
            if let Some((_, sum)) = each.last_mut() {
                match direction {
                    Direction::Read => sum.read = bytes,
                    Direction::Write => sum.written = bytes,
                }
            }
        }
        self.disks.note(block, each.into_iter());
        Ok(())
    }

    /// Memory charged to the group and all below it, page cache included, in bytes. No sum of what processes hold.
    ///
    /// # Errors
    /// [`Why::NotEnabled`] without the memory controller.
    pub fn memory_current_bytes(&self) -> Result<u64, Absent> {
        self.read_number("memory.current")
    }

    /// The most that ever was, in bytes.
    ///
    /// # Errors
    /// [`Why::NotEnabled`] without the memory controller, and on kernels before 5.19.
    pub fn memory_peak_bytes(&self) -> Result<u64, Absent> {
        self.read_number("memory.peak")
    }

    /// How many threads there are, zombies among them.
    ///
    /// # Errors
    /// [`Why::NotEnabled`] without the pids controller.
    pub fn pids_current(&self) -> Result<u64, Absent> {
        self.read_number("pids.current")
    }

    fn read_number(&self, file: &'static str) -> Result<u64, Absent> {
        let mut buffer = Vec::new();
        let text = read_kept(&mut Kept::new(file, file), &self.dir, &mut buffer)?;
        number(text.trim_ascii()).ok_or_else(|| Absent::invalid(file, "number"))
    }
}

/// The version 2 path of the group `pid` is in, from `proc/<pid>/cgroup` below `root`.
///
/// # Errors
/// [`Why::Gone`] if the process or its group is; [`Why::Unsupported`] without version 2.
pub fn v2_path(root: &Path, pid: u32) -> Result<Vec<u8>, Absent> {
    let mut buffer = Vec::new();
    let file = read_membership(root, pid, &mut buffer)?;
    let missing = || Absent::new(Why::Unsupported, PID_CGROUP, "names no version 2 group");
    let membership = parse_cgroup(file).find(Membership::is_v2).ok_or_else(missing)?;
    if membership.deleted {
        return Err(Absent::new(Why::Gone, PID_CGROUP, "names a group that was removed"));
    }
    Ok(membership.path.to_vec())
}

/// Reads `proc/<pid>/cgroup` below `root`, for [`parse_cgroup`].
///
/// # Errors
/// [`Why::Gone`] if the process is; whatever else reading says.
pub fn read_membership<'b>(root: &Path, pid: u32, buffer: &'b mut Vec<u8>) -> Result<&'b [u8], Absent> {
    let path = root.join(format!("proc/{pid}/cgroup"));
    let path = path.to_str().ok_or_else(|| Absent::invalid(PID_CGROUP, "path in UTF-8"))?;
    KernelFile::open(CWD, path, PID_CGROUP)?.read(buffer)
}

/// Reads one of the group's files. One that isn't there although the group is, is switched off.
fn read_kept<'b>(kept: &mut Kept, dir: &OwnedFd, buffer: &'b mut Vec<u8>) -> Result<&'b [u8], Absent> {
    kept.read(dir, buffer).map_err(|absent| {
        let alive = || accessat(dir, PROCS, Access::EXISTS, AtFlags::empty()).is_ok();
        if absent.why == Why::Gone && alive() {
            return Absent::new(
                Why::NotEnabled,
                absent.file,
                "is not there: its controller is not enabled for the group",
            );
        }
        absent
    })
}

/// Opens a group's directory, to look things up below and to be listed.
fn open_group(dir: impl AsFd, path: impl rustix::path::Arg) -> Result<OwnedFd, Absent> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    openat(dir, path, flags, Mode::empty()).map_err(|errno| Absent::failed("control group", errno))
}

/// Reads the groups `waiting` below `top`, and all below them.
fn read_groups(
    top: &OwnedFd,
    mut waiting: Vec<Vec<u8>>,
    subtree: &mut Subtree,
    buffer: &mut Vec<u8>,
) -> Result<(), Absent> {
    while let Some(path) = waiting.pop() {
        match read_group(top, &path, subtree, &mut waiting, buffer) {
            // Removed meanwhile, or threaded: its processes are listed above it.
            Err(absent) if matches!(absent.why, Why::Gone | Why::Unsupported) => {}
            result => result?,
        }
    }
    Ok(())
}

fn read_group(
    top: &OwnedFd,
    path: &[u8],
    subtree: &mut Subtree,
    waiting: &mut Vec<Vec<u8>>,
    buffer: &mut Vec<u8>,
) -> Result<(), Absent> {
    let dir = open_group(top, path)?;
    let stat = fstat(&dir).map_err(|errno| Absent::failed("control group", errno))?;
    subtree.ids.push(stat.st_ino);
    list_groups(&dir, path, waiting)?;
    subtree.members.extend(parse_members(KernelFile::open(&dir, PROCS, PROCS)?.read(buffer)?));
    Ok(())
}

/// Adds the groups right below `dir`, whose path is `above`, to those `waiting`.
fn list_groups(dir: &OwnedFd, above: &[u8], waiting: &mut Vec<Vec<u8>>) -> Result<(), Absent> {
    let failed = |errno| Absent::failed("control group", errno);
    // A directory's links are its own two and one for each directory in it: most groups have none to list.
    if fstat(dir).map_err(failed)?.st_nlink == 2 {
        return Ok(());
    }
    seek(dir, SeekFrom::Start(0)).map_err(failed)?;
    let mut buffer = [std::mem::MaybeUninit::uninit(); 8192];
    let mut entries = RawDir::new(dir, &mut buffer);
    while let Some(entry) = entries.next() {
        let entry = match entry {
            Ok(entry) => entry,
            Err(Errno::INTR) => continue,
            Err(errno) => return Err(failed(errno)),
        };
        let name = entry.file_name().to_bytes();
        if entry.file_type() == FileType::Directory && name != b"." && name != b".." {
            waiting.push(if above.is_empty() { name.to_vec() } else { [above, b"/", name].concat() });
        }
    }
    Ok(())
}

/// The `blkio` group of these processes, if it is nobody else's too: what it says is then theirs.
fn own_blkio(layout: &Layout, members: &[u32]) -> Blkio {
    let mut buffer = Vec::new();
    for pid in members {
        let Ok(file) = read_membership(layout.root(), *pid, &mut buffer) else { continue };
        let Some(membership) = parse_cgroup(file).find(|one| one.has(b"blkio")) else { return Blkio::None };
        let Ok((path, mounted)) = layout.v1_dirs(b"blkio", membership.path) else { return Blkio::None };
        let Ok(dir) = open_group(CWD, path) else { return Blkio::None };
        if !counts(mounted) {
            return Blkio::None;
        }
        let mut theirs = Subtree::default();
        if read_groups(&dir, vec![b".".to_vec()], &mut theirs, &mut buffer).is_err() {
            return Blkio::None;
        }
        let own = theirs.members.iter().all(|pid| members.binary_search(pid).is_ok());
        return if own { Blkio::Own(dir, Kept::new(BLKIO, BLKIO)) } else { Blkio::None };
    }
    Blkio::NotSought
}

/// Whether a `blkio` hierarchy counts at all. Since Linux 6.10 one where nothing is throttled doesn't: its groups say 0
/// for ever, and so does the root, which on kernels that count has read the system from disk.
fn counts(mounted: &Path) -> bool {
    let file = open_group(CWD, mounted).and_then(|dir| KernelFile::open(dir, BLKIO, BLKIO));
    let mut buffer = Vec::new();
    file.and_then(|file| file.read(&mut buffer).map(|text| parse_blkio(text).next().is_some())).unwrap_or(false)
}
