//! What all others say of the agents, as of one look: what is to be added to it, and what its line then says everything
//! was read up to.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, UNIX_EPOCH};

use lnk_schema::{Look, Measure, Name, RollUp, SaidBy, Unit, UnitId, UnitKind, add_up};

use crate::counted::Counted;
use crate::counter::{Baseline, Counter, Growth};
use crate::note::Note;
use crate::open::Place;
use crate::position::Positions;
use crate::reader::Read;
use crate::tokens::{TOKEN_MEASURES, agent_of_tokens_file, read_tokens};
use crate::told::{Agent, Proxy, Told};
use crate::turn::{Turn, bounded};
use crate::{Apart, tokens_file_name};

/// How long all harnesses' files together may take to be read. What takes longer comes with a later look.
const PATIENCE: Duration = Duration::from_secs(1);
/// Tokens files that are followed at most; what is one too many isn't.
const MOST_TOKENS_FILES: usize = 4096;
/// Runs of one agent's proxies that are remembered.
const MOST_RUNS: usize = 4;
/// Gatherings for which the files of an agent that is no longer told of stay open: its list may be back.
const PATIENT_GATHERINGS: u32 = 360;

/// Follows what is said of every agent. One gathering at a time: what it found is the caller's to keep, in one write with
/// its [`Counted`], and then [`Gatherer::kept`] or [`Gatherer::go_back`] to be told.
#[derive(Debug)]
pub struct Gatherer {
    folder: PathBuf,
    kept: Counted,
    found: Option<Found>,
    /// The last look kept, or else when the watcher started, in seconds since 1970.
    watched_since: f64,
    files: BTreeMap<UnitId, AgentFiles>,
    /// The agents that had a tokens file at the gathering kept last, once there was one.
    had_tokens: Option<BTreeSet<UnitId>>,
}

#[derive(Debug)]
struct Found {
    at: f64,
    counted: Counted,
    /// An agent each that something was said of, with that alone.
    units: Vec<Unit>,
    had_tokens: BTreeSet<UnitId>,
}

#[derive(Debug, Default)]
struct AgentFiles {
    turns: Option<(Place, Apart)>,
    times: Option<(Place, Apart)>,
    untold: u32,
}

/// What went wrong with what is said of an agent.
pub type Problem = (UnitId, Note);

impl Gatherer {
    /// Follows the tokens files in `folder`, and the files of the agents it is told of. `counted`: what the last line kept
    /// says; `watched_since`: that line's time, or else now, in seconds since 1970.
    pub fn new(folder: &Path, counted: Counted, watched_since: f64) -> Gatherer {
        Gatherer {
            folder: folder.to_owned(),
            kept: counted,
            found: None,
            watched_since,
            files: BTreeMap::new(),
            had_tokens: None,
        }
    }

    /// Reads what was said since. `at` is now, in seconds since 1970. What an earlier gathering found and nobody kept is
    /// found again. Takes as long as the disk does, but no longer than a second for the files of others.
    pub fn gather(&mut self, told: &Told, at: f64) -> Vec<Problem> {
        self.go_back();
        let mut gathering = Gathering {
            watched_since: self.watched_since,
            counted: self.kept.clone(),
            units: BTreeMap::new(),
            problems: Vec::new(),
        };
        self.follow(told, &mut gathering);
        for apart in self.files.values_mut().flat_map(AgentFiles::all) {
            apart.begin();
        }
        let by_id: BTreeMap<&UnitId, &Agent> = told.agents.iter().map(|agent| (&agent.id, agent)).collect();
        let had_tokens = self.read_tokens(told, &by_id, &mut gathering);
        let until = Instant::now() + PATIENCE;
        for (id, files) in &mut self.files {
            let agent = by_id.get(id).copied();
            let mut collect = |followed: &mut Option<(Place, Apart)>| {
                let read = followed.as_mut().map(|(_, apart)| apart.collect(until))?;
                read.map_err(|note| gathering.problems.push((id.clone(), note))).ok()
            };
            let (turns, times) = (collect(&mut files.turns), collect(&mut files.times));
            if let Some(read) = turns {
                let positions = gathering.take(told, id, agent, read, true);
                put(&mut gathering.counted.turns, id, positions);
            }
            if let Some(read) = times {
                let positions = gathering.take(told, id, agent, read, false);
                put(&mut gathering.counted.times, id, positions);
            }
        }
        let Gathering { counted, units, mut problems, .. } = gathering;
        problems.sort();
        problems.dedup();
        self.found = Some(Found { at, counted, units: units.into_values().collect(), had_tokens });
        problems
    }

