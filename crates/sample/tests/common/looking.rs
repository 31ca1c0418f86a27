//! One agent under the sampler, and what its looks say.

use std::path::Path;

use lnk_sample::linux::sampler::Sampler;
use lnk_sample::report::{AgentReport, Report, SourceReport};
use lnk_sample::request::Request;
use lnk_schema::{Look, Measure, Unit, UnitId, UnitKind};
use rustc_hash::FxHashMap;
use serde_json::{Value, json};

use super::until;

/// The agent's ID.
const AGENT: &str = "agt_1";

/// Milliseconds of CPU a look may spend on memory: all of it is read at the first look.
const ALL_AT_ONCE_MS: f64 = 1000.0;

/// A sampler that is asked for one agent of Link's.
pub struct Looking {
    sampler: Sampler,
    request: Request,
    /// What every unit's totals stood at, by its ID and when they began.
    totals: FxHashMap<(UnitId, Option<u64>, Measure), f64>,
}

/// One look, and its report.
pub struct Seen {
    pub look: Look,
    pub report: Report,
}

impl Looking {
    /// At the agent whose main process this is.
    pub fn at(pid: u32) -> Looking {
        Looking::with(&json!({ "pids": [pid] }))
    }

    /// At the agent of which a list says this (`pids`, `cgroup`, `unit`, `started`).
    pub fn with(said: &Value) -> Looking {
        Looking::within(said, ALL_AT_ONCE_MS)
    }

    /// The same, with so many milliseconds of CPU a look for memory.
    pub fn within(said: &Value, memory_ms: f64) -> Looking {
        let sampler = Sampler::open(Path::new("/"), memory_ms).expect("a sampler");
        Looking { sampler, request: request(said), totals: FxHashMap::default() }
    }

    /// Has something else said of the agent from now on.
    pub fn say(&mut self, said: &Value) {
        self.request = request(said);
    }

    /// Looks. No unit's totals may be below what they were, for as long as they are counted from the same moment.
    pub fn look(&mut self) -> Seen {
        let (look, report) = self.sampler.look(&self.request).expect("a look");
        for unit in &look.units {
            for measure in [Measure::CpuUsed, Measure::DiskRead, Measure::DiskWritten] {
                let Some(now) = unit.values.get(measure) else { continue };
                let before = self.totals.insert((unit.id.clone(), unit.since_ns, measure), now);
                assert!(before.is_none_or(|before| before <= now), "{}: {before:?} then {now}", unit.id);
            }
        }
        let fell = report
            .sources
            .iter()
            .flat_map(|source| &source.absent)
            .find(|missing| missing.absent.detail.contains("fell"));
        assert!(fell.is_none(), "{fell:?}");
        Seen { look, report }
    }

    /// Looks until something is so of a look.
    pub fn look_until(&mut self, what: &str, mut is_so: impl FnMut(&Seen) -> bool) -> Seen {
        let mut last = None;
        until(what, || {
            let seen = self.look();
            let so = is_so(&seen);
            last = Some(seen);
            so
        });
        last.unwrap()
    }
}

fn request(said: &Value) -> Request {
    let mut agent = json!({ "id": AGENT, "from": "link", "pids": [] });
    agent.as_object_mut().unwrap().extend(said.as_object().unwrap().clone());
    let request = json!({ "machine": { "id": "mch_1" }, "agents": [agent] });
    Request::from_json(&request.to_string()).unwrap()
}

impl Seen {
    /// Whether the agent is there.
    pub fn is_there(&self) -> bool {
        self.look.units.iter().any(|unit| unit.kind == UnitKind::Agent)
    }

    pub fn machine(&self) -> &Unit {
        &self.look.units[0]
    }

    pub fn agent(&self) -> &Unit {
        self.look.units.iter().find(|unit| unit.kind == UnitKind::Agent).expect("the agent is there")
    }

    /// The agent's value, which must be there.
    pub fn value(&self, measure: Measure) -> f64 {
        self.agent().values.get(measure).unwrap_or_else(|| panic!("no {measure:?}: {:?}", self.report))
    }

    /// The agent's processes.
    pub fn pids(&self) -> Vec<u32> {
        let of_agent = self.look.units.iter().filter(|unit| unit.parent.as_ref().map(UnitId::as_str) == Some(AGENT));
        of_agent.map(|unit| unit.id.as_str().rsplit('/').next().unwrap().parse().unwrap()).collect()
    }

    /// One of the agent's processes.
    pub fn process(&self, pid: u32) -> &Unit {
        let id = UnitId::process(&UnitId::new(AGENT).unwrap(), pid);
        self.look.units.iter().find(|unit| unit.id == id).unwrap_or_else(|| panic!("{pid} in {:?}", self.pids()))
    }

    /// What the report says of the agent.
    pub fn told(&self) -> &AgentReport {
        &self.report.agents[0]
    }

    /// What the report says of a source.
    pub fn source(&self, name: &str) -> &SourceReport {
        self.report.sources.iter().find(|source| source.source == name).unwrap()
    }
}
