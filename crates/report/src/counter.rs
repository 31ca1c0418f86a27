//! Counters that others keep and only ever add to: what they grew by since they were last looked at.
//!
//! A counter says which run it is of, so that one which began anew and has caught up isn't taken for one that stood
//! still.

use lnk_schema::Name;

/// A counter file's or a proxy's counts, now.
#[derive(Debug, Clone, PartialEq)]
pub struct Counter<const N: usize> {
    /// Tells these counts from others that began at zero again.
    pub run: Name,
    /// When they began, in seconds since 1970.
    pub since: f64,
    /// The counts.
    pub counts: [u64; N],
}

/// What a counter had come to when it was last looked at, as a kept line says it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Baseline<const N: usize> {
    /// Of which run.
    pub run: Name,
    /// The counts then.
    pub counts: [u64; N],
}

/// What a counter grew by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Growth<const N: usize> {
    /// To be added.
    pub counts: [u64; N],
    /// A count was less than before within the same run, so all of it counts: to be said.
    pub fell: bool,
}

impl<const N: usize> Counter<N> {
    /// The baseline for the next look.
    pub fn baseline(&self) -> Baseline<N> {
        Baseline { run: self.run.clone(), counts: self.counts }
    }

    /// What it grew by since a baseline. Without one: all of it if it began later than `watched_since`, in seconds since
    /// 1970, which is the watcher's last look or else its start; nothing if before, since that was counted then or
    /// happened unwatched.
    pub fn growth(&self, baseline: Option<&Baseline<N>>, watched_since: f64) -> Growth<N> {
        let all = Growth { counts: self.counts, fell: false };
        match baseline {
            None if self.since > watched_since => all,
            None => Growth { counts: [0; N], fell: false },
            Some(before) if before.run != self.run => all,
            // One that fell says that all of them began at zero again, also those that are past where they were.
            Some(before) if self.counts.iter().zip(before.counts).any(|(now, before)| *now < before) => {
                Growth { fell: true, ..all }
            }
            Some(before) => {
                let mut counts = self.counts;
                for (now, before) in counts.iter_mut().zip(before.counts) {
                    *now = now.saturating_sub(before);
                }
                Growth { counts, fell: false }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counter(run: &str, since: f64, counts: [u64; 2]) -> Counter<2> {
        Counter { run: Name::new(run).unwrap(), since, counts }
    }

    #[test]
    fn each_difference_is_as_the_run_and_the_baseline_say() {
        let before = counter("r-1", 50.0, [10, 5]).baseline();
        let growth = |now: &Counter<2>, before| now.growth(before, 100.0);
        let plain = |counts| Growth { counts, fell: false };
        assert_eq!(growth(&counter("r-1", 50.0, [13, 5]), Some(&before)), plain([3, 0]), "same run");
        assert_eq!(growth(&counter("r-1", 50.0, [10, 5]), Some(&before)), plain([0, 0]), "stood still");
        assert_eq!(growth(&counter("r-2", 99.0, [13, 1]), Some(&before)), plain([13, 1]), "another run");
        assert_eq!(growth(&counter("r-2", 99.0, [10, 5]), Some(&before)), plain([10, 5]), "another run, caught up");
        assert_eq!(growth(&counter("r-1", 99.0, [7, 3]), None), plain([0, 0]), "first sight, begun before");
        assert_eq!(growth(&counter("r-1", 100.0, [7, 3]), None), plain([0, 0]), "begun as the last look was taken");
        assert_eq!(growth(&counter("r-1", 100.5, [7, 3]), None), plain([7, 3]), "first sight, begun after");
        let fell = Growth { counts: [12, 2], fell: true };
        assert_eq!(growth(&counter("r-1", 50.0, [12, 2]), Some(&before)), fell, "one fell");
        let most = counter("r-1", 50.0, [u64::MAX, u64::MAX]);
        assert_eq!(growth(&most, Some(&before)), plain([u64::MAX - 10, u64::MAX - 5]));
    }
}
