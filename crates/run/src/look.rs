//! Looking at the command while it runs: the most memory, the most processes, the ports. As often as a few hundredths of a
//! core allow: every 10 ms a small tree on a small machine, once a second a large one on a large machine.

#![allow(unsafe_code, reason = "the thread's own CPU clock has no safe face here")]

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use lnk_sample::linux::cgroup::Group;
use lnk_sample::linux::layout::Layout;
use lnk_sample::linux::ports::{PortsReader, held_sockets};
use lnk_sample::linux::process::LinuxProcesses;
use lnk_sample::parse::io::parse_io;
use lnk_sample::track::pss::{Budget, Candidate, Memory};
use lnk_sample::{Absent, DiskBytes, Identity, ProcessSample, Processes, Why};
use serde::Serialize;

/// Of a core, looking takes one part in this many.
const SHARE: u32 = 50;
/// The first look is the dearest, and not made of a command that is over at once.
const FIRST: Duration = Duration::from_millis(5);
const SHORTEST: Duration = Duration::from_millis(10);
const LONGEST: Duration = Duration::from_secs(1);

/// CPU milliseconds a look may spend on how much of its memory each process shares.
const MEMORY_BUDGET_MS: f64 = 0.4;
/// How long a look waits for what it asked of memory. A later look takes what comes later.
const MEMORY_WAIT: Duration = Duration::from_millis(5);
/// How long the last look waits for the memory of what is left behind.
const LAST_WAIT: Duration = Duration::from_secs(1);

/// Listening sockets are asked for this often at most.
const PORTS_EVERY: Duration = Duration::from_millis(200);

/// A command that used no CPU time and started nobody for so long has come to rest: it waits for somebody.
const REST: Duration = Duration::from_millis(250);

/// What was seen from look to look.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// The most memory all of them held at one look, shared pages shared out, in bytes.
    pub peak_bytes: Option<u64>,
    /// Why there is none.
    pub peak_absent: Option<Absent>,
    /// How many looks saw somebody.
    pub looks: u64,
    /// The most processes at one look.
    pub most_processes: usize,
    /// Ports listened on.
    pub ports: BTreeSet<u16>,
    /// Why there may be others.
    pub ports_absent: Option<Absent>,
}

/// From a command's start until it first came to rest, once it has: known to whoever waits for it while it is looked at.
#[derive(Debug, Clone, Default)]
pub struct Rest(Arc<OnceLock<Duration>>);

impl Rest {
    /// How long it took; `None` while it goes on, or if it never rested.
    pub fn after(&self) -> Option<Duration> {
        self.0.get().copied()
    }
}

/// A process that goes on after the command has ended.
#[derive(Debug, Serialize)]
pub struct Left {
    /// Its number.
    pub pid: u32,
    /// When it started, in clock ticks since boot.
    pub start: u64,
    /// What it runs, in the words there are.
    pub name: Option<&'static str>,
    /// Memory it holds, shared pages shared out, in bytes.
    pub memory: Option<u64>,
    /// CPU time it and those it reaped took.
    #[serde(skip)]
    pub cpu_usec: u64,
    /// Disk bytes of the same.
    #[serde(skip)]
    pub disk: Option<DiskBytes>,
}

/// Looks at everybody who is in the command's group, or else descends from this process.
pub(crate) struct Looker {
    processes: LinuxProcesses,
    group: Option<Group>,
    ports: Result<PortsReader, Absent>,
    /// Listening sockets that aren't the command's.
    foreign: HashSet<u64>,
    ports_at: Option<Instant>,
    members: Vec<ProcessSample>,
    memories: HashMap<Identity, Memory>,
    budget: Budget,
    listed_at: Option<Instant>,
    list_took: Duration,
    busy_until: Instant,
    cpu_usec: u64,
    began: Instant,
    rest: Rest,
    look: u64,
    seen: Seen,
}

