//! Every file operation fails once, in every way; and the power goes at every one. What must hold: nothing is counted
//! twice, at most the look under way is lost, the next start works unaided, and readers give what is good.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

mod common;
#[path = "common/faulty.rs"]
mod faulty;
#[path = "common/scenario.rs"]
mod scenario;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use common::{HOUR_MS, KEEP, START_MS, day_of, look, names, unit};
use faulty::{Done, FAULTS, Fault, Faulty};
use lnk_schema::{Look, Measure, UnitKind};
use lnk_store::{Files, Settings, Store, read_day};
use scenario::{END_MS, Watcher, check_after};

/// [`scenario::run`], until the fault ends the process.
fn run(files: &Faulty, folder: &Path, watcher: &mut Watcher) -> bool {
    let shared: Arc<dyn Files> = Arc::new(files.clone());
    scenario::run(&shared, folder, watcher, |_| files.is_dead())
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
fn what_grew_in_a_look_that_could_not_be_kept_is_in_the_next() {
    let at = tempfile::tempdir().unwrap();
    let grew = |at_ms, seconds: &[(&str, f64)]| {
        let units = seconds.iter().map(|(id, seconds)| unit(id, UnitKind::Agent, 7, &[(Measure::GpuUsed, *seconds)]));
        Look { at_ms, units: units.collect() }
    };
    let (store, _) = Store::open(at.path(), KEEP).unwrap();
    store.append(&grew(START_MS, &[("a", 1.0), ("b", 1.0)]), "{}").unwrap();
    // A folder in the file's place: no append succeeds.
    let (file, aside) = (at.path().join("fine/2026-11-30-21.jsonl"), at.path().join("aside"));
    std::fs::rename(&file, &aside).unwrap();
    std::fs::create_dir(&file).unwrap();
    store.append(&grew(START_MS + 10_000, &[("a", 2.0), ("b", 4.0)]), "{}").unwrap_err();
    store.append(&grew(START_MS + 20_000, &[("a", 8.0)]), "{}").unwrap_err();
    std::fs::remove_dir(&file).unwrap();
    std::fs::rename(&aside, &file).unwrap();
    store.append(&grew(START_MS + 30_000, &[("a", 16.0)]), "{}").unwrap();
    store.append(&grew(START_MS + 40_000, &[("a", 32.0), ("b", 64.0)]), "{}").unwrap();
    let day = read_day(at.path(), START_MS + HOUR_MS, None).unwrap();
    assert_eq!(["a", "b"].map(|id| day_of(&day, id, Measure::GpuUsed)), [Some(59.0), Some(69.0)]);
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
