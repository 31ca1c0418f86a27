//! What ended processes used, in whose counters it is now, and what an agent's processes used in all.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::track::tree::{Account, AgentKey, Tracked, Tree};
use crate::{DiskBytes, Processes};

/// Counters of a process as they were last added to its agent's account.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Counted {
    pub(super) own_cpu_usec: u64,
    pub(super) reaped_cpu_usec: u64,
    pub(super) disk: DiskBytes,
}

impl Counted {
    pub(super) fn cpu_usec(&self) -> u64 {
        self.own_cpu_usec + self.reaped_cpu_usec
    }
}

/// Of each process found gone at this look, who may have what it left.
type Heirs = FxHashMap<u32, Vec<u32>>;

/// How often one look reads parents and children again until they agree. Each round is a reaping in that instant.
const ROUNDS: usize = 8;

impl Tree {
    /// Reads parents and children again until no child was read alive that its parent had reaped already.
    pub(super) fn settle(&mut self, system: &mut impl Processes, mut gone: Vec<Tracked>) {
        let mut parents: FxHashSet<u32> =
            self.members().filter(|known| known.may_have_reaped()).map(Tracked::pid).collect();
        let mut heirs = Heirs::default();
        for round in 0.. {
            // Those whose counters may hold what ended are read again first: they do now, if ever.
            let mut known_gone = usize::MAX;
            while known_gone != gone.len() {
                known_gone = gone.len();
                for heir in self.heirs_of(&gone, &heirs) {
                    self.read_again(system, heir, &mut gone);
                }
            }
            // Children first: what a child leaves to a parent that ended too is part of what the parent leaves.
            gone.sort_unstable_by_key(|ended| (ended.sample.identity.start, ended.pid()));
            while let Some(mut ended) = gone.pop() {
                self.changed.extend(ended.key);
                // Its children are someone else's now, or gone with it.
                parents.insert(ended.pid());
                parents.extend(self.bequeath(&mut ended, &mut gone, &mut heirs));
            }
            if parents.is_empty() || round == ROUNDS {
                return;
            }
            for child in self.reaped_by(&std::mem::take(&mut parents)) {
                let before = self.tracked.get(&child).map(|child| child.sample.reaped_cpu_usec);
                let there = self.read_again(system, child, &mut gone);
                if there && self.tracked.get(&child).map(|child| child.sample.reaped_cpu_usec) != before {
                    parents.insert(child);
                }
            }
        }
    }

    /// Those that may have what ended left.
    fn heirs_of(&self, gone: &[Tracked], heirs: &Heirs) -> FxHashSet<u32> {
        gone.iter()
            .flat_map(|ended| {
                let parents = heirs.get(&ended.sample.parent).map_or(&[] as &[u32], Vec::as_slice);
                parents.iter().copied().chain([ended.sample.parent]).chain(self.reaper(ended))
            })
            .collect()
    }

    /// The members that one of these processes would have reaped: their children and, of a reaper, all of its agent, since
    /// each may have become an orphan after it was read.
    fn reaped_by(&self, parents: &FxHashSet<u32>) -> Vec<u32> {
        let reapers: FxHashSet<AgentKey> = parents
            .iter()
            .filter_map(|pid| self.tracked.get(pid))
            .filter(|known| known.reaper)
            .filter_map(|known| known.key)
            .collect();
        self.members()
            .filter(|child| {
                parents.contains(&child.sample.parent) || child.key.is_some_and(|key| reapers.contains(&key))
            })
            .map(Tracked::pid)
            .collect()
    }

