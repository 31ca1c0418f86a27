//! Looks at real processes, compared with what the kernel's own files say of them.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "only tests run this")]

mod common;
#[path = "made/loud.rs"]
mod loud;

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::{Duration, Instant};

use common::kernel::{number, stat};
use common::looking::{Looking, Seen};
use common::{Zoo, pids, until};
use lnk_schema::Measure;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

/// Seconds of a clock tick: what the kernel's files count CPU time in.
const TICK: f64 = 0.01;

/// CPU time of a process and of its children that ended, in seconds.
fn kernel_cpu(pid: u32) -> f64 {
    let stat = stat(pid);
    (stat.cpu_ticks + stat.children_cpu_ticks) as f64 * TICK
}

fn cpu(seen: &Seen) -> f64 {
    seen.value(Measure::CpuUsed)
}

/// Between two reads of the kernel's, since the process goes on.
fn assert_cpu_is_the_kernels(looking: &mut Looking, pid: u32) {
    let before = kernel_cpu(pid);
    let counted = cpu(&looking.look());
    let after = kernel_cpu(pid);
    // Each of four counters may be cut by a tick.
    assert!((before - 2.0 * TICK..=after + 2.0 * TICK).contains(&counted), "{before} {counted} {after}");
}

#[test]
fn a_double_forked_daemon_is_found_by_its_process_group() {
    let mut command = Command::new(Zoo::path());
    // As a shell starts a program, or a service manager does: at the head of a group of its own.
    let zoo = Zoo::start(command.arg("double-fork").process_group(0));
    let daemon = zoo.member("daemon");
    let mut both = [zoo.pid(), daemon];
    both.sort_unstable();
    // At the first look there is, and where the agent is told of only after its processes were seen.
    let mut late = Looking::with(&json!({}));
    assert!(!late.look().is_there());
    late.say(&json!({ "pids": [zoo.pid()] }));
    for mut looking in [Looking::at(zoo.pid()), late] {
        let seen = looking.look();
        assert_eq!((seen.told().orphans.as_slice(), seen.pids()), (&[daemon][..], both.to_vec()));
        assert_eq!(seen.value(Measure::Processes), 2.0);
    }
}

#[test]
fn a_session_of_its_own_stays_the_agents() {
    let zoo = Zoo::open(&["setsid"]);
    let seen = Looking::at(zoo.pid()).look();
    assert!(seen.pids().contains(&zoo.member("leader")));
    assert!(seen.told().orphans.is_empty());
}

#[test]
fn a_zombie_is_no_process_of_the_agents() {
    let mut zoo = Zoo::open(&["zombie"]);
    let mut looking = Looking::at(zoo.pid());
    assert_eq!(looking.look().pids(), [zoo.pid()]);
    zoo.command("reap");
    let seen = looking.look();
    assert_eq!((seen.pids(), seen.value(Measure::Processes)), (vec![zoo.pid()], 1.0));
}

#[test]
fn an_orphan_stays_a_member_and_is_told_of() {
    let mut zoo = Zoo::open(&["orphan"]);
    let (parent, child) = (zoo.member("parent"), zoo.member("child"));
    let mut looking = Looking::at(zoo.pid());
    let seen = looking.look();
    assert_eq!((seen.value(Measure::Processes), seen.told().orphans.as_slice()), (3.0, &[][..]));
    zoo.command("orphan");
    for _ in 0..3 {
        let seen = looking.look();
        assert!(!seen.pids().contains(&parent));
        assert!(seen.process(child).values.get(Measure::MemoryUsed).is_some());
        assert_eq!(seen.told().orphans, [child]);
    }
}

#[test]
fn an_exec_is_the_same_process_on_with_its_time() {
    let mut zoo = Zoo::open(&["exec"]);
    let pid = zoo.member("before");
    let mut looking = Looking::at(zoo.pid());
    let before = looking.look();
    zoo.command("exec");
    let after = looking.look();
    assert_eq!(before.process(pid).since_ns, after.process(pid).since_ns);
    assert_eq!(before.pids(), after.pids());
    // What it maps is another program's now.
    let memory = looking.look().process(pid).values.get(Measure::MemoryUsed);
    assert!(memory.is_some());
    assert_ne!(before.process(pid).values.get(Measure::MemoryUsed), memory);
}

#[test]
fn what_a_child_used_that_nobody_reaps_is_counted_while_it_is_seen_and_never_falls() {
    let mut zoo = Zoo::open(&["unreaped", "100"]);
    let mut looking = Looking::at(zoo.pid());
    looking.look();
    zoo.command("burn");
    // It came and went between two looks and its time is in nobody's counters.
    assert_cpu_is_the_kernels(&mut looking, zoo.pid());
}

