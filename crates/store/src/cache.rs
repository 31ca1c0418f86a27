//! Copies for speed: `now.json`, `day.json`, `counted.json`. Replaced whole, and never believed when they don't parse,
//! are from the future, or name a line that isn't there; deleting them loses nothing.

use std::collections::BTreeMap;
use std::fmt;
use std::io::Result;
use std::marker::PhantomData;
use std::path::Path;

use lnk_schema::{Look, Measure, Name, Unit, UnitId, UnitKind};
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::carry::Registry;
use crate::files::{Files, RealFiles, retried};
use crate::load::{packed_path, plain_path};
use crate::numbers::{Numbers, TOTALS, measures_of};
use crate::row::Names;
use crate::span::{Part, Span};
use crate::sums::{Ends, Point, Sums, Tally, UnitSums, Window};
use crate::tidy::write_new;

/// The most a copy may be.
const MOST: u64 = 64 << 20;

/// A line by the fine file it is in and where in it it ends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LineName(String, u64);

impl LineName {
    pub(crate) fn new(span: Span, end: u64) -> LineName {
        LineName(Part::Fine.name(span), end)
    }

    pub(crate) fn span(&self) -> Option<Span> {
        Part::Fine.parse(&self.0)
    }

    /// Whether the line is there, as far as can be told without reading its file.
    fn is_there(&self, files: &dyn Files, folder: &Path) -> bool {
        let Some(span) = self.span() else { return false };
        let len = |path: &Path| retried(|| files.len_of(path)).ok();
        match len(&plain_path(folder, Part::Fine, span)) {
            Some(len) => self.1 <= len,
            None => len(&packed_path(folder, Part::Fine, span)).is_some(),
        }
    }
}

/// Replaces a copy. Not waited for on the disk: an empty one after a power cut is not believed.
pub(crate) fn replace(files: &dyn Files, folder: &Path, name: &str, bytes: &[u8]) -> Result<()> {
    let temporary = folder.join(format!(".{name}.tmp"));
    // A name of its own would pile up after crashes; one watcher writes here at a time.
    let _ = files.remove(&temporary);
    write_new(files, &temporary, bytes)?;
    retried(|| files.rename(&temporary, &folder.join(name)))
}

fn read<T: for<'a> Deserialize<'a>>(files: &dyn Files, folder: &Path, name: &str) -> Option<T> {
    serde_json::from_slice(&retried(|| files.read(&folder.join(name), MOST)).ok()?).ok()
}

// ---- now.json

/// What the watcher itself costs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// CPU time, in core-seconds since it started.
    pub cpu: f64,
    /// Memory in use, in bytes.
    pub memory: u64,
}

/// The last look, as `now.json` has it.
#[derive(Debug, Clone, PartialEq)]
pub struct Now {
    /// The look, without turns.
    pub look: Look,
    /// How far apart looks are, in milliseconds.
    pub every_ms: u64,
    /// What the watcher costs, where it knows.
    pub cost: Option<Cost>,
    /// Cores in use between the look before and this one, of the units that are in both.
    pub rates: BTreeMap<UnitId, f64>,
    /// What whoever looked says of the look beside its numbers, for whoever shows it; null for nothing. The store only
    /// carries it.
    pub report: Value,
}

#[derive(Serialize)]
struct NowOut<'a> {
    #[serde(flatten)]
    look: &'a Look,
    every: f64,
    cost: Option<Cost>,
    rates: BTreeMap<&'a str, f64>,
    report: &'a Value,
    line: LineName,
}

#[derive(Deserialize)]
struct NowIn {
    at: f64,
    units: Vec<UnitIn>,
    every: f64,
    #[serde(default)]
    cost: Option<Cost>,
    #[serde(default)]
    rates: BTreeMap<String, f64>,
    #[serde(default)]
    report: Value,
    line: LineName,
}

#[derive(Deserialize)]
struct UnitIn {
    #[serde(flatten)]
    names: NamesJson,
    measures: BTreeMap<String, ValueIn>,
}

#[derive(Deserialize)]
struct ValueIn {
    now: Option<f64>,
}

pub(crate) fn write_now(files: &dyn Files, folder: &Path, now: &Now, line: LineName) -> Result<()> {
    let rates = now.rates.iter().map(|(id, rate)| (id.as_str(), *rate)).collect();
    let every = now.every_ms as f64 / 1000.0;
    let out = NowOut { look: &now.look, every, cost: now.cost, rates, report: &now.report, line };
    replace(files, folder, "now.json", &serde_json::to_vec(&out)?)
}

