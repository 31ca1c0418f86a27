//! The sampler: one look at the machine, its agents and their processes.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use lnk_schema::{Look, Measure, Name, Unit, UnitId, UnitKind};
use rustc_hash::FxHashMap;

use crate::cost::{Cost, Missing};
use crate::linux::disks::BlockDevices;
use crate::linux::groups;
use crate::linux::hidden::read_hidden;
use crate::linux::holders::Holders;
use crate::linux::layout::Layout;
use crate::linux::machine::MachineReader;
use crate::linux::one_agent::{OneAgent, Running};
use crate::linux::process::LinuxProcesses;
use crate::linux::units::{found_id, memory_of, process_unit, ticks_ns};
use crate::report::{AgentReport, Report, SourceReport};
use crate::request::{Agent, From, Request};
use crate::track::agent::Totals;
use crate::track::pss::{Budget, Candidate};
use crate::track::resume::{LastUnit, Resume};
use crate::track::tree::{AgentKey, Claim, Tracked, Tree};
use crate::{Absent, Identity, Why};

/// Looks at the machine below a root, again and again.
#[derive(Debug)]
pub struct Sampler {
    root: PathBuf,
    processes: LinuxProcesses,
    machine: MachineReader,
    /// Why `/proc` doesn't show every process, if so.
    hidden: Option<Absent>,
    layout: Result<Layout, Absent>,
    block: Result<BlockDevices, Absent>,
    ports: Holders,
    tree: Tree,
    budget: Budget,
    memory_wait: Duration,
    agents: FxHashMap<UnitId, OneAgent>,
    found: FxHashMap<&'static str, AgentKey>,
    next_key: u32,
    looks: u64,
    before: Option<Instant>,
    machine_peak_bytes: f64,
    resume: Resume,
    costs: Costs,
}

/// What the sources that this file asks itself cost.
#[derive(Debug, Default)]
struct Costs {
    machine: Cost,
    memory: Cost,
    groups: Cost,
    ports: Cost,
}

/// What is absent, by the source that couldn't say it.
#[derive(Debug, Default)]
pub(super) struct Absences {
    pub(super) machine: Vec<Missing>,
    pub(super) processes: Vec<Missing>,
    pub(super) memory: Vec<Missing>,
    pub(super) disk: Vec<Missing>,
    pub(super) groups: Vec<Missing>,
    pub(super) ports: Vec<Missing>,
}

impl Sampler {
    /// A sampler of the system below `root` (`/`), that spends so many milliseconds of CPU a look on reading memory once
    /// everything was read a first time.
    ///
    /// # Errors
    /// If there is no `/proc`.
    pub fn open(root: &Path, memory_budget_ms: f64) -> Result<Sampler, Absent> {
        Ok(Sampler {
            root: root.to_path_buf(),
            processes: LinuxProcesses::open(&root.join("proc"))?,
            machine: MachineReader::open(root)?,
            hidden: read_hidden(root),
            layout: Layout::read(root),
            block: BlockDevices::open(root),
            ports: Holders::open(root),
            tree: Tree::default(),
            budget: Budget::new(memory_budget_ms),
            memory_wait: Duration::from_secs_f64(memory_budget_ms.clamp(1.0, 10_000.0) * 4.0 / 1000.0),
            agents: FxHashMap::default(),
            found: FxHashMap::default(),
            next_key: 0,
            looks: 0,
            before: None,
            machine_peak_bytes: 0.0,
            resume: Resume::default(),
            costs: Costs::default(),
        })
    }

    /// Goes on where another sampler left off, so that no total falls or begins anew: `last` is what its last look had.
    /// `same_boot`: whether the machine is known not to have been started anew since.
    pub fn resume(&mut self, last: impl IntoIterator<Item = LastUnit>, same_boot: bool) {
        self.resume = Resume::new(last, same_boot);
    }

    /// Looks.
    ///
    /// # Errors
    /// Only if there is no list of processes at all: everything else that can't be read is absent, and the report says why.
    pub fn look(&mut self, request: &Request) -> Result<(Look, Report), Absent> {
        let start = Instant::now();
        let elapsed_ms = self.before.replace(start).map(|before| (start - before).as_secs_f64() * 1000.0);
        let at_ms = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis());
        self.looks += 1;

        let mut absences = Absences::default();
        let mut look = Look { at_ms: u64::try_from(at_ms).unwrap_or(0), units: Vec::new() };
        look.units.push(self.look_at_machine(request, &mut absences));
        self.look_at_processes(request)?;
        self.read_memory();
        self.look_at_groups(request, &mut absences);
        self.look_at_ports(request, &mut look.units[0], &mut absences);
        match &self.hidden {
            Some(hidden) => {
                Missing::note(&mut absences.processes, request.machine.as_str(), &[Measure::Processes], hidden);
            }
            None => look.units[0].values.set(Measure::Processes, Some(self.running() as f64)),
        }

