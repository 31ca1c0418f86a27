//! Going on after another sampler's last look: what it had counted and this one can't see stays counted.

use lnk_schema::{Measure, Unit, UnitId};
use rustc_hash::FxHashMap;

/// How far two tellings of one start may be apart: the kernel says the machine's to a second, and moves it as the clock
/// is set (`btime` in /proc/stat).
const SAME_START_NS: u64 = 5_000_000_000;

/// A unit as another sampler's last look had it.
#[derive(Debug, Clone)]
pub struct LastUnit {
    /// The unit.
    pub id: UnitId,
    /// When its totals began, in nanoseconds since 1970.
    pub since_ns: u64,
    /// Its totals.
    pub totals: Vec<(Measure, f64)>,
}

/// What is kept of last looks, by unit.
#[derive(Debug, Default)]
pub struct Resume(FxHashMap<UnitId, Kept>);

#[derive(Debug)]
struct Kept {
    since_ns: u64,
    /// When this sampler says the totals began; once it says another time, the unit is another.
    seen_ns: Option<u64>,
    /// Each total: what it was, then what is added to it.
    totals: Vec<(Measure, Total)>,
}

#[derive(Debug)]
enum Total {
    Was(f64),
    Add(f64),
}

impl FromIterator<LastUnit> for Resume {
    fn from_iter<T: IntoIterator<Item = LastUnit>>(last: T) -> Resume {
        let kept = last.into_iter().map(|LastUnit { id, since_ns, totals }| {
            let totals = totals.into_iter().map(|(measure, was)| (measure, Total::Was(was))).collect();
            (id, Kept { since_ns, seen_ns: None, totals })
        });
        Resume(kept.collect())
    }
}

impl Resume {
    /// Makes a look's units go on from the last ones: the same start to the nanosecond, and no total lower than it was
    /// (what processes had used that ended while nobody looked).
    pub fn go_on(&mut self, units: &mut [Unit]) {
        if self.0.is_empty() {
            return;
        }
        for unit in units {
            let (Some(since_ns), Some(kept)) = (unit.since_ns, self.0.get_mut(&unit.id)) else { continue };
            let same = kept.seen_ns.map_or(kept.since_ns.abs_diff(since_ns) <= SAME_START_NS, |seen| seen == since_ns);
            if !same {
                self.0.remove(&unit.id);
                continue;
            }
            kept.seen_ns = Some(since_ns);
            unit.since_ns = Some(kept.since_ns);
            for (measure, total) in &mut kept.totals {
                let Some(now) = unit.values.get(*measure) else { continue };
                let add = match *total {
                    Total::Was(was) => (was - now).max(0.0),
                    Total::Add(add) => add,
                };
                *total = Total::Add(add);
                unit.values.set(*measure, Some(now + add));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lnk_schema::UnitKind;

    fn agent(since_ns: u64, cpu: Option<f64>) -> Unit {
        let mut unit = Unit::new(UnitId::new("agt_01").unwrap(), UnitKind::Agent);
        unit.since_ns = Some(since_ns);
        unit.values.set(Measure::CpuUsed, cpu);
        unit
    }

    fn after(since_ns: u64, cpu: f64) -> Resume {
        let id = UnitId::new("agt_01").unwrap();
        Resume::from_iter([LastUnit { id, since_ns, totals: vec![(Measure::CpuUsed, cpu)] }])
    }

    fn look(resume: &mut Resume, since_ns: u64, cpu: Option<f64>) -> (Option<u64>, Option<f64>) {
        let mut units = [agent(since_ns, cpu)];
        resume.go_on(&mut units);
        (units[0].since_ns, units[0].values.get(Measure::CpuUsed))
    }

    const T: u64 = 1_780_000_000_000_000_000;

    #[test]
    fn a_total_that_is_lower_goes_on_from_where_it_was() {
        let mut resume = after(T, 30.0);
        assert_eq!(look(&mut resume, T + 3_000_000_000, Some(10.0)), (Some(T), Some(30.0)));
        assert_eq!(look(&mut resume, T + 3_000_000_000, Some(12.5)), (Some(T), Some(32.5)));
    }

    #[test]
    fn a_total_that_is_higher_is_taken_as_it_is() {
        let mut resume = after(T, 30.0);
        assert_eq!(look(&mut resume, T - 5_000_000_000, Some(31.0)), (Some(T), Some(31.0)));
        assert_eq!(look(&mut resume, T - 5_000_000_000, Some(33.0)), (Some(T), Some(33.0)));
    }

    #[test]
    fn a_total_that_is_absent_at_first_goes_on_once_it_is_there() {
        let mut resume = after(T, 30.0);
        assert_eq!(look(&mut resume, T, None), (Some(T), None));
        assert_eq!(look(&mut resume, T, Some(1.0)), (Some(T), Some(30.0)));
    }

    #[test]
    fn another_start_begins_anew() {
        let later = T + SAME_START_NS + 1;
        assert_eq!(look(&mut after(T, 30.0), later, Some(1.0)), (Some(later), Some(1.0)));
        // Within the same sampler, which tells one start to the nanosecond.
        let mut resume = after(T, 30.0);
        look(&mut resume, T, Some(31.0));
        assert_eq!(look(&mut resume, T + 1, Some(1.0)), (Some(T + 1), Some(1.0)));
        assert_eq!(look(&mut resume, T, Some(2.0)), (Some(T), Some(2.0)));
    }
}
