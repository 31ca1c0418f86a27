//! Block devices: which of them hold bytes of their own, and what each has moved.

use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustc_hash::FxHashMap;
use rustix::fs::{AtFlags, CWD, Mode, OFlags, accessat, openat, readlinkat};
use rustix::io::Errno;

use super::file::open_dir;
use super::kept::Counter;
use crate::parse::Device;
use crate::{Absent, DiskBytes, Why};

/// What `/sys` says of block devices.
#[derive(Debug)]
pub struct BlockDevices {
    dir: OwnedFd,
}

/// How a device stands to the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Standing {
    /// There is hardware, or a machine beneath this one, behind it: not a device mapper's, an array's, a loop.
    physical: bool,
    /// It passes what it is told on to other devices, where the same bytes count again; or it is memory.
    stacked: bool,
    /// Its generation: the kernel numbers every disk it ever had (5.15 and later), where major and minor come again.
    sequence: Option<u64>,
}

impl BlockDevices {
    /// Opens `sys/dev/block` below `root`.
    ///
    /// # Errors
    /// Whatever opening says: without it, a device can't be told from one stacked on it.
    pub fn open(root: &Path) -> Result<BlockDevices, Absent> {
        let path = root.join("sys/dev/block");
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        match openat(CWD, &path, flags, Mode::empty()) {
            Ok(dir) => Ok(BlockDevices { dir }),
            Err(Errno::NOENT) => Err(Absent::new(Why::Unsupported, "/sys/dev/block", "is not there")),
            Err(errno) => Err(Absent::failed("/sys/dev/block", errno)),
        }
    }

    /// How `device` stands to the others. `None`: it is not there, or no longer.
    fn standing(&self, device: Device) -> Option<Standing> {
        // The link is …/block/zram0, of a partition …/block/sda/sda1.
        let number = format!("{}:{}", device.major, device.minor);
        let link = readlinkat(&self.dir, &number, Vec::new());
        let dir = open_dir(&self.dir, &number, "/sys/dev/block").ok()?;
        let name = link.as_ref().map_or(b"".as_slice(), |link| {
            let path = link.as_bytes();
            &path[memchr::memrchr(b'/', path).map_or(0, |slash| slash + 1)..]
        });
        let memory = [b"loop".as_slice(), b"ram", b"zram"]
            .iter()
            .any(|kind| name.strip_prefix(*kind).is_some_and(|rest| rest.first().is_some_and(u8::is_ascii_digit)));
        let there = |path: &str| accessat(&dir, path, rustix::fs::Access::EXISTS, AtFlags::empty()).is_ok();
        let mut buffer = Vec::new();
        let sequence = super::file::KernelFile::open(&dir, "diskseq", "diskseq")
            .and_then(|file| file.read(&mut buffer).map(|text| crate::parse::number(text.trim_ascii())))
            .ok()
            .flatten();
        let stacked = memory || matches!(device.major, 1 | 7) || has_entries(&dir, "slaves");
        Some(Standing { physical: there("device") && !there("partition") && !stacked, stacked, sequence })
    }
}

/// Whether a directory has anything in it.
fn has_entries(dir: impl AsFd, path: &str) -> bool {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let Ok(dir) = openat(dir, path, flags, Mode::empty()) else { return false };
    let mut buffer = [std::mem::MaybeUninit::uninit(); 512];
    let mut entries = rustix::fs::RawDir::new(dir, &mut buffer);
    while let Some(Ok(entry)) = entries.next() {
        if !matches!(entry.file_name().to_bytes(), b"." | b"..") {
            return true;
        }
    }
    false
}

/// Which devices count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Counted {
    /// Whole physical disks: what the machine moved.
    Physical,
    /// Those that pass nothing on to others: what a control group's processes moved, each byte once. A stacked device
    /// and the disk below it both say the same bytes: 8 MiB read through a loop, dm-crypt, LVM or md are 16.
    Leaf,
}

/// What devices have moved, added up. Of a device that went away, what it moved stays counted.
#[derive(Debug)]
pub(super) struct Disks {
    counted: Counted,
    look: u64,
    devices: FxHashMap<Device, Seen>,
    gone: Option<DiskBytes>,
}

#[derive(Debug)]
struct Seen {
    look: u64,
    counts: bool,
    sequence: Option<u64>,
    read: Counter,
    written: Counter,
}

impl Disks {
    pub(super) fn new(counted: Counted) -> Disks {
        Disks { counted, look: 0, devices: FxHashMap::default(), gone: None }
    }

    /// Notes what every device says at one look. How a device stands is asked when it appears, and again when it
    /// comes back after a look without it.
    pub(super) fn note(&mut self, block: &BlockDevices, each: impl Iterator<Item = (Device, DiskBytes)>) {
        self.look += 1;
        for (device, bytes) in each {
            let seen = self.devices.get(&device);
            if seen.is_none_or(|seen| seen.look + 1 < self.look) {
                let Some(standing) = block.standing(device) else { continue };
                self.appeared(device, standing);
            }
            if let Some(seen) = self.devices.get_mut(&device) {
                seen.look = self.look;
                // A device's counters begin anew together, and the other may stand higher already.
                if seen.read.fell(bytes.read) || seen.written.fell(bytes.written) {
                    seen.read.began_anew();
                    seen.written.began_anew();
                }
                seen.read.note(bytes.read);
                seen.written.note(bytes.written);
            }
        }
    }

    fn appeared(&mut self, device: Device, standing: Standing) {
        let Standing { physical, stacked, sequence } = standing;
        let counts = match self.counted {
            Counted::Physical => physical,
            Counted::Leaf => !stacked,
        };
        let new = Seen { look: 0, counts, sequence, read: Counter::default(), written: Counter::default() };
        let Some(before) = self.devices.insert(device, new) else { return };
        if before.counts == counts && before.sequence == sequence {
            self.devices.insert(device, before);
        } else if before.counts {
            // The same numbers, another disk, which may stand higher than the one before ever did.
            self.gone = Some(before.bytes().plus(self.gone.unwrap_or_default()));
        }
    }

    /// What those that count have moved. `None` if none ever counted.
    pub(super) fn total(&self) -> Option<DiskBytes> {
        let counted = self.devices.values().filter(|seen| seen.counts).map(Seen::bytes);
        counted.chain(self.gone).reduce(DiskBytes::plus)
    }
}

impl Seen {
    fn bytes(&self) -> DiskBytes {
        DiskBytes { read: self.read.total(), written: self.written.total() }
    }
}

impl DiskBytes {
    fn plus(self, other: DiskBytes) -> DiskBytes {
        DiskBytes { read: self.read.saturating_add(other.read), written: self.written.saturating_add(other.written) }
    }
}
