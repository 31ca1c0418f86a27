//! A whole run, as the process that is asked for one makes it: here, and in a virtual machine with nothing but version 2
//! of control groups. One test in a program of its own, since a process runs one command in its life.

#![cfg(target_os = "linux")]

use std::path::Path;

use lnk_run::{Plan, Running};

#[test]
fn a_command_is_run_in_a_group_of_its_own_and_counted_to_its_end() {
    let folder = tempfile::tempdir().unwrap();
    let script = "cd \"$WHERE\"; printf abc > new; i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; \
                  (sleep 0.05 & (sleep 0.02 &) ); sh -c 'exit 0'; test -z \"$HOME\" && exit 3";
    let running = Running::start(Plan {
        words: ["sh", "-c", script].map(str::to_owned).to_vec(),
        variables: vec![("WHERE".to_owned(), folder.path().to_str().map(str::to_owned)), ("HOME".to_owned(), None)],
        descriptors: lnk_run::inherited(),
        group: format!("lnk-run-test-{}", std::process::id()),
        folder: folder.path().to_path_buf(),
        except: std::path::PathBuf::new(),
    })
    .unwrap();
    let who = running.who();
    let outcome = running.wait().unwrap();

    assert_eq!((outcome.code, outcome.signal), (Some(3), None), "{outcome:?}");
    assert_eq!((outcome.files, outcome.bytes), (Some(1), Some(3)), "{outcome:?}");
    assert!(outcome.left.is_empty() && outcome.largest > 0 && outcome.cpu > 0.0, "{outcome:?}");
    assert!(outcome.disk_read.is_some() && outcome.disk_written.is_some(), "{outcome:?}");
    let is_root = rustix::process::geteuid().is_root();
    let has_v2 = std::fs::read_to_string("/proc/self/mountinfo").unwrap().contains(" - cgroup2 ");
    if is_root && has_v2 {
        assert_eq!(outcome.cpu_by, "control-group", "{outcome:?}");
        assert!(who.cgroup.is_some() && outcome.group_removed, "{who:?} {outcome:?}");
    }
    // Where what must hold it together is known, as in a scope of a user's manager.
    if let Ok(held_by) = std::env::var("LNK_TEST_HELD_BY") {
        assert_eq!((outcome.held_by, outcome.cpu_by), (held_by.as_str(), "control-group"), "{outcome:?}");
    }
    // The shell, its subshell, two that sleep and the last shell, at least.
    assert!(outcome.started.is_none_or(|started| started >= 5), "{outcome:?}");
    if is_root && Path::new("/sys/fs/cgroup/cgroup.controllers").exists() {
        assert!(outcome.group_peak.is_some_and(|bytes| bytes > 0), "{outcome:?}");
    }
    assert!(who.group_dirs.iter().all(|dir| !dir.exists()), "{who:?}");
}