#[test]
fn two_hundred_children_a_second_are_all_counted() {
    let mut zoo = Zoo::open(&["short-lived", "200"]);
    let mut looking = Looking::at(zoo.pid());
    let until = Instant::now() + Duration::from_secs(1);
    while Instant::now() < until {
        assert_cpu_is_the_kernels(&mut looking, zoo.pid());
    }
    let told = zoo.command("stop").pop().unwrap();
    let (made, used) = (told["made"].as_u64().unwrap(), told["cpu_usec"].as_f64().unwrap() / 1e6);
    assert!(made >= 20, "{told}");
    assert_cpu_is_the_kernels(&mut looking, zoo.pid());
    assert!(cpu(&looking.look()) >= used - 2.0 * TICK, "{told}");
}

#[test]
fn a_gibibyte_shared_by_three_counts_once() {
    let zoo = Zoo::open(&["shared-memory", "1024"]);
    let seen = Looking::at(zoo.pid()).look();
    let pids = seen.pids();
    assert_eq!(pids.len(), 3);
    let kernel: u64 = pids.iter().map(|pid| number(*pid, "smaps_rollup", "Pss") * 1024).sum();
    let memory = seen.value(Measure::MemoryUsed);
    assert!((memory / kernel as f64 - 1.0).abs() < 0.02, "{memory} {kernel}");
    assert!((memory / f64::from(1 << 30) - 1.0).abs() < 0.02, "{memory}");
    assert!(!seen.told().estimated);
    assert!(seen.value(Measure::MemoryPeak) >= memory);
    for pid in pids {
        let part = seen.process(pid).values.get(Measure::MemoryUsed).unwrap();
        assert!((part / f64::from(1 << 30) - 1.0 / 3.0).abs() < 0.02, "{part}");
    }
}

#[test]
fn what_shares_ends_and_the_rest_holds_it_all() {
    let zoo = Zoo::open(&["shared-memory", "64"]);
    let mut looking = Looking::within(&json!({ "pids": [zoo.pid()] }), 5.0);
    let sharers = zoo.pids("sharer");
    let of = |seen: &Seen| seen.process(zoo.pid()).values.get(Measure::MemoryUsed);
    let before = of(&looking.look_until("its memory is known", |seen| of(seen).is_some())).unwrap();
    let ended = i32::try_from(sharers[0]).unwrap();
    kill_process(Pid::from_raw(ended).unwrap(), Signal::KILL).unwrap();
    // A zombie from then on, since nobody waits for it: it has no memory any more.
    until("it has ended", || stat(sharers[0]).state == "Z");
    // The resident bytes of the others are what they were: that their parts grew is seen only since the agent lost a
    // process. After some tens of looks they would be read again anyway.
    let now = (0..20).filter_map(|_| of(&looking.look())).last().unwrap();
    let kernel = (number(zoo.pid(), "smaps_rollup", "Pss") * 1024) as f64;
    assert!(now > before * 1.4 && (now - kernel).abs() <= kernel * 0.02, "{before} {now} {kernel}");
}

#[test]
fn names_of_any_bytes_are_looked_past() {
    let names: [&[u8]; 7] =
        [b"a) R 1 (b", b"x\ny z", b"\xff\xfe\x80", b"", b"back\\slash\ttab", b") Z 0 0 0", b"claude"];
    let mut words = vec![OsStr::new("named")];
    words.extend(names.map(OsStr::from_bytes));
    let zoo = Zoo::open(&words);
    let seen = Looking::at(zoo.pid()).look();
    let mut expected = zoo.pids("named");
    expected.push(zoo.pid());
    expected.sort_unstable();
    assert_eq!(seen.pids(), expected);
    for pid in expected {
        let unit = seen.process(pid);
        // Its own words go nowhere.
        assert_eq!(unit.name, None);
        assert_eq!(unit.values.get(Measure::CpuUsed).map(|cpu| cpu < 1.0), Some(true));
    }
}

#[test]
fn three_hundred_processes_coming_and_going_never_fail_fall_or_mix() {
    let mut zoo = Zoo::open(&["churn", "300", "3"]);
    let mut looking = Looking::within(&json!({ "pids": [zoo.pid()] }), 5.0);
    let until = Instant::now() + Duration::from_secs(3);
    let (mut looks, mut most) = (0, 0.0_f64);
    while Instant::now() < until {
        let seen = looking.look();
        looks += 1;
        most = most.max(seen.value(Measure::Processes));
        for pid in seen.pids().into_iter().filter(|pid| *pid != zoo.pid()) {
            let process = seen.process(pid);
            // Each does nothing but wait: whoever has more has another's.
            assert!(process.values.get(Measure::CpuUsed).unwrap() <= 5.0 * TICK, "{process:?}");
            assert!(process.since_ns >= seen.process(zoo.pid()).since_ns || pid < zoo.pid(), "{process:?}");
        }
        assert_eq!(seen.value(Measure::Processes), seen.pids().len() as f64);
    }
    let said = zoo.command("join");
    assert!(looks > 5 && most > 20.0, "{looks} looks, {most} processes");
    assert!(said[0]["made"].as_u64().unwrap() > 600, "{said:?}");
    assert_cpu_is_the_kernels(&mut looking, zoo.pid());
    assert_eq!(looking.look().pids(), [zoo.pid()]);
}

