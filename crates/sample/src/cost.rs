//! What looking costs: each source's own time, reads and failures.

use std::time::Instant;

use lnk_schema::Measure;
use serde::{Serialize, Serializer};

use crate::{Absent, Why};

/// What one source cost at one look.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Cost {
    /// Wall time in microseconds.
    pub micros: f64,
    /// Reads or calls made.
    pub reads: u64,
}

impl Cost {
    /// Does something of the source's, and adds what it took.
    pub fn time<T>(&mut self, read: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let result = read();
        self.micros += start.elapsed().as_secs_f64() * 1e6;
        self.reads += 1;
        result
    }

    /// The cost so far; the next look begins at nothing.
    #[must_use]
    pub fn take(&mut self) -> Cost {
        std::mem::take(self)
    }
}

/// Values that are absent for one reason, and how many.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Missing {
    /// The unit they are of: the machine, or an agent whose processes they are.
    pub unit: String,
    /// The measures, by their full names.
    #[serde(serialize_with = "as_full_names")]
    pub measures: Vec<Measure>,
    /// Why, in one word.
    pub why: Why,
    /// Of which file or call, and what came of it.
    #[serde(rename = "detail", serialize_with = "as_text")]
    pub absent: Absent,
    /// How many processes or devices it is so of.
    pub count: u64,
}

impl Missing {
    /// Adds one absence to those of its source, with those of the same reason.
    pub fn note(missing: &mut Vec<Missing>, unit: &str, measures: &[Measure], absent: &Absent) {
        let same = |known: &&mut Missing| known.absent == *absent && known.unit == unit && known.measures == measures;
        match missing.iter_mut().rev().find(same) {
            Some(known) => known.count += 1,
            None => missing.push(Missing {
                unit: unit.into(),
                measures: measures.to_vec(),
                why: absent.why,
                absent: absent.clone(),
                count: 1,
            }),
        }
    }
}

fn as_full_names<S: Serializer>(measures: &[Measure], to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(measures.iter().map(|measure| measure.full_name()))
}

fn as_text<S: Serializer>(absent: &Absent, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(absent)
}
