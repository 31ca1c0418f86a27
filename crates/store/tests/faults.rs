//! Every file operation fails once, in every way; and the power goes at every one. What must hold: nothing is counted
//! twice, at most the look under way is lost, the next start works unaided, and readers give what is good.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

mod common;
#[path = "common/faulty.rs"]
mod faulty;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use common::{HOUR_MS, KEEP, START_MS, day_of, look, names};
use faulty::{Done, FAULTS, Fault, Faulty};
use lnk_schema::Measure;
use lnk_store::{Settings, Store, read_day};

/// Something that takes turns, numbered; what the watcher had read to is in `c`, as a proxy's or a harness's count is.
struct Watcher {
    emitted: u64,
    read_to: u64,
}

impl Watcher {
    fn resume(&mut self, counted: Option<&str>) {
        let counted = counted.and_then(|text| text.strip_prefix(r#"{"read":"#)?.strip_suffix('}')?.parse().ok());
        self.read_to = counted.unwrap_or(0);
    }

    /// Takes a look: two more turns were taken. What isn't kept is read again.
    fn look(&mut self, store: &Store, at_ms: u64) -> bool {
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

const END_MS: u64 = START_MS + HOUR_MS + 70_000;

/// Looks, a restart, an hour's turn, a compression and copies. `false`: the process ended.
fn run(files: &Faulty, folder: &Path, watcher: &mut Watcher) -> bool {
    let mut store = None;
    for (n, at_ms) in times().enumerate() {
        if n == 3 {
            store = None;
        }
        if store.is_none()
            && let Ok((opened, resumed)) = Store::open_with(Arc::new(files.clone()), folder, KEEP)
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
        if files.is_dead() {
            return false;
        }
    }
    true
}

/// A start after whatever happened, one more look, and the day: every turn once.
fn check_after(folder: &Path, watcher: &mut Watcher, what: &str) {
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

#[test]
fn any_call_may_fail_in_any_way() {
    for fault in FAULTS {
        for call in 0.. {
            let at = tempfile::tempdir().unwrap();
            let folder = at.path().join("measure");
            let files = Faulty::failing(call, fault);
            let mut watcher = Watcher { emitted: 0, read_to: 0 };
            let lived = run(&files, &folder, &mut watcher);
            assert!(lived || files.came());
            if !folder.join("fine").exists() {
                std::fs::create_dir_all(folder.join("fine")).unwrap();
            }
            check_after(&folder, &mut watcher, &format!("{fault:?} at call {call}"));
            if !files.came() {
                assert!(call > 100, "the scenario makes more calls than {call}");
                break;
            }
        }
    }
}

#[test]
fn a_signal_costs_nothing() {
    for call in (0..150).step_by(7) {
        let at = tempfile::tempdir().unwrap();
        let mut watcher = Watcher { emitted: 0, read_to: 0 };
        run(&Faulty::failing(call, Fault::Signal), at.path(), &mut watcher);
        assert_eq!(watcher.read_to, watcher.emitted);
        assert_eq!(watcher.emitted, 14);
    }
}

#[test]
fn a_full_disk_is_told_and_goes_on_by_itself() {
    let at = tempfile::tempdir().unwrap();
    let files = Faulty::failing(60, Fault::NoSpace);
    let (store, _) = Store::open_with(Arc::new(files), at.path(), KEEP).unwrap();
    let mut watcher = Watcher { emitted: 0, read_to: 0 };
    let kept: Vec<_> = (0..20).map(|n| watcher.look(&store, START_MS + n * 10_000)).collect();
    assert_eq!(kept.iter().filter(|kept| !**kept).count(), 1);
    let day = read_day(at.path(), START_MS + HOUR_MS, None).unwrap();
    assert_eq!(day_of(&day, "agt_01", Measure::Turns), Some(40.0));
    let error = lnk_error();
    assert!(error.contains("Make room") && error.contains("fine/"), "{error}");
}

fn lnk_error() -> String {
    let at = tempfile::tempdir().unwrap();
    for call in 0.. {
        let files = Faulty::failing(call, Fault::NoSpaceFromThen);
        if let Ok((store, _)) = Store::open_with(Arc::new(files), &at.path().join(call.to_string()), KEEP) {
            return store.append(&look(START_MS, 1, 1), "{}").unwrap_err().to_string();
        }
    }
    unreachable!()
}

/// A disk as a power cut may leave it: what was done, but for what was not waited for.
#[derive(Clone, Default)]
struct Disk {
    files: HashMap<PathBuf, Vec<u8>>,
}

#[derive(Clone, Copy, Debug)]
enum Lost {
    Nothing,
    /// All that was not waited for.
    AllUnsynced,
    /// One operation that was not waited for.
    One(usize),
    /// The last write is there in part: numerator of quarters, or one byte, or all but one.
    LastCut(usize),
    /// The last write's length is there and its bytes are not.
    LastZero,
    /// A rename is there and what was written to the file is not.
    RenamedEmpty,
}

fn write(disk: &mut Disk, done: &Done) {
    match done {
        Done::Created(path) => drop(disk.files.entry(path.clone()).or_default()),
        Done::Wrote(path, bytes) => {
            if let Some(file) = disk.files.get_mut(path) {
                file.extend(bytes);
            }
        }
        Done::Cut(path, len) => {
            if let Some(file) = disk.files.get_mut(path) {
                file.truncate(usize::try_from(*len).unwrap());
            }
        }
        Done::Renamed(from, to) => {
            if let Some(file) = disk.files.remove(from) {
                disk.files.insert(to.clone(), file);
            }
        }
        Done::Removed(path) => drop(disk.files.remove(path)),
        Done::Synced(_) | Done::SyncedFolder(_) => {}
    }
}

/// Whether a later sync makes sure of what was done.
fn is_sure(done: &Done, later: &[Done]) -> bool {
    let in_folder = |path: &Path| {
        later.iter().any(|after| matches!(after, Done::SyncedFolder(folder) if path.parent() == Some(folder)))
    };
    match done {
        Done::Wrote(path, _) | Done::Cut(path, _) => {
            later.iter().any(|after| matches!(after, Done::Synced(synced) if synced == path))
        }
        Done::Created(path) | Done::Removed(path) | Done::Renamed(path, _) => in_folder(path),
        _ => true,
    }
}

fn disk_after(done: &[Done], lost: Lost) -> Disk {
    let mut disk = Disk::default();
    let last_write = done.iter().rposition(|done| matches!(done, Done::Wrote(..)));
    let mut unsynced = 0;
    for (i, op) in done.iter().enumerate() {
        let sure = is_sure(op, &done[i + 1..]);
        unsynced += usize::from(!sure);
        let is_last = Some(i) == last_write && !sure;
        match (lost, op) {
            (Lost::AllUnsynced, _) | (Lost::RenamedEmpty, Done::Wrote(..)) if !sure => {}
            (Lost::One(n), _) if !sure && unsynced == n + 1 => {}
            (Lost::LastCut(part), Done::Wrote(path, bytes)) if is_last => {
                let len = [0, 1, bytes.len() / 2, bytes.len() - 1][part];
                write(&mut disk, &Done::Wrote(path.clone(), bytes[..len].to_vec()));
            }
            (Lost::LastZero, Done::Wrote(path, bytes)) if is_last => {
                write(&mut disk, &Done::Wrote(path.clone(), vec![0; bytes.len()]));
            }
            _ => write(&mut disk, op),
        }
    }
    disk
}

#[test]
fn the_power_may_go_at_any_moment() {
    let at = tempfile::tempdir().unwrap();
    let folder = at.path().join("measure");
    let files = Faulty::default();
    let mut watcher = Watcher { emitted: 0, read_to: 0 };
    assert!(run(&files, &folder, &mut watcher));
    let done = files.done();
    // How many looks were kept for sure before each operation: the fine file's syncs.
    let mut states = 0;
    for upto in 0..=done.len() {
        let so_far = &done[..upto];
        let is_fine = |path: &PathBuf| {
            path.parent().is_some_and(|folder| folder.ends_with("fine")) && path.extension() == Some("jsonl".as_ref())
        };
        let synced = so_far.iter().filter(|done| matches!(done, Done::Synced(path) if is_fine(path))).count() as u64;
        let written = so_far.iter().filter(|done| matches!(done, Done::Wrote(path, _) if is_fine(path))).count() as u64;
        let unsynced = (0..upto).filter(|i| !is_sure(&so_far[*i], &so_far[i + 1..])).count();
        let mut all = vec![Lost::Nothing, Lost::AllUnsynced, Lost::LastZero, Lost::RenamedEmpty];
        all.extend((0..4).map(Lost::LastCut));
        all.extend((0..unsynced).map(Lost::One));
        for lost in all {
            let what = format!("after {upto} operations, {lost:?} lost");
            let at = tempfile::tempdir().unwrap();
            let other = at.path().join("measure");
            std::fs::create_dir_all(other.join("fine")).unwrap();
            std::fs::create_dir_all(other.join("minutes")).unwrap();
            for (path, bytes) in disk_after(so_far, lost).files {
                std::fs::write(other.join(path.strip_prefix(&folder).unwrap()), bytes).unwrap();
            }
            let day = read_day(&other, END_MS + 60_000, None).unwrap();
            let kept = day_of(&day, "agt_01", Measure::Turns).unwrap_or(0.0);
            assert!(kept >= (synced * 2) as f64, "{what}: {kept} of {synced} looks' turns");
            assert!(kept <= (written * 2) as f64, "{what}");
            check_after(&other, &mut Watcher { emitted: written * 2, read_to: 0 }, &what);
            states += 1;
        }
    }
    assert!(states > 500, "{states}");
}

#[test]
fn settings_that_keep_nothing_keep_the_newest() {
    let at = tempfile::tempdir().unwrap();
    let settings = Settings { keep_fine_ms: 0, keep_minutes_ms: 0, processes: false };
    let (store, _) = Store::open(at.path(), settings).unwrap();
    for hour in 0..5 {
        store.append(&look(START_MS + hour * HOUR_MS, hour, 1), "{}").unwrap();
        assert!(store.tidy(START_MS + hour * HOUR_MS).is_empty());
    }
    // The clock is believed as far as the look before the newest file's.
    assert_eq!(names(at.path(), "fine"), ["2026-11-30-23.jsonl.zst", "2026-12-01-00.jsonl.zst", "2026-12-01-01.jsonl"]);
}
