//! Readers beside a writer that appends, turns the hour, compresses, deletes and replaces its copies: no read ever fails,
//! or shows anything torn, twice or less than one before it.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

mod common;

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use common::{HOUR_MS, KEEP, START_MS, day_of, id, look};
use lnk_schema::Measure;
use lnk_store::{Settings, Store, read_day, read_now};

/// How many reads, if not the usual.
const READS: &str = "LNK_TEST_READS";
const LOOKS: u64 = 60;
const END_MS: u64 = START_MS + 12 * HOUR_MS;

/// A look every ten minutes: an hour turns, is compressed and summed up every sixth, and one goes every sixth later.
fn write(folder: &Path, store: &Store, taken: &AtomicU64) {
    for n in 1..LOOKS {
        let look = look(START_MS + n * 600_000, n + 1, 1);
        taken.store(n + 1, Ordering::Release);
        store.append(&look, "{}").unwrap();
        store.write_now(&look, 600_000, None, serde_json::Value::Null).unwrap();
        assert_eq!(store.tidy(look.at_ms).len(), 0);
        store.write_day().unwrap();
    }
    assert!(std::fs::read_dir(folder.join("fine")).unwrap().count() < 6, "old files are deleted");
}

/// Reads everything until the writer is done, and at least once; how many reads that was.
fn read(folder: &Path, over: &AtomicBool, taken: &AtomicU64) -> u64 {
    let (mut turns, mut of_one, mut at_ms, mut reads) = (0.0, 0.0, 0, 0);
    loop {
        let is_last = over.load(Ordering::Acquire);
        let day = read_day(folder, END_MS, None).unwrap();
        let now = day_of(&day, "agt_01", Measure::Turns).unwrap();
        let most = taken.load(Ordering::Acquire) as f64;
        assert!((turns..=most).contains(&now), "{now} turns after {turns}, of {most}");
        assert_eq!(day.skipped, Vec::<String>::new());
        turns = now;
        let one = read_day(folder, END_MS, Some(&id("agt_01"))).unwrap();
        let now = day_of(&one, "agt_01", Measure::Turns).unwrap();
        let most = taken.load(Ordering::Acquire) as f64;
        assert!((of_one..=most).contains(&now), "{now} turns of one after {of_one}, of {most}");
        assert_eq!(one.skipped, Vec::<String>::new());
        of_one = now;
        if let Some(now) = read_now(folder, END_MS) {
            assert!(now.look.at_ms >= at_ms && now.look.units.len() == 2, "{} after {at_ms}", now.look.at_ms);
            at_ms = now.look.at_ms;
        } else {
            assert_eq!(at_ms, 0, "it was there before");
        }
        reads += 3;
        if is_last {
            assert_eq!((turns, of_one), (LOOKS as f64, LOOKS as f64));
            return reads;
        }
    }
}

#[test]
fn a_reader_beside_the_writer_never_fails_and_sees_every_turn_once() {
    let wanted = std::env::var(READS).map_or(3_000, |text| text.parse().unwrap());
    let reads = AtomicU64::new(0);
    while reads.load(Ordering::Relaxed) < wanted {
        let at = tempfile::tempdir().unwrap();
        let (store, _) = Store::open(at.path(), Settings { keep_fine_ms: 3 * HOUR_MS, ..KEEP }).unwrap();
        store.append(&look(START_MS, 1, 1), "{}").unwrap();
        let (over, taken) = (AtomicBool::new(false), AtomicU64::new(1));
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| reads.fetch_add(read(at.path(), &over, &taken), Ordering::Relaxed));
            }
            // Whatever becomes of the writer, the readers end.
            let written = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| write(at.path(), &store, &taken)));
            over.store(true, Ordering::Release);
            written.unwrap();
        });
    }
}