impl Looker {
    /// A looker at what begins now, in the group of this version 2 path if it has one.
    ///
    /// # Errors
    /// Without `/proc`.
    pub(crate) fn new(group: Option<&[u8]>) -> Result<Looker, Absent> {
        let root = Path::new("/");
        let group = group.map(|path| Group::open(&Layout::read(root)?, path)).transpose()?;
        let mut ports = PortsReader::open(root);
        let before = ports.as_mut().ok().and_then(|reader| reader.read().ok());
        let foreign = before.into_iter().flat_map(|before| before.sockets).map(|socket| socket.inode).collect();
        let now = Instant::now();
        Ok(Looker {
            processes: LinuxProcesses::open(Path::new("/proc"))?,
            group,
            ports,
            foreign,
            ports_at: None,
            members: Vec::new(),
            memories: HashMap::new(),
            budget: Budget::new(MEMORY_BUDGET_MS),
            listed_at: None,
            list_took: Duration::ZERO,
            busy_until: now,
            cpu_usec: 0,
            began: now,
            rest: Rest::default(),
            look: 0,
            seen: Seen::default(),
        })
    }

    /// When the command first comes to rest.
    pub(crate) fn rest(&self) -> Rest {
        self.rest.clone()
    }

    /// Looks until it is told to stop.
    pub(crate) fn look_until(mut self, stop: &Receiver<()>) -> Looker {
        let mut pause = FIRST;
        while stop.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
            let before = thread_cpu();
            let listing = self.look();
            // Finding out who there is has its own share, and its own pace.
            let spent = thread_cpu().saturating_sub(before + listing);
            pause = (spent * SHARE).clamp(SHORTEST, LONGEST);
        }
        self
    }

    /// Looks; gives the CPU time that went into finding out who there is, if that was to be done again.
    fn look(&mut self) -> Duration {
        self.look += 1;
        let now = Instant::now();
        let mut listing = Duration::ZERO;
        if self.listed_at.is_none_or(|at| now - at >= self.list_took * SHARE) {
            let before = thread_cpu();
            self.list();
            listing = thread_cpu().saturating_sub(before);
            (self.listed_at, self.list_took) = (Some(now), listing);
        } else {
            let processes = &mut self.processes;
            self.members = self.members.iter().filter_map(|member| processes.again(member.identity)).collect();
            self.members.retain(|member| !member.zombie);
        }
        if self.members.is_empty() {
            return listing;
        }
        if self.seen.looks == 0 {
            self.busy_until = now;
        }
        self.seen.looks += 1;
        self.seen.most_processes = self.seen.most_processes.max(self.members.len());
        self.read_memory(MEMORY_WAIT);
        self.note_memory();
        self.note_rest(now);
        if self.ports_at.is_none_or(|at| now - at >= PORTS_EVERY) {
            self.ports_at = Some(now);
            if let Err(absent) = self.look_at_ports() {
                self.seen.ports_absent = Some(absent);
            }
        }
        listing
    }

    /// Finds out who there is.
    fn list(&mut self) {
        let Ok(all) = self.processes.list() else { return };
        let members: HashSet<u32> = match self.group.as_mut().and_then(|group| group.subtree().ok()) {
            Some(subtree) => subtree.members.into_iter().collect(),
            None => descendants(&all, std::process::id()),
        };
        self.members = all.into_iter().filter(|each| members.contains(&each.identity.pid) && !each.zombie).collect();
        let known: HashSet<Identity> = self.members.iter().map(|member| member.identity).collect();
        self.memories.retain(|identity, _| known.contains(identity));
    }

    fn read_memory(&mut self, wait: Duration) {
        let candidates = self.members.iter().filter_map(|member| {
            let memory = self.memories.entry(member.identity).or_default();
            Candidate::of(member.identity.pid, memory, member.resident_bytes, member.faults, self.look)
        });
        let chosen = self.budget.choose(candidates.collect());
        for pid in chosen {
            let Some(member) = self.members.iter().find(|member| member.identity.pid == pid) else { continue };
            let memory = self.memories.entry(member.identity).or_default();
            match self.processes.ask_memory(member.identity) {
                Ok(()) => memory.in_flight = true,
                Err(absent) => memory.note(Err(absent), 0.0, member.resident_bytes, member.faults, self.look),
            }
        }
        let deadline = Instant::now() + wait;
        // Those too that an earlier look asked for.
        while self.memories.values().any(|memory| memory.in_flight)
            && let Some((identity, read, usec)) = self.processes.next_memory(deadline)
        {
            self.budget.spend(usec);
            let Some(memory) = self.memories.get_mut(&identity) else { continue };
            // Of one that has ended meanwhile nothing is left to be read again.
            let member = self.members.iter().find(|member| member.identity == identity);
            let (resident, faults) = member.map_or((0, 0), |member| (member.resident_bytes, member.faults));
            memory.note(read, usec, resident, faults, self.look);
        }
    }

    /// Takes the memory of this look, if all of it is known but of those that have ended.
    fn note_memory(&mut self) {
        let mut sum = 0_u64;
        for member in &self.members {
            match self.memories.get(&member.identity).map(|memory| memory.in_use(member.resident_bytes)) {
                Some(Ok(in_use)) => sum = sum.saturating_add(in_use.bytes),
                Some(Err(absent)) if absent.why == Why::Gone => {}
                Some(Err(absent)) => {
                    // What can't be read is left out, and that is said; what waits for its turn is in the next look.
                    if absent.why == Why::NotYet {
                        return;
                    }
                    self.seen.peak_absent = Some(absent);
                }
                None => return,
            }
        }
        if sum > 0 {
            self.seen.peak_bytes = self.seen.peak_bytes.max(Some(sum));
        }
    }

    fn note_rest(&mut self, now: Instant) {
        let cpu_usec = self.members.iter().map(|member| member.own_cpu_usec + member.reaped_cpu_usec).sum();
        if cpu_usec != self.cpu_usec {
            (self.cpu_usec, self.busy_until) = (cpu_usec, now);
        }
        if now - self.busy_until >= REST {
            // Only the first time is kept.
            self.rest.0.get_or_init(|| self.busy_until - self.began);
        }
    }

    fn look_at_ports(&mut self) -> Result<(), Absent> {
        let reader = self.ports.as_mut().map_err(|absent| absent.clone())?;
        let listening = reader.read()?.sockets;
        let mut unknown: Vec<_> =
            listening.into_iter().filter(|socket| !self.foreign.contains(&socket.inode)).collect();
        unknown.retain(|socket| !self.seen.ports.contains(&socket.port));
        if unknown.is_empty() {
            return Ok(());
        }
        // Whoever listens may be newer than the list.
        self.list();
        let held: HashSet<u64> = self
            .members
            .iter()
            .filter_map(|member| held_sockets(Path::new("/"), member.identity.pid).ok())
            .flat_map(|held| held.inodes)
            .collect();
        for socket in unknown {
            if held.contains(&socket.inode) {
                self.seen.ports.insert(socket.port);
            } else {
                self.foreign.insert(socket.inode);
            }
        }
        Ok(())
    }

    /// What was seen, and who is left behind, if somebody is.
    pub(crate) fn end(mut self, is_left: bool) -> (Seen, Vec<Left>) {
        if !is_left {
            return (self.seen, Vec::new());
        }
        self.list();
        self.look += 1;
        self.read_memory(LAST_WAIT);
        for memory in self.memories.values_mut() {
            *memory = Memory::default();
        }
        self.budget = Budget::new(LAST_WAIT.as_secs_f64() * 1000.0);
        self.read_memory(LAST_WAIT);
        let members = std::mem::take(&mut self.members);
        let left = members.iter().map(|member| self.left(member)).collect();
        (self.seen, left)
    }

    fn left(&mut self, member: &ProcessSample) -> Left {
        let Identity { pid, start } = member.identity;
        let memory = self.memories.get(&member.identity).and_then(|memory| memory.in_use(member.resident_bytes).ok());
        let io = std::fs::read(format!("/proc/{pid}/io")).ok().and_then(|file| parse_io(&file));
        let disk = io.and_then(|io| Some(DiskBytes { read: io.read_bytes?, written: io.write_bytes? }));
        Left {
            pid,
            start,
            name: self.processes.program(member.identity).name,
            memory: memory.map(|memory| memory.bytes),
            cpu_usec: member.own_cpu_usec + member.reaped_cpu_usec,
            disk,
        }
    }
}

/// Everybody who descends from a process, itself not.
fn descendants(all: &[ProcessSample], of: u32) -> HashSet<u32> {
    let mut children: HashMap<u32, Vec<u32>> = HashMap::new();
    for each in all {
        children.entry(each.parent).or_default().push(each.identity.pid);
    }
    let mut found = HashSet::new();
    let mut waiting = vec![of];
    while let Some(pid) = waiting.pop() {
        for child in children.get(&pid).into_iter().flatten() {
            if found.insert(*child) {
                waiting.push(*child);
            }
        }
    }
    found
}

fn thread_cpu() -> Duration {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `now` outlives the call.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut now) };
    Duration::new(u64::try_from(now.tv_sec).unwrap_or(0), u32::try_from(now.tv_nsec).unwrap_or(0))
}