        let mut reports = Vec::new();
        for (id, name, agent) in self.in_order(request) {
            let boot_ns = look.units[0].since_ns;
            let (units, report) = self.look_at_agent(&id, name, agent, request, boot_ns, &mut absences);
            look.units.extend(units);
            reports.extend(report);
        }
        self.resume.go_on(&mut look.units);
        let micros = start.elapsed().as_secs_f64() * 1e6;
        Ok((look, Report { elapsed_ms, micros, sources: self.sources(absences), agents: reports }))
    }

    fn running(&self) -> usize {
        self.tree.processes().filter(|known| !known.sample.kernel && !known.sample.zombie).count()
    }

    fn look_at_machine(&mut self, request: &Request, absences: &mut Absences) -> Unit {
        let sample = self.costs.machine.time(|| self.machine.read());
        let mut unit = Unit::new(request.machine.clone(), UnitKind::Machine);
        unit.name.clone_from(&request.machine_name);
        let mut set = |measures: &[Measure], values: Result<Vec<u64>, Absent>| match values {
            Ok(values) => {
                for (measure, value) in measures.iter().zip(values) {
                    unit.values.set(*measure, Some(value as f64));
                }
            }
            Err(absent) => Missing::note(&mut absences.machine, request.machine.as_str(), measures, &absent),
        };
        if let Ok(bytes) = &sample.memory_used_bytes {
            self.machine_peak_bytes = self.machine_peak_bytes.max(*bytes as f64);
        }
        set(&[Measure::MemoryUsed], sample.memory_used_bytes.map(|bytes| vec![bytes]));
        set(&[Measure::CpuUsed], sample.cpu_usec.map(|usec| vec![usec]));
        set(&[Measure::DiskRead, Measure::DiskWritten], sample.disk.map(|disk| vec![disk.read, disk.written]));
        set(&[Measure::NetworkIn, Measure::NetworkOut], sample.network.map(|net| vec![net.received, net.sent]));
        let cpu = unit.values.get(Measure::CpuUsed).map(|usec| usec / 1e6);
        unit.values.set(Measure::CpuUsed, cpu);
        unit.values.set(Measure::MemoryPeak, (self.machine_peak_bytes > 0.0).then_some(self.machine_peak_bytes));
        unit.since_ns = sample.boot_ns.ok();
        unit
    }

    fn look_at_processes(&mut self, request: &Request) -> Result<(), Absent> {
        let mut claims = Vec::with_capacity(request.agents.len());
        for agent in &request.agents {
            let before = |started_ns| self.resume.account_of(&agent.id, started_ns);
            let owed = OneAgent::owed(self.agents.get(&agent.id), agent.started_ns, &agent.ended, before);
            let restarted =
                self.agents.get(&agent.id).is_some_and(|one| one.state.is_another(agent.started_ns, &agent.pids));
            let mut carried = Vec::new();
            if restarted && let Some(ended) = self.agents.remove(&agent.id) {
                self.tree.forget(ended.state.key);
                carried = ended.state.had_carried(&agent.traffic);
            }
            let (next_key, resume) = (&mut self.next_key, &self.resume);
            let one = self.agents.entry(agent.id.clone()).or_insert_with(|| {
                *next_key += 1;
                let mut one = OneAgent::new(AgentKey(*next_key), agent.started_ns, &agent.pids);
                one.state.carried_before(if restarted { &carried } else { resume.proxies_of(&agent.id) });
                one
            });
            one.pay(owed);
            one.state.pids.clone_from(&agent.pids);
            one.state.carried(&agent.traffic);
            if let Some(group) = &mut one.group {
                let subtree = self.costs.groups.time(|| group.subtree());
                match subtree {
                    Ok(subtree) => one.subtree = subtree,
                    Err(_) => one.lose_group(),
                }
            }
            let members = one.group.is_some().then(|| one.subtree.members.clone());
            claims.push(Claim { key: one.state.key, roots: agent.pids.clone(), members });
        }
        let (found, next_key) = (&mut self.found, &mut self.next_key);
        let mut find = |program: &'static str| {
            *found.entry(program).or_insert_with(|| {
                *next_key += 1;
                AgentKey(*next_key)
            })
        };
        let find: Option<&mut dyn FnMut(&'static str) -> AgentKey> = if request.found { Some(&mut find) } else { None };
        self.tree.look(&mut self.processes, &claims, find)?;
        self.forget_ended(request);
        self.note_main_processes();
        Ok(())
    }

    /// Notes who each agent's main processes are. Where other processes have all their numbers, the agent is another
    /// start of itself, of which its list may say nothing yet.
    fn note_main_processes(&mut self) {
        for one in self.agents.values_mut() {
            let key = one.state.key;
            let main = self.tree.members_of(key).filter(|known| known.root);
            let now: Vec<Identity> = main.map(|known| known.sample.identity).collect();
            if now.is_empty() {
                continue;
            }
            let before = std::mem::replace(&mut one.main, now);
            let is_another = |identity: &Identity| {
                !before.contains(identity) && before.iter().any(|known| known.pid == identity.pid)
            };
            // A control group's totals go on, whoever is in it.
            if one.group.is_none() && one.main.iter().all(is_another) {
                self.tree.count_anew(key);
                one.state.since_ns = None;
                one.totals = Running::default();
            }
        }
    }

    /// Forgets agents that aren't told of any more, and found ones of which nothing runs.
    fn forget_ended(&mut self, request: &Request) {
        let tree = &mut self.tree;
        self.found.retain(|_, key| {
            let runs = tree.members_of(*key).any(|known| !known.sample.zombie);
            if !runs {
                tree.forget(*key);
            }
            runs
        });
        for (program, key) in &self.found {
            let id = found_id(&request.machine, program);
            self.agents.entry(id).or_insert_with(|| OneAgent::new(*key, None, &[]));
        }
        let found: Vec<AgentKey> = self.found.values().copied().collect();
        self.agents.retain(|id, one| {
            let told = found.contains(&one.state.key) || request.agents.iter().any(|agent| agent.id == *id);
            if !told {
                tree.forget(one.state.key);
            }
            told
        });
    }

    fn read_memory(&mut self) {
        let changed: Vec<AgentKey> =
            self.agents.values().map(|one| one.state.key).filter(|key| self.tree.has_changed(*key)).collect();
        let look = self.looks;
        let mut candidates = Vec::new();
        for known in self.tree.members_mut().filter(|known| !known.sample.zombie) {
            known.memory.shares_changed |= known.key.is_some_and(|key| changed.contains(&key));
            let sample = &known.sample;
            candidates.extend(Candidate::of(known.pid(), &known.memory, sample.resident_bytes, sample.faults, look));
        }
        for pid in self.budget.choose(candidates) {
            let Some(identity) = self.tree.get(pid).map(|known| known.sample.identity) else { continue };
            let asked = self.processes.ask_memory(identity);
            if let Some(known) = self.tree.get_mut(pid) {
                match asked {
                    Ok(()) => known.memory.in_flight = true,
                    Err(absent) => known.note_memory(Err(absent), 0.0, look),
                }
            }
        }
        let deadline = Instant::now() + self.memory_wait;
        while let Some((identity, read, usec)) = self.processes.next_memory(deadline) {
            self.costs.memory.micros += usec;
            self.costs.memory.reads += 1;
            self.budget.spend(usec);
            if let Some(known) = self.tree.get_mut(identity.pid).filter(|known| known.sample.identity == identity) {
                known.note_memory(read, usec, look);
            }
        }
    }

    /// Looks for the groups of agents that are new, once: what totals are from is chosen at an agent's first look.
    fn look_at_groups(&mut self, request: &Request, absences: &mut Absences) {
        let layout = match &self.layout {
            Ok(layout) => layout,
            Err(absent) => {
                Missing::note(&mut absences.groups, request.machine.as_str(), &[], absent);
                return;
            }
        };
        for (id, one) in self.agents.iter_mut().filter(|(_, one)| !one.group_sought) {
            let agent = request.agents.iter().find(|agent| agent.id == *id);
            let group = self.costs.groups.time(|| groups::find(layout, &self.root, &self.tree, one.state.key, agent));
            match group {
                Ok(mut group) => {
                    one.subtree = group.subtree().unwrap_or_default();
                    one.group = Some(group);
                }
                Err(absent) if absent.why == Why::NotYet => continue,
                // That a found agent has none of its own is the rule, and nothing to tell.
                Err(absent) if agent.is_some_and(|agent| agent.group.is_some()) => {
                    Missing::note(&mut absences.groups, id.as_str(), &[Measure::CpuUsed], &absent);
                }
                Err(_) => {}
            }
            one.group_sought = true;
        }
    }

    fn look_at_ports(&mut self, request: &Request, machine: &mut Unit, absences: &mut Absences) {
        match self.costs.ports.time(|| self.ports.look(&self.tree)) {
            Ok(count) => machine.values.set(Measure::Ports, Some(count as f64)),
            Err(absent) => Missing::note(&mut absences.ports, request.machine.as_str(), &[Measure::Ports], &absent),
        }
    }

    /// The agents in the order they are shown: as requested, then found ones by their program.
    fn in_order<'r>(&self, request: &'r Request) -> Vec<(UnitId, Option<Name>, Option<&'r Agent>)> {
        let asked = request.agents.iter().map(|agent| (agent.id.clone(), agent.name.clone(), Some(agent)));
        let mut programs: Vec<&'static str> = self.found.keys().copied().collect();
        programs.sort_unstable();
        let found = programs.into_iter().map(|program| (found_id(&request.machine, program), Name::new(program), None));
        asked.chain(found).collect()
    }

    fn look_at_agent(
        &mut self,
        id: &UnitId,
        name: Option<Name>,
        agent: Option<&Agent>,
        request: &Request,
        boot_ns: Option<u64>,
        absences: &mut Absences,
    ) -> (Vec<Unit>, Option<AgentReport>) {
        let Some(one) = self.agents.get_mut(id) else { return (Vec::new(), None) };
        let key = one.state.key;
        let members: Vec<&Tracked> = self.tree.members_of(key).filter(|known| !known.sample.zombie).collect();
        if members.is_empty() {
            if let Some(hidden) = self.hidden.as_ref().filter(|_| !one.state.pids.is_empty()) {
                Missing::note(&mut absences.processes, id.as_str(), &[Measure::Processes], hidden);
            }
            let unit = agent.filter(|agent| !agent.ended.is_empty()).map(|agent| {
                let mut unit = agent_unit(id, name, Some(agent), request);
                unit.since_ns = one.state.since_ns;
                one.set_last_totals(&mut unit);
                unit
            });
            return (unit.into_iter().collect(), None);
        }
        let ticks_per_second = self.processes.ticks_per_second();
        let since = |start: u64| boot_ns.and_then(|boot| boot.checked_add(ticks_ns(start, ticks_per_second)));

        let mut unit = agent_unit(id, name, agent, request);
        if one.state.since_ns.is_none() {
            let oldest = members.iter().filter(|known| known.root).map(|known| known.sample.identity.start).min();
            one.state.since_ns = oldest.or_else(|| Some(members[0].sample.identity.start)).and_then(since);
        }
        unit.since_ns = one.state.since_ns;

        let (memory, estimated) = memory_of(&members, id, absences);
        if let Some(bytes) = memory {
            one.state.peak_bytes = one.state.peak_bytes.max(bytes);
        }
        unit.values.set(Measure::MemoryUsed, memory);
        unit.values.set(Measure::MemoryPeak, (one.state.peak_bytes > 0.0).then_some(one.state.peak_bytes));
        unit.values.set(Measure::Processes, Some(members.len() as f64));
        unit.values.set(Measure::Ports, self.ports.of_agent(&members, &one.subtree.ids).map(|count| count as f64));
        one.set_network(&mut unit);
        one.set_totals(&mut unit, &self.tree, &members, (self.layout.as_ref(), self.block.as_ref()), absences);

        for absent in members.iter().filter_map(|known| self.ports.absent(known)) {
            Missing::note(&mut absences.ports, id.as_str(), &[Measure::Ports], absent);
        }
        let report = AgentReport {
            id: id.to_string(),
            from: agent.map_or(From::Found, |agent| agent.from),
            by: one.state.cpu.unwrap_or(Totals::Processes),
            disk_by: one.state.disk.unwrap_or(Totals::Processes),
            orphans: members.iter().filter(|known| self.tree.is_orphan(known)).map(|known| known.pid()).collect(),
            estimated,
        };
        let process = |known: &&Tracked| {
            process_unit(id, known, since(known.sample.identity.start), self.ports.of_process(known))
        };
        (std::iter::once(unit).chain(members.iter().map(process)).collect(), Some(report))
    }

    fn sources(&mut self, absences: Absences) -> Vec<SourceReport> {
        let source = |source, cost, absent| SourceReport { source, cost, absent };
        vec![
            source("machine", self.costs.machine.take(), absences.machine),
            source("/proc/<pid>/stat", self.processes.stat_cost.take(), absences.processes),
            source("/proc/<pid>/exe", self.processes.program_cost.take(), Vec::new()),
            source("/proc/<pid>/io", self.processes.io_cost.take(), absences.disk),
            source("/proc/<pid>/smaps_rollup", self.costs.memory.take(), absences.memory),
            source("control groups", self.costs.groups.take(), absences.groups),
            source("sock_diag", self.costs.ports.take(), absences.ports),
        ]
    }
}

fn agent_unit(id: &UnitId, name: Option<Name>, agent: Option<&Agent>, request: &Request) -> Unit {
    let mut unit = Unit::new(id.clone(), UnitKind::Agent);
    unit.parent = Some(request.machine.clone());
    unit.name = name;
    if let Some(agent) = agent {
        unit.owner.clone_from(&agent.owner);
        unit.teams.clone_from(&agent.teams);
    }
    unit
}
