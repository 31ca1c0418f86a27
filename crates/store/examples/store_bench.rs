//! What the store costs: a look's line beside the same look as OTLP, closed files beside the values they could hold,
//! and the time a day and a month take to read.
//!
//! `cargo run --release -p lnk-store --example store_bench`
#![allow(missing_docs, clippy::unwrap_used, clippy::print_stdout, reason = "a bench")]

use std::path::Path;
use std::time::Instant;

use lnk_schema::{Kind, Look, Measure, Name, Unit, UnitId, UnitKind};
use lnk_store::{Appending, Files, RealFiles, Settings, Store, read_day, read_slices};

const START_MS: u64 = 1_796_072_400_000;
const HOUR_MS: u64 = 3_600_000;
const DAY_MS: u64 = 24 * HOUR_MS;

/// The real files without waiting for the disk: a day of looks is written in one go here.
struct Unsynced;

struct UnsyncedFile(Box<dyn Appending>);

impl Appending for UnsyncedFile {
    fn size(&self) -> std::io::Result<u64> {
        self.0.size()
    }
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.write(bytes)
    }
    fn cut(&mut self, len: u64) -> std::io::Result<()> {
        self.0.cut(len)
    }
    fn sync(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Files for Unsynced {
    fn make_folder(&self, folder: &Path) -> std::io::Result<()> {
        RealFiles.make_folder(folder)
    }
    fn list(&self, folder: &Path) -> std::io::Result<Vec<String>> {
        RealFiles.list(folder)
    }
    fn read(&self, path: &Path, most: u64) -> std::io::Result<Vec<u8>> {
        RealFiles.read(path, most)
    }
    fn len_of(&self, path: &Path) -> std::io::Result<u64> {
        RealFiles.len_of(path)
    }
    fn append(&self, path: &Path) -> std::io::Result<Box<dyn Appending>> {
        Ok(Box::new(UnsyncedFile(RealFiles.append(path)?)))
    }
    fn create(&self, path: &Path) -> std::io::Result<Box<dyn Appending>> {
        Ok(Box::new(UnsyncedFile(RealFiles.create(path)?)))
    }
    fn rename(&self, from: &Path, to: &Path) -> std::io::Result<()> {
        RealFiles.rename(from, to)
    }
    fn remove(&self, path: &Path) -> std::io::Result<()> {
        RealFiles.remove(path)
    }
    fn sync_folder(&self, _folder: &Path) -> std::io::Result<()> {
        Ok(())
    }
}

/// A machine with agents, each value going its own way; `busy`: how many of a hundred units do something in a look.
struct Machine {
    random: u64,
    busy: u64,
    units: Vec<Unit>,
}

impl Machine {
    fn new(agents: usize, busy: u64) -> Machine {
        let mut units = vec![Unit::new(UnitId::new("mch_7f3a9c21").unwrap(), UnitKind::Machine)];
        for i in 0..agents {
            let mut unit = Unit::new(UnitId::new(&format!("agt_{i:08x}")).unwrap(), UnitKind::Agent);
            unit.parent = Some(units[0].id.clone());
            unit.name = Name::new(&format!("agent-{i}"));
            units.push(unit);
        }
        let mut machine = Machine { random: 0x9E37_79B9_7F4A_7C15, busy, units };
        for i in 0..machine.units.len() {
            machine.units[i].since_ns = Some(START_MS * 1_000_000 + i as u64 * 7_919_123);
            for &measure in LOOKED_AT {
                let start = machine.below(1 << 30) as f64;
                machine.units[i].values.set(measure, Some(if measure.unit() == "By" { start } else { start / 1e6 }));
            }
        }
        machine
    }

    fn below(&mut self, most: u64) -> u64 {
        self.random ^= self.random >> 12;
        self.random ^= self.random << 25;
        self.random ^= self.random >> 27;
        self.random.wrapping_mul(0x2545_F491_4F6C_DD1D) % most
    }

    fn look(&mut self, at_ms: u64) -> Look {
        for i in 0..self.units.len() {
            self.units[i].turns.clear();
            // The machine itself always does something.
            if self.below(100) >= self.busy && i > 0 {
                continue;
            }
            for &measure in LOOKED_AT {
                let before = self.units[i].values.get(measure).unwrap_or(0.0);
                let step = self.below(100_000) as f64;
                let value = match (measure.kind(), measure.unit()) {
                    (Kind::Total, "s") => before + step / 1e5,
                    (Kind::Level, "By") => before + (step - 50_000.0).round() * 4096.0,
                    (Kind::Total, _) => before + step,
                    _ => before,
                };
                self.units[i].values.set(measure, Some(value.max(0.0)));
            }
            if i > 0 && self.below(6) == 0 {
                let (input, time) = (self.below(100_000) as f64, self.below(30_000) as f64 / 1000.0);
                self.units[i].turns = vec![
                    (Measure::Turns, 1.0),
                    (Measure::TokensInput, input),
                    (Measure::TokensOutput, (input / 40.0).round()),
                    (Measure::TimeTurn, time),
                ];
            }
        }
        Look { at_ms, units: self.units.clone() }
    }
}

const LOOKED_AT: &[Measure] = &[
    Measure::MemoryUsed,
    Measure::MemoryPeak,
    Measure::CpuUsed,
    Measure::DiskUsed,
    Measure::DiskFiles,
    Measure::DiskRead,
    Measure::DiskWritten,
    Measure::NetworkIn,
    Measure::NetworkOut,
    Measure::Processes,
    Measure::Ports,
];

/// The look as OTLP JSON: a resource a unit, a metric a measure, a point each.
fn otlp(look: &Look) -> String {
    let nanos = (look.at_ms * 1_000_000).to_string();
    let attribute = |key: &str, value: &str| serde_json::json!({"key": key, "value": {"stringValue": value}});
    let resources: Vec<_> = look.units.iter().map(|unit| {
        let mut attributes = vec![
            attribute("link.unit.id", unit.id.as_str()),
            attribute("link.unit.kind", unit.kind.as_str()),
            attribute("link.machine.id", look.units[0].id.as_str()),
            attribute("service.name", "link"),
            attribute("service.instance.id", unit.id.as_str()),
        ];
        attributes.extend(unit.parent.iter().map(|parent| attribute("link.unit.parent", parent.as_str())));
        attributes.extend(unit.name.iter().map(|name| attribute("link.unit.name", name.as_str())));
        let metrics: Vec<_> = unit.values.iter().filter(|(m, v)| *v != 0.0 || m.kind() == Kind::Total).map(|(measure, value)| {
            let mut point = serde_json::json!({"timeUnixNano": nanos, "asDouble": value});
            if measure.kind() != Kind::Total {
                return serde_json::json!({"name": measure.full_name(), "unit": measure.unit(), "gauge": {"dataPoints": [point]}});
            }
            point["startTimeUnixNano"] = unit.since_ns.unwrap_or(0).to_string().into();
            let sum = serde_json::json!({"aggregationTemporality": 2, "isMonotonic": true, "dataPoints": [point]});
            serde_json::json!({"name": measure.full_name(), "unit": measure.unit(), "sum": sum})
        }).collect();
        let scope = serde_json::json!({"scope": {"name": "lnk-measure", "version": "0.1.0"}, "metrics": metrics});
        serde_json::json!({"resource": {"attributes": attributes}, "scopeMetrics": [scope]})
    }).collect();
    serde_json::json!({"resourceMetrics": resources}).to_string()
}

fn bytes_of(folder: &Path, part: &str, end: &str) -> u64 {
    let entries = std::fs::read_dir(folder.join(part)).unwrap().map(Result::unwrap);
    let ending = entries.filter(|entry| entry.file_name().to_str().unwrap().ends_with(end));
    ending.map(|entry| entry.metadata().unwrap().len()).sum()
}

fn timed<T>(what: &str, runs: u32, mut run: impl FnMut() -> T) {
    let mut times: Vec<_> = (0..runs)
        .map(|_| {
            let start = Instant::now();
            std::hint::black_box(run());
            start.elapsed().as_secs_f64() * 1000.0
        })
        .collect();
    times.sort_by(f64::total_cmp);
    println!("{what:<58} {:>8.1} ms (best {:.1})", times[times.len() / 2], times[0]);
}

fn fill(folder: &Path, machine: &mut Machine, from_ms: u64, to_ms: u64, every_ms: u64) -> Store {
    let settings = Settings { keep_fine_ms: 26 * HOUR_MS, keep_minutes_ms: 40 * DAY_MS, processes: false };
    let store = Store::open_with(std::sync::Arc::new(Unsynced), folder, settings).unwrap().0;
    for (n, at_ms) in (from_ms..=to_ms).step_by(usize::try_from(every_ms).unwrap()).enumerate() {
        store.append(&machine.look(at_ms), r#"{"times":{}}"#).unwrap();
        if n % 360 == 0 {
            assert!(store.tidy(at_ms).is_empty());
            store.write_day().unwrap();
        }
    }
    store.write_day().unwrap();
    store
}

fn main() {
    println!("a day of 20 agents and the machine, a look each 10 s, 11 measures looked at of {}", Measure::COUNT);
    for (name, busy) in [("idle", 5), ("busy", 100)] {
        let at = tempfile::tempdir().unwrap();
        let folder = at.path();
        let mut machine = Machine::new(20, busy);
        let end = START_MS + DAY_MS;
        let store = fill(folder, &mut machine, START_MS, end, 10_000);
        let newest = std::fs::read_to_string(folder.join("fine/2026-12-01-21.jsonl")).unwrap();
        let first = newest.lines().last().unwrap().len();
        store.append(&machine.look(end + 10_000), r#"{"times":{}}"#).unwrap();
        let line = std::fs::read_to_string(folder.join("fine/2026-12-01-21.jsonl")).unwrap();
        let (line, otlp) = (line.lines().last().unwrap().len(), otlp(&machine.look(end + 20_000)).len());
        println!(
            "\n{name}: a line {line} bytes (said anew {first}), as OTLP JSON {otlp}: 1/{:.1}",
            otlp as f64 / line as f64
        );
        let packed = bytes_of(folder, "fine", ".zst");
        let looks = 24 * 360;
        let possible = (looks * machine.units.len() * Measure::COUNT) as f64;
        let looked_at = (looks * machine.units.len() * LOOKED_AT.len()) as f64;
        println!(
            "{name}: closed {packed} bytes, {:.3} a possible value, {:.3} a value looked at",
            packed as f64 / possible,
            packed as f64 / looked_at
        );
        timed(&format!("{name}: the day, with day.json"), 9, || read_day(folder, end + 10_000, None).unwrap());
        let agent = machine.units[3].id.clone();
        timed(&format!("{name}: one agent's day and hours"), 9, || {
            read_day(folder, end + 10_000, Some(&agent)).unwrap()
        });
        std::fs::remove_file(folder.join("day.json")).unwrap();
        timed(&format!("{name}: the day from its files"), 9, || read_day(folder, end + 10_000, None).unwrap());
        timed(&format!("{name}: a start"), 9, || {
            Store::open(folder, Settings { keep_fine_ms: DAY_MS, keep_minutes_ms: DAY_MS, processes: false }).unwrap()
        });
    }
    let at = tempfile::tempdir().unwrap();
    let end = START_MS + 30 * DAY_MS;
    drop(fill(at.path(), &mut Machine::new(20, 30), START_MS, end, 60_000));
    println!("\n30 days of 20 agents: minutes, closed {} bytes", bytes_of(at.path(), "minutes", ".zst"));
    timed("30 days of minutes, a slice a day", 5, || read_slices(at.path(), START_MS, end, 30, None).unwrap());
}
