//! One agent at one look: its group, and its running totals from whichever source counts them.

use crate::cost::Missing;
use crate::linux::cgroup::{Group, Subtree};
use crate::linux::disks::BlockDevices;
use crate::linux::layout::Layout;
use crate::linux::sampler::Absences;
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
}

impl Running {
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
        unit.values.set(Measure::DiskRead, bytes.map(|bytes| bytes.read as f64));
        unit.values.set(Measure::DiskWritten, bytes.map(|bytes| bytes.written as f64));
        if account.falls > 0 {
            let fell =
                Absent::new(Why::Invalid, "/proc/<pid>/stat", "a process's counter fell; it was taken as not grown");
            Missing::note(&mut absences.processes, &id, &[Measure::CpuUsed], &fell);
        }
    }
}
