//! One agent at one look: its group, and its running totals from whichever source counts them.

use crate::cost::Missing;
use crate::linux::cgroup::{Group, Subtree};
use crate::linux::disks::BlockDevices;
use crate::linux::layout::Layout;
use crate::linux::sampler::Absences;
use crate::request::Ended;
use crate::track::agent::{AgentState, Totals};
use crate::track::tree::{Account, AgentKey, Tracked, Tree};
use crate::{Absent, DiskBytes, Identity, Why};

use lnk_schema::{Measure, Unit};

#[derive(Debug)]
pub(super) struct OneAgent {
    pub(super) state: AgentState,
    pub(super) group: Option<Group>,
    pub(super) group_sought: bool,
    pub(super) subtree: Subtree,
    /// Its main processes, as of the last look that saw any.
    pub(super) main: Vec<Identity>,
    pub(super) totals: Running,
    /// The ended starts of it that are in its totals, by when they started.
    pub(super) taken: Vec<u64>,
}

/// What ended starts of an agent are to add to its totals: all of each, but of the one that was looked at what it hadn't
/// come to then.
#[derive(Debug, Default)]
pub(super) struct Owed {
    account: Account,
    peak_bytes: u64,
    has_disk: bool,
    /// Those that are in it, and those that were before.
    taken: Vec<u64>,
}

/// Totals that go on where what counts them is another source from then on.
#[derive(Debug, Default)]
pub(super) struct Running {
    /// As they were last told.
    told: Account,
    /// What its processes had used at that look.
    by_processes: Account,
    /// What sources before counted, and where its processes stood then.
    before: Account,
    from: Account,
    /// Of what was told, what is of other starts.
    others: Account,
    /// Whether disk bytes were told.
    has_disk: bool,
}

impl Running {
    /// What was told of this start alone.
    fn own(&self) -> (u64, DiskBytes) {
        let disk = DiskBytes {
            read: self.told.disk.read - self.others.disk.read,
            written: self.told.disk.written - self.others.disk.written,
        };
        (self.told.cpu_usec - self.others.cpu_usec, disk)
    }

    /// Another source counts from now on.
    fn change_source(&mut self) {
        (self.before, self.from) = (self.told, self.by_processes);
    }
}

impl OneAgent {
    pub(super) fn new(key: AgentKey, started_ns: Option<u64>, pids: &[u32]) -> OneAgent {
        let state = AgentState::new(key, started_ns, pids);
        OneAgent {
            state,
            group: None,
            group_sought: false,
            subtree: Subtree::default(),
            main: Vec::new(),
            totals: Running::default(),
            taken: Vec::new(),
        }
    }

    /// What these starts that are over are to add, each once, to the start it is of now. `before`: what one had come to at
    /// the last look of a sampler before this.
    pub(super) fn owed(
        one: Option<&OneAgent>,
        now: Option<u64>,
        ended: &[Ended],
        before: impl Fn(u64) -> Option<(u64, DiskBytes)>,
    ) -> Owed {
        let mut owed = Owed::default();
        for each in ended {
            owed.taken.push(each.started_ns);
            if one.is_some_and(|one| one.taken.contains(&each.started_ns)) {
                continue;
            }
            let (cpu_usec, disk) = match one {
                Some(one) if one.state.since_ns == Some(each.started_ns) => one.totals.own(),
                // Of the one it is now the total itself goes on.
                None if now != Some(each.started_ns) => before(each.started_ns).unwrap_or_default(),
                _ => Default::default(),
            };
            // What a look made more of it (a tick begun, a child that nobody waited for) stays.
            owed.account.cpu_usec += each.cpu_usec.saturating_sub(cpu_usec);
            if let Some(all) = each.disk {
                owed.has_disk = true;
                owed.account.disk.read += all.read.saturating_sub(disk.read);
                owed.account.disk.written += all.written.saturating_sub(disk.written);
            }
            owed.peak_bytes = owed.peak_bytes.max(each.peak_bytes.unwrap_or(0));
        }
        owed
    }

