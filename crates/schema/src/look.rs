//! A look: every unit's measures at one moment.

use serde::ser::{Serialize, SerializeMap, SerializeStruct, Serializer};

use crate::{Kind, Measure, Name, UnitId};

/// What a unit is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum UnitKind {
    /// This machine.
    Machine,
    /// An agent.
    Agent,
    /// One of an agent's processes whose program is a sandbox's.
    Sandbox,
    /// Any other of an agent's processes.
    Process,
    /// A relay.
    Relay,
}

impl UnitKind {
    /// The word every file and request uses for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            UnitKind::Machine => "machine",
            UnitKind::Agent => "agent",
            UnitKind::Sandbox => "sandbox",
            UnitKind::Process => "process",
            UnitKind::Relay => "relay",
        }
    }

    /// The kind of a word.
    pub fn from_word(word: &str) -> Option<UnitKind> {
        [UnitKind::Machine, UnitKind::Agent, UnitKind::Sandbox, UnitKind::Process, UnitKind::Relay]
            .into_iter()
            .find(|kind| kind.as_str() == word)
    }
}

/// A unit's values by measure, each there or absent.
///
/// Only finite numbers of zero or more get in; everything else is absent, so nothing made of values is ever NaN,
/// infinite or negative.
#[derive(Debug, Clone, PartialEq)]
pub struct Values([f64; Measure::COUNT]);

/// NaN stands for absent inside `Values` and never leaves it.
const ABSENT: f64 = f64::NAN;

impl Default for Values {
    fn default() -> Self {
        Values([ABSENT; Measure::COUNT])
    }
}

impl Values {
    /// The value of a measure, if there is one.
    pub fn get(&self, measure: Measure) -> Option<f64> {
        let value = self.0[measure.index()];
        (!value.is_nan()).then_some(value)
    }

    /// Sets a measure; `None`, and what can't be a value, makes it absent.
    pub fn set(&mut self, measure: Measure, value: Option<f64>) {
        self.0[measure.index()] = value.filter(|v| v.is_finite() && *v >= 0.0).unwrap_or(ABSENT);
    }

    /// The measures that have a value, in the table's order.
    pub fn iter(&self) -> impl Iterator<Item = (Measure, f64)> + '_ {
        Measure::ALL.iter().filter_map(|&measure| self.get(measure).map(|value| (measure, value)))
    }
}

/// The sum of two values, stopping at the largest number there is.
pub fn add_up(a: f64, b: f64) -> f64 {
    (a + b).min(f64::MAX)
}

/// A unit as one look saw it.
#[derive(Debug, Clone, PartialEq)]
pub struct Unit {
    /// Its ID.
    pub id: UnitId,
    /// What it is.
    pub kind: UnitKind,
    /// Its parent's ID: an agent's machine, a process's agent.
    pub parent: Option<UnitId>,
    /// An agent's or machine's name, or a process's program.
    pub name: Option<Name>,
    /// Whose the agent is.
    pub owner: Option<Name>,
    /// The teams the agent is in.
    pub teams: Vec<Name>,
    /// When its totals began, in nanoseconds since 1970; the same number for as long as they grow.
    pub since_ns: Option<u64>,
    /// What was looked at.
    pub values: Values,
    /// What is counted per turn or answer: one value each.
    pub turns: Vec<(Measure, f64)>,
}

impl Unit {
    /// A unit of which nothing is known yet.
    pub fn new(id: UnitId, kind: UnitKind) -> Unit {
        Unit {
            id,
            kind,
            parent: None,
            name: None,
            owner: None,
            teams: Vec::new(),
            since_ns: None,
            values: Values::default(),
            turns: Vec::new(),
        }
    }
}

/// Every unit's measures at one moment: the machine first, each agent followed by its processes.
#[derive(Debug, Clone, PartialEq)]
pub struct Look {
    /// When, in milliseconds since 1970.
    pub at_ms: u64,
    /// The units.
    pub units: Vec<Unit>,
}

