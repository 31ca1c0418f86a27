//! `/proc/<pid>`: every process by kept descriptors.
//!
//! A descriptor of a process's file answers for that process alone: once it is reaped, every read fails, whoever gets its
//! number next. So a process is who its descriptor says, and what is looked up by its number is believed only after its
//! descriptor answered again.

use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use lnk_schema::programs::{harness_of_program, is_interpreter, process_name};
use rustc_hash::FxHashMap;
use rustix::fs::{AtFlags, CWD, Mode, OFlags, RawDir, SeekFrom, openat, readlinkat, seek, statat};
use rustix::process::{Resource, getrlimit};

use crate::cost::Cost;
use crate::linux::file::{KernelFile, open_dir};
use crate::linux::slow::{Answer, Ask, Done, Job, Slow};
use crate::parse::io::parse_io;
use crate::parse::stat::{Stat, parse_stat};
use crate::{Absent, DiskBytes, Identity, ProcessSample, Processes, Program};

/// Descriptors kept when the system doesn't limit them, as it always does.
const MOST_KEPT: u64 = 100_000;

/// How long one look waits, in all, for command lines.
const SCRIPTS_WAIT: Duration = Duration::from_millis(50);

/// The processes of `/proc`.
#[derive(Debug)]
pub struct LinuxProcesses {
    proc: OwnedFd,
    listing: OwnedFd,
    entries: FxHashMap<u32, Entry>,
    buffer: Vec<u8>,
    listing_buffer: Vec<MaybeUninit<u8>>,
    ticks_per_second: u64,
    page_bytes: u64,
    user: u32,
    kept: u64,
    most_kept: u64,
    scripts_until: Option<Instant>,
    /// The thread for what may block.
    pub slow: Slow,
    answers: Vec<Done>,
    /// What `/proc/<pid>/stat` cost.
    pub stat_cost: Cost,
    /// What `/proc/<pid>/io` cost.
    pub io_cost: Cost,
    /// What finding out what new processes run cost.
    pub program_cost: Cost,
}

#[derive(Debug)]
struct Entry {
    identity: Identity,
    /// `None`: past what may be kept open, and opened anew for every read.
    stat: Option<KernelFile>,
    io: Option<Result<KernelFile, Absent>>,
    rollup: Option<Arc<KernelFile>>,
    detail: bool,
    listed: bool,
}

impl LinuxProcesses {
    /// Opens `proc` (`/proc`, but for tests).
    ///
    /// # Errors
    /// If it can't be opened.
    pub fn open(proc: &Path) -> Result<LinuxProcesses, Absent> {
        let path = proc.to_str().unwrap_or("/proc");
        let directory = open_dir(CWD, path, "/proc")?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let listing = openat(&directory, ".", flags, Mode::empty()).map_err(|errno| Absent::failed("/proc", errno))?;
        Ok(LinuxProcesses {
            proc: directory,
            listing,
            entries: FxHashMap::default(),
            buffer: Vec::new(),
            listing_buffer: vec![MaybeUninit::uninit(); 32 << 10],
            ticks_per_second: rustix::param::clock_ticks_per_second(),
            page_bytes: rustix::param::page_size() as u64,
            user: rustix::process::geteuid().as_raw(),
            kept: 0,
            // Half of what this process may open: the other half is the program's that this is a part of.
            most_kept: getrlimit(Resource::Nofile).current.unwrap_or(MOST_KEPT).min(MOST_KEPT) / 2,
            scripts_until: None,
            slow: Slow::default(),
            answers: Vec::new(),
            stat_cost: Cost::default(),
            io_cost: Cost::default(),
            program_cost: Cost::default(),
        })
    }

    /// Clock ticks a second: what [`Identity::start`] is in.
    pub fn ticks_per_second(&self) -> u64 {
        self.ticks_per_second
    }

    fn pids(&mut self) -> Result<Vec<u32>, Absent> {
        seek(&self.listing, SeekFrom::Start(0)).map_err(|errno| Absent::failed("/proc", errno))?;
        let mut entries = RawDir::new(&self.listing, &mut self.listing_buffer);
        let mut pids = Vec::with_capacity(self.entries.len() + 16);
        while let Some(entry) = entries.next() {
            let entry = entry.map_err(|errno| Absent::failed("/proc", errno))?;
            let name = entry.file_name().to_bytes();
            if name.first().is_some_and(u8::is_ascii_digit) {
                pids.extend(std::str::from_utf8(name).ok().and_then(|name| name.parse::<u32>().ok()));
            }
        }
        Ok(pids)
    }