/// The watcher's last look; `None` if there is none to believe. Whether it is recent is the caller's to judge.
pub fn read_now(folder: &Path, at_ms: u64) -> Option<Now> {
    let now: NowIn = read(&RealFiles, folder, "now.json")?;
    if !now.line.is_there(&RealFiles, folder) {
        return None;
    }
    let look_ms = whole_ms(now.at)?;
    let unit = |unit: UnitIn| {
        let (id, names) = unit.names.read()?;
        let mut read = Unit::new(id, names.kind?);
        (read.parent, read.name, read.owner, read.teams) = (names.parent, names.name, names.owner, names.teams);
        for (measure, value) in
            unit.measures.iter().filter_map(|(name, value)| Some((Measure::from_name(name)?, value)))
        {
            read.values.set(measure, value.now);
        }
        Some(read)
    };
    let look = Look { at_ms: look_ms, units: now.units.into_iter().filter_map(unit).collect() };
    let rates = now.rates.iter().filter(|(_, rate)| **rate >= 0.0 && rate.is_finite());
    let rates = rates.filter_map(|(id, rate)| Some((UnitId::new(id)?, *rate))).collect();
    let (every_ms, cost, report) = (whole_ms(now.every)?, now.cost, now.report);
    (look_ms <= at_ms).then_some(Now { look, every_ms, cost, rates, report })
}

/// Cores in use between two looks. None where the clock went back or a look is missing between them.
pub(crate) fn cpu_rates(before: &Look, after: &Look, every_ms: u64) -> BTreeMap<UnitId, f64> {
    let elapsed_ms = after.at_ms.saturating_sub(before.at_ms);
    if elapsed_ms == 0 || elapsed_ms > every_ms.saturating_mul(2) {
        return BTreeMap::new();
    }
    let cpu = |unit: &Unit| unit.values.get(Measure::CpuUsed);
    let was: BTreeMap<_, _> =
        before.units.iter().filter_map(|unit| Some((&unit.id, (unit.since_ns, cpu(unit)?)))).collect();
    let rate = |unit: &Unit| {
        let (since_ns, was) = was.get(&unit.id)?;
        let grown = cpu(unit)? - was;
        // A total that began anew or fell is another process's: there is no rate to tell.
        (*since_ns == unit.since_ns && grown >= 0.0).then(|| (unit.id.clone(), grown * 1000.0 / elapsed_ms as f64))
    };
    after.units.iter().filter_map(rate).collect()
}

fn whole_ms(seconds: f64) -> Option<u64> {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "`as` stops at both ends")]
    (seconds >= 0.0).then_some((seconds * 1000.0).round() as u64)
}

// ---- counted.json

#[derive(Serialize, Deserialize)]
struct Counted {
    line: LineName,
    c: Box<RawValue>,
}

pub(crate) fn write_counted(files: &dyn Files, folder: &Path, line: LineName, counted: &str) -> Result<()> {
    let counted = Counted { line, c: RawValue::from_string(counted.to_owned())? };
    replace(files, folder, "counted.json", &serde_json::to_vec(&counted)?)
}

/// The `c` that held at a line.
pub(crate) fn read_counted(files: &dyn Files, folder: &Path, line: &LineName) -> Option<String> {
    let counted: Counted = read(files, folder, "counted.json")?;
    (counted.line == *line && counted.c.get().starts_with('{')).then(|| counted.c.get().to_owned())
}

// ---- day.json

/// The day as it was summed up, a fine file at a time: whole ones, and the newest as far as `upto`. `S` is a file's sums,
/// or their text.
#[derive(Serialize, Deserialize)]
pub(crate) struct DayFile<S = Box<RawValue>> {
    pub upto: LineName,
    pub spans: BTreeMap<String, S>,
}

/// A fine file, summed up.
#[derive(Serialize, Deserialize)]
struct SpanSums {
    from_ms: u64,
    to_ms: u64,
    looks: u64,
    last_ms: u64,
    units: Vec<UnitJson>,
}

#[derive(Serialize, Deserialize)]
struct UnitJson {
    names: NamesJson,
    sums: ByMeasure<u64>,
    #[serde(default, skip_serializing_if = "ByMeasure::is_empty")]
    own: ByMeasure<Vec<u64>>,
    /// Each total's first and last point: when it began, and its value.
    #[serde(default, skip_serializing_if = "ByMeasure::is_empty")]
    ends: ByMeasure<[(Option<String>, u64); 2]>,
    /// The values of the last look, if the unit was in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    now: Option<ByMeasure<u64>>,
}

