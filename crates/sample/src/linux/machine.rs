//! The machine's own numbers, each measured of the machine and not added up from its processes.

use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::CWD;

use super::disks::{BlockDevices, Counted, Disks};
use super::file::open_dir;
use super::kept::Kept;
use super::network::{Interfaces, NetworkBytes};
use crate::parse::diskstats::{SECTOR_BYTES, parse_diskstats};
use crate::parse::meminfo::parse_meminfo;
use crate::parse::netdev::parse_netdev;
use crate::parse::stat::{parse_btime, parse_cpu_total};
use crate::{Absent, DiskBytes, Why};

const STAT: &str = "/proc/stat";
const MEMINFO: &str = "/proc/meminfo";
const DISKSTATS: &str = "/proc/diskstats";
const NET_DEV: &str = "/proc/net/dev";
const NET_CLASS: &str = "/sys/class/net";

/// The machine at one look. Each number is there, or absent by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MachineSample {
    /// Memory that programs couldn't get without swapping, in bytes: `MemTotal − MemAvailable`.
    pub memory_used_bytes: Result<u64, Absent>,
    /// CPU time used since boot, over all processors, in microseconds at a grain of a clock tick. As the kernel has
    /// it: some sandboxes begin it anew.
    pub cpu_usec: Result<u64, Absent>,
    /// Bytes moved by whole physical disks. Never falls while the reader lives.
    pub disk: Result<DiskBytes, Absent>,
    /// Bytes carried by interfaces with a device behind them. Never falls while the reader lives.
    pub network: Result<NetworkBytes, Absent>,
    /// When the machine booted, in nanoseconds since 1970, as it was at the first look: the kernel's own figure moves
    /// whenever the clock is set.
    pub boot_ns: Result<u64, Absent>,
}

/// Reads the machine's numbers through kept descriptors.
#[derive(Debug)]
pub struct MachineReader {
    root: OwnedFd,
    block: Result<BlockDevices, Absent>,
    net_class: Result<OwnedFd, Absent>,
    stat: Kept,
    meminfo: Kept,
    diskstats: Kept,
    net_dev: Kept,
    disks: Disks,
    interfaces: Interfaces,
    boot_ns: Option<u64>,
    ticks_per_second: u64,
    buffer: Vec<u8>,
    short_buffer: Vec<u8>,
}

impl MachineReader {
    /// Opens the machine below `root`: `/`, or what stands for it in a test.
    ///
    /// # Errors
    /// Only if there is no `root`.
    pub fn open(root: &Path) -> Result<MachineReader, Absent> {
        let path = root.to_str().ok_or_else(|| Absent::invalid("/", "path in UTF-8"))?;
        let root_dir = open_dir(CWD, path, "/")?;
        let net_class = open_dir(&root_dir, "sys/class/net", NET_CLASS).map_err(unsupported);
        Ok(MachineReader {
            block: BlockDevices::open(root),
            net_class,
            root: root_dir,
            stat: Kept::new("proc/stat", STAT),
            meminfo: Kept::new("proc/meminfo", MEMINFO),
            diskstats: Kept::new("proc/diskstats", DISKSTATS),
            net_dev: Kept::new("proc/net/dev", NET_DEV),
            disks: Disks::new(Counted::Physical),
            interfaces: Interfaces::default(),
            boot_ns: None,
            ticks_per_second: rustix::param::clock_ticks_per_second(),
            buffer: Vec::new(),
            short_buffer: Vec::new(),
        })
    }

    /// Reads every number once.
    pub fn read(&mut self) -> MachineSample {
        let (cpu_usec, boot_ns) = self.read_stat();
        MachineSample {
            memory_used_bytes: self.read_memory(),
            cpu_usec,
            disk: self.read_disk(),
            network: self.read_network(),
            boot_ns,
        }
    }

    fn read_stat(&mut self) -> (Result<u64, Absent>, Result<u64, Absent>) {
        let file = match self.stat.read(&self.root, &mut self.buffer).map_err(unsupported) {
            Ok(file) => file,
            Err(absent) => return (Err(absent.clone()), self.boot_ns.ok_or(absent)),
        };
        if self.boot_ns.is_none() {
            self.boot_ns = parse_btime(file).and_then(|seconds| seconds.checked_mul(1_000_000_000));
        }
        // Unsupported, not invalid: a sandbox that doesn't count says 0 everywhere, each time it is asked.
        let zeros = || Absent::new(Why::Unsupported, STAT, "has no processor time");
        let usec = parse_cpu_total(file).ok_or_else(zeros).and_then(|cpu| {
            let usec = u128::from(cpu.used_ticks) * 1_000_000 / u128::from(self.ticks_per_second.max(1));
            u64::try_from(usec).map_err(|_| Absent::invalid(STAT, "processor time below 2^64 µs"))
        });
        (usec, self.boot_ns.ok_or_else(|| Absent::invalid(STAT, "btime")))
    }

    fn read_memory(&mut self) -> Result<u64, Absent> {
        let file = self.meminfo.read(&self.root, &mut self.buffer).map_err(unsupported)?;
        let meminfo = parse_meminfo(file).ok_or_else(|| Absent::invalid(MEMINFO, "MemTotal"))?;
        let total = meminfo.total_kb.ok_or_else(|| Absent::invalid(MEMINFO, "MemTotal"))?;
        let no_available = || Absent::new(Why::Unsupported, MEMINFO, "has no MemAvailable");
        let available = meminfo.available_kb.ok_or_else(no_available)?;
        // Containers have shown both 0 and more than there is (psutil gh-1915).
        let used = total.checked_sub(available).filter(|_| available != 0);
        used.and_then(|kb| kb.checked_mul(1024)).ok_or_else(|| {
            Absent::new(Why::Invalid, MEMINFO, format!("says {available} kB of {total} kB are available"))
        })
    }

    fn read_disk(&mut self) -> Result<DiskBytes, Absent> {
        let block = self.block.as_ref().map_err(Clone::clone)?;
        let file = self.diskstats.read(&self.root, &mut self.buffer).map_err(unsupported)?;
        let each = parse_diskstats(file).map(|disk| {
            let bytes = |sectors: u64| sectors.saturating_mul(SECTOR_BYTES);
            (disk.device, DiskBytes { read: bytes(disk.sectors_read), written: bytes(disk.sectors_written) })
        });
        self.disks.note(block, each);
        self.disks.total().ok_or_else(|| Absent::new(Why::Unsupported, DISKSTATS, "has no physical disk"))
    }

    fn read_network(&mut self) -> Result<NetworkBytes, Absent> {
        let class = self.net_class.as_ref().map_err(Clone::clone)?;
        let file = self.net_dev.read(&self.root, &mut self.buffer).map_err(unsupported)?;
        self.interfaces.note(class, parse_netdev(file), &mut self.short_buffer);
        self.interfaces.total().ok_or_else(|| Absent::new(Why::Unsupported, NET_DEV, "has no physical interface"))
    }
}

/// A file of the machine's that isn't there never was: the machine isn't gone.
fn unsupported(mut absent: Absent) -> Absent {
    if absent.why == Why::Gone {
        absent.why = Why::Unsupported;
    }
    absent
}
