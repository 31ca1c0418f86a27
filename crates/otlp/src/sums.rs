//! A unit's running totals: a look says what grew, and OTLP wants what it grew to since a time that never moves.

use lnk_schema::{Kind, Measure, RollUp, Unit, to_whole};

use crate::request::Points;

/// One running total.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Sum {
    /// When it began; the same in every request, or a reader takes it for another total.
    start_ns: Option<u64>,
    /// When the look says that its totals began, for what a look gives as a total.
    since_ns: Option<u64>,
    whole: u64,
    /// The time it was zero at, if it began with this look.
    zero_ns: Option<u64>,
}

/// A unit's running totals. The unit gone, they are dropped: one that comes again begins anew.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sums(Vec<(Measure, Sum)>);

impl Sums {
    /// Adds a look's. `before_ns`: a time before everything that the look counted and no earlier one did.
    pub fn add(&mut self, unit: &Unit, before_ns: u64) {
        for (_, sum) in &mut self.0 {
            sum.zero_ns = None;
        }
        for (measure, value) in unit.values.iter() {
            match measure.kind() {
                Kind::Total => self.set(measure, to_whole(measure, value), unit.since_ns, before_ns),
                Kind::Step => self.grow(measure, to_whole(measure, value), before_ns),
                Kind::Level | Kind::Peak | Kind::Turn => {}
            }
        }
        for &(measure, value) in unit.turns.iter().filter(|(m, v)| m.roll_up() != RollUp::Own && is_value(*v)) {
            self.grow(measure, to_whole(measure, value), before_ns);
        }
    }

    /// A total as the look has it.
    fn set(&mut self, measure: Measure, whole: u64, since_ns: Option<u64>, before_ns: u64) {
        match self.of(measure) {
            Some(sum) if sum.since_ns == since_ns && whole >= sum.whole => sum.whole = whole,
            // It fell though it is said to be the same: what follows is another total to whoever reads it.
            Some(sum) if sum.since_ns == since_ns => (sum.start_ns, sum.whole) = (Some(before_ns), whole),
            Some(sum) => *sum = Sum { start_ns: since_ns, since_ns, whole, zero_ns: None },
            None => self.0.push((measure, Sum { start_ns: since_ns, since_ns, whole, zero_ns: None })),
        }
    }

    /// What a look says that grew.
    ///
    /// A sum's first request has its zero too: a reader that only sees differences (Prometheus's `increase`) would not
    /// see the first.
    fn grow(&mut self, measure: Measure, whole: u64, before_ns: u64) {
        match self.of(measure) {
            Some(sum) => sum.whole = sum.whole.saturating_add(whole),
            None if whole == 0 => {}
            None => {
                let sum = Sum { start_ns: Some(before_ns), since_ns: None, whole, zero_ns: Some(before_ns) };
                self.0.push((measure, sum));
            }
        }
    }

    fn of(&mut self, measure: Measure) -> Option<&mut Sum> {
        self.0.iter_mut().find(|(each, _)| *each == measure).map(|(_, sum)| sum)
    }

    /// A measure's points at a look; `None` if it has no sum, or one that began after it (the clock was set back).
    pub fn points(&self, measure: Measure, at_ns: u64) -> Option<Points> {
        let (_, sum) = self.0.iter().find(|(each, _)| *each == measure)?;
        let &Sum { start_ns, whole, zero_ns, .. } = sum;
        let points = zero_ns.map(|zero| (zero, 0)).into_iter().chain([(at_ns, whole)]).collect();
        (start_ns.is_none_or(|start| start < at_ns)).then_some(Points::Sum { start_ns, points })
    }
}

/// Whether a number of a turn is one that can be counted.
pub(crate) fn is_value(value: f64) -> bool {
    value.is_finite() && value >= 0.0
}