    /// Reads one process, the disk bytes before the CPU time. `None`: it is gone.
    fn read(&mut self, pid: u32) -> Option<ProcessSample> {
        let known = self.entries.get(&pid);
        let disk = known.filter(|entry| entry.detail).and_then(|entry| entry.io.as_ref()).map(|io| {
            self.io_cost.time(|| {
                let io = io.as_ref().map_err(Clone::clone)?;
                // One record, however many lines: the kernel gives it whole in one read (single_open in fs/proc/base.c).
                let io = parse_io(io.read_record(&mut self.buffer)?);
                let bytes = io.and_then(|io| Some(DiskBytes { read: io.read_bytes?, written: io.write_bytes? }));
                bytes.ok_or_else(|| Absent::invalid("io", "read_bytes and write_bytes"))
            })
        });
        let sample = self.stat_cost.time(|| {
            let opened;
            let file = if let Some(file) = known.and_then(|entry| entry.stat.as_ref()) {
                file
            } else {
                opened = KernelFile::open(&self.proc, &format!("{pid}/stat"), "stat").ok()?;
                &opened
            };
            let stat = parse_stat(file.read_record(&mut self.buffer).ok()?)?;
            Some(sample_of(pid, &stat, self.ticks_per_second, self.page_bytes, disk))
        })?;
        Some(sample)
    }

    /// Reads a process that is in the list, whether known or not, and knows it from then on.
    fn read_listed(&mut self, pid: u32) -> Option<ProcessSample> {
        if let Some(sample) = self.read(pid)
            && let Some(entry) = self.entries.get_mut(&pid)
            && entry.identity == sample.identity
        {
            entry.listed = true;
            return Some(sample);
        }
        // Gone, or never seen: whoever has the number now is someone else.
        self.forget(pid);
        let stat = KernelFile::open(&self.proc, &format!("{pid}/stat"), "stat").ok()?;
        let sample = self.stat_cost.time(|| {
            let stat = parse_stat(stat.read_record(&mut self.buffer).ok()?)?;
            Some(sample_of(pid, &stat, self.ticks_per_second, self.page_bytes, None))
        })?;
        let keep = self.kept < self.most_kept;
        self.kept += u64::from(keep);
        let identity = sample.identity;
        let stat = keep.then_some(stat);
        self.entries.insert(pid, Entry { identity, stat, io: None, rollup: None, detail: false, listed: true });
        Some(sample)
    }

    fn forget(&mut self, pid: u32) {
        if let Some(entry) = self.entries.remove(&pid) {
            self.kept -= entry.descriptors();
        }
    }

    fn is_still(&mut self, identity: Identity) -> bool {
        self.read(identity.pid).is_some_and(|sample| sample.identity == identity)
    }

    /// Asks for a process's memory, to be answered by [`LinuxProcesses::next_memory`].
    ///
    /// # Errors
    /// The reason why its memory can't be asked for.
    pub fn ask_memory(&mut self, identity: Identity) -> Result<(), Absent> {
        let gone = || Absent::failed("smaps_rollup", rustix::io::Errno::SRCH);
        let entry = self.entries.get(&identity.pid).filter(|entry| entry.identity == identity).ok_or_else(gone)?;
        let file = if let Some(file) = &entry.rollup {
            Arc::clone(file)
        } else {
            let path = format!("{}/smaps_rollup", identity.pid);
            let file = Arc::new(KernelFile::open(&self.proc, &path, "smaps_rollup")?);
            if !self.is_still(identity) {
                return Err(gone());
            }
            if self.kept < self.most_kept
                && let Some(entry) = self.entries.get_mut(&identity.pid)
            {
                entry.rollup = Some(Arc::clone(&file));
                self.kept += 1;
            }
            file
        };
        self.slow.ask(Job { identity, ask: Ask::Memory, file });
        Ok(())
    }

    /// The next answer about a process's memory: bytes in use, and the CPU time the read took in microseconds.
    pub fn next_memory(&mut self, deadline: Instant) -> Option<(Identity, Result<u64, Absent>, f64)> {
        loop {
            let done = match self.answers.pop() {
                Some(done) => done,
                None => self.slow.next(deadline)?,
            };
            if let Answer::Memory(read) = done.answer {
                if read.is_err() {
                    self.forget_rollup(done.identity);
                }
                return Some((done.identity, read, done.usec));
            }
        }
    }

    /// Has a process's memory opened anew when it is next asked for: the kernel binds that file to what a process mapped as
    /// it was opened, so that after an exec it says that there is no such process (`proc_mem_open` in fs/proc/base.c).
    fn forget_rollup(&mut self, identity: Identity) {
        let entry = self.entries.get_mut(&identity.pid).filter(|entry| entry.identity == identity);
        if entry.and_then(|entry| entry.rollup.take()).is_some() {
            self.kept -= 1;
        }
    }

