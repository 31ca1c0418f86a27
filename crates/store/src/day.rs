//! A time added up: each unit's measures over it, and over its slices.

use lnk_schema::{Look, Measure, Name, RollUp, UnitId};
use serde::ser::{Serialize, SerializeMap, Serializer};

use crate::carry::Registry;
use crate::numbers::{Numbers, TOTALS, bit, decimals, to_value};
use crate::row::{Names, rows_of};
use crate::sums::{Sums, Tally};

/// A day, or another time, of what was kept.
///
/// As JSON `{at, units: [{id, kind, parent, name, owner, teams, measures: {NAME: {now, day}}, hours?}]}`, where a value
/// of zero is left out but for a running total's, `now` is null for what is counted per turn and for a unit that isn't
/// running any more, and `hours` is `[{from, measures: {NAME: number}}]`, the oldest first.
#[derive(Debug, Clone, PartialEq)]
pub struct Day {
    /// Its end, in milliseconds since 1970.
    pub at_ms: u64,
    /// The time of the last look in it; `None` if it has none.
    pub last_look_ms: Option<u64>,
    /// The units of its looks: the machine, each agent with its processes after it.
    pub units: Vec<DayUnit>,
    /// What was passed over, a sentence a file.
    pub skipped: Vec<String>,
    slices: Option<(u64, u64)>,
}

/// A unit over a [`Day`].
#[derive(Debug, Clone, PartialEq)]
pub struct DayUnit {
    id: UnitId,
    names: Names,
    now: Option<Numbers>,
    day: Sums,
    slices: Vec<Option<Box<Sums>>>,
}

impl DayUnit {
    /// Its ID.
    pub fn id(&self) -> &UnitId {
        &self.id
    }

    /// A measure's value at the last look, if the unit was in it.
    pub fn now(&self, measure: Measure) -> Option<f64> {
        self.now.as_ref()?.get(measure).map(|whole| to_value(measure, whole))
    }

    /// A measure over the day.
    pub fn day(&self, measure: Measure) -> Option<f64> {
        value_of(&self.day, measure)
    }

    /// A measure over each slice, the oldest first; none where slices weren't asked for.
    pub fn slices(&self, measure: Measure) -> Vec<Option<f64>> {
        self.slices.iter().map(|sums| value_of(sums.as_ref()?, measure)).collect()
    }
}

fn value_of(sums: &Sums, measure: Measure) -> Option<f64> {
    let value = if measure.roll_up() == RollUp::Own {
        to_value(measure, sums.median_doubled(measure)?) / 2.0
    } else {
        to_value(measure, sums.numbers.get(measure)?)
    };
    (value != 0.0 || bit(measure) & TOTALS != 0).then_some(value)
}

impl Day {
    pub(crate) fn of(mut tally: Tally, ids: &Registry, with_slices: bool, mut skipped: Vec<String>) -> Day {
        let (window, looks) = (tally.window, tally.looks);
        let mut units = Vec::new();
        let mut unnamed = 0;
        for (id, unit) in ids.ids().iter().zip(tally.units.drain(..)).filter(|(_, unit)| unit.is_there()) {
            if unit.names.kind.is_none() {
                unnamed += 1;
                continue;
            }
            let mut day = Sums::default();
            unit.slices.iter().flatten().for_each(|sums| day.add(sums));
            units.push(DayUnit {
                id: id.clone(),
                names: unit.names,
                now: (unit.now.1 == looks && looks > 0).then_some(unit.now.0),
                day,
                slices: if with_slices { unit.slices.into_vec() } else { Vec::new() },
            });
        }
        if unnamed > 0 {
            skipped.push(format!("{unnamed} units are left out: no line says what they are"));
        }
        units.sort_by(|a, b| a.place().cmp(&b.place()));
        let from_ms = window.from_ms.unwrap_or(0);
        let slices = with_slices.then(|| (from_ms, (window.to_ms - from_ms) / window.slices as u64));
        Day { at_ms: window.to_ms, last_look_ms: tally.last_ms, units, skipped, slices }
    }

    /// Puts a look's values in the place of the last look's, its units not in the day too.
    pub fn set_now(&mut self, look: &Look) {
        self.at_ms = self.at_ms.max(look.at_ms);
        for unit in &mut self.units {
            unit.now = None;
        }
        for row in rows_of(look, true) {
            if let Some(unit) = self.units.iter_mut().find(|unit| unit.id == row.id) {
                (unit.names, unit.now) = (row.names, Some(row.numbers));
            } else {
                let slices = Vec::new();
                self.units.push(DayUnit {
                    id: row.id,
                    names: row.names,
                    now: Some(row.numbers),
                    day: Sums::default(),
                    slices,
                });
            }
        }
        self.units.sort_by(|a, b| a.place().cmp(&b.place()));
    }
}