    /// Adds what is owed of starts that are over.
    pub(super) fn pay(&mut self, owed: Owed) {
        let Owed { account, peak_bytes, has_disk, taken } = owed;
        let totals = &mut self.totals;
        for sum in [&mut totals.told, &mut totals.before, &mut totals.others] {
            sum.cpu_usec += account.cpu_usec;
            sum.disk.read += account.disk.read;
            sum.disk.written += account.disk.written;
        }
        totals.has_disk |= has_disk;
        self.state.peak_bytes = self.state.peak_bytes.max(peak_bytes as f64);
        self.taken = taken;
    }

    /// What it had come to, of an agent of which nobody runs any more.
    pub(super) fn set_last_totals(&self, unit: &mut Unit) {
        let Account { cpu_usec, disk, .. } = self.totals.told;
        unit.values.set(Measure::CpuUsed, Some(cpu_usec as f64 / 1e6));
        unit.values.set(Measure::DiskRead, self.totals.has_disk.then_some(disk.read as f64));
        unit.values.set(Measure::DiskWritten, self.totals.has_disk.then_some(disk.written as f64));
        unit.values.set(Measure::MemoryPeak, (self.state.peak_bytes > 0.0).then_some(self.state.peak_bytes));
        self.set_network(unit);
    }

    /// What its proxies carried, if it has some.
    pub(super) fn set_network(&self, unit: &mut Unit) {
        if let Some((received, sent)) = self.state.network() {
            unit.values.set(Measure::NetworkIn, Some(received as f64));
            unit.values.set(Measure::NetworkOut, Some(sent as f64));
        }
    }

    /// The group was removed: another counts what comes next, or none does.
    pub(super) fn lose_group(&mut self) {
        self.group = None;
        self.group_sought = false;
        self.subtree = Subtree::default();
        (self.state.cpu, self.state.disk) = (None, None);
        self.totals.change_source();
    }

