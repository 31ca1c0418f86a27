//! Which processes' memory is worth reading again, within a budget of CPU time.
//!
//! Reading a proportional set size walks the process's page tables: about 20 ms of CPU a GiB, during which the process
//! can neither map nor unmap. So a look has a few milliseconds for it. A process never read comes first, then what
//! changed, then what was read longest ago; a process too dear for one look's budget waits until several looks have
//! saved up for it.

use crate::{Absent, Why};

/// CPU time a read takes a byte of resident memory, before it was measured: 20 ms a GiB.
const USEC_PER_BYTE: f64 = 20_000.0 / (1_u64 << 30) as f64;

/// And at the least, in microseconds.
const LEAST_USEC: f64 = 40.0;

/// A change of resident bytes from which on a process is read again: one part in this many, and at least this much.
const CHANGED_PART: u64 = 50;
const CHANGED_LEAST: u64 = 128 << 10;

/// A process that gave no sign of change is read again after this many looks all the same: what it shares with others may
/// have changed.
const STALE_LOOKS: u64 = 60;

/// Looks' budgets that can be saved up.
const SAVED_LOOKS: f64 = 10.0;

/// How deep first reads may go into debt, in looks' budgets.
const DEBT_LOOKS: f64 = 40.0;

/// What is known of a process's memory.
#[derive(Debug, Default)]
pub struct Memory {
    last: Option<LastRead>,
    failed: Option<Absent>,
    /// Set while a read is on its way, so that no second one is asked for.
    pub in_flight: bool,
    /// Whether what it shares may have changed.
    pub shares_changed: bool,
    peak_bytes: u64,
}

#[derive(Debug, Clone, Copy)]
struct LastRead {
    pss_bytes: u64,
    resident_bytes: u64,
    faults: u64,
    usec: f64,
    look: u64,
}

/// A process's memory in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InUse {
    /// Bytes.
    pub bytes: u64,
    /// Whether they are its last read carried forward by more than 2 % of growth.
    pub estimated: bool,
}

impl Memory {
    /// Bytes in use: the last read, and what its resident bytes grew or shrank by since.
    ///
    /// # Errors
    /// The reason there is no number.
    pub fn in_use(&self, resident_bytes: u64) -> Result<InUse, Absent> {
        if let Some(failed) = &self.failed {
            return Err(failed.clone());
        }
        let Some(last) = self.last else {
            return Err(Absent::new(Why::NotYet, "smaps_rollup", "waits for its first read"));
        };
        // What a process grows by is nearly always its own; what it gives back it gives back of both.
        let bytes = if resident_bytes >= last.resident_bytes {
            last.pss_bytes + (resident_bytes - last.resident_bytes)
        } else {
            scale(last.pss_bytes, resident_bytes, last.resident_bytes)
        };
        Ok(InUse { bytes, estimated: last.has_changed(resident_bytes) })
    }

    /// Notes a read: what it gave, and the CPU time it took.
    pub fn note(&mut self, read: Result<u64, Absent>, usec: f64, resident_bytes: u64, faults: u64, look: u64) {
        self.in_flight = false;
        self.shares_changed = false;
        match read {
            Ok(pss_bytes) => {
                self.last = Some(LastRead { pss_bytes, resident_bytes, faults, usec, look });
                self.failed = None;
                self.peak_bytes = self.peak_bytes.max(pss_bytes);
            }
            Err(absent) => self.failed = Some(absent),
        }
    }

    /// The most bytes ever read, or in use now if that is more.
    pub fn peak_bytes(&self, now: f64) -> f64 {
        now.max(self.peak_bytes as f64)
    }

    fn cost_usec(&self, resident_bytes: u64) -> f64 {
        match self.last {
            Some(last) if last.resident_bytes > 0 => last.usec * (resident_bytes as f64 / last.resident_bytes as f64),
            _ => resident_bytes as f64 * USEC_PER_BYTE,
        }
        .max(LEAST_USEC)
    }
}

/// `bytes × to / from`, where `to` is less than `from`.
fn scale(bytes: u64, to: u64, from: u64) -> u64 {
    u64::try_from(u128::from(bytes) * u128::from(to) / u128::from(from)).unwrap_or(bytes)
}

impl LastRead {
    fn has_changed(&self, resident_bytes: u64) -> bool {
        let by = resident_bytes.abs_diff(self.resident_bytes);
        by > CHANGED_LEAST && by > self.resident_bytes / CHANGED_PART
    }
}

/// How much a process's memory asks to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Need {
    First,
    Changed,
    Stale,
}

/// A process that may be read at this look.
#[derive(Debug)]
pub struct Candidate {
    /// Its number.
    pub pid: u32,
    need: Need,
    resident_bytes: u64,
    cost_usec: f64,
    look: u64,
}

impl Candidate {
    /// The candidate, if its memory asks to be read.
    pub fn of(pid: u32, memory: &Memory, resident_bytes: u64, faults: u64, look: u64) -> Option<Candidate> {
        if memory.in_flight {
            return None;
        }
        let need = match memory.last {
            // A refusal is asked about again as rarely as anything else: a process may give up a privilege.
            None if memory.failed.is_some() => (look.is_multiple_of(STALE_LOOKS)).then_some(Need::Stale)?,
            None => Need::First,
            Some(last) if last.has_changed(resident_bytes) || memory.shares_changed => Need::Changed,
            Some(last) if last.faults != faults && look - last.look > STALE_LOOKS / 2 => Need::Stale,
            Some(last) if look - last.look > STALE_LOOKS => Need::Stale,
            Some(_) => return None,
        };
        let read_at = memory.last.map_or(0, |last| last.look);
        Some(Candidate { pid, need, resident_bytes, cost_usec: memory.cost_usec(resident_bytes), look: read_at })
    }
}

