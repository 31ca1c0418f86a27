//! What a sender keeps: the running totals of every unit, and the last look.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use lnk_schema::{Kind, Look, Measure, RollUp, Unit, UnitId, to_whole};

use crate::request::{Points, Request, machine_of};
use crate::sums::{Sums, is_value};

const NS_A_MS: u64 = 1_000_000;

/// Makes requests of looks. It is given every look and asked for requests of the last one whenever one can be sent: what
/// was counted in those between is in the totals.
pub struct Exporter {
    sums: HashMap<UnitId, Sums>,
    last: Option<Arc<Look>>,
    /// The look before the last; this exporter's start, where the last is its first.
    before_ms: u64,
    left_out: HashSet<UnitId>,
}

impl Exporter {
    /// An exporter whose totals of steps and turns begin at a time, in milliseconds since 1970.
    pub fn new(start_ms: u64) -> Exporter {
        Exporter { sums: HashMap::new(), last: None, before_ms: start_ms, left_out: HashSet::new() }
    }

    /// Takes a look up, once.
    pub fn add(&mut self, look: Arc<Look>) {
        if let Some(last) = &self.last {
            self.before_ms = last.at_ms;
        }
        let mut before = std::mem::take(&mut self.sums);
        if self.before_ms >= look.at_ms {
            // The clock was set back: no total may have begun after its own point, so all begin anew.
            before.clear();
            self.before_ms = look.at_ms.saturating_sub(1);
        }
        for unit in &look.units {
            let mut sums = before.remove(&unit.id).unwrap_or_default();
            sums.add(unit, self.before_ms * NS_A_MS);
            self.sums.insert(unit.id.clone(), sums);
        }
        self.last = Some(look);
    }

    /// How many units of the last look are to be sent.
    pub fn len(&self) -> usize {
        self.units().count()
    }

    /// Whether there is nothing to be sent.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A request of some of the units to be sent, from one place up to another; `None` if they have no point.
    pub fn encode(&self, from: usize, to: usize) -> Option<String> {
        let look = self.last.as_deref()?;
        let machine = machine_of(look);
        let at_ns = look.at_ms * NS_A_MS;
        let mut request = Request::new(to.saturating_sub(from).min(look.units.len()));
        for unit in self.units().take(to).skip(from) {
            let sums = self.sums.get(&unit.id);
            let points = |measure: Measure| match measure.kind() {
                Kind::Level | Kind::Peak => gauge(unit, measure, at_ns),
                Kind::Turn if measure.roll_up() == RollUp::Own => self.times(unit, measure, look.at_ms),
                Kind::Total | Kind::Step | Kind::Turn => sums?.points(measure, at_ns),
            };
            let measures = Measure::ALL.iter().filter_map(|&measure| points(measure).map(|points| (measure, points)));
            request.add(unit, machine, measures);
        }
        request.finish()
    }

    /// The ID of a unit to be sent, by its place.
    pub fn unit_id(&self, place: usize) -> Option<&UnitId> {
        self.units().nth(place).map(|unit| &unit.id)
    }

    /// Sends a unit no more.
    pub fn leave_out(&mut self, id: UnitId) {
        self.left_out.insert(id);
    }

    fn units(&self) -> impl Iterator<Item = &Unit> {
        let units = self.last.iter().flat_map(|look| &look.units);
        units.filter(|unit| self.left_out.is_empty() || !self.left_out.contains(&unit.id))
    }

    /// Times that don't add up, a point each. A look has them in order and doesn't say when each was, so they are a
    /// millisecond apart up to the look: two points at one time would be one to a reader. More than fit in since the look
    /// before are the latest.
    fn times(&self, unit: &Unit, measure: Measure, at_ms: u64) -> Option<Points> {
        let times: Vec<f64> =
            unit.turns.iter().filter(|(m, v)| *m == measure && is_value(*v)).map(|&(_, value)| value).collect();
        let last = times.len() as u64;
        let points: Vec<_> = (1..)
            .zip(times)
            .map(|(nth, time)| (at_ms.saturating_sub(last - nth), to_whole(measure, time)))
            .filter(|&(ms, _)| ms > self.before_ms)
            .map(|(ms, time)| (ms * NS_A_MS, time))
            .collect();
        (!points.is_empty()).then_some(Points::Gauge(points))
    }
}

fn gauge(unit: &Unit, measure: Measure, at_ns: u64) -> Option<Points> {
    let value = unit.values.get(measure)?;
    Some(Points::Gauge(vec![(at_ns, to_whole(measure, value))]))
}

/// A request of a look's levels and peaks alone: what can be sent beside a watcher without beginning its totals anew.
pub fn encode_levels(look: &Look) -> Option<String> {
    let (machine, at_ns) = (machine_of(look), look.at_ms * NS_A_MS);
    let mut request = Request::new(look.units.len());
    for unit in &look.units {
        let levels = Measure::ALL.iter().filter(|measure| matches!(measure.kind(), Kind::Level | Kind::Peak));
        let measures = levels.filter_map(|&measure| gauge(unit, measure, at_ns).map(|points| (measure, points)));
        request.add(unit, machine, measures);
    }
    request.finish()
}
