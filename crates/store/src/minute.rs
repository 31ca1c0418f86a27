//! A minute's looks, as one.

use std::collections::HashMap;

use lnk_schema::{RollUp, UnitId};

use crate::numbers::{MOST, Numbers, TOTALS, bit, measures_of};
use crate::row::Row;
use crate::span::{MINUTE_MS, Span};

/// The looks of a minute, summed up as far as they have come: level and peak the most, total the last, step and turn
/// their sum; the values of what doesn't add up stay.
#[derive(Debug)]
pub(crate) struct Minute {
    /// The time of its last look.
    pub at_ms: u64,
    /// The fine file its looks are in, and how far in it they end.
    pub source: (Span, u64),
    pub rows: Vec<Row>,
    places: HashMap<UnitId, usize>,
    /// It ends with its last look: a total was seen for the first time or fell, and its later points grow from there.
    ends: bool,
}

/// The totals each unit of a minute has.
pub(crate) type Known = HashMap<UnitId, Numbers>;

impl Minute {
    pub(crate) fn new(at_ms: u64, source: (Span, u64), rows: Vec<Row>, before: &Known) -> Minute {
        let mut minute = Minute { at_ms, source, rows: Vec::new(), places: HashMap::new(), ends: false };
        minute.add(at_ms, source, rows, before);
        minute
    }

    /// Whether a look can join: it is of the same minute and file, and no total began anew, whose end would be lost.
    pub(crate) fn takes(&self, at_ms: u64, span: Span, rows: &[Row]) -> bool {
        let went_on = |row: &Row| {
            let Some(before) = self.places.get(&row.id).and_then(|place| self.rows.get(*place)) else { return true };
            before.names.since_ns == row.names.since_ns
                && measures_of(TOTALS).all(|measure| {
                    row.numbers.get(measure).is_none_or(|now| before.numbers.get(measure).is_none_or(|was| was <= now))
                })
        };
        !self.ends && self.at_ms / MINUTE_MS == at_ms / MINUTE_MS && self.source.0 == span && rows.iter().all(went_on)
    }

    /// The totals its units have.
    pub(crate) fn known(&self) -> Known {
        self.rows.iter().map(|row| (row.id.clone(), row.numbers.clone())).collect()
    }

    /// Adds a look that can join, after a minute whose totals were `before`.
    pub(crate) fn add(&mut self, at_ms: u64, source: (Span, u64), rows: Vec<Row>, before: &Known) {
        (self.at_ms, self.source) = (at_ms, source);
        for row in rows {
            let here = self.places.get(&row.id).and_then(|place| self.rows.get(*place)).map(|row| &row.numbers);
            // One that began in this minute grew by all of it, wherever it was seen first.
            let began_here = row.names.since_ns.is_some_and(|since| since / 1_000_000 > at_ms / MINUTE_MS * MINUTE_MS);
            self.ends |= measures_of(row.numbers.present() & TOTALS).any(|measure| {
                match here.and_then(|here| here.get(measure)).or_else(|| before.get(&row.id)?.get(measure)) {
                    Some(known) => row.numbers.get(measure).is_some_and(|now| now < known),
                    None => !began_here,
                }
            });
            let place = *self.places.entry(row.id.clone()).or_insert(self.rows.len());
            if place == self.rows.len() {
                self.rows.push(Row { turns: Vec::new(), numbers: Numbers::default(), ..row.clone() });
            }
            if let Some(sum) = self.rows.get_mut(place) {
                join(sum, row);
            }
        }
    }
}

fn join(sum: &mut Row, row: Row) {
    for (measure, value) in row.numbers.iter() {
        match bit(measure) {
            most if most & MOST != 0 => sum.numbers.raise(measure, value),
            total if total & TOTALS != 0 => sum.numbers.set(measure, value),
            _ => sum.numbers.add(measure, value),
        }
    }
    for (measure, value) in row.turns {
        match sum.turns.iter_mut().find(|(other, _)| *other == measure && measure.roll_up() != RollUp::Own) {
            Some((_, so_far)) => *so_far = so_far.saturating_add(value),
            None => sum.turns.push((measure, value)),
        }
    }
    sum.names = row.names;
}