    /// A look with what was found: an agent that isn't in it, since it doesn't run, is then there for its turns alone, and
    /// the machine has its agents' added up.
    pub fn join(&self, look: &Look) -> Look {
        let mut look = look.clone();
        for unit in self.found.iter().flat_map(|found| &found.units) {
            match look.units.iter_mut().find(|other| other.id == unit.id) {
                Some(other) => other.turns.extend_from_slice(&unit.turns),
                None => look.units.push(unit.clone()),
            }
        }
        add_up_turns(&mut look.units);
        look
    }

    /// What the line of a look with what was found is to say.
    pub fn counted(&self) -> &Counted {
        self.found.as_ref().map_or(&self.kept, |found| &found.counted)
    }

    /// What was found is in a line that was kept.
    pub fn kept(&mut self) {
        let Some(Found { at, counted, had_tokens, .. }) = self.found.take() else { return };
        for (id, files) in &mut self.files {
            for (followed, positions) in [(&mut files.turns, &counted.turns), (&mut files.times, &counted.times)] {
                if let (Some((_, apart)), Some(positions)) = (followed, positions.get(id)) {
                    apart.kept(positions);
                }
            }
        }
        self.had_tokens = Some(had_tokens);
        self.kept = counted;
        self.watched_since = at;
    }

    /// What was found could not be kept: the next gathering finds it again.
    pub fn go_back(&mut self) {
        if self.found.take().is_some() {
            self.files.values_mut().flat_map(AgentFiles::all).for_each(Apart::go_back);
        }
    }

    /// Has each agent's files followed that there are by now.
    fn follow(&mut self, told: &Told, gathering: &mut Gathering) {
        for files in self.files.values_mut() {
            files.untold = files.untold.saturating_add(1);
        }
        for agent in &told.agents {
            let turns = match &agent.turns {
                Some(Err(why)) => {
                    gathering.problems.push((agent.id.clone(), Note::Refused(*why)));
                    None
                }
                Some(Ok(place)) => Some(place),
                None => None,
            };
            if turns.is_none() && agent.times.is_none() {
                continue;
            }
            let files = self.files.entry(agent.id.clone()).or_default();
            files.untold = 0;
            let from = |positions: &BTreeMap<UnitId, Positions>| positions.get(&agent.id).cloned().unwrap_or_default();
            let since = self.watched_since;
            renew(&mut files.turns, turns, |place| Apart::of_turns(place, &from(&self.kept.turns)));
            renew(&mut files.times, agent.times.as_ref(), |place| {
                Apart::of_times(place, &from(&self.kept.times), since)
            });
        }
        self.files.retain(|_, files| files.untold < PATIENT_GATHERINGS);
        let files = &self.files;
        for positions in [&mut gathering.counted.turns, &mut gathering.counted.times] {
            // Those that aren't told of yet, after a start, are kept for when they are.
            positions.retain(|id, _| files.contains_key(id) || self.had_tokens.is_none());
        }
    }

