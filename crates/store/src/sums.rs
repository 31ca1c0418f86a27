//! Looks added up over a time: the most of what has a level, the growth of what has a total, the sum of the rest.

use lnk_schema::{Measure, RollUp};

use crate::carry::{Carried, Seen, SeenUnit};
use crate::numbers::{MOST, Numbers, TOTALS, measures_of};
use crate::row::Names;
use crate::span::MINUTE_MS;

/// How long before a time its totals' baselines are looked for. Longer than any look is from the next.
pub(crate) const LOOK_BACK_MS: u64 = 15 * MINUTE_MS;

const TOTALS_COUNT: usize = TOTALS.count_ones() as usize;

/// A running total at a look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Point {
    /// When it began, if that is known.
    pub since_ns: Option<u64>,
    pub value: u64,
}

impl Point {
    /// What it grew by since another: all of it if it began anew meanwhile. Where it is not known when a total began,
    /// one that isn't less is taken for the same; that can only be too little.
    pub(crate) fn growth_since(self, before: Point) -> u64 {
        let same = self.since_ns.is_none() || before.since_ns.is_none() || self.since_ns == before.since_ns;
        self.value.checked_sub(before.value).filter(|_| same).unwrap_or(self.value)
    }
}

/// A unit's sums.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Sums {
    /// By measure: the most, the growth or the sum.
    pub numbers: Numbers,
    /// The values of what doesn't add up.
    pub own: Vec<(Measure, u64)>,
}

impl Sums {
    /// Adds a turn.
    pub(crate) fn turn(&mut self, measure: Measure, value: u64) {
        if measure.roll_up() == RollUp::Own {
            self.own.push((measure, value));
        } else {
            self.numbers.add(measure, value);
        }
    }

    /// Adds a value that is no total and no turn.
    pub(crate) fn value(&mut self, measure: Measure, value: u64) {
        if MOST & crate::numbers::bit(measure) != 0 {
            self.numbers.raise(measure, value);
        } else {
            self.numbers.add(measure, value);
        }
    }

    /// Adds later sums of the same unit.
    pub(crate) fn add(&mut self, later: &Sums) {
        for (measure, value) in later.numbers.iter() {
            self.value(measure, value);
        }
        self.own.extend_from_slice(&later.own);
    }

    /// The median of a measure's values, doubled so that it stays whole; `None` if it has none.
    pub(crate) fn median_doubled(&self, measure: Measure) -> Option<u64> {
        let mut values: Vec<_> =
            self.own.iter().filter(|(other, _)| *other == measure).map(|(_, value)| *value).collect();
        values.sort_unstable();
        let upper = values.get(values.len() / 2)?;
        let lower = values.get((values.len() - 1) / 2)?;
        Some(upper.saturating_add(*lower))
    }
}

/// The looks to add up: after `from_ms`, up to `to_ms`, in equal slices.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Window {
    /// `None`: whatever there is.
    pub from_ms: Option<u64>,
    pub to_ms: u64,
    pub slices: usize,
}

impl Window {
    /// All there is, in one.
    pub(crate) const ALL: Window = Window { from_ms: None, to_ms: u64::MAX, slices: 1 };

    fn slice_of(&self, at_ms: u64) -> Option<usize> {
        let Some(from) = self.from_ms else { return Some(0) };
        let within = at_ms.checked_sub(from.checked_add(1)?).filter(|_| at_ms <= self.to_ms)?;
        let slice_ms = (self.to_ms - from) / self.slices as u64;
        usize::try_from(within / slice_ms.max(1)).ok().map(|slice| slice.min(self.slices - 1))
    }
}

/// Where a total begins and ends in what was added up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ends {
    pub first: Point,
    /// The slice the first point lies in; `None` before the window.
    pub first_slice: Option<usize>,
    pub last: Point,
}

/// A unit, added up.
#[derive(Debug, Clone)]
pub(crate) struct UnitSums {
    pub names: Names,
    /// Each total's ends, in the table's order.
    pub ends: [Option<Ends>; TOTALS_COUNT],
    pub slices: Box<[Option<Box<Sums>>]>,
    /// Its values in the last look it was in, and which look that was.
    pub now: (Numbers, u64),
}

impl UnitSums {
    pub(crate) fn new(slices: usize) -> UnitSums {
        UnitSums {
            names: Names::default(),
            ends: [None; TOTALS_COUNT],
            slices: vec![None; slices].into(),
            now: (Numbers::default(), 0),
        }
    }

    /// Whether any of it lies in the window.
    pub(crate) fn is_there(&self) -> bool {
        self.slices.iter().any(Option::is_some)
    }

    /// Moves a total on over what was added up of it, and adds what it grew by up to the first point there.
    fn grow(&mut self, place: usize, measure: Measure, on: Ends, counts_from_ms: Option<u64>) {
        let Some(ends) = self.ends.get_mut(place) else { return };
        // Seen for the first time: it grew by all of it if it began in the time that is added up.
        let began_in =
            || counts_from_ms.is_some_and(|from| on.first.since_ns.is_some_and(|since| since / 1_000_000 > from));
        let growth = match ends {
            Some(before) => on.first.growth_since(before.last),
            None if began_in() => on.first.value,
            None => 0,
        };
        *ends = Some(Ends { last: on.last, ..ends.unwrap_or(on) });
        if let Some(sums) = on.first_slice.and_then(|slice| self.slice(slice)) {
            sums.numbers.add(measure, growth);
        }
    }

