//! Which processes are whose, and what they used, the ended ones included.
//!
//! A member stays a member after its parent dies. A new process joins its parent's agent; where the parent is gone
//! already, the agent that holds its session, else its process group.
//!
//! CPU time and disk bytes are added up by growth. When a parent reaps a child, the kernel adds what the child used to
//! the parent's counters, so nothing of a child that lived and ended between two looks is missing; what had been
//! counted of it while it ran is taken off the parent's growth. That is only right if no child is read alive and then
//! found in its parent's counters within one look, so parents that reaped something have their children read again,
//! until what was read agrees.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::track::pss::Memory;
use crate::track::settle::Counted;
use crate::{Absent, DiskBytes, Identity, ProcessSample, Processes, Program};

/// An agent, for as long as it is one: a number the caller gives and never gives again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AgentKey(pub u32);

/// What an agent claims, in order: an earlier claim's process is never taken by a later one.
#[derive(Debug, Clone)]
pub struct Claim {
    /// Whose claim it is.
    pub key: AgentKey,
    /// Its main processes.
    pub roots: Vec<u32>,
    /// Every process of its control group, where it has one of its own.
    pub members: Option<Vec<u32>>,
}

/// A process there is now.
#[derive(Debug)]
pub struct Tracked {
    /// What was last read of it.
    pub sample: ProcessSample,
    /// What it runs, once asked.
    pub program: Program,
    /// Whose it is.
    pub key: Option<AgentKey>,
    /// Whether it is one of its agent's main processes.
    pub root: bool,
    /// What is known of its memory.
    pub memory: Memory,
    /// Whether orphans were seen to become its children: a subreaper, or the first process of a namespace.
    pub(super) reaper: bool,
    seen: u64,
    pub(super) counted: Option<Counted>,
    /// What ended children were counted as, that its own counters now hold as well.
    pub(super) owed: Counted,
    /// What its descendants that ended before it were counted as, once it ended too.
    pub(super) left: Vec<Counted>,
}

/// What an agent's processes used since they started, the ended ones included.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Account {
    /// CPU time in microseconds.
    pub cpu_usec: u64,
    /// Disk bytes. Only of processes whose bytes this user may read.
    pub disk: DiskBytes,
    /// Counters of one process that fell from one look to the next, which none should: each is taken as not grown.
    pub falls: u64,
}

/// A process group that a member leads or led.
#[derive(Debug, Clone, Copy)]
struct Led {
    key: AgentKey,
    /// Its leader's parent: a shell, where the group is a pipeline.
    starter: u32,
}

/// Every process, and whose each is.
#[derive(Debug, Default)]
pub struct Tree {
    pub(super) tracked: FxHashMap<u32, Tracked>,
    pub(super) accounts: FxHashMap<AgentKey, Account>,
    /// Sessions and process groups whose leader is or was a member, while a process is in them: the system gives no
    /// such number out again before.
    sessions: FxHashMap<i32, AgentKey>,
    groups: FxHashMap<i32, Led>,
    /// Each agent's processes by their numbers, as of the end of the look.
    by_agent: FxHashMap<AgentKey, Vec<u32>>,
    look: u64,
    /// Agents a process joined or left at this look: what they share, and so each one's part of it, has changed.
    pub(super) changed: FxHashSet<AgentKey>,
}