/// The budget: what a look may spend, what is saved up or owed.
#[derive(Debug)]
pub struct Budget {
    look_usec: f64,
    saved_usec: f64,
}

impl Budget {
    /// A budget of so many milliseconds of CPU a look.
    pub fn new(look_ms: f64) -> Budget {
        Budget { look_usec: look_ms * 1000.0, saved_usec: look_ms * 1000.0 * SAVED_LOOKS }
    }

    /// A look's turn: saves this look's budget up, and gives the processes to read now, the neediest first.
    pub fn choose(&mut self, mut candidates: Vec<Candidate>) -> Vec<u32> {
        let most = self.look_usec * SAVED_LOOKS;
        self.saved_usec = (self.saved_usec + self.look_usec).min(most);
        candidates.sort_unstable_by(|a, b| {
            a.need.cmp(&b.need).then(match a.need {
                // The small ones first: one that takes seconds must not hold up the numbers of all the others.
                Need::First => a.resident_bytes.cmp(&b.resident_bytes),
                Need::Changed => b.resident_bytes.cmp(&a.resident_bytes),
                Need::Stale => a.look.cmp(&b.look),
            })
        });
        let mut left = self.saved_usec;
        let mut chosen = Vec::new();
        for candidate in candidates {
            let allowed = match candidate.need {
                Need::First => left > -self.look_usec * DEBT_LOOKS,
                Need::Changed | Need::Stale => left >= candidate.cost_usec.min(most),
            };
            if allowed {
                left -= candidate.cost_usec;
                chosen.push(candidate.pid);
            }
        }
        chosen
    }

    /// Takes what a read really took off what is saved.
    pub fn spend(&mut self, usec: f64) {
        self.saved_usec -= usec;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    /// Plays looks over processes of given sizes; gives the CPU microseconds spent at each look.
    fn play(sizes: &[u64], looks: u64, mut change: impl FnMut(u64, usize) -> u64) -> (Vec<f64>, Vec<Memory>) {
        let mut budget = Budget::new(5.0);
        let mut memories: Vec<Memory> = sizes.iter().map(|_| Memory::default()).collect();
        let mut spent = Vec::new();
        for look in 1..=looks {
            let size = |i: usize, change: &mut dyn FnMut(u64, usize) -> u64| sizes[i] + change(look, i);
            let candidates = memories
                .iter()
                .enumerate()
                .filter_map(|(i, memory)| {
                    Candidate::of(u32::try_from(i).unwrap(), memory, size(i, &mut change), 0, look)
                })
                .collect();
            let mut total = 0.0;
            for pid in budget.choose(candidates) {
                let i = pid as usize;
                let usec = size(i, &mut change) as f64 * USEC_PER_BYTE;
                budget.spend(usec);
                total += usec;
                let now = size(i, &mut change);
                memories[i].note(Ok(now), usec, now, 0, look);
            }
            spent.push(total);
        }
        (spent, memories)
    }

    #[test]
    fn a_quiet_machine_costs_the_budget_at_most_whatever_its_memory() {
        let (spent, _) = play(&[8 << 30, 4 << 30, 512 * MIB, 40 * MIB, 40 * MIB], 2000, |_, _| 0);
        let after_the_first = &spent[100..];
        let mean = after_the_first.iter().sum::<f64>() / after_the_first.len() as f64;
        assert!(mean <= 5000.0 * 1.01, "{mean} µs a look");
    }

    #[test]
    fn every_process_is_read_at_the_first_look_the_small_ones_first() {
        let (_, memories) = play(&[512 * MIB, 40 * MIB, 2 * MIB], 1, |_, _| 0);
        assert!(memories.iter().all(|memory| memory.in_use(MIB).is_ok()));
    }

    #[test]
    fn all_of_it_changing_at_every_look_still_costs_the_budget_on_average() {
        let (spent, _) = play(&[1 << 30, 1 << 30, 200 * MIB], 1000, |look, _| (look % 7) * 100 * MIB);
        let mean = spent[100..].iter().sum::<f64>() / 900.0;
        assert!(mean <= 5000.0 * 1.01, "{mean} µs a look");
    }

    #[test]
    fn a_process_too_dear_for_one_look_is_read_once_it_was_saved_up_for() {
        let (spent, memories) = play(&[8 << 30], 400, |look, _| if look < 5 { 0 } else { 1 << 30 });
        assert!(spent[5..].iter().any(|usec| *usec > 100_000.0));
        assert_eq!(memories[0].in_use(9 << 30).unwrap(), InUse { bytes: 9 << 30, estimated: false });
    }

    #[test]
    fn growth_is_its_own_and_shrinking_is_of_both() {
        let mut memory = Memory::default();
        memory.note(Ok(50 * MIB), 1000.0, 100 * MIB, 7, 1);
        assert_eq!(memory.in_use(101 * MIB).unwrap(), InUse { bytes: 51 * MIB, estimated: false });
        assert_eq!(memory.in_use(200 * MIB).unwrap(), InUse { bytes: 150 * MIB, estimated: true });
        assert_eq!(memory.in_use(50 * MIB).unwrap(), InUse { bytes: 25 * MIB, estimated: true });
    }

    #[test]
    fn a_refusal_is_a_reason_and_never_a_number() {
        let mut memory = Memory::default();
        assert_eq!(memory.in_use(MIB).unwrap_err().why, Why::NotYet);
        memory.note(Err(Absent::new(Why::Denied, "smaps_rollup", "Permission denied")), 3.0, MIB, 0, 1);
        assert_eq!(memory.in_use(MIB).unwrap_err().why, Why::Denied);
    }
}
