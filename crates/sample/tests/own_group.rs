//! Agents in control groups made for real, on whatever hierarchy this machine has.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "only tests run this")]

mod common;
mod made;

use std::fs;
use std::process::Command;

use common::looking::{Looking, Seen};
use common::{Zoo, until};
use lnk_sample::Why;
use lnk_sample::track::agent::Totals;
use lnk_schema::Measure;
use made::Made;
use serde_json::json;

/// A situation of the zoo that is in a group from its first moment, as what a service manager starts is.
fn zoo_in(made: &Made, situation: &str) -> Zoo {
    let mut command = Command::new("sh");
    let line = "echo $$ >\"$0/cgroup.procs\" && exec \"$1\" $2";
    Zoo::start(command.args(["-c", line]).arg(&made.dir).arg(Zoo::path()).arg(situation))
}

fn path(made: &Made) -> String {
    String::from_utf8(made.path()).unwrap()
}

/// The group's own count of CPU time, in seconds.
fn kernel_cpu(made: &Made) -> f64 {
    let stat = fs::read_to_string(made.dir.join("cpu.stat")).unwrap();
    stat.lines().find_map(|line| line.strip_prefix("usage_usec ")).unwrap().parse::<f64>().unwrap() / 1e6
}

fn assert_cpu_is_the_groups(looking: &mut Looking, made: &Made) -> f64 {
    let before = kernel_cpu(made);
    let seen = looking.look();
    let after = kernel_cpu(made);
    assert_eq!(seen.told().by, Totals::ControlGroup);
    let counted = seen.value(Measure::CpuUsed);
    assert!((before..=after).contains(&counted), "{before} {counted} {after}");
    counted
}

fn is_by_processes(seen: &Seen) -> bool {
    seen.told().by == Totals::Processes
}

#[test]
fn a_group_that_is_told_of_says_who_its_processes_are_and_what_they_used() {
    let Some(made) = Made::v2("told") else { return };
    let mut zoo = zoo_in(&made, "orphan");
    let other = zoo_in(&made, "setsid");
    let (parent, child) = (zoo.member("parent"), zoo.member("child"));
    let mut looking = Looking::with(&json!({ "pids": [zoo.pid()], "cgroup": path(&made) }));
    looking.look();
    let mut all = vec![zoo.pid(), parent, child, other.pid(), other.member("leader")];
    all.sort_unstable();
    // That none of them is the child of another doesn't matter: they are in the group.
    let seen = looking.look();
    assert_eq!(seen.pids(), all);
    assert_eq!(seen.told().orphans, [other.pid()]);
    zoo.command("orphan");
    let seen = looking.look();
    all.retain(|pid| *pid != parent);
    assert_eq!(seen.pids(), all);
    assert!(seen.told().orphans.contains(&child));
    assert_cpu_is_the_groups(&mut looking, &made);
}

#[test]
fn a_groups_time_is_the_kernels_with_children_that_nobody_reaped() {
    let Some(made) = Made::v2("time") else { return };
    let mut zoo = zoo_in(&made, "unreaped 100");
    let mut looking = Looking::at(zoo.pid());
    looking.look();
    let before = assert_cpu_is_the_groups(&mut looking, &made);
    zoo.command("burn");
    let after = assert_cpu_is_the_groups(&mut looking, &made);
    assert!(after >= before + 0.1, "{before} {after}");
}

#[test]
fn a_group_of_its_own_is_found_with_who_left_the_tree_before_the_first_look() {
    let Some(made) = Made::v2("found") else { return };
    let zoo = zoo_in(&made, "double-fork");
    let daemon = zoo.member("daemon");
    let mut looking = Looking::at(zoo.pid());
    // Whether it is its own is known at the first look; who is in it, at the next.
    let seen = looking.look_until("the daemon is a member", |seen| seen.pids().contains(&daemon));
    assert_eq!(seen.told().orphans, [daemon]);
    assert_cpu_is_the_groups(&mut looking, &made);
}

#[test]
fn a_group_with_someone_elses_program_is_nobodys_own() {
    let Some(mut made) = Made::v2("shared") else { return };
    // Older than the agent, as the shell that starts it is.
    let shell = made.child("", "true");
    let zoo = zoo_in(&made, "setsid");
    let mut looking = Looking::at(zoo.pid());
    looking.look();
    let seen = looking.look();
    assert!(is_by_processes(&seen));
    assert!(!seen.pids().contains(&shell));
    assert_eq!(seen.pids().len(), 2);
    drop(zoo);
}

#[test]
fn a_service_may_have_anybody_in_its_group() {
    let Some(mut made) = Made::v2("service") else { return };
    let shell = made.child("", "true");
    let zoo = zoo_in(&made, "setsid");
    let service = path(&made);
    let said = json!({ "pids": [zoo.pid()], "unit": service.trim_start_matches('/') });
    let mut looking = Looking::with(&said);
    looking.look();
    let seen = looking.look();
    assert!(seen.pids().contains(&shell));
    assert_eq!(seen.told().by, Totals::ControlGroup);
    drop(zoo);
}

#[test]
fn a_group_that_is_not_there_is_said_and_the_tree_is_counted() {
    let zoo = Zoo::open(&["setsid"]);
    let mut looking = Looking::with(&json!({ "pids": [zoo.pid()], "cgroup": "/lnk-test-never-made" }));
    let seen = looking.look();
    let said = &seen.source("control groups").absent;
    assert!(said.iter().any(|missing| missing.unit == "agt_1" && missing.why == Why::Gone), "{said:?}");
    assert!(is_by_processes(&seen));
    assert!(seen.value(Measure::CpuUsed) < 1.0);
    assert_eq!(seen.pids().len(), 2);
}

#[test]
fn a_removed_group_leaves_its_processes_counted_on_their_own() {
    let Some(made) = Made::v2("removed") else { return };
    let zoo = zoo_in(&made, "setsid");
    let mut looking = Looking::at(zoo.pid());
    looking.look();
    let before = assert_cpu_is_the_groups(&mut looking, &made);
    let above = made.dir.parent().unwrap().join("cgroup.procs");
    for pid in [zoo.pid(), zoo.member("leader")] {
        fs::write(&above, pid.to_string()).unwrap();
    }
    until("the group can be removed", || fs::remove_dir(&made.dir).is_ok());
    // Its totals go on from where the group left them.
    let seen = looking.look_until("its processes are counted", is_by_processes);
    assert_eq!(seen.pids().len(), 2);
    let used = seen.value(Measure::CpuUsed);
    assert!((before..before + 1.0).contains(&used), "{before} {used}");
}