impl Tree {
    /// Looks at every process. `found` gives the key of a harness nobody claimed, or `None` not to look for any.
    ///
    /// # Errors
    /// Only if there is no list of processes at all.
    pub fn look(
        &mut self,
        system: &mut impl Processes,
        claims: &[Claim],
        found: Option<&mut dyn FnMut(&'static str) -> AgentKey>,
    ) -> Result<(), Absent> {
        self.look += 1;
        self.changed.clear();
        let samples = system.list()?;
        let (mut gone, born) = self.take_in(samples, system);
        self.claim(claims);
        self.join(&born, found);
        self.begin_detail(system, &mut gone);
        self.settle(system, gone);
        self.add_up();
        self.keep_sessions();
        self.note_members();
        Ok(())
    }

    /// Takes this look's samples in. Gives what ended, and what is new or became another program.
    fn take_in(&mut self, samples: Vec<ProcessSample>, system: &mut impl Processes) -> (Vec<Tracked>, Vec<u32>) {
        let (mut gone, mut born, mut moved) = (Vec::new(), Vec::new(), Vec::new());
        for sample in samples {
            let pid = sample.identity.pid;
            match self.tracked.get_mut(&pid) {
                Some(known) if known.sample.identity == sample.identity => {
                    if known.sample.program_mark != sample.program_mark || known.program.script_unread {
                        known.program = system.program(sample.identity);
                        born.push((sample.identity.start, pid));
                    }
                    let before = known.renew(sample, &mut self.changed);
                    known.seen = self.look;
                    moved.push((pid, before));
                }
                _ => {
                    born.push((sample.identity.start, pid));
                    let program = if sample.kernel { Program::default() } else { system.program(sample.identity) };
                    gone.extend(self.tracked.insert(pid, Tracked::new(sample, program, self.look)));
                }
            }
        }
        for (pid, parent_before) in moved {
            self.note_reaper(pid, parent_before);
        }
        let look = self.look;
        gone.extend(self.tracked.extract_if(|_, known| known.seen != look).map(|(_, known)| known));
        // A parent starts before its children, but for a tie of one tick, which the number then breaks.
        born.sort_unstable();
        (gone, born.into_iter().map(|(_, pid)| pid).collect())
    }

    fn claim(&mut self, claims: &[Claim]) {
        let rank: FxHashMap<AgentKey, usize> =
            claims.iter().enumerate().map(|(rank, claim)| (claim.key, rank)).collect();
        let mut rooted = FxHashSet::default();
        for (own_rank, claim) in claims.iter().enumerate() {
            for pid in &claim.roots {
                if self.tracked.contains_key(pid) && rooted.insert(*pid) {
                    self.give(*pid, claim.key, true);
                }
            }
            for pid in claim.members.iter().flatten() {
                let Some(known) = self.tracked.get(pid) else { continue };
                let earlier = known.key.and_then(|key| rank.get(&key)).is_some_and(|rank| *rank < own_rank);
                if !earlier && !rooted.contains(pid) {
                    self.give(*pid, claim.key, false);
                }
            }
        }
    }

    /// Gives a process to an agent, and what had come with it to another agent along with it.
    fn give(&mut self, pid: u32, key: AgentKey, root: bool) {
        let Some(known) = self.tracked.get_mut(&pid) else { return };
        known.root |= root;
        let before = known.key.replace(key);
        if before == Some(key) {
            return;
        }
        known.counted = None;
        self.changed.insert(key);
        self.lead(pid);
        let Some(before) = before else { return };
        self.changed.insert(before);
        let children: Vec<u32> = self
            .tracked
            .values()
            .filter(|child| child.sample.parent == pid && child.key == Some(before) && !child.root)
            .map(|child| child.sample.identity.pid)
            .collect();
        for child in children {
            self.give(child, key, false);
        }
    }

    fn join(&mut self, born: &[u32], mut found: Option<&mut dyn FnMut(&'static str) -> AgentKey>) {
        for pid in born {
            let Some(known) = self.tracked.get(pid).filter(|known| known.key.is_none() && !known.sample.kernel) else {
                continue;
            };
            if let Some(key) = self.inherited(known) {
                self.give(*pid, key, false);
            } else if let (Some(harness), Some(find)) = (known.program.harness, found.as_deref_mut()) {
                let key = find(harness);
                self.give(*pid, key, true);
            }
        }
        self.join_late();
    }

    /// Whose a process is by where it comes from: its parent's or, where that is gone, its session's or process group's.
    fn inherited(&self, known: &Tracked) -> Option<AgentKey> {
        let sample = &known.sample;
        let parent = self.tracked.get(&sample.parent);
        parent
            .filter(|parent| parent.sample.identity.start <= sample.identity.start)
            .and_then(|parent| parent.key)
            .or_else(|| self.sessions.get(&sample.session).copied())
            .or_else(|| {
                // Only of an orphan: the other programs of a shell's pipeline, and their children, share its group too.
                let led = self.groups.get(&sample.group)?;
                let left_alone = parent.is_none_or(|parent| {
                    // In a container the reaper of orphans may be of the same session, and start programs itself.
                    let other_group = parent.sample.group != sample.group && sample.parent != led.starter;
                    parent.sample.session != sample.session || other_group
                });
                left_alone.then_some(led.key)
            })
    }

    /// Has those join that are older than the joining of whom they come from: what ran before its agent was told of.
    fn join_late(&mut self) {
        loop {
            let joining: Vec<(u32, AgentKey)> = self
                .tracked
                .values()
                .filter(|known| known.key.is_none() && !known.sample.kernel)
                .filter_map(|known| Some((known.pid(), self.inherited(known)?)))
                .collect();
            if joining.is_empty() {
                return;
            }
            for (pid, key) in joining {
                self.give(pid, key, false);
            }
        }
    }

    /// Notes the session and process group that a member leads.
    fn lead(&mut self, pid: u32) {
        let Some(known) = self.tracked.get(&pid) else { return };
        let (Some(key), Ok(number)) = (known.key, i32::try_from(pid)) else { return };
        if known.sample.session == number {
            self.sessions.insert(number, key);
        }
        if known.sample.group == number {
            self.groups.insert(number, Led { key, starter: known.sample.parent });
        }
    }

    /// Has the disk bytes of new members read, and reads them for this look.
    fn begin_detail(&mut self, system: &mut impl Processes, gone: &mut Vec<Tracked>) {
        let new: Vec<Identity> = self
            .tracked
            .values()
            .filter(|known| known.key.is_some() && known.sample.disk.is_none())
            .map(|known| known.sample.identity)
            .collect();
        for identity in new {
            system.detail(identity);
            self.read_again(system, identity.pid, gone);
        }
    }

    /// Reads a process again. `false`: it is gone, and moved to `gone`.
    pub(super) fn read_again(&mut self, system: &mut impl Processes, pid: u32, gone: &mut Vec<Tracked>) -> bool {
        let Some(known) = self.tracked.get_mut(&pid) else { return false };
        let Some(sample) = system.again(known.sample.identity) else {
            gone.extend(self.tracked.remove(&pid));
            return false;
        };
        let before = known.renew(sample, &mut self.changed);
        self.note_reaper(pid, before);
        true
    }

    /// A process whose parent has changed has been given to a reaper: its new parent.
    fn note_reaper(&mut self, pid: u32, parent_before: u32) {
        let Some(parent) = self.tracked.get(&pid).map(|known| known.sample.parent) else { return };
        if parent != parent_before
            && let Some(reaper) = self.tracked.get_mut(&parent)
        {
            reaper.reaper = true;
        }
    }

    fn keep_sessions(&mut self) {
        let (mut sessions, mut groups) = (FxHashSet::default(), FxHashSet::default());
        for known in self.tracked.values() {
            sessions.insert(known.sample.session);
            groups.insert(known.sample.group);
        }
        self.sessions.retain(|session, _| sessions.contains(session));
        self.groups.retain(|group, _| groups.contains(group));
        let leaders: Vec<u32> = self.members().map(Tracked::pid).collect();
        for leader in leaders {
            self.lead(leader);
        }
    }

    fn note_members(&mut self) {
        self.by_agent.values_mut().for_each(Vec::clear);
        for known in self.tracked.values() {
            if let Some(key) = known.key {
                self.by_agent.entry(key).or_default().push(known.pid());
            }
        }
        self.by_agent.values_mut().for_each(|pids| pids.sort_unstable());
    }

    /// Forgets an agent: its processes are nobody's until claimed again.
    pub fn forget(&mut self, key: AgentKey) {
        self.accounts.remove(&key);
        self.by_agent.remove(&key);
        self.sessions.retain(|_, owner| *owner != key);
        self.groups.retain(|_, led| led.key != key);
        for known in self.tracked.values_mut().filter(|known| known.key == Some(key)) {
            known.key = None;
            known.root = false;
            known.counted = None;
        }
    }

    /// Counts an agent anew: from now on its account is what the processes it has now used since they started.
    pub fn count_anew(&mut self, key: AgentKey) {
        let mut account = Account::default();
        for counted in self.tracked.values().filter(|known| known.key == Some(key)).filter_map(|known| known.counted) {
            account.cpu_usec += counted.cpu_usec();
            account.disk.read += counted.disk.read;
            account.disk.written += counted.disk.written;
        }
        self.accounts.insert(key, account);
    }

    /// Every process there is.
    pub fn len(&self) -> usize {
        self.tracked.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.tracked.is_empty()
    }

    /// A process by its number.
    pub fn get(&self, pid: u32) -> Option<&Tracked> {
        self.tracked.get(&pid)
    }

    /// A process by its number, to note what was read of its memory.
    pub fn get_mut(&mut self, pid: u32) -> Option<&mut Tracked> {
        self.tracked.get_mut(&pid)
    }

    /// Every process there is.
    pub fn processes(&self) -> impl Iterator<Item = &Tracked> {
        self.tracked.values()
    }

    /// Every process that is some agent's.
    pub fn members(&self) -> impl Iterator<Item = &Tracked> {
        self.tracked.values().filter(|known| known.key.is_some())
    }

    /// An agent's processes, in the order of their numbers.
    pub fn members_of(&self, key: AgentKey) -> impl Iterator<Item = &Tracked> {
        self.by_agent.get(&key).into_iter().flatten().filter_map(|pid| self.tracked.get(pid))
    }

    /// Every process that is some agent's, to note what was read of its memory.
    pub fn members_mut(&mut self) -> impl Iterator<Item = &mut Tracked> {
        self.tracked.values_mut().filter(|known| known.key.is_some())
    }

    /// Whether a process joined or left the agent at this look.
    pub fn has_changed(&self, key: AgentKey) -> bool {
        self.changed.contains(&key)
    }

    /// Whether a member's parent is gone or not of its agent, though it is none of the agent's main processes.
    pub fn is_orphan(&self, member: &Tracked) -> bool {
        let parent = self.tracked.get(&member.sample.parent);
        !member.root && member.key.is_some() && parent.and_then(|parent| parent.key) != member.key
    }

    /// What an agent's processes used, the ended ones included.
    pub fn account(&self, key: AgentKey) -> Account {
        self.accounts.get(&key).copied().unwrap_or_default()
    }
}

impl Tracked {
    fn new(sample: ProcessSample, program: Program, look: u64) -> Tracked {
        Tracked {
            sample,
            program,
            key: None,
            root: false,
            memory: Memory::default(),
            reaper: false,
            seen: look,
            counted: None,
            owed: Counted::default(),
            left: Vec::new(),
        }
    }

    /// Its number.
    pub fn pid(&self) -> u32 {
        self.sample.identity.pid
    }

    /// Takes a newer sample of it; gives its parent until now. A zombie has no memory any more, and so leaves what it
    /// shared to the others.
    fn renew(&mut self, sample: ProcessSample, changed: &mut FxHashSet<AgentKey>) -> u32 {
        let ended = sample.zombie && !self.sample.zombie;
        changed.extend(self.key.filter(|_| ended));
        std::mem::replace(&mut self.sample, sample).parent
    }

    /// Notes what came of reading its memory, and the CPU time that took.
    pub fn note_memory(&mut self, read: Result<u64, Absent>, usec: f64, look: u64) {
        self.memory.note(read, usec, self.sample.resident_bytes, self.sample.faults, look);
    }
}