    /// Takes what the tokens files, and else the proxies, counted. Gives the agents that have a tokens file.
    fn read_tokens(
        &self,
        told: &Told,
        by_id: &BTreeMap<&UnitId, &Agent>,
        gathering: &mut Gathering,
    ) -> BTreeSet<UnitId> {
        let with_file: BTreeSet<UnitId> = match fs::read_dir(&self.folder) {
            Ok(entries) => {
                let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
                names.filter_map(|name| agent_of_tokens_file(&name)).take(MOST_TOKENS_FILES).collect()
            }
            Err(error) if error.kind() == ErrorKind::NotFound => BTreeSet::new(),
            // Whatever it holds is still there.
            Err(_) => gathering.counted.tokens.keys().cloned().collect(),
        };
        gathering.counted.tokens.retain(|id, _| with_file.contains(id));
        for id in &with_file {
            let agent = by_id.get(id).copied();
            match read_tokens(&self.folder, id) {
                Ok(Some(counter)) => {
                    let before = gathering.counted.tokens.get(id);
                    // One that wasn't there at the look before has counted everything since, whenever it was begun.
                    let is_new = before.is_none() && self.had_tokens.as_ref().is_some_and(|had| !had.contains(id));
                    let since = if is_new { -1.0 } else { gathering.watched_since };
                    let growth = counter.growth(before, since);
                    gathering.add_tokens(told, id, agent, growth);
                    gathering.counted.tokens.insert(id.clone(), counter.baseline());
                }
                Ok(None) => gathering.problems.push((id.clone(), Note::NoTokens)),
                Err(why) => gathering.problems.push((id.clone(), Note::Refused(why))),
            }
        }
        for agent in &told.agents {
            let has_file = with_file.contains(&agent.id);
            for proxy in agent.proxies.iter().flatten() {
                gathering.add_proxy(told, agent, proxy, has_file);
            }
            gathering.judge(agent, || self.counted_at(&agent.id));
        }
        with_file
    }

    /// When a route last counted for an agent, in seconds since 1970.
    fn counted_at(&self, agent: &UnitId) -> Option<f64> {
        let modified = fs::metadata(self.folder.join(tokens_file_name(agent))).ok()?.modified().ok()?;
        Some(modified.duration_since(UNIX_EPOCH).ok()?.as_secs_f64())
    }
}

impl AgentFiles {
    fn all(&mut self) -> impl Iterator<Item = &mut Apart> {
        [&mut self.turns, &mut self.times].into_iter().flatten().map(|(_, apart)| apart)
    }
}

fn renew(followed: &mut Option<(Place, Apart)>, place: Option<&Place>, new: impl FnOnce(Place) -> Apart) {
    if followed.as_ref().map(|(place, _)| place) != place {
        *followed = place.map(|place| (place.clone(), new(place.clone())));
    }
}

fn put(positions: &mut BTreeMap<UnitId, Positions>, id: &UnitId, now: Positions) {
    if now.is_empty() {
        positions.remove(id);
    } else {
        positions.insert(id.clone(), now);
    }
}

/// A gathering under way.
struct Gathering {
    watched_since: f64,
    counted: Counted,
    units: BTreeMap<UnitId, Unit>,
    problems: Vec<Problem>,
}

impl Gathering {
    /// Takes what was read of an agent's file, and gives how far that was.
    fn take(&mut self, told: &Told, id: &UnitId, agent: Option<&Agent>, read: Read, of_harness: bool) -> Positions {
        self.problems.extend(read.notes.into_iter().map(|note| (id.clone(), note)));
        // Its route counts them, of this turn or of those before it, whichever run of the agent said so.
        let routed = of_harness && self.counted.routed.contains(id);
        let counts = |measure: Measure| !(routed && measure.said_by() == SaidBy::RouteElseHarness);
        let values = read.turns.into_iter().flat_map(|Turn(values)| values);
        let values: Vec<_> = values.filter(|&(measure, value)| counts(measure) && is_said(measure, value)).collect();
        if !values.is_empty() {
            self.unit(told, id, agent).turns.extend(bounded(values));
        }
        read.up_to
    }

    fn add_tokens(&mut self, told: &Told, id: &UnitId, agent: Option<&Agent>, growth: Growth<6>) {
        if growth.fell {
            self.problems.push((id.clone(), Note::Fell));
        }
        let values = TOKEN_MEASURES.into_iter().zip(growth.counts).filter(|(_, count)| *count > 0);
        let values: Vec<_> = values.map(|(measure, count)| (measure, count as f64)).collect();
        if !values.is_empty() {
            self.counted.routed.insert(id.clone());
            self.unit(told, id, agent).turns.extend(values);
        }
    }

