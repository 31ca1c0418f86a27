//! Work on several files at once.

use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// More threads than this read no faster than the disk.
const MOST_THREADS: usize = 4;

/// Does the same with each item, on as many threads as there are cores, and gives back what came of each, in their order.
///
/// A thread that can't be started costs its speed alone: the caller's own works too.
pub(crate) fn side_by_side<I: Sync, O: Send>(items: &[I], work: impl Fn(&I) -> O + Sync) -> Vec<O> {
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::with_capacity(items.len())));
    let work_on = || {
        let mut mine = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(at) else { break };
            mine.push((at, work(item)));
        }
        done.lock().unwrap_or_else(PoisonError::into_inner).extend(mine);
    };
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    thread::scope(|scope| {
        for _ in 1..cores.min(MOST_THREADS).min(items.len()) {
            // The scope ends the caller too where one ends by a panic.
            let _ = thread::Builder::new().spawn_scoped(scope, work_on);
        }
        work_on();
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_unstable_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, out)| out).collect()
}
