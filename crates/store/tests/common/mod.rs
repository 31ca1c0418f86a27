//! What the store's tests share: looks to keep, a seeded generator, and the day worked out the plain way.
#![allow(dead_code, missing_docs, clippy::unwrap_used, reason = "each test file uses its part")]

use std::collections::BTreeMap;
use std::path::Path;

use lnk_schema::{Kind, Look, Measure, Name, RollUp, Unit, UnitId, UnitKind};
use lnk_store::{Day, Settings, Store};

pub const DAY_MS: u64 = 86_400_000;
pub const HOUR_MS: u64 = 3_600_000;
/// 2026-11-30 21:00 UTC.
pub const START_MS: u64 = 1_796_072_400_000;

pub const KEEP: Settings = Settings { keep_fine_ms: 2 * DAY_MS, keep_minutes_ms: 30 * DAY_MS, processes: true };

/// xorshift64*: a test that fails says its seed.
pub struct Seeded(pub u64);

impl Seeded {
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    pub fn below(&mut self, most: u64) -> u64 {
        self.next() % most
    }
}

pub fn id(text: &str) -> UnitId {
    UnitId::new(text).unwrap()
}

pub fn unit(name: &str, kind: UnitKind, since_ns: u64, values: &[(Measure, f64)]) -> Unit {
    let mut unit = Unit::new(id(name), kind);
    unit.since_ns = Some(since_ns);
    if kind != UnitKind::Machine {
        unit.parent = Some(id("mch_7f"));
        unit.name = Name::new("main");
    }
    for &(measure, value) in values {
        unit.values.set(measure, Some(value));
    }
    unit
}

/// A machine and an agent whose CPU and turns say which look it is.
pub fn look(at_ms: u64, n: u64, turns: u64) -> Look {
    let machine = unit("mch_7f", UnitKind::Machine, 5, &[(Measure::CpuUsed, n as f64), (Measure::MemoryUsed, 8e9)]);
    let mut agent = unit("agt_01", UnitKind::Agent, 7, &[(Measure::CpuUsed, n as f64 / 4.0), (Measure::DiskRead, 9.0)]);
    agent.turns = (0..turns).map(|_| (Measure::Turns, 1.0)).collect();
    Look { at_ms, units: vec![machine, agent] }
}

pub fn open(folder: &Path) -> Store {
    Store::open(folder, KEEP).unwrap().0
}

pub fn day_of(day: &Day, unit: &str, measure: Measure) -> Option<f64> {
    day.units.iter().find(|other| other.id().as_str() == unit)?.day(measure)
}

/// Every value of a day, by unit and measure.
pub fn values(day: &Day) -> BTreeMap<(String, &'static str), f64> {
    let mut values = BTreeMap::new();
    for unit in &day.units {
        for &measure in Measure::ALL {
            if let Some(value) = unit.day(measure) {
                values.insert((unit.id().to_string(), measure.name()), value);
            }
        }
    }
    values
}

/// A day worked out from its looks, in whole micros, as its definition reads.
pub fn oracle(looks: &[Look], from_ms: u64, to_ms: u64) -> BTreeMap<(String, &'static str), f64> {
    let whole =
        |measure: Measure, value: f64| if measure.unit() == "s" { (value * 1e6).round() } else { value.round() };
    let mut last: BTreeMap<(String, Measure), (u64, f64)> = BTreeMap::new();
    let mut sums: BTreeMap<(String, Measure), Vec<f64>> = BTreeMap::new();
    for look in looks.iter().filter(|look| look.at_ms > from_ms - 900_000 && look.at_ms <= to_ms) {
        for unit in &look.units {
            let since = unit.since_ns.unwrap();
            let mut all: Vec<_> = unit.values.iter().collect();
            all.extend(unit.turns.iter().copied());
            for (measure, value) in all {
                let (key, mut value) = ((unit.id.to_string(), measure), whole(measure, value));
                if measure.kind() == Kind::Total {
                    let now = (since, value);
                    value = match last.insert(key.clone(), now) {
                        Some((before_since, before)) if before_since == since && before <= value => value - before,
                        None if since / 1_000_000 <= from_ms => 0.0,
                        _ => value,
                    };
                }
                if look.at_ms > from_ms {
                    sums.entry(key).or_default().push(value);
                }
            }
        }
    }
    let mut day = BTreeMap::new();
    for ((unit, measure), mut values) in sums {
        values.sort_by(f64::total_cmp);
        let value = match measure.kind() {
            Kind::Level | Kind::Peak => values[values.len() - 1],
            Kind::Turn if measure.roll_up() == RollUp::Own => {
                f64::midpoint(values[values.len() / 2], values[(values.len() - 1) / 2])
            }
            _ => values.iter().sum(),
        };
        let value = if measure.unit() == "s" { value / 1e6 } else { value };
        if value != 0.0 || measure.kind() == Kind::Total {
            day.insert((unit, measure.name()), value);
        }
    }
    day
}

/// Looks of a machine and a few agents that come, go, restart and take turns.
pub fn random_looks(seeded: &mut Seeded, from_ms: u64, count: u64, every_ms: u64) -> Vec<Look> {
    let mut totals = [[0_u64; 3]; 4];
    let mut since = [5_u64; 4];
    let mut looks = Vec::new();
    for n in 0..count {
        // Never on a whole minute, where a day made of looks and one made of minutes part.
        let at_ms = from_ms + n * every_ms + 1 + seeded.below(every_ms.min(900));
        let at_ms = if at_ms.is_multiple_of(60_000) { at_ms + 1 } else { at_ms };
        let mut units = Vec::new();
        for (i, name) in ["mch_7f", "agt_01", "agt_02", "agt_01/77"].into_iter().enumerate() {
            if i > 0 && seeded.below(10) == 0 {
                continue;
            }
            if i > 0 && seeded.below(40) == 0 {
                (since[i], totals[i]) = ((at_ms - 500) * 1_000_000, [0; 3]);
            }
            if i > 0 && seeded.below(200) == 0 {
                totals[i][1] = 0;
            }
            for total in &mut totals[i] {
                *total += seeded.below(3) * seeded.below(1_000_000);
            }
            let [cpu, read, net] = totals[i];
            let kind = [UnitKind::Machine, UnitKind::Agent, UnitKind::Agent, UnitKind::Process][i];
            let mut values = vec![
                (Measure::CpuUsed, cpu as f64 / 1e6),
                (Measure::DiskRead, read as f64),
                (Measure::MemoryUsed, (seeded.below(5) * seeded.below(1 << 30)) as f64),
                (Measure::MemoryPeak, seeded.below(1 << 31) as f64),
                (Measure::GpuUsed, (seeded.below(2) * seeded.below(10_000_000)) as f64 / 1e6),
            ];
            if seeded.below(5) > 0 {
                values.push((Measure::NetworkIn, net as f64));
            }
            let mut unit = unit(name, kind, since[i], &values);
            for _ in 0..seeded.below(3) * u64::from(i == 1) {
                unit.turns.push((Measure::TokensInput, seeded.below(100_000) as f64));
                unit.turns.push((Measure::TimeTurn, seeded.below(90_000_000) as f64 / 1e6));
            }
            units.push(unit);
        }
        looks.push(Look { at_ms, units });
    }
    looks
}

/// The names in a part of the store.
pub fn names(folder: &Path, part: &str) -> Vec<String> {
    let mut names: Vec<_> = std::fs::read_dir(folder.join(part))
        .map(|entries| entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect())
        .unwrap_or_default();
    names.sort();
    names
}