    /// The harness whose script an interpreter runs. `Err`: it has not said yet.
    fn script(&mut self, identity: Identity) -> Result<Option<&'static str>, ()> {
        let path = format!("{}/cmdline", identity.pid);
        let Ok(file) = KernelFile::open(&self.proc, &path, "cmdline") else { return Ok(None) };
        self.slow.ask(Job { identity, ask: Ask::Script, file: Arc::new(file) });
        let deadline = *self.scripts_until.get_or_insert_with(|| Instant::now() + SCRIPTS_WAIT);
        while let Some(done) = self.slow.next(deadline) {
            match done.answer {
                Answer::Script(harness) if done.identity == identity => return Ok(harness),
                Answer::Script(_) => {}
                Answer::Memory(_) => self.answers.push(done),
            }
        }
        Err(())
    }

    fn look_up_program(&mut self, identity: Identity) -> Program {
        let pid = identity.pid;
        let executable = readlinkat(&self.proc, format!("{pid}/exe"), Vec::new()).ok();
        let executable = executable.as_ref().and_then(|path| path.to_str().ok()).map(|path| {
            let path = path.strip_suffix(" (deleted)").unwrap_or(path);
            path.rsplit('/').next().unwrap_or(path)
        });
        let mut buffer = Vec::new();
        let comm = KernelFile::open(&self.proc, &format!("{pid}/comm"), "comm").ok();
        let comm = comm.as_ref().and_then(|file| file.read_record(&mut buffer).ok());
        let comm = comm.and_then(|comm| std::str::from_utf8(comm).ok()).map(|comm| comm.trim_end_matches('\n'));

        // By what it is, where the system says so; by what it calls itself only where it doesn't.
        let name = executable.or(comm).and_then(process_name);
        // `statat` on the directory: its owner is the process's user even where the files below it are root's.
        let own = statat(&self.proc, pid.to_string(), AtFlags::empty()).is_ok_and(|stat| stat.st_uid == self.user);
        let mut program = Program { name, harness: None, script_unread: false };
        if own {
            let known = comm.into_iter().chain(executable).find_map(harness_of_program);
            program.harness = known.map(|harness| harness.program);
            if program.harness.is_none() && executable.or(comm).is_some_and(is_interpreter) {
                match self.script(identity) {
                    Ok(harness) => program.harness = harness,
                    Err(()) => program.script_unread = true,
                }
            }
        }
        program
    }
}

impl Entry {
    fn descriptors(&self) -> u64 {
        u64::from(self.stat.is_some()) + u64::from(matches!(self.io, Some(Ok(_)))) + u64::from(self.rollup.is_some())
    }
}

fn sample_of(
    pid: u32,
    stat: &Stat<'_>,
    ticks_per_second: u64,
    page_bytes: u64,
    disk: Option<Result<DiskBytes, Absent>>,
) -> ProcessSample {
    let usec = |ticks: u64| ticks.saturating_mul(1_000_000) / ticks_per_second.max(1);
    // FNV-1a of the name it goes by: enough to see it change.
    let mark = |h: u64, b: &u8| (h ^ u64::from(*b)).wrapping_mul(0x0100_0000_01b3);
    ProcessSample {
        identity: Identity { pid, start: stat.start_ticks },
        parent: stat.ppid,
        group: stat.pgrp,
        session: stat.session,
        zombie: stat.state == b'Z',
        kernel: stat.is_kernel_thread(),
        own_cpu_usec: usec(stat.utime_ticks.saturating_add(stat.stime_ticks)),
        reaped_cpu_usec: usec(stat.cutime_ticks.unwrap_or(0).saturating_add(stat.cstime_ticks.unwrap_or(0))),
        resident_bytes: stat.rss_pages.saturating_mul(page_bytes),
        faults: stat.minflt,
        program_mark: stat.comm.iter().fold(0xcbf2_9ce4_8422_2325, mark),
        disk,
    }
}

impl Processes for LinuxProcesses {
    fn list(&mut self) -> Result<Vec<ProcessSample>, Absent> {
        self.scripts_until = None;
        let start = Instant::now();
        let pids = self.pids()?;
        self.stat_cost.micros += start.elapsed().as_secs_f64() * 1e6;
        self.stat_cost.reads += 1;
        let mut samples = Vec::with_capacity(pids.len());
        for pid in pids {
            samples.extend(self.read_listed(pid));
        }
        let ended: Vec<u32> = self.entries.iter().filter(|(_, entry)| !entry.listed).map(|(pid, _)| *pid).collect();
        for pid in ended {
            self.forget(pid);
        }
        self.entries.values_mut().for_each(|entry| entry.listed = false);
        Ok(samples)
    }

    fn again(&mut self, identity: Identity) -> Option<ProcessSample> {
        self.read(identity.pid).filter(|sample| sample.identity == identity)
    }

    fn detail(&mut self, identity: Identity) {
        let io = KernelFile::open(&self.proc, &format!("{}/io", identity.pid), "io");
        if !self.is_still(identity) {
            return;
        }
        if let Some(entry) = self.entries.get_mut(&identity.pid).filter(|entry| entry.identity == identity) {
            self.kept += u64::from(io.is_ok());
            entry.io = Some(io);
            entry.detail = true;
        }
    }

    fn program(&mut self, identity: Identity) -> Program {
        let start = Instant::now();
        let program = self.look_up_program(identity);
        let program = if self.is_still(identity) { program } else { Program::default() };
        self.program_cost.micros += start.elapsed().as_secs_f64() * 1e6;
        self.program_cost.reads += 1;
        program
    }
}
