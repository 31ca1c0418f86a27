//! Going on after another sampler's last look: what it had counted and this one can't see stays counted.

use lnk_schema::{Measure, Unit, UnitId, UnitKind};
use rustc_hash::FxHashMap;

use crate::DiskBytes;
use crate::request::Traffic;

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
    /// What each run of its proxies had carried by then.
    pub proxies: Vec<Traffic>,
}

/// What is kept of last looks, by unit.
#[derive(Debug, Default)]
pub struct Resume {
    units: FxHashMap<UnitId, Kept>,
    same_boot: bool,
    /// What the clock was set by since: every start the kernel tells has moved by so much with the machine's own.
    shift_ns: i64,
}

#[derive(Debug)]
struct Kept {
    since_ns: u64,
    /// When this sampler says the totals began; once it says another time, the unit is another.
    seen_ns: Option<u64>,
    /// Each total: what it was, then what is added to it.
    totals: Vec<(Measure, Total)>,
    proxies: Vec<Traffic>,
}

#[derive(Debug)]
enum Total {
    Was(f64),
    Add(f64),
}

impl Resume {
    /// Goes on from these. `same_boot`: whether the machine is known not to have been started anew since.
    pub fn new(last: impl IntoIterator<Item = LastUnit>, same_boot: bool) -> Resume {
        let kept = last.into_iter().map(|LastUnit { id, since_ns, totals, proxies }| {
            let total = |(measure, was)| {
                let is_carried = matches!(measure, Measure::NetworkIn | Measure::NetworkOut) && !proxies.is_empty();
                // What its proxies carry is counted on from where they stood, so all of it comes on top.
                (measure, if is_carried { Total::Add(was) } else { Total::Was(was) })
            };
            let totals = totals.into_iter().map(total).collect();
            (id, Kept { since_ns, seen_ns: None, totals, proxies })
        });
        Resume { units: kept.collect(), same_boot, shift_ns: 0 }
    }

    /// What an agent's proxies had carried at the last look.
    pub fn proxies_of(&self, agent: &UnitId) -> &[Traffic] {
        self.units.get(agent).map(|kept| kept.proxies.as_slice()).unwrap_or_default()
    }

    /// What a start of an agent had come to at the last look, if that was the one looked at then: CPU time in microseconds
    /// and disk bytes.
    pub fn account_of(&self, agent: &UnitId, started_ns: u64) -> Option<(u64, DiskBytes)> {
        let kept = self.units.get(agent).filter(|kept| kept.since_ns == started_ns)?;
        let was = |measure: Measure| {
            kept.totals.iter().find_map(|(other, total)| match total {
                Total::Was(was) if *other == measure => Some(*was),
                _ => None,
            })
        };
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "totals are whole and not negative"
        )]
        let whole = |measure: Measure, scale: f64| (was(measure).unwrap_or(0.0) * scale).round() as u64;
        let disk = DiskBytes { read: whole(Measure::DiskRead, 1.0), written: whole(Measure::DiskWritten, 1.0) };
        Some((whole(Measure::CpuUsed, 1e6), disk))
    }

    /// Makes a look's units go on from the last ones: the same start to the nanosecond, and no total lower than it was
    /// (what processes had used that ended while nobody looked).
    pub fn go_on(&mut self, units: &mut [Unit]) {
        if self.units.is_empty() {
            return;
        }
        for unit in units {
            let (Some(since_ns), Some(kept)) = (unit.since_ns, self.units.get_mut(&unit.id)) else { continue };
            if self.same_boot && unit.kind == UnitKind::Machine && kept.seen_ns.is_none() {
                self.shift_ns = kept.since_ns.wrapping_sub(since_ns).cast_signed();
            }
            let shifted_ns = since_ns.saturating_add_signed(self.shift_ns);
            // A start that was said, rather than told by the kernel, doesn't move with the clock.
            let near = [since_ns, shifted_ns].iter().any(|since| kept.since_ns.abs_diff(*since) <= SAME_START_NS);
            if !kept.seen_ns.map_or(near, |seen| seen == since_ns) {
                self.units.remove(&unit.id);
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

    fn agent(since_ns: u64, cpu: Option<f64>) -> Unit {
        let mut unit = Unit::new(UnitId::new("agt_01").unwrap(), UnitKind::Agent);
        unit.since_ns = Some(since_ns);
        unit.values.set(Measure::CpuUsed, cpu);
        unit
    }

    fn after(since_ns: u64, cpu: f64) -> Resume {
        let id = UnitId::new("agt_01").unwrap();
        Resume::new([LastUnit { id, since_ns, totals: vec![(Measure::CpuUsed, cpu)], proxies: Vec::new() }], false)
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
    fn what_proxies_carried_comes_on_top_of_what_they_had() {
        let id = UnitId::new("agt_01").unwrap();
        let proxies = vec![Traffic { proxy: lnk_schema::Name::new("p-1").unwrap(), received: 100, sent: 0 }];
        let last = LastUnit { id: id.clone(), since_ns: T, totals: vec![(Measure::NetworkIn, 600.0)], proxies };
        let mut resume = Resume::new([last], false);
        assert_eq!(resume.proxies_of(&id).len(), 1);
        for (grown, total) in [(20.0, 620.0), (700.0, 1300.0)] {
            let mut unit = agent(T, None);
            unit.values.set(Measure::NetworkIn, Some(grown));
            resume.go_on(std::slice::from_mut(&mut unit));
            assert_eq!(unit.values.get(Measure::NetworkIn), Some(total));
        }
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

    #[test]
    fn a_clock_set_meanwhile_moves_every_start_and_begins_none_anew_until_the_machine_does() {
        let hour_ns = 3_600_000_000_000;
        let machine = |since_ns| {
            let mut unit = Unit::new(UnitId::new("mch_1").unwrap(), UnitKind::Machine);
            unit.since_ns = Some(since_ns);
            unit
        };
        for same_boot in [true, false] {
            let ids = ["mch_1", "agt_01"].map(|id| UnitId::new(id).unwrap());
            let last =
                ids.map(|id| LastUnit { id, since_ns: T, totals: vec![(Measure::CpuUsed, 30.0)], proxies: Vec::new() });
            let mut resume = Resume::new(last, same_boot);
            let mut units = [machine(T + hour_ns), agent(T + hour_ns, Some(10.0))];
            resume.go_on(&mut units);
            let expected = if same_boot { (Some(T), Some(30.0)) } else { (Some(T + hour_ns), Some(10.0)) };
            assert_eq!(units[0].since_ns, expected.0);
            assert_eq!((units[1].since_ns, units[1].values.get(Measure::CpuUsed)), expected);
        }
    }
}
