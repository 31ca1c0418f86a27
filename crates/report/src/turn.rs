//! What one line says.

use lnk_schema::{Measure, RollUp, add_up};

/// One line's values: a turn's, or a start's or stop's. Each is finite, zero or more, and within its measure's bounds.
///
/// A measure that adds up is there once, its points summed; one that doesn't is there as often as the line said it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Turn(pub Vec<(Measure, f64)>);

/// The most values of one measure that a look keeps of an agent. A harness has a few turns in the ten seconds of a look; one
/// that says a quarter of a million of them, as four mebibytes hold, fills neither the disk nor a reader's memory.
const MOST_VALUES: usize = 64;

/// The values of one look of an agent, no more of each measure than are kept. Where there are more, neighbours are put
/// together: of a sum they are added up, so that nothing of it is lost; of what doesn't add up one stands for them.
pub(crate) fn bounded(values: Vec<(Measure, f64)>) -> Vec<(Measure, f64)> {
    if values.len() <= MOST_VALUES {
        return values;
    }
    let mut by_measure = vec![Vec::new(); Measure::COUNT];
    for (measure, value) in values {
        by_measure[measure.index()].push(value);
    }
    let of_each = Measure::ALL.iter().zip(by_measure);
    of_each.flat_map(|(&measure, values)| together(measure, &values)).collect()
}

fn together(measure: Measure, values: &[f64]) -> Vec<(Measure, f64)> {
    let (count, groups) = (values.len(), values.len().min(MOST_VALUES));
    let of_group = |group: usize| {
        let of = &values[count * group / groups..count * (group + 1) / groups];
        match measure.roll_up() {
            RollUp::Sum => of.iter().copied().fold(0.0, add_up),
            RollUp::Max | RollUp::Own => of[of.len() / 2],
        }
    };
    (0..groups).map(|group| (measure, of_group(group))).collect()
}