/// The shape of `lnk measure --json`, less `day`: `{at, units: [{id, kind, parent, name, owner, teams, measures}]}`.
///
/// `at` is in seconds. A value of zero is left out, but for a running total's.
impl Serialize for Look {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut look = serializer.serialize_struct("Look", 2)?;
        look.serialize_field("at", &seconds(self.at_ms))?;
        look.serialize_field("units", &self.units)?;
        look.end()
    }
}

impl Serialize for Unit {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut unit = serializer.serialize_map(None)?;
        unit.serialize_entry("id", self.id.as_str())?;
        unit.serialize_entry("kind", self.kind.as_str())?;
        unit.serialize_entry("parent", &self.parent.as_ref().map(UnitId::as_str))?;
        unit.serialize_entry("name", &self.name.as_ref().map(Name::as_str))?;
        unit.serialize_entry("owner", &self.owner.as_ref().map(Name::as_str))?;
        unit.serialize_entry("teams", &self.teams.iter().map(Name::as_str).collect::<Vec<_>>())?;
        unit.serialize_entry("measures", &Measures(self))?;
        unit.end()
    }
}

struct Measures<'a>(&'a Unit);

impl Serialize for Measures<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut measures = serializer.serialize_map(None)?;
        for (measure, value) in self.0.values.iter().filter(|&(m, v)| v != 0.0 || m.kind() == Kind::Total) {
            measures.serialize_entry(&measure.full_name(), &Now { now: Number(value) })?;
        }
        measures.end()
    }
}

#[derive(serde::Serialize)]
struct Now {
    now: Number,
}

/// A value as JSON writes it: without `.0` where it is whole.
struct Number(f64);

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // 2^53: past it an f64 no longer holds every whole number, and its shortest form says so.
        if self.0.fract() == 0.0 && self.0 < 9_007_199_254_740_992.0 {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "whole, not negative, in range"
            )]
            serializer.serialize_u64(self.0 as u64)
        } else {
            serializer.serialize_f64(self.0)
        }
    }
}

fn seconds(ms: u64) -> Number {
    Number(ms as f64 / 1000.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent() -> Unit {
        Unit { name: Name::new("main"), ..Unit::new(UnitId::new("agt_01").unwrap(), UnitKind::Agent) }
    }

    #[test]
    fn two_points_of_1e308_add_up_to_the_largest_number() {
        assert_eq!(add_up(1e308, 1e308), f64::MAX);
        assert_eq!(add_up(f64::MAX, f64::MAX), f64::MAX);
        assert_eq!(add_up(1.5, 2.0), 3.5);
    }

    #[test]
    fn what_cannot_be_a_value_is_absent() {
        let mut values = Values::default();
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1.0] {
            values.set(Measure::CpuUsed, Some(3.0));
            values.set(Measure::CpuUsed, Some(bad));
            assert_eq!(values.get(Measure::CpuUsed), None, "{bad}");
        }
        assert_eq!(values.iter().count(), 0);
    }

    #[test]
    fn json_leaves_out_a_zero_but_keeps_a_totals() {
        let mut unit = agent();
        unit.values.set(Measure::Ports, Some(0.0));
        unit.values.set(Measure::DiskRead, Some(0.0));
        unit.values.set(Measure::CpuUsed, Some(1.25));
        unit.values.set(Measure::MemoryUsed, Some(4096.0));
        let look = Look { at_ms: 1_780_000_000_250, units: vec![unit] };
        assert_eq!(
            serde_json::to_string(&look).unwrap(),
            concat!(
                r#"{"at":1780000000.25,"units":[{"id":"agt_01","kind":"agent","parent":null,"name":"main","owner":null,"#,
                r#""teams":[],"measures":{"link.memory.used.sum":{"now":4096},"link.cpu.used.sum":{"now":1.25},"#,
                r#""link.disk.read.sum":{"now":0}}}]}"#
            )
        );
    }

    #[test]
    fn kinds_and_words_are_one_to_one() {
        for kind in [UnitKind::Machine, UnitKind::Agent, UnitKind::Sandbox, UnitKind::Process, UnitKind::Relay] {
            assert_eq!(UnitKind::from_word(kind.as_str()), Some(kind));
        }
        assert_eq!(UnitKind::from_word("thread"), None);
    }
}