/// Something of each measure, as an object by the measures' names; what names none is passed over.
struct ByMeasure<T>(Vec<(Measure, T)>);

impl<T> Default for ByMeasure<T> {
    fn default() -> Self {
        ByMeasure(Vec::new())
    }
}

impl<T> ByMeasure<T> {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl ByMeasure<u64> {
    fn of(numbers: &Numbers) -> Self {
        ByMeasure(numbers.iter().collect())
    }

    fn numbers(&self) -> Numbers {
        let mut numbers = Numbers::default();
        self.0.iter().for_each(|(measure, value)| numbers.set(*measure, *value));
        numbers
    }
}

impl<T: Serialize> Serialize for ByMeasure<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(measure, value)| (measure.name(), value)))
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for ByMeasure<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        deserializer.deserialize_map(MeasureVisitor(PhantomData))
    }
}

/// Reads a [`ByMeasure`]. A name is looked up where it stands, with no copy made of it.
struct MeasureVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for MeasureVisitor<T> {
    type Value = ByMeasure<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object by measures")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<ByMeasure<T>, A::Error> {
        let mut all = Vec::new();
        while let Some(MeasureName(measure)) = map.next_key()? {
            match measure {
                Some(measure) => all.push((measure, map.next_value()?)),
                None => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(ByMeasure(all))
    }
}

struct MeasureName(Option<Measure>);

impl<'de> Deserialize<'de> for MeasureName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        deserializer.deserialize_str(NameVisitor)
    }
}

struct NameVisitor;

impl Visitor<'_> for NameVisitor {
    type Value = MeasureName;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E>(self, name: &str) -> std::result::Result<MeasureName, E> {
        Ok(MeasureName(Measure::from_name(name)))
    }
}

#[derive(Serialize, Deserialize)]
struct NamesJson {
    id: String,
    kind: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    parent: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    owner: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    teams: Vec<String>,
}

impl NamesJson {
    fn of(id: &UnitId, kind: UnitKind, names: &Names) -> NamesJson {
        NamesJson {
            id: id.to_string(),
            kind: kind.as_str().to_owned(),
            parent: names.parent.as_ref().map(UnitId::to_string),
            name: names.name.as_ref().map(Name::to_string),
            owner: names.owner.as_ref().map(Name::to_string),
            teams: names.teams.iter().map(Name::to_string).collect(),
        }
    }

    fn read(&self) -> Option<(UnitId, Names)> {
        let name = |text: &Option<String>| text.as_deref().and_then(Name::new);
        let names = Names {
            kind: Some(UnitKind::from_word(&self.kind)?),
            parent: self.parent.as_deref().and_then(UnitId::new),
            name: name(&self.name),
            owner: name(&self.owner),
            teams: self.teams.iter().filter_map(|team| Name::new(team)).collect(),
            since_ns: None,
        };
        Some((UnitId::new(&self.id)?, names))
    }
}

/// A fine file's sums, as `day.json` has them. `None`: it has no looks.
pub(crate) fn span_sums(tally: &Tally, ids: &Registry) -> Option<Box<RawValue>> {
    let ((from_ms, to_ms), last_ms) = (tally.times?, tally.last_ms?);
    let unit = |(id, unit): (&UnitId, &UnitSums)| {
        let sums = unit.slices.first().and_then(Option::as_deref);
        let mut own = BTreeMap::<Measure, Vec<u64>>::new();
        for (measure, value) in sums.map(|sums| &sums.own[..]).unwrap_or_default() {
            own.entry(*measure).or_default().push(*value);
        }
        let point = |point: Point| (point.since_ns.map(|since| since.to_string()), point.value);
        let ends = measures_of(TOTALS).zip(&unit.ends);
        Some(UnitJson {
            names: NamesJson::of(id, unit.names.kind?, &unit.names),
            sums: sums.map(|sums| ByMeasure::of(&sums.numbers)).unwrap_or_default(),
            own: ByMeasure(own.into_iter().collect()),
            ends: ByMeasure(
                ends.filter_map(|(measure, ends)| ends.map(|ends| (measure, [point(ends.first), point(ends.last)])))
                    .collect(),
            ),
            now: (unit.now.1 == tally.looks).then(|| ByMeasure::of(&unit.now.0)),
        })
    };
    let units = ids.ids().iter().zip(&tally.units).filter_map(unit).collect();
    let sums = SpanSums { from_ms, to_ms, looks: tally.looks, last_ms, units };
    serde_json::value::to_raw_value(&sums).ok()
}

