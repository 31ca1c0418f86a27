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
    /// `None`: whatever there is, with each total's first point remembered instead of counted.
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

/// A unit, added up.
#[derive(Debug, Clone)]
pub(crate) struct UnitSums {
    pub names: Names,
    /// Each total's first and last point, in the table's order.
    pub ends: [Option<(Point, Point)>; TOTALS_COUNT],
    pub slices: Box<[Option<Box<Sums>>]>,
    /// Its values in the last look it was in, and which look that was.
    pub now: (Numbers, u64),
}

impl UnitSums {
    fn new(slices: usize) -> UnitSums {
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

    /// Moves a total to a point, and says what it grew by.
    fn grow(&mut self, place: usize, first: Point, last: Point, from_ms: Option<u64>) -> u64 {
        let Some(end) = self.ends.get_mut(place) else { return 0 };
        // Seen for the first time: it grew by all of it if it began in the time that is added up.
        let began_in = || from_ms.is_some_and(|from| first.since_ns.is_some_and(|since| since / 1_000_000 > from));
        let growth = match end {
            Some((_, before)) => first.growth_since(*before),
            None if began_in() => first.value,
            None => 0,
        };
        *end = Some((end.map_or(first, |(first, _)| first), last));
        growth
    }

    fn slice(&mut self, slice: usize) -> Option<&mut Sums> {
        self.slices.get_mut(slice).map(|sums| &mut **sums.get_or_insert_default())
    }
}

/// Every unit, added up; by its number in the registry.
#[derive(Debug)]
pub(crate) struct Tally {
    pub window: Window,
    pub units: Vec<UnitSums>,
    /// Looks added up, and the time of the last.
    pub looks: u64,
    pub last_ms: Option<u64>,
    /// The earliest and the latest look.
    pub times: Option<(u64, u64)>,
}

impl Tally {
    pub(crate) fn new(window: Window) -> Tally {
        Tally { window, units: Vec::new(), looks: 0, last_ms: None, times: None }
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
            let (looks, from_ms) = (self.looks, self.window.from_ms);
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

    /// Adds what was added up before, of a time that lies in the window whole.
    pub(crate) fn join(&mut self, number: usize, later: &UnitSums) {
        let from_ms = self.window.from_ms;
        let Some(unit) = self.unit(number) else { return };
        if later.names.kind.is_some() {
            unit.names.clone_from(&later.names);
        }
        for ((place, measure), ends) in measures_of(TOTALS).enumerate().zip(later.ends) {
            if let Some((first, last)) = ends {
                let growth = unit.grow(place, first, last, from_ms);
                unit.slice(0).into_iter().for_each(|sums| sums.numbers.add(measure, growth));
            }
        }
        if let (Some(sums), Some(Some(later))) = (unit.slice(0), later.slices.first()) {
            sums.add(later);
        }
        if later.now.1 != 0 {
            unit.now.clone_from(&later.now);
        }
    }

    /// Counts the looks that were joined.
    pub(crate) fn joined(&mut self, looks: u64, last_ms: u64, (first, last): (u64, u64)) {
        (self.looks, self.last_ms) = (looks, Some(last_ms));
        let (earliest, latest) = self.times.unwrap_or((first, last));
        self.times = Some((earliest.min(first), latest.max(last)));
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
        let growth = unit.grow(place, point, point, from_ms);
        if let Some(sums) = slice.and_then(|slice| unit.slice(slice)) {
            sums.numbers.add(measure, growth);
        }
    }
    let Some(sums) = slice.and_then(|slice| unit.slice(slice)) else { return };
    for measure in measures_of(carried.numbers.present() & !TOTALS) {
        carried.numbers.get(measure).into_iter().for_each(|value| sums.value(measure, value));
    }
    for &(measure, value) in look.turns(seen) {
        sums.turn(measure, value);
    }
}