#[test]
fn a_pid_used_again_is_a_new_process_with_numbers_of_its_own() {
    if !rustix::process::geteuid().is_root() {
        loud::not_tested("a pid that is used again: only root may choose one");
        return;
    }
    let mut zoo = Zoo::open(&["pid-reuse"]);
    let pid = zoo.member("first");
    let mut looking = Looking::at(zoo.pid());
    let first = looking.look();
    let used = first.process(pid).values.get(Measure::CpuUsed).unwrap();
    assert!(used >= 0.03, "{used}");
    assert_eq!(pids(&zoo.command("reuse"), "second"), [pid]);
    let second = looking.look();
    assert!(second.process(pid).since_ns > first.process(pid).since_ns);
    assert!(second.process(pid).values.get(Measure::CpuUsed).unwrap() < used);
    // What the first used stays counted, once.
    assert!(cpu(&second) >= cpu(&first));
    let kernel = kernel_cpu(zoo.pid()) + kernel_cpu(pid);
    assert!((cpu(&second) - kernel).abs() <= 2.0 * TICK, "{} {kernel}", cpu(&second));
}

#[test]
fn a_main_process_whose_number_someone_else_has_is_another_start() {
    if !rustix::process::geteuid().is_root() {
        loud::not_tested("a pid that is used again: only root may choose one");
        return;
    }
    let mut zoo = Zoo::open(&["pid-reuse"]);
    let pid = zoo.member("first");
    let mut looking = Looking::at(pid);
    let first = looking.look();
    assert!(cpu(&first) >= 0.03);
    zoo.command("reuse");
    let second = looking.look();
    assert!(second.agent().since_ns > first.agent().since_ns);
    assert!((cpu(&second) - kernel_cpu(pid)).abs() <= TICK, "{}", cpu(&second));
}

#[test]
fn each_port_counts_once_for_the_agent() {
    let kinds = ["v4:0", "v6:0", "v6-only:0", "reuse-port:0", "inherited:0"];
    let zoo = Zoo::open(&[&["listen"][..], &kinds].concat());
    let seen = Looking::at(zoo.pid()).look();
    assert_eq!(seen.value(Measure::Ports), 5.0);
    // A child of each that has two holders, and the zoo, which holds one socket of all.
    for pid in seen.pids() {
        let expected = if pid == zoo.pid() { 5.0 } else { 1.0 };
        assert_eq!(seen.process(pid).values.get(Measure::Ports), Some(expected), "{pid}");
    }
    assert!(seen.machine().values.get(Measure::Ports).unwrap() >= 5.0);
}

#[test]
fn disk_bytes_are_the_kernels_with_those_of_children_that_ended() {
    // Below the build folder: the folder for temporary files is memory on many machines.
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let file = folder.path().join("file");
    let mut zoo = Zoo::open(&[OsStr::new("disk"), file.as_os_str(), OsStr::new("8")]);
    let mut looking = Looking::at(zoo.pid());
    let bytes = |seen: &Seen| [seen.value(Measure::DiskRead), seen.value(Measure::DiskWritten)];
    let kernel = |pid: u32| ["read_bytes", "write_bytes"].map(|name| number(pid, "io", name) as f64);
    let (of_zoo, of_writer) = (kernel(zoo.pid()), kernel(zoo.member("writer")));
    assert_eq!(bytes(&looking.look()), [of_zoo[0] + of_writer[0], of_zoo[1] + of_writer[1]]);
    zoo.command("go");
    let seen = looking.look();
    assert_eq!(bytes(&seen), kernel(zoo.pid()));
    assert!(bytes(&seen)[0] >= 8_388_608.0 && bytes(&seen)[1] >= 8_388_608.0, "{:?}", bytes(&seen));
}

#[test]
fn an_agent_that_ended_is_gone_and_one_that_starts_again_begins_anew() {
    let mut zoo = Zoo::open(&["setsid"]);
    let mut looking = Looking::at(zoo.pid());
    let first = looking.look();
    zoo.kill();
    looking.look_until("it is gone", |seen| !seen.is_there());
    until("the next tick", || {
        let zoo = Zoo::open(&["setsid"]);
        looking.say(&json!({ "pids": [zoo.pid()] }));
        looking.look().agent().since_ns > first.agent().since_ns
    });
}
