//! What a harness says from one moment to another, added up beside whoever else reads its file.

use lnk_schema::{Measure, RollUp, add_up};

use crate::open::Place;
use crate::position::Positions;
use crate::reader::Reader;
use crate::turn::Turn;

/// How often the end of what was said is read for, 4 MiB each time: a file that is written to faster has no end.
const MOST_READS: usize = 256;

/// Adds up a harness's turns from when it is made. It changes none of their files, and needs to be asked often enough that
/// no file comes and goes in between: whoever makes it has the file open to write meanwhile, which lets nobody empty it.
#[derive(Debug)]
pub struct Beside {
    reader: Reader,
    /// How far it has read.
    up_to: Positions,
    sums: [Option<f64>; Measure::COUNT],
}

impl Beside {
    /// Begins: what was said before counts nothing.
    pub fn begin(place: Place) -> Beside {
        let mut beside =
            Beside { reader: Reader::beside(place), up_to: Positions::default(), sums: [None; Measure::COUNT] };
        beside.read();
        beside.sums = [None; Measure::COUNT];
        beside
    }

    /// Reads what was said since.
    pub fn read(&mut self) {
        for _ in 0..MOST_READS {
            let read = self.reader.read();
            self.reader.kept(&read.up_to);
            let is_new = read.up_to != self.up_to;
            self.up_to = read.up_to;
            for Turn(values) in read.turns {
                for (measure, value) in values.into_iter().filter(|(measure, _)| measure.roll_up() == RollUp::Sum) {
                    let sum = &mut self.sums[measure.index()];
                    *sum = Some(add_up(sum.unwrap_or(0.0), value));
                }
            }
            if !is_new {
                return;
            }
        }
    }

    /// What was said so far, added up; what nobody said isn't there. Turns' own times are left out.
    pub fn said(&self) -> impl Iterator<Item = (Measure, f64)> + '_ {
        Measure::ALL.iter().zip(self.sums).filter_map(|(measure, sum)| Some((*measure, sum?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, OpenOptions};
    use std::io::Write;
    use std::path::Path;

    fn say(file: &Path, turns: u32, cost: u32) {
        let point =
            |name: &str, value: u32| format!(r#"{{"name":"{name}","sum":{{"dataPoints":[{{"asInt":"{value}"}}]}}}}"#);
        let metrics = [point("link.turns.sum", turns), point("link.cost.sum", cost), point("link.memory.used.sum", 7)];
        let line = format!(r#"{{"resourceMetrics":[{{"scopeMetrics":[{{"metrics":[{}]}}]}}]}}"#, metrics.join(","));
        let mut file = OpenOptions::new().create(true).append(true).open(file).unwrap();
        writeln!(file, "{line}").unwrap();
    }

    fn said(beside: &mut Beside) -> Vec<(&'static str, f64)> {
        beside.read();
        beside.said().map(|(measure, value)| (measure.name(), value)).collect()
    }

    #[test]
    fn turns_count_once_whoever_moves_or_empties_the_file_meanwhile_and_none_from_before() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("measures.jsonl");
        say(&file, 5, 5);
        let place = || Place::below(home.path(), &file).unwrap();
        let mut beside = Beside::begin(place());
        assert_eq!(said(&mut beside), []);
        say(&file, 1, 0);
        assert_eq!(said(&mut beside), [("turns.sum", 1.0), ("cost.sum", 0.0)]);
        // The watcher's reader empties it in three reads, the second moving it aside.
        let mut watcher = Reader::of_turns(place(), &Positions::default());
        for _ in 0..2 {
            let up_to = watcher.read().up_to;
            watcher.kept(&up_to);
        }
        assert!(!file.exists());
        say(&file, 2, 10);
        assert_eq!(said(&mut beside), [("turns.sum", 3.0), ("cost.sum", 10.0)]);
        let up_to = watcher.read().up_to;
        watcher.kept(&up_to);
        // Its writer moves it aside, over nothing.
        fs::rename(&file, home.path().join("measures.jsonl.1")).unwrap();
        say(&file, 4, 100);
        assert_eq!(said(&mut beside), [("turns.sum", 7.0), ("cost.sum", 110.0)]);
        assert_eq!(said(&mut beside), [("turns.sum", 7.0), ("cost.sum", 110.0)]);
    }

    #[test]
    fn a_file_that_is_open_to_write_is_left_where_it_is_until_it_is_closed() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("measures.jsonl");
        say(&file, 1, 0);
        let held = OpenOptions::new().append(true).open(&file).unwrap();
        let mut watcher = Reader::of_turns(Place::below(home.path(), &file).unwrap(), &Positions::default());
        let mut look = || {
            let up_to = watcher.read().up_to;
            watcher.kept(&up_to);
        };
        (0..4).for_each(|_| look());
        assert!(file.exists());
        drop(held);
        (0..3).for_each(|_| look());
        assert!(!file.exists() && !home.path().join("measures.jsonl.read").exists());
    }
}