    fn add_proxy(&mut self, told: &Told, agent: &Agent, Proxy { counter, .. }: &Proxy, has_file: bool) {
        let runs = self.counted.proxies.entry(agent.id.clone()).or_default();
        let known = runs.iter().position(|baseline| baseline.run == counter.run);
        // One that is the agent's first, to us, is told from one that follows another.
        let before = known.map(|at| runs.remove(at)).or_else(|| runs.last().cloned());
        runs.push(counter.baseline());
        if runs.len() > MOST_RUNS {
            runs.remove(0);
        }
        let tokens = |counts: &[u64; 8]| <[u64; 6]>::try_from(&counts[2..]).unwrap_or_default();
        let now = Counter { run: counter.run.clone(), since: counter.since, counts: tokens(&counter.counts) };
        let before = before.map(|before| Baseline { counts: tokens(&before.counts), run: before.run });
        if !has_file {
            let growth = now.growth(before.as_ref(), self.watched_since);
            self.add_tokens(told, &agent.id, Some(agent), growth);
        }
    }

    /// Whether an agent's route counts its tokens, as it runs now, or ran until just now; of another it stays as it was.
    fn judge(&mut self, agent: &Agent, counted_at: impl FnOnce() -> Option<f64>) {
        let Some(proxies) = agent.proxies.as_ref().filter(|_| agent.running || agent.started.is_some()) else { return };
        if proxies.iter().any(|proxy| proxy.model) {
            self.counted.routed.insert(agent.id.clone());
        } else if let Some(started) = agent.started
            && counted_at().is_none_or(|at| at < started)
        {
            self.counted.routed.remove(&agent.id);
        }
    }

    fn unit(&mut self, told: &Told, id: &UnitId, agent: Option<&Agent>) -> &mut Unit {
        self.units.entry(id.clone()).or_insert_with(|| {
            let mut unit = Unit::new(id.clone(), UnitKind::Agent);
            unit.parent = Some(told.machine.clone());
            match agent {
                Some(agent) => {
                    unit.name.clone_from(&agent.name);
                    unit.owner.clone_from(&agent.owner);
                    unit.teams.clone_from(&agent.teams);
                }
                // Nobody tells of it but the route that counts for it, which has the name in the ID.
                None => unit.name = name_in(id, &told.machine),
            }
            unit
        })
    }
}

/// Gives the machine its agents' turns, tokens and spend of a look: what it did of them, it did through its agents.
fn add_up_turns(units: &mut [Unit]) {
    let mut sums: Vec<(Measure, f64)> = Vec::new();
    let of_agents = units.iter().filter(|unit| unit.kind == UnitKind::Agent).flat_map(|unit| &unit.turns);
    for &(measure, value) in of_agents.filter(|(measure, _)| measure.roll_up() == RollUp::Sum) {
        match sums.iter_mut().find(|(other, _)| *other == measure) {
            Some((_, sum)) => *sum = add_up(*sum, value),
            None => sums.push((measure, value)),
        }
    }
    if let Some(machine) = units.iter_mut().find(|unit| unit.kind == UnitKind::Machine) {
        machine.turns = sums;
    }
}

/// Zero adds nothing to a sum; of a turn's own times it is one.
fn is_said(measure: Measure, value: f64) -> bool {
    value != 0.0 || measure.roll_up() == RollUp::Own
}

/// The name of an agent that has no ID of its own: `<machine id>:<name>`, or a run's `<machine id>:run:<name>`.
fn name_in(id: &UnitId, machine: &UnitId) -> Option<Name> {
    let name = id.as_str().strip_prefix(machine.as_str())?.strip_prefix(':')?;
    Name::new(name.strip_prefix("run:").unwrap_or(name))
}