    pub(super) fn set_totals(
        &mut self,
        unit: &mut Unit,
        tree: &Tree,
        members: &[&Tracked],
        (layout, block): (Result<&Layout, &Absent>, Result<&BlockDevices, &Absent>),
        absences: &mut Absences,
    ) {
        let account = tree.account(self.state.key);
        let (before, from) = (self.totals.before, self.totals.from);
        self.totals.by_processes = account;
        let id = unit.id.to_string();
        let by_group = self.group.as_mut().map(Group::cpu_usage_usec);
        let cpu = *self.state.cpu.get_or_insert(match by_group {
            Some(Ok(_)) => Totals::ControlGroup,
            _ => Totals::Processes,
        });
        let usec = match (cpu, by_group) {
            (Totals::ControlGroup, Some(Ok(usec))) => Some(before.cpu_usec + usec),
            (Totals::ControlGroup, Some(Err(absent))) => {
                Missing::note(&mut absences.groups, &id, &[Measure::CpuUsed], &absent);
                None
            }
            (Totals::ControlGroup, None) => None,
            (Totals::Processes, _) => Some(before.cpu_usec + (account.cpu_usec - from.cpu_usec)),
        };
        self.totals.told.cpu_usec = usec.unwrap_or(self.totals.told.cpu_usec);
        unit.values.set(Measure::CpuUsed, usec.map(|usec| usec as f64 / 1e6));

        let by_group = match (self.group.as_mut(), layout, block) {
            (Some(group), Ok(layout), Ok(block)) => Some(group.disk_bytes(layout, block).map(|(bytes, _)| bytes)),
            _ => None,
        };
        let disk = *self.state.disk.get_or_insert(match by_group {
            Some(Ok(_)) => Totals::ControlGroup,
            _ => Totals::Processes,
        });
        let both = [Measure::DiskRead, Measure::DiskWritten];
        let bytes = match (disk, by_group) {
            (Totals::ControlGroup, Some(Ok(bytes))) => Some(bytes),
            (Totals::ControlGroup, Some(Err(absent))) => {
                Missing::note(&mut absences.groups, &id, &both, &absent);
                None
            }
            (Totals::ControlGroup, None) => None,
            (Totals::Processes, _) => {
                let readable = members.iter().filter(|known| matches!(known.sample.disk, Some(Ok(_)))).count();
                for absent in members.iter().filter_map(|known| known.sample.disk.as_ref()?.as_ref().err()) {
                    Missing::note(&mut absences.disk, &id, &both, absent);
                }
                (readable > 0).then_some(DiskBytes {
                    read: account.disk.read - from.disk.read,
                    written: account.disk.written - from.disk.written,
                })
            }
        };
        let bytes = bytes.map(|bytes| DiskBytes {
            read: before.disk.read + bytes.read,
            written: before.disk.written + bytes.written,
        });
        self.totals.told.disk = bytes.unwrap_or(self.totals.told.disk);
        self.totals.has_disk |= bytes.is_some();
        unit.values.set(Measure::DiskRead, bytes.map(|bytes| bytes.read as f64));
        unit.values.set(Measure::DiskWritten, bytes.map(|bytes| bytes.written as f64));
        if account.falls > 0 {
            let fell =
                Absent::new(Why::Invalid, "/proc/<pid>/stat", "a process's counter fell; it was taken as not grown");
            Missing::note(&mut absences.processes, &id, &[Measure::CpuUsed], &fell);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(started_ns: u64, cpu_usec: u64) -> Ended {
        Ended { started_ns, cpu_usec, disk: Some(DiskBytes { read: 0, written: cpu_usec }), peak_bytes: Some(cpu_usec) }
    }

    #[test]
    fn a_start_that_is_over_adds_once_what_no_look_had_of_it() {
        let mut one = OneAgent::new(AgentKey(1), Some(5), &[]);
        one.totals.told = Account { cpu_usec: 30, ..Account::default() };
        // It is the start of 5 that was looked at; the one of 4 ended unseen.
        for _ in 0..2 {
            let owed = OneAgent::owed(Some(&one), Some(6), &[ended(4, 100), ended(5, 37)], |_| None);
            one.pay(owed);
            assert_eq!(one.totals.told.cpu_usec, 30 + 7 + 100);
        }
        assert_eq!((one.totals.told.disk.written, one.state.peak_bytes), (137, 100.0));
        // What a look had more of it stays.
        let mut one = OneAgent::new(AgentKey(1), Some(5), &[]);
        one.totals.told = Account { cpu_usec: 40, ..Account::default() };
        let owed = OneAgent::owed(Some(&one), Some(6), &[ended(5, 37)], |_| None);
        one.pay(owed);
        assert_eq!(one.totals.told.cpu_usec, 40);
    }

    #[test]
    fn what_another_sampler_had_told_of_a_start_before_this_one_is_not_added_again() {
        let before = |started_ns| (started_ns == 5).then_some((30, DiskBytes { read: 0, written: 30 }));
        for (now, cpu_usec) in [(6, 7), (5, 37)] {
            let mut one = OneAgent::new(AgentKey(1), Some(now), &[]);
            one.pay(OneAgent::owed(None, Some(now), &[ended(5, 37)], before));
            assert_eq!((one.totals.told.cpu_usec, one.totals.told.disk.written), (cpu_usec, cpu_usec));
        }
    }

    #[test]
    fn of_a_start_that_had_others_counted_with_it_only_its_own_is_taken_off() {
        let mut one = OneAgent::new(AgentKey(1), Some(6), &[]);
        let owed = OneAgent::owed(None, Some(6), &[ended(5, 100)], |_| None);
        one.pay(owed);
        one.totals.told.cpu_usec += 10;
        let owed = OneAgent::owed(Some(&one), Some(6), &[ended(6, 12)], |_| None);
        one.pay(owed);
        assert_eq!(one.totals.told.cpu_usec, 100 + 12);
    }
}
