//! For the benches: keeps days of made looks at once, and times reading them.
//!
//! `store_bench fill FOLDER BUSY TO_MS DAYS EVERY_MS` keeps the looks of a machine and 20 agents, `BUSY` of a hundred units
//! doing something between two looks. `store_bench day FOLDER TO_MS [AGENT]` and `store_bench month FOLDER TO_MS` read.
#![allow(missing_docs, clippy::unwrap_used, clippy::print_stdout, reason = "a bench")]

use std::path::Path;
use std::time::Instant;

use lnk_schema::{Kind, Look, Measure, Name, Unit, UnitId, UnitKind};
use lnk_store::{Appending, Files, RealFiles, Settings, Store, read_day, read_slices};

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
    fn new(agents: usize, busy: u64, from_ms: u64) -> Machine {
        let mut units = vec![Unit::new(UnitId::new("mch_7f3a9c21").unwrap(), UnitKind::Machine)];
        for i in 0..agents {
            let mut unit = Unit::new(UnitId::new(&format!("agt_{i:08x}")).unwrap(), UnitKind::Agent);
            unit.parent = Some(units[0].id.clone());
            unit.name = Name::new(&format!("agent-{i}"));
            units.push(unit);
        }
        let mut machine = Machine { random: 0x9E37_79B9_7F4A_7C15, busy, units };
        for i in 0..machine.units.len() {
            machine.units[i].since_ns = Some(from_ms * 1_000_000 + i as u64 * 7_919_123);
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

fn bytes_of(folder: &Path, part: &str, end: &str) -> u64 {
    let entries = std::fs::read_dir(folder.join(part)).unwrap().map(Result::unwrap);
    let ending = entries.filter(|entry| entry.file_name().to_str().unwrap().ends_with(end));
    ending.map(|entry| entry.metadata().unwrap().len()).sum()
}

/// Keeps looks up to a time as the watcher does, and prints what the closed files hold as JSON.
fn fill(folder: &Path, busy: u64, to_ms: u64, days: u64, every_ms: u64) {
    let keep_ms = (days + 1) * DAY_MS;
    let settings = Settings { keep_fine_ms: keep_ms.min(2 * DAY_MS), keep_minutes_ms: keep_ms, processes: false };
    let store = Store::open_with(std::sync::Arc::new(Unsynced), folder, settings).unwrap().0;
    let from_ms = to_ms - days * DAY_MS;
    let mut machine = Machine::new(20, busy, from_ms);
    let mut closed = 0;
    for (n, at_ms) in (from_ms..=to_ms).step_by(usize::try_from(every_ms).unwrap()).enumerate() {
        store.append(&machine.look(at_ms), "{}").unwrap();
        if n % 360 == 359 {
            assert!(store.tidy(at_ms).is_empty());
            store.write_day().unwrap();
        }
        // The file under way isn't closed.
        closed += u64::from(at_ms / HOUR_MS < to_ms / HOUR_MS);
    }
    assert!(store.tidy(to_ms).is_empty());
    store.write_day().unwrap();
    let units = machine.units.len() as u64;
    let possible = closed * units * Measure::COUNT as u64;
    let bytes = bytes_of(folder, "fine", ".zst");
    println!(r#"{{"closed_bytes":{bytes},"possible_values":{possible},"units":{units}}}"#);
}

/// The median of a few readings, in milliseconds, as JSON.
fn timed<T>(runs: usize, mut run: impl FnMut() -> T) {
    let mut times: Vec<_> = (0..runs)
        .map(|_| {
            let start = Instant::now();
            std::hint::black_box(run());
            start.elapsed().as_secs_f64() * 1000.0
        })
        .collect();
    times.sort_by(f64::total_cmp);
    println!(r#"{{"median_ms":{:.1},"best_ms":{:.1}}}"#, times[runs / 2], times[0]);
}

fn main() {
    let args: Vec<_> = std::env::args().skip(1).collect();
    let args: Vec<_> = args.iter().map(String::as_str).collect();
    let number = |text: &str| text.parse::<u64>().unwrap();
    match args[..] {
        ["fill", folder, busy, to_ms, days, every_ms] => {
            fill(Path::new(folder), number(busy), number(to_ms), number(days), number(every_ms));
        }
        ["day", folder, to_ms] => timed(9, || read_day(Path::new(folder), number(to_ms), None).unwrap()),
        ["day", folder, to_ms, agent] => {
            let agent = UnitId::new(agent).unwrap();
            timed(9, || read_day(Path::new(folder), number(to_ms), Some(&agent)).unwrap());
        }
        ["month", folder, to_ms] => {
            let to_ms = number(to_ms);
            timed(5, || read_slices(Path::new(folder), to_ms - 30 * DAY_MS, to_ms, 30, None).unwrap());
        }
        _ => panic!("{args:?} is none of the things this measures"),
    }
}
