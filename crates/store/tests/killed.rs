//! The kernel's own calls: the process is killed at each of them, and each of them fails, in a process that `strace`
//! runs. What must hold is as in `faults.rs`, where it is the store's own calls that fail.
#![cfg(target_os = "linux")]
#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

mod common;
#[path = "../../sample/tests/made/loud.rs"]
mod loud;
#[path = "common/scenario.rs"]
mod scenario;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;

use common::day_of;
use lnk_schema::Measure;
use lnk_store::{RealFiles, read_day};
use scenario::{END_MS, Watcher, check_after};

const FOLDER: &str = "LNK_TEST_STORE";

/// What `strace` runs: the scenario, on real files. Beside the folder stands how many turns there were and were kept.
#[test]
#[ignore = "the others run it"]
fn driver() {
    let Some(folder) = std::env::var_os(FOLDER).map(PathBuf::from) else { return };
    let mut watcher = Watcher { emitted: 0, read_to: 0 };
    scenario::run(&(Arc::new(RealFiles) as _), &folder, &mut watcher, |watcher| {
        std::fs::write(beside(&folder), format!("{} {}", watcher.emitted, watcher.read_to)).unwrap();
        false
    });
}

fn beside(folder: &Path) -> PathBuf {
    folder.with_extension("turns")
}

/// How many turns there were after the last look that ended, and how many of them were kept.
fn turns(folder: &Path) -> (u64, u64) {
    let text = std::fs::read_to_string(beside(folder)).unwrap_or_default();
    let (emitted, kept) = text.split_once(' ').unwrap_or(("0", "0"));
    (emitted.parse().unwrap(), kept.parse().unwrap())
}

/// Runs the driver under `strace`, which looks only at calls on the store's files.
fn traced(folder: &Path, options: &[&str]) -> Output {
    let names = ["fine", "minutes"].into_iter().flat_map(|part| {
        let part = folder.join(part);
        let files = ["2026-11-30-21", "2026-11-30-22", "2026-11-30"]
            .into_iter()
            .flat_map(|span| [format!("{span}.jsonl"), format!("{span}.jsonl.zst"), format!(".{span}.jsonl.zst.tmp")]);
        files.map(|file| part.join(file)).chain([part.clone()]).collect::<Vec<_>>()
    });
    let copies = ["day.json", ".day.json.tmp", "counted.json", ".counted.json.tmp"].map(|name| folder.join(name));
    let mut command = Command::new("strace");
    command.args(["-f", "-qq", "-s", "0", "-o"]).arg(folder.with_extension("calls")).args(options);
    for path in names.chain(copies).chain([folder.to_owned()]) {
        command.arg("-P").arg(path);
    }
    command.arg(std::env::current_exe().unwrap()).args(["--ignored", "--exact", "driver", "--test-threads=1"]);
    command.env(FOLDER, folder).output().unwrap()
}

/// The calls of a run in which nothing goes wrong, and how many there are of each. `None`: they can't be had here.
fn calls() -> Option<BTreeMap<String, usize>> {
    let at = tempfile::tempdir().unwrap();
    let folder = at.path().join("measure");
    let has_strace = Command::new("strace").args(["-qq", "-o", "/dev/null", "true"]).output();
    if !has_strace.is_ok_and(|output| output.status.success()) {
        let what = "the store killed and failing at each system call: no strace here, or it may not trace";
        loud::not_tested(&format!("{what} (Debian: apt-get install strace)"));
        assert!(std::env::var_os("CI").is_none(), "{what}");
        return None;
    }
    let output = traced(&folder, &[]);
    assert!(output.status.success(), "{output:?}");
    assert_eq!(turns(&folder), (14, 14));
    let mut calls = BTreeMap::new();
    for line in std::fs::read_to_string(folder.with_extension("calls")).unwrap().lines() {
        let name =
            line.split_whitespace().nth(1).and_then(|word| word.split_once('(')).map(|(name, _)| name.to_owned());
        *calls.entry(name.unwrap_or_else(|| panic!("{line}"))).or_default() += 1;
    }
    assert!(calls.values().sum::<usize>() > 150, "{calls:?}");
    Some(calls)
}

/// Runs the scenario once for each of the calls with this done to it, and checks what is left.
fn at_each(names: &[&str], what: &str) {
    let Some(calls) = calls() else { return };
    for name in names {
        for n in 1..=*calls.get(*name).unwrap_or_else(|| panic!("no {name} in {calls:?}")) {
            let at = tempfile::tempdir().unwrap();
            let folder = at.path().join("measure");
            let what = format!("inject={name}:{what}:when={n}");
            let output = traced(&folder, &["-e", &what]);
            let (emitted, kept) = turns(&folder);
            // strace ends as what it traced has: by the signal, if there was one.
            assert_eq!(output.status.success(), what.contains("error="), "{what}: {output:?}");
            for part in ["fine", "minutes"] {
                std::fs::create_dir_all(folder.join(part)).unwrap();
            }
            let day = read_day(&folder, END_MS + 60_000, None).unwrap();
            let there = day_of(&day, "agt_01", Measure::Turns).unwrap_or(0.0);
            assert!(there >= kept as f64, "{what}: {there} of {kept} turns that were kept");
            // The look under way took two more.
            check_after(&folder, &mut Watcher { emitted: emitted + 2, read_to: 0 }, &what);
        }
    }
}

/// What changes something, and a few that don't. Killed at any other, it leaves what it leaves at the next of these.
const CHANGING: [&str; 7] = ["mkdirat", "openat", "write", "fdatasync", "fsync", "renameat", "unlinkat"];

#[test]
fn killed_at_any_call_it_has_lost_at_most_the_look_under_way() {
    at_each(&CHANGING, "signal=SIGKILL");
}

#[test]
fn any_call_may_fail_for_want_of_a_disk() {
    at_each(&CHANGING, "error=EIO");
    at_each(&["read", "statx", "getdents64"], "error=EIO");
}

#[test]
fn any_call_that_takes_room_may_find_none() {
    at_each(&["mkdirat", "openat", "write", "fdatasync", "renameat"], "error=ENOSPC");
    at_each(&["openat", "write"], "error=EDQUOT");
}

#[test]
fn a_signal_may_come_in_any_call_that_it_can() {
    at_each(&["openat", "read", "write", "fdatasync", "fsync"], "error=EINTR");
}

#[test]
fn a_disk_that_became_read_only_and_a_table_of_files_that_is_full_cost_a_look_at_most() {
    at_each(&["mkdirat", "openat", "write", "renameat", "unlinkat"], "error=EROFS");
    at_each(&["openat"], "error=EMFILE");
}
