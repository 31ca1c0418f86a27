//! Totals stay right, whoever adds and whatever the file was.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::thread;

use lnk_ledger::{Counts, LedgerError, add};

const ONE: Counts = Counts { requests: 1, unmetered: 0, input: 100, output: 7, cached: 60, cache_written: 5 };

fn mode(path: &Path) -> io::Result<u32> {
    Ok(fs::metadata(path)?.permissions().mode() & 0o777)
}

#[test]
fn the_first_addition_makes_the_folder_and_the_file_for_this_user_alone() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("measure/tokens");
    let added = add(&folder, "agt_01", ONE, "r-1", 1_780_000_000.5).unwrap();
    assert_eq!((added.totals.counts, added.set_aside), (ONE, None));
    let file = folder.join("agt_01.json");
    assert_eq!((mode(&folder).unwrap(), mode(&file).unwrap()), (0o700, 0o600));
    assert_eq!(
        fs::read_to_string(file).unwrap(),
        "{\"run\":\"r-1\",\"since\":1780000000.5,\"requests\":1,\"unmetered\":0,\"input\":100,\"output\":7,\"cached\":60,\"cache_written\":5}\n"
    );
}

#[test]
fn later_additions_keep_the_run_and_when_it_began() {
    let place = tempfile::tempdir().unwrap();
    add(place.path(), "a", ONE, "r-1", 1.0).unwrap();
    let lnk_ledger::Added { totals, .. } = add(place.path(), "a", ONE, "r-2", 2.0).unwrap();
    assert_eq!((totals.run.as_str(), totals.since, totals.counts.input), ("r-1", 1.0, 200));
}

#[test]
fn routes_that_add_at_once_lose_and_double_nothing() {
    let place = tempfile::tempdir().unwrap();
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..50).for_each(|_| drop(add(place.path(), "a", ONE, "r", 1.0).unwrap())));
        }
    });
    let counts = add(place.path(), "a", Counts::default(), "r", 1.0).unwrap().totals.counts;
    assert_eq!((counts.requests, counts.input, counts.cache_written), (200, 20_000, 1000));
}

#[test]
fn a_damaged_file_is_set_aside_and_the_totals_begin_a_run_of_their_own() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("a.json");
    let long = format!("{{\"run\":\"{}\"}}", "x".repeat(5000));
    for (at, damage) in ["", "{\"run\":\"r-1\",\"requ", "[]", "{\"run\":\"r\",\"since\":1,\"requests\":-1}", &long]
        .into_iter()
        .enumerate()
    {
        fs::write(&file, damage).unwrap();
        let added = add(place.path(), "a", ONE, "r-new", 2.0).unwrap();
        assert_eq!((added.totals.run.as_str(), added.totals.counts), ("r-new", ONE));
        let aside = added.set_aside.unwrap();
        assert_eq!(fs::read_to_string(&aside).unwrap(), damage);
        let end = if at == 0 { String::new() } else { format!(".{at}") };
        assert_eq!(aside, place.path().join(format!("a.json.bad{end}")));
    }
}

#[test]
fn what_a_killed_route_left_does_no_harm() {
    let place = tempfile::tempdir().unwrap();
    add(place.path(), "a", ONE, "r-1", 1.0).unwrap();
    fs::write(
        place.path().join("a.tmp"),
        "{\"run\":\"r-1\",\"since\":1,\"requests\":99999999999999999999999999999999999",
    )
    .unwrap();
    assert_eq!(add(place.path(), "a", ONE, "r-2", 1.0).unwrap().totals.counts.requests, 2);
    assert!(!place.path().join("a.tmp").exists());
}

#[test]
fn what_is_put_where_a_file_was_is_neither_waited_for_nor_written_through() {
    let place = tempfile::tempdir().unwrap();
    let (folder, elsewhere) = (place.path().join("tokens"), place.path().join("elsewhere"));
    add(&folder, "a", ONE, "r-1", 1.0).unwrap();
    fs::write(&elsewhere, "mine").unwrap();
    let fifo = |name: &str| {
        let made = std::process::Command::new("mkfifo").arg(folder.join(name)).status().unwrap();
        assert!(made.success());
    };
    let link = |name: &str| std::os::unix::fs::symlink(&elsewhere, folder.join(name)).unwrap();
    for (at, put) in [&fifo as &dyn Fn(&str), &link].into_iter().enumerate() {
        fs::remove_file(folder.join("a.json")).unwrap();
        put("a.json");
        put("a.tmp");
        let added = add(&folder, "a", ONE, "r-2", 2.0).unwrap();
        assert_eq!((added.totals.counts, added.set_aside.is_some()), (ONE, true), "{at}");
        assert!(fs::symlink_metadata(folder.join("a.json")).unwrap().is_file());
    }
    assert_eq!(fs::read_to_string(&elsewhere).unwrap(), "mine");
    fs::remove_file(folder.join("a.lock")).unwrap();
    std::os::unix::fs::symlink(place.path().join("new"), folder.join("a.lock")).unwrap();
    assert!(matches!(add(&folder, "a", ONE, "r-2", 2.0), Err(LedgerError::File { .. })));
    assert!(!place.path().join("new").exists());
}

#[test]
fn a_lock_held_too_long_is_an_error_and_adds_nothing() {
    let place = tempfile::tempdir().unwrap();
    add(place.path(), "a", ONE, "r-1", 1.0).unwrap();
    let held = fs::File::open(place.path().join("a.lock")).unwrap();
    held.lock().unwrap();
    assert!(matches!(add(place.path(), "a", ONE, "r-1", 1.0), Err(LedgerError::Busy(_))));
    drop(held);
    assert_eq!(add(place.path(), "a", ONE, "r-1", 1.0).unwrap().totals.counts.requests, 2);
}

#[test]
fn a_file_that_cannot_be_written_is_an_error_that_names_it() {
    let place = tempfile::tempdir().unwrap();
    fs::create_dir(place.path().join("a.tmp")).unwrap();
    let error = add(place.path(), "a", ONE, "r-1", 1.0).unwrap_err();
    assert!(error.to_string().contains("a.tmp"), "{error}");
    fs::remove_dir(place.path().join("a.tmp")).unwrap();
    assert_eq!(add(place.path(), "a", ONE, "r-1", 1.0).unwrap().totals.counts, ONE);
}

#[test]
fn totals_stop_at_the_largest_number() {
    let place = tempfile::tempdir().unwrap();
    let most = Counts { input: u64::MAX, ..Counts::default() };
    add(place.path(), "a", most, "r-1", 1.0).unwrap();
    assert_eq!(add(place.path(), "a", ONE, "r-1", 1.0).unwrap().totals.counts.input, u64::MAX);
}
