//! A watcher that loses nothing and counts nothing twice, whatever happens to its files.

use std::path::Path;
use std::sync::Arc;

use lnk_schema::Measure;
use lnk_store::{Files, Store, read_day};

use crate::common::{HOUR_MS, KEEP, START_MS, day_of, look, names};

/// Something that takes turns, numbered; what the watcher had read to is in `c`, as a proxy's or a harness's count is.
pub struct Watcher {
    pub emitted: u64,
    pub read_to: u64,
}

impl Watcher {
    pub fn resume(&mut self, counted: Option<&str>) {
        let counted = counted.and_then(|text| text.strip_prefix(r#"{"read":"#)?.strip_suffix('}')?.parse().ok());
        self.read_to = counted.unwrap_or(0);
    }

    /// Takes a look: two more turns were taken. What isn't kept is read again.
    pub fn look(&mut self, store: &Store, at_ms: u64) -> bool {
        self.emitted += 2;
        let look = look(at_ms, self.emitted, self.emitted - self.read_to);
        let kept = store.append(&look, &format!(r#"{{"read":{}}}"#, self.emitted));
        let kept = kept.is_ok();
        if kept {
            self.read_to = self.emitted;
        }
        kept
    }
}

/// The looks of the scenario: some minutes before an hour's turn, and after it.
fn times() -> impl Iterator<Item = u64> {
    let turn = START_MS + HOUR_MS;
    [180_u64, 110, 105, 40, 20].into_iter().map(move |before| turn - before * 1000).chain([turn + 5_000, turn + 70_000])
}

pub const END_MS: u64 = START_MS + HOUR_MS + 70_000;

/// Looks, a restart, an hour's turn, a compression and copies. After every look `each` is asked
/// whether the process has ended.
pub fn run(
    files: &Arc<dyn Files>,
    folder: &Path,
    watcher: &mut Watcher,
    mut each: impl FnMut(&Watcher) -> bool,
) -> bool {
    let mut store = None;
    for (n, at_ms) in times().enumerate() {
        if n == 3 {
            store = None;
        }
        if store.is_none()
            && let Ok((opened, resumed)) = Store::open_with(files.clone(), folder, KEEP)
        {
            watcher.resume(resumed.counted.as_deref());
            store = Some(opened);
        }
        if let Some(store) = &store {
            watcher.look(store, at_ms);
            if n >= 5 {
                let _ = store.tidy(at_ms);
                let _ = store.write_day();
            }
        }
        if each(watcher) {
            return false;
        }
    }
    true
}

/// A start after whatever happened, one more look, and the day: every turn once.
pub fn check_after(folder: &Path, watcher: &mut Watcher, what: &str) {
    let before = read_day(folder, END_MS + 60_000, None).unwrap();
    let kept = day_of(&before, "agt_01", Measure::Turns).unwrap_or(0.0);
    assert!(kept <= watcher.emitted as f64, "{what}: {kept} of {} turns", watcher.emitted);
    let (store, resumed) = Store::open(folder, KEEP).unwrap_or_else(|error| panic!("{what}: {error}"));
    watcher.resume(resumed.counted.as_deref());
    assert_eq!(watcher.read_to as f64, kept, "{what}: what was counted is what is kept");
    assert!(watcher.look(&store, END_MS + 30_000), "{what}");
    assert!(store.tidy(END_MS + 30_000).is_empty(), "{what}");
    let check = |how: &str| {
        let day = read_day(folder, END_MS + 60_000, None).unwrap();
        assert_eq!(day.skipped, Vec::<String>::new(), "{what}, {how}");
        assert_eq!(day_of(&day, "agt_01", Measure::Turns), Some(watcher.emitted as f64), "{what}, {how}");
        let cpu = day_of(&day, "mch_7f", Measure::CpuUsed).unwrap();
        assert!(cpu <= (watcher.emitted - 2) as f64, "{what}, {how}: {cpu}");
    };
    check("with copies");
    let _ = std::fs::remove_file(folder.join("day.json"));
    check("from files");
    for part in ["fine", "minutes"] {
        let left: Vec<_> = names(folder, part).into_iter().filter(|name| name.contains("tmp")).collect();
        assert_eq!(left, Vec::<String>::new(), "{what}");
    }
    // The minutes say the same, but for those of the minute that isn't over.
    assert!(watcher.look(&store, END_MS + 90_000), "{what}");
    std::fs::remove_dir_all(folder.join("fine")).unwrap();
    let minutes = read_day(folder, END_MS + 100_000, None).unwrap();
    let turns = day_of(&minutes, "agt_01", Measure::Turns);
    let text = std::fs::read_to_string(folder.join("minutes/2026-11-30.jsonl")).unwrap_or_default();
    assert_eq!(turns, Some((watcher.emitted - 2) as f64), "{what}, from minutes {text}");
}
