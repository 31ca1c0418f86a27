//! A unit's values as the store keeps them: whole numbers, so that a sum is the same whatever order it was made in.
//!
//! A floating-point sum depends on how it was grouped, and a day must come out the same from looks as from minutes.
//! So seconds are kept to the microsecond (what a control group counts in) and everything else as it is counted.

use lnk_schema::{Kind, Measure, Values};
pub(crate) use lnk_schema::{decimals, to_value, to_whole};

/// A set of measures, one bit each.
pub(crate) type Mask = u64;

const _: () = assert!(Measure::COUNT <= 64, "a mask holds one bit a measure");

const fn mask_of(kind: Kind) -> Mask {
    let (mut mask, mut i) = (0, 0);
    while i < Measure::COUNT {
        if Measure::ALL[i].kind() as u8 == kind as u8 {
            mask |= 1 << i;
        }
        i += 1;
    }
    mask
}

/// The measures whose value over a time is the most it was.
pub(crate) const MOST: Mask = mask_of(Kind::Level) | mask_of(Kind::Peak);
/// The running totals.
pub(crate) const TOTALS: Mask = mask_of(Kind::Total);
/// What grew since the look before.
pub(crate) const STEPS: Mask = mask_of(Kind::Step);
/// What is counted per turn.
pub(crate) const TURNS: Mask = mask_of(Kind::Turn);

/// The bit of a measure.
pub(crate) const fn bit(measure: Measure) -> Mask {
    1 << measure.index()
}

/// The measures of a mask, in the table's order.
pub(crate) fn measures_of(mut mask: Mask) -> impl Iterator<Item = Measure> {
    std::iter::from_fn(move || {
        let first = Measure::ALL.get(mask.trailing_zeros() as usize)?;
        mask &= mask - 1;
        Some(*first)
    })
}

/// A unit's values by measure, each there or absent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Numbers {
    present: Mask,
    values: [u64; Measure::COUNT],
}

impl Default for Numbers {
    fn default() -> Self {
        Numbers { present: 0, values: [0; Measure::COUNT] }
    }
}

impl Numbers {
    /// What is kept of a look's values: zero is left out, but a running total's.
    pub(crate) fn of(values: &Values) -> Numbers {
        let mut numbers = Numbers::default();
        for (measure, value) in values.iter().filter(|(m, _)| bit(*m) & TURNS == 0) {
            let whole = to_whole(measure, value);
            if whole != 0 || bit(measure) & TOTALS != 0 {
                numbers.set(measure, whole);
            }
        }
        numbers
    }

    /// Which are there.
    pub(crate) fn present(&self) -> Mask {
        self.present
    }

    /// The value of a measure, if there is one.
    pub(crate) fn get(&self, measure: Measure) -> Option<u64> {
        (self.present & bit(measure) != 0).then(|| self.values[measure.index()])
    }

    /// Sets a measure.
    pub(crate) fn set(&mut self, measure: Measure, value: u64) {
        self.present |= bit(measure);
        self.values[measure.index()] = value;
    }

    /// Makes every measure outside the mask absent.
    pub(crate) fn keep(&mut self, mask: Mask) {
        self.present &= mask;
    }

    /// Sets those that are there in the other.
    pub(crate) fn put(&mut self, other: &Numbers) {
        for (measure, value) in other.iter() {
            self.set(measure, value);
        }
    }

    /// Adds to a measure, stopping at the largest number there is.
    pub(crate) fn add(&mut self, measure: Measure, value: u64) {
        let sum = self.get(measure).unwrap_or(0).saturating_add(value);
        self.set(measure, sum);
    }

    /// Raises a measure to a value if it is less.
    pub(crate) fn raise(&mut self, measure: Measure, value: u64) {
        let most = self.get(measure).unwrap_or(0).max(value);
        self.set(measure, most);
    }

    /// Those that are there, in the table's order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Measure, u64)> + '_ {
        measures_of(self.present).map(|measure| (measure, self.values[measure.index()]))
    }
}