    fn slice(&mut self, slice: usize) -> Option<&mut Sums> {
        self.slices.get_mut(slice).map(|sums| &mut **sums.get_or_insert_default())
    }
}

/// Every unit, added up; by its number in the registry.
#[derive(Debug)]
pub(crate) struct Tally {
    pub window: Window,
    /// It is to be joined to what lies before it: what a total had grown by at its first point is known only then.
    is_part: bool,
    pub units: Vec<UnitSums>,
    /// Looks added up, and the time of the last.
    pub looks: u64,
    pub last_ms: Option<u64>,
    /// The earliest and the latest look.
    pub times: Option<(u64, u64)>,
}

impl Tally {
    pub(crate) fn new(window: Window) -> Tally {
        Tally { window, is_part: false, units: Vec::new(), looks: 0, last_ms: None, times: None }
    }

    /// Of a part of the window, to be joined to those before it.
    pub(crate) fn part(window: Window) -> Tally {
        Tally { is_part: true, ..Tally::new(window) }
    }

    /// From when on a total's first point is counted whole.
    fn counts_from_ms(&self) -> Option<u64> {
        self.window.from_ms.filter(|_| !self.is_part)
    }

    pub(crate) fn unit(&mut self, number: usize) -> Option<&mut UnitSums> {
        if self.units.len() <= number {
            self.units.resize_with(number + 1, || UnitSums::new(self.window.slices));
        }
        self.units.get_mut(number)
    }

    /// Adds a look.
    pub(crate) fn look(&mut self, look: &Seen<'_>) {
        let slice = self.window.slice_of(look.at_ms);
        let earliest = self.window.from_ms.unwrap_or(0).saturating_sub(LOOK_BACK_MS);
        // Before the window, a look only says from where its totals grow.
        let counts = slice.is_some() || (look.at_ms > earliest && look.at_ms <= self.window.to_ms);
        if slice.is_some() {
            self.looks += 1;
            self.last_ms = Some(look.at_ms);
            let (first, last) = self.times.unwrap_or((look.at_ms, look.at_ms));
            self.times = Some((first.min(look.at_ms), last.max(look.at_ms)));
        }
        for seen in look.units {
            let (looks, from_ms) = (self.looks, self.counts_from_ms());
            let (Some(carried), Some(unit)) = (look.carried(seen), self.unit(seen.number)) else { continue };
            if seen.named && carried.names.kind.is_some() {
                unit.names.clone_from(&carried.names);
            }
            if counts {
                add(unit, slice, from_ms, carried, look, seen);
            }
            // A minute's values are its most, not what was last seen.
            if slice.is_some() && look.source.is_none() {
                unit.now.0.clone_from(&carried.numbers);
                unit.now.1 = looks;
            }
        }
    }

    /// Adds a unit's sums of a part that lies after all that was added so far. Its looks are counted after that.
    pub(crate) fn join(&mut self, number: usize, later: UnitSums) {
        let (from_ms, looks) = (self.counts_from_ms(), self.looks);
        let Some(unit) = self.unit(number) else { return };
        if later.names.kind.is_some() {
            unit.names = later.names;
        }
        for ((place, measure), on) in measures_of(TOTALS).enumerate().zip(later.ends) {
            if let Some(on) = on {
                unit.grow(place, measure, on, from_ms);
            }
        }
        for (slice, sums) in later.slices.into_iter().enumerate() {
            if let (Some(later), Some(sums)) = (&sums, unit.slices.get_mut(slice)) {
                sums.get_or_insert_default().add(later);
            }
        }
        if later.now.1 != 0 {
            unit.now = (later.now.0, looks + later.now.1);
        }
    }

    /// Counts the looks of a part whose units were joined.
    pub(crate) fn joined(&mut self, looks: u64, last_ms: Option<u64>, times: Option<(u64, u64)>) {
        self.looks += looks;
        self.last_ms = last_ms.or(self.last_ms);
        if let Some((first, last)) = times {
            let (earliest, latest) = self.times.unwrap_or((first, last));
            self.times = Some((earliest.min(first), latest.max(last)));
        }
    }
}

fn add(
    unit: &mut UnitSums,
    slice: Option<usize>,
    from_ms: Option<u64>,
    carried: &Carried,
    look: &Seen<'_>,
    seen: &SeenUnit,
) {
    for (place, measure) in measures_of(TOTALS).enumerate() {
        let Some(value) = carried.numbers.get(measure) else { continue };
        let point = Point { since_ns: carried.names.since_ns, value };
        unit.grow(place, measure, Ends { first: point, first_slice: slice, last: point }, from_ms);
    }
    let Some(sums) = slice.and_then(|slice| unit.slice(slice)) else { return };
    for measure in measures_of(carried.numbers.present() & !TOTALS) {
        carried.numbers.get(measure).into_iter().for_each(|value| sums.value(measure, value));
    }
    for &(measure, value) in look.turns(seen) {
        sums.turn(measure, value);
    }
}