impl DayUnit {
    /// What it is sorted by: the machine, each agent with its processes after it.
    fn place(&self) -> (bool, &str, bool, usize, &str) {
        let is_machine = self.names.parent.is_none();
        let is_process = matches!(self.names.kind, Some(lnk_schema::UnitKind::Process | lnk_schema::UnitKind::Sandbox));
        let agent = self.names.parent.as_ref().filter(|_| is_process).unwrap_or(&self.id);
        (!is_machine, agent.as_str(), is_process, self.id.as_str().len(), self.id.as_str())
    }
}

impl Serialize for Day {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut day = serializer.serialize_map(Some(2))?;
        day.serialize_entry("at", &Number::of(self.at_ms, 3))?;
        day.serialize_entry("units", &List(self.units.iter().map(|unit| UnitJson { unit, slices: self.slices })))?;
        day.end()
    }
}

/// An iterator, as a JSON array.
struct List<I>(I);

impl<I: Iterator + Clone> Serialize for List<I>
where
    I::Item: Serialize,
{
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.clone())
    }
}

struct UnitJson<'a> {
    unit: &'a DayUnit,
    slices: Option<(u64, u64)>,
}

impl Serialize for UnitJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let DayUnit { id, names, slices, .. } = self.unit;
        let mut unit = serializer.serialize_map(None)?;
        unit.serialize_entry("id", id.as_str())?;
        unit.serialize_entry("kind", &names.kind.map(lnk_schema::UnitKind::as_str))?;
        unit.serialize_entry("parent", &names.parent.as_ref().map(UnitId::as_str))?;
        unit.serialize_entry("name", &names.name.as_ref().map(Name::as_str))?;
        unit.serialize_entry("owner", &names.owner.as_ref().map(Name::as_str))?;
        unit.serialize_entry("teams", &List(names.teams.iter().map(Name::as_str)))?;
        unit.serialize_entry("measures", &MeasuresJson(self.unit))?;
        if let Some((from_ms, slice_ms)) = self.slices {
            let hours = slices.iter().enumerate().map(|(i, sums)| HourJson {
                from: Number::of(from_ms + i as u64 * slice_ms, 3),
                measures: HourMeasures(sums.as_deref()),
            });
            unit.serialize_entry("hours", &List(hours))?;
        }
        unit.end()
    }
}

struct MeasuresJson<'a>(&'a DayUnit);

#[derive(serde::Serialize)]
struct NowAndDay {
    now: Option<Number>,
    day: Option<Number>,
}

impl Serialize for MeasuresJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut measures = serializer.serialize_map(None)?;
        for &measure in Measure::ALL {
            let now = self.0.now.as_ref().and_then(|now| now.get(measure));
            let now = now.map(|whole| Number::of(whole, decimals(measure)));
            let day = Number::over(&self.0.day, measure);
            if now.is_some() || day.is_some() {
                measures.serialize_entry(&measure.full_name(), &NowAndDay { now, day })?;
            }
        }
        measures.end()
    }
}

#[derive(serde::Serialize)]
struct HourJson<'a> {
    from: Number,
    measures: HourMeasures<'a>,
}

impl Serialize for HourMeasures<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut measures = serializer.serialize_map(None)?;
        for &measure in Measure::ALL {
            if let Some(number) = self.0.and_then(|sums| Number::over(sums, measure)) {
                measures.serialize_entry(&measure.full_name(), &number)?;
            }
        }
        measures.end()
    }
}

struct HourMeasures<'a>(Option<&'a Sums>);

/// A number as JSON writes it: whole ones whole, to the last digit.
enum Number {
    Whole(u64),
    Fraction(f64),
}

impl Number {
    fn of(whole: u64, decimals: u32) -> Number {
        let unit = 10_u64.pow(decimals);
        if whole.is_multiple_of(unit) {
            Number::Whole(whole / unit)
        } else {
            Number::Fraction(whole as f64 / unit as f64)
        }
    }

    fn over(sums: &Sums, measure: Measure) -> Option<Number> {
        if measure.roll_up() != RollUp::Own {
            let whole = sums.numbers.get(measure).filter(|whole| *whole != 0 || bit(measure) & TOTALS != 0)?;
            return Some(Number::of(whole, decimals(measure)));
        }
        let value = value_of(sums, measure)?;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "whole, and far below the largest")]
        Some(if value.fract() == 0.0 { Number::Whole(value as u64) } else { Number::Fraction(value) })
    }
}

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Number::Whole(whole) => serializer.serialize_u64(*whole),
            Number::Fraction(value) => serializer.serialize_f64(*value),
        }
    }
}
