//! A value as a whole number, so that a sum is the same whatever order it was made in: seconds to the microsecond (what a
//! control group counts in), and everything else as it is counted.

use crate::Measure;

/// The measures in seconds, one bit each.
const SECONDS: u64 = {
    let (mut mask, mut i) = (0, 0);
    while i < Measure::COUNT {
        if matches!(Measure::ALL[i].unit().as_bytes(), b"s") {
            mask |= 1 << i;
        }
        i += 1;
    }
    mask
};

/// Digits after the point that are kept of a measure.
pub const fn decimals(measure: Measure) -> u32 {
    if SECONDS & (1 << measure.index()) != 0 { 6 } else { 0 }
}

/// A value as a whole number of its last decimal, to the nearest; past the largest number it stops there.
pub fn to_whole(measure: Measure, value: f64) -> u64 {
    let scaled = value * 10_f64.powi(decimals(measure).cast_signed());
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "`as` stops at both ends, as wanted")]
    let whole = scaled.round() as u64;
    whole
}

/// A whole number of a measure in the measure's own unit.
pub fn to_value(measure: Measure, whole: u64) -> f64 {
    whole as f64 / 10_f64.powi(decimals(measure).cast_signed())
}
