//! Looks as an ordinary user: what is its own is measured, what isn't has a reason.
//!
//! Root runs these tests as themselves again, as another user, from a folder that user may read.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "only tests run this")]

mod common;
#[path = "made/loud.rs"]
mod loud;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use common::Zoo;
use common::kernel::{number, stat};
use common::looking::{Looking, Seen};
use lnk_sample::Why;
use lnk_schema::{Measure, Unit};
use serde_json::json;

/// `nobody` on nearly every system, and no one's number elsewhere.
const USER: &str = "65534";

/// Runs one of the ignored tests below as another user, after a line of shell as root in a namespace of its own.
fn as_another_user(test: &str, first: &str, namespaces: &[&str]) {
    if !rustix::process::geteuid().is_root() {
        loud::not_tested(&format!("{test}: only root may become another user"));
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let (program, zoo) = (folder.path().join("test"), folder.path().join("zoo"));
    fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    fs::copy(Zoo::path(), &zoo).unwrap();
    // Not in place of the shell: it stays, as a process of root's that can be looked at.
    let line = format!(
        "{first} && setpriv --reuid {USER} --regid {USER} --clear-groups --no-new-privs \
         \"$0\" --exact {test} --ignored --nocapture; code=$?; exit $code"
    );
    let mut unshare = Command::new("unshare");
    unshare.args(namespaces).args(["sh", "-c", &line]).arg(&program).env("LNK_TEST_ZOO", &zoo).current_dir("/");
    let output = unshare.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let passed = output.status.success() && said.contains("1 passed");
    assert!(passed, "{said}\n{}", String::from_utf8_lossy(&output.stderr));
}

fn reasons(seen: &Seen, source: &str) -> Vec<(String, Why)> {
    seen.source(source).absent.iter().map(|missing| (missing.unit.clone(), missing.why)).collect()
}

fn assert_is_measured(unit: &Unit) {
    let measures = [Measure::MemoryUsed, Measure::CpuUsed, Measure::DiskRead, Measure::DiskWritten, Measure::Ports];
    for measure in measures {
        assert!(unit.values.get(measure).is_some(), "no {measure:?}: {unit:?}");
    }
}

/// Its own processes, as any user has them.
fn look_at_its_own() -> Seen {
    let zoo = Zoo::open(&["shared-memory", "8"]);
    let seen = Looking::at(zoo.pid()).look();
    assert_eq!(seen.pids().len(), 3);
    assert_is_measured(seen.agent());
    for pid in seen.pids() {
        assert_is_measured(seen.process(pid));
    }
    let kernel: u64 = seen.pids().iter().map(|pid| number(*pid, "smaps_rollup", "Pss") * 1024).sum();
    assert!((seen.value(Measure::MemoryUsed) / kernel as f64 - 1.0).abs() < 0.02);
    seen
}

#[test]
fn an_ordinary_user_measures_its_own_and_is_told_why_not_others() {
    as_another_user("inner_own_and_others", "true", &["--mount"]);
}

#[test]
#[ignore = "runs as another user, by the test above"]
fn inner_own_and_others() {
    assert_eq!(rustix::process::geteuid().as_raw().to_string(), USER);
    let seen = look_at_its_own();
    assert!(seen.machine().values.get(Measure::Processes).is_some());

    let shell = rustix::process::getppid().unwrap().as_raw_nonzero().get();
    let seen = Looking::with(&json!({ "pids": [shell] })).look();
    for measure in [Measure::MemoryUsed, Measure::DiskRead] {
        let process = seen.process(shell.cast_unsigned());
        assert_eq!(process.values.get(measure), None, "{measure:?}");
    }
    assert!(seen.value(Measure::CpuUsed) >= 0.0);
    for source in ["/proc/<pid>/smaps_rollup", "/proc/<pid>/io", "sock_diag"] {
        assert!(reasons(&seen, source).contains(&("agt_1".into(), Why::Denied)), "{source}: {:?}", seen.report);
    }
}

#[test]
fn what_the_system_hides_is_said_to_be_hidden() {
    // In a namespace of processes of its own: where the option isn't the mount's but the namespace's, as it was before
    // Linux 5.8, it must not become this machine's.
    let mount = "mount -t proc -o hidepid=2 proc /proc";
    as_another_user("inner_hidden", mount, &["--mount", "--pid", "--fork"]);
}

#[test]
#[ignore = "runs as another user, by the test above"]
fn inner_hidden() {
    assert!(!Path::new("/proc/1").exists());
    let seen = look_at_its_own();
    // How many there are can't be told, and no number stands for it.
    assert_eq!(seen.machine().values.get(Measure::Processes), None);
    assert_eq!(reasons(&seen, "/proc/<pid>/stat"), [("mch_1".into(), Why::Hidden)]);

    let seen = Looking::at(1).look();
    assert!(!seen.is_there());
    let hidden = [("mch_1".into(), Why::Hidden), ("agt_1".into(), Why::Hidden)];
    assert_eq!(reasons(&seen, "/proc/<pid>/stat"), hidden);
}

/// Runs one of the ignored tests below as root among processes of its own, below a shell that is the first of them.
fn among_its_own(test: &str, options: &str) {
    if !rustix::process::geteuid().is_root() {
        loud::not_tested(&format!("{test}: only root may mount /proc"));
        return;
    }
    let line = format!(
        "mount -t proc {options} proc /proc && \"$0\" --exact {test} --ignored --nocapture; code=$?; exit $code"
    );
    let mut unshare = Command::new("unshare");
    unshare.args(["--mount", "--pid", "--fork", "sh", "-c", &line]).arg(std::env::current_exe().unwrap());
    let output = unshare.output().unwrap();
    assert!(String::from_utf8_lossy(&output.stdout).contains("1 passed"), "{output:?}");
}

#[test]
fn root_sees_what_is_hidden_from_others() {
    among_its_own("inner_root", "-o hidepid=2");
}

#[test]
fn a_daemon_whose_reaper_is_of_its_own_session_is_found_by_its_process_group() {
    among_its_own("inner_daemon", "");
}

#[test]
#[ignore = "runs in namespaces of its own, by the test above"]
fn inner_daemon() {
    let shell = stat(1);
    let zoo = Zoo::start(Command::new(Zoo::path()).arg("double-fork").process_group(0));
    let daemon = zoo.member("daemon");
    assert_eq!((stat(daemon).parent, stat(daemon).session), (1, shell.session));
    let seen = Looking::at(zoo.pid()).look();
    assert_eq!(seen.told().orphans, [daemon]);

    // What the shell that started it starts beside it in one job isn't its own.
    let beside = i32::try_from(zoo.pid()).unwrap();
    let mut other = Command::new("sleep").arg("1000").process_group(beside).spawn().unwrap();
    let seen = Looking::at(zoo.pid()).look();
    other.kill().unwrap();
    other.wait().unwrap();
    assert_eq!(seen.told().orphans, [daemon]);
}

#[test]
#[ignore = "runs in namespaces of its own, by the test above"]
fn inner_root() {
    let seen = Looking::at(1).look();
    assert!(seen.machine().values.get(Measure::Processes).is_some_and(|count| count >= 2.0));
    assert!(seen.pids().contains(&1));
    assert_eq!(reasons(&seen, "/proc/<pid>/stat"), []);
}