impl UnitJson {
    /// As it was summed up; `looks` is how many there were.
    fn read(&self, looks: u64) -> Option<(UnitId, UnitSums)> {
        let (id, names) = self.names.read()?;
        let mut unit = UnitSums { names, ..UnitSums::new(1) };
        let mut sums = Sums { numbers: self.sums.numbers(), own: Vec::new() };
        for (measure, values) in &self.own.0 {
            sums.own.extend(values.iter().map(|value| (*measure, *value)));
        }
        unit.slices = Box::new([Some(Box::new(sums))]);
        let point = |(since, value): &(Option<String>, u64)| Point {
            since_ns: since.as_ref().and_then(|since| since.parse().ok()),
            value: *value,
        };
        for (measure, ends) in measures_of(TOTALS).zip(&mut unit.ends) {
            let said = self.ends.0.iter().find(|(said, _)| *said == measure);
            *ends =
                said.map(|(_, [first, last])| Ends { first: point(first), first_slice: Some(0), last: point(last) });
        }
        if let Some(now) = &self.now {
            unit.now = (now.numbers(), looks);
        }
        Some((id, unit))
    }
}

/// What `day.json` has to give a reader.
#[derive(Default)]
pub(crate) struct Cached {
    spans: BTreeMap<Span, SpanSums>,
    upto: Option<(Span, u64)>,
}

pub(crate) fn write_day(files: &dyn Files, folder: &Path, day: &DayFile) -> Result<()> {
    replace(files, folder, "day.json", &serde_json::to_vec(day)?)
}

/// The spans that `day.json` has summed up whole, as it has them.
pub(crate) fn read_closed(files: &dyn Files, folder: &Path) -> BTreeMap<Span, Box<RawValue>> {
    let Some(day) = read::<DayFile>(files, folder, "day.json") else { return BTreeMap::new() };
    let upto = day.upto.span();
    // What another version wrote otherwise is summed up anew.
    let is_ours = |sums: &RawValue| serde_json::from_str::<SpanSums>(sums.get()).is_ok();
    let spans = day.spans.into_iter().filter_map(|(name, sums)| Some((Part::Fine.parse(&name)?, sums)));
    spans.filter(|(span, sums)| upto.is_some_and(|upto| *span < upto) && is_ours(sums)).collect()
}

/// The day as it was summed up, if it is to be believed at `at_ms`.
pub(crate) fn read_day_file(files: &dyn Files, folder: &Path, at_ms: u64) -> Cached {
    let believed = || {
        let day = read::<DayFile<SpanSums>>(files, folder, "day.json")?;
        let upto = (day.upto.span()?, day.upto.1);
        let there = day.upto.is_there(files, folder);
        let spans: Option<BTreeMap<_, _>> =
            day.spans.into_iter().map(|(name, sums)| Some((Part::Fine.parse(&name)?, sums))).collect();
        let spans = spans.filter(|spans| spans.keys().all(|span| *span <= upto.0))?;
        let past = spans.values().all(|sums| sums.from_ms <= sums.to_ms && sums.to_ms <= at_ms);
        (there && past).then_some(Cached { spans, upto: Some(upto) })
    };
    believed().unwrap_or_default()
}

impl Cached {
    /// How far in a fine file its sums go, if there are any and they lie in the window whole; the largest number for all
    /// of it.
    pub(crate) fn reach(&self, span: Span, window: &Window) -> Option<u64> {
        let (upto, end) = self.upto?;
        let sums = self.spans.get(&span)?;
        let is_within = window.from_ms.is_none_or(|from| sums.from_ms > from) && sums.to_ms <= window.to_ms;
        is_within.then_some(if span == upto { end } else { u64::MAX })
    }

    /// Adds what was summed up of a fine file.
    pub(crate) fn join(&self, span: Span, ids: &mut Registry, tally: &mut Tally) {
        let Some(sums) = self.spans.get(&span) else { return };
        for (id, later) in sums.units.iter().filter_map(|unit| unit.read(sums.looks)) {
            if let Some(number) = ids.number(id.as_str().as_bytes()) {
                tally.join(number, later);
            }
        }
        tally.joined(sums.looks, Some(sums.last_ms), Some((sums.from_ms, sums.to_ms)));
    }
}