    /// Leaves what an ended process was counted as to the process whose counters hold it now: its parent or, where that
    /// ended too, whoever has the parent's; an orphan's, to the reaper of its agent. A process's counters that grew by
    /// less don't hold it: it ignores the end of its children. Gives the heirs.
    fn bequeath(&mut self, ended: &mut Tracked, others: &mut [Tracked], heirs: &mut Heirs) -> Vec<u32> {
        // Its own first: of its children's, part may be in nobody's counters.
        let mut left: Vec<Counted> = ended.counted.into_iter().chain([ended.owed]).collect();
        left.append(&mut ended.left);
        let is_parent = |parent: &Tracked| {
            parent.pid() == ended.sample.parent && parent.sample.identity.start <= ended.sample.identity.start
        };
        if let Some(parent) = others.iter_mut().find(|parent| is_parent(parent)) {
            parent.left.extend(left);
            return Vec::new();
        }
        let mut candidates = match self.tracked.get(&ended.sample.parent).filter(|parent| is_parent(parent)) {
            Some(parent) => vec![parent.pid()],
            // A parent found gone before its child: whoever has what it left.
            None => heirs.get(&ended.sample.parent).cloned().unwrap_or_default(),
        };
        candidates.extend(self.reaper(ended));
        for counted in left {
            for candidate in &candidates {
                let Some(heir) = self.tracked.get_mut(candidate) else { continue };
                if heir.unclaimed_reaped_usec() >= counted.cpu_usec() {
                    add(&mut heir.owed, counted);
                    break;
                }
            }
        }
        heirs.insert(ended.pid(), candidates.clone());
        candidates
    }

    /// The process that an agent's orphans become children of: seen to be one before, the youngest of those older.
    fn reaper(&self, orphan: &Tracked) -> Option<u32> {
        self.members()
            .filter(|known| known.reaper && known.key == orphan.key)
            .filter(|known| known.sample.identity.start <= orphan.sample.identity.start)
            .max_by_key(|known| known.sample.identity.start)
            .map(Tracked::pid)
    }

    pub(super) fn add_up(&mut self) {
        for known in self.tracked.values_mut() {
            let owed = std::mem::take(&mut known.owed);
            let Some(key) = known.key else { continue };
            let account = self.accounts.entry(key).or_default();
            known.add_to(account, owed);
        }
    }
}

fn add(to: &mut Counted, more: Counted) {
    to.own_cpu_usec += more.own_cpu_usec;
    to.reaped_cpu_usec += more.reaped_cpu_usec;
    to.disk.read += more.disk.read;
    to.disk.written += more.disk.written;
}

impl Tracked {
    /// What its reaped children used that is neither counted nor owed yet.
    fn unclaimed_reaped_usec(&self) -> u64 {
        let counted = self.counted.map_or(0, |counted| counted.reaped_cpu_usec);
        self.sample.reaped_cpu_usec.saturating_sub(counted + self.owed.cpu_usec())
    }

    /// Whether its counters may hold what a child used: disk bytes move even where the CPU time is below a tick.
    fn may_have_reaped(&self) -> bool {
        let counted = self.counted.unwrap_or_default();
        let disk_grew = matches!(&self.sample.disk, Some(Ok(disk)) if *disk != counted.disk);
        disk_grew || self.sample.reaped_cpu_usec != counted.reaped_cpu_usec
    }

    fn add_to(&mut self, account: &mut Account, owed: Counted) {
        let sample = &self.sample;
        let counted = self.counted.unwrap_or_default();
        let mut grown = |now: u64, before: u64| {
            account.falls += u64::from(now < before);
            now.saturating_sub(before)
        };
        let own = grown(sample.own_cpu_usec, counted.own_cpu_usec);
        let reaped = grown(sample.reaped_cpu_usec, counted.reaped_cpu_usec);
        let disk = match &sample.disk {
            Some(Ok(bytes)) => *bytes,
            _ => counted.disk,
        };
        let read = grown(disk.read, counted.disk.read);
        let written = grown(disk.written, counted.disk.written);
        account.cpu_usec += own + reaped.saturating_sub(owed.cpu_usec());
        account.disk.read += read.saturating_sub(owed.disk.read);
        account.disk.written += written.saturating_sub(owed.disk.written);
        self.counted =
            Some(Counted { own_cpu_usec: sample.own_cpu_usec, reaped_cpu_usec: sample.reaped_cpu_usec, disk });
    }
}
