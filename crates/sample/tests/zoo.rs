//! The zoo's situations really are what they say, by the kernel's own files.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "only tests run this")]

mod common;
#[path = "made/loud.rs"]
mod loud;

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;

use common::kernel::{is_there, number, stat};
use common::{Zoo, pids, until};

/// Whether a process ended: some inits take their time to reap an orphan.
fn has_ended(pid: u32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/status")).map_or(true, |status| status.contains("\nState:\tZ"))
}

/// The inodes of the sockets a process holds.
fn sockets(pid: u32) -> HashSet<String> {
    let links = fs::read_dir(format!("/proc/{pid}/fd")).unwrap();
    let links = links.filter_map(|entry| fs::read_link(entry.ok()?.path()).ok()?.into_os_string().into_string().ok());
    links.filter(|link| link.starts_with("socket:")).collect()
}

#[test]
fn a_double_forked_daemon_has_left_the_tree() {
    let zoo = Zoo::open(&["double-fork"]);
    let daemon = zoo.member("daemon");
    let parent = stat(daemon).parent;
    assert_ne!(parent, zoo.pid());
    assert_ne!(stat(parent.max(1)).parent, zoo.pid());
}

#[test]
fn a_session_leader_has_its_own_session() {
    let zoo = Zoo::open(&["setsid"]);
    let leader = zoo.member("leader");
    assert_eq!(stat(leader).session, leader);
    assert_eq!(stat(leader).parent, zoo.pid());
}

#[test]
fn a_zombie_stays_until_it_is_reaped() {
    let mut zoo = Zoo::open(&["zombie"]);
    let zombie = zoo.member("zombie");
    assert_eq!(stat(zombie).state, "Z");
    zoo.command("reap");
    assert!(!is_there(zombie));
}

#[test]
fn an_orphan_gets_another_parent() {
    let mut zoo = Zoo::open(&["orphan"]);
    let (parent, child) = (zoo.member("parent"), zoo.member("child"));
    assert_eq!(stat(child).parent, parent);
    zoo.command("orphan");
    assert!(!is_there(parent));
    assert!(![parent, zoo.pid()].contains(&stat(child).parent));
}

#[test]
fn an_exec_keeps_the_pid_and_the_start() {
    let mut zoo = Zoo::open(&["exec"]);
    let pid = zoo.member("before");
    let name = || fs::read_to_string(format!("/proc/{pid}/comm")).unwrap();
    let before = (stat(pid).start_ticks, name());
    zoo.command("exec");
    assert_eq!(stat(pid).start_ticks, before.0);
    assert_ne!(name(), before.1);
}

#[test]
fn names_are_any_bytes() {
    let names: [&[u8]; 6] = [b"a) R 1 (b", b"x\ny z", b"\xff\xfe\x80", b"", b"back\\slash\ttab", b"fifteen letters"];
    let mut words = vec![OsStr::new("named")];
    words.extend(names.map(OsStr::from_bytes));
    let zoo = Zoo::open(&words);
    let found = zoo.pids("named").into_iter().map(|pid| fs::read(format!("/proc/{pid}/comm")).unwrap());
    let expected = names.map(|name| [name, b"\n"].concat());
    assert_eq!(found.collect::<Vec<_>>(), expected);
}

#[test]
fn a_pid_is_used_again() {
    if !rustix::process::geteuid().is_root() {
        loud::not_tested("a pid that is used again: only root may choose one");
        return;
    }
    let mut zoo = Zoo::open(&["pid-reuse"]);
    let first = zoo.member("first");
    let (used, mut kept) = (stat(first).cpu_ticks, fs::File::open(format!("/proc/{first}/stat")).unwrap());
    assert!(used >= 3, "{used} ticks");
    let said = zoo.command("reuse");
    assert_eq!(pids(&said, "second"), [first]);
    assert!(stat(first).cpu_ticks < used);
    assert_eq!(kept.read(&mut [0; 64]).unwrap_err().raw_os_error(), Some(rustix::io::Errno::SRCH.raw_os_error()));
}

#[test]
fn the_time_of_a_child_nobody_reaps_goes_nowhere() {
    let mut zoo = Zoo::open(&["unreaped", "100"]);
    zoo.command("burn");
    assert_eq!(stat(zoo.pid()).children_cpu_ticks, 0);
    assert!(stat(zoo.pid()).cpu_ticks < 5);
}

#[test]
fn short_lived_children_leave_their_time_to_their_parent() {
    let mut zoo = Zoo::open(&["short-lived", "200"]);
    until("some children came and went", || stat(zoo.pid()).children_cpu_ticks >= 5);
    let said = zoo.command("stop");
    let told = said.last().unwrap();
    let (made, cpu_usec) = (told["made"].as_u64().unwrap(), told["cpu_usec"].as_u64().unwrap());
    assert!(made >= 5 && cpu_usec >= made * 1000, "{told}");
    let seen_usec = stat(zoo.pid()).children_cpu_ticks * 10_000;
    assert!(seen_usec.abs_diff(cpu_usec) <= 20_000, "{seen_usec} {cpu_usec}");
}

#[test]
fn a_churn_keeps_so_many_alive_and_makes_many_more() {
    let mut zoo = Zoo::open(&["churn", "60", "1"]);
    let children = format!("/proc/{0}/task/{0}/children", zoo.pid());
    let listed =
        || fs::read_to_string(&children).unwrap().split_whitespace().map(str::to_owned).collect::<HashSet<_>>();
    let first = listed();
    assert!(first.len() > 30, "{}", first.len());
    until("others took their place", || {
        let now = listed();
        now.len() > 30 && now.is_disjoint(&first)
    });
    let said = zoo.command("join");
    assert!(said[0]["made"].as_u64().unwrap() > 120, "{said:?}");
    assert!(listed().is_empty());
}

#[test]
fn shared_memory_is_whole_in_each_and_a_third_each() {
    let zoo = Zoo::open(&["shared-memory", "96"]);
    let mut all = zoo.pids("sharer");
    all.push(zoo.pid());
    assert_eq!(all.len(), 3);
    for pid in all {
        let (rss, pss) = (number(pid, "smaps_rollup", "Rss"), number(pid, "smaps_rollup", "Pss"));
        assert!(rss >= 96 << 10, "{rss} kB");
        assert!((32 << 10..36 << 10).contains(&pss), "{pss} kB");
        assert_eq!(number(pid, "smaps_rollup", "AnonHugePages"), 0);
    }
}

#[test]
fn a_writer_reaches_the_disk_and_ends() {
    // Below the build folder: the folder for temporary files is memory on many machines.
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let file = folder.path().join("file");
    let mut zoo = Zoo::open(&[OsStr::new("disk"), file.as_os_str(), OsStr::new("8")]);
    let writer = zoo.member("writer");
    assert!(!file.exists());
    zoo.command("go");
    assert!(!is_there(writer));
    assert_eq!(fs::metadata(&file).unwrap().len(), 8 << 20);
    // What a reaped child moved is its parent's from then on.
    assert!(number(zoo.pid(), "io", "write_bytes") >= 8 << 20);
    assert!(number(zoo.pid(), "io", "read_bytes") >= 8 << 20);
}

#[test]
fn listeners_listen_and_share_as_they_say() {
    let kinds = ["v4:0", "v6:0", "v6-only:0", "reuse-port:0", "inherited:0"];
    let zoo = Zoo::open(&[&["listen"][..], &kinds].concat());
    let table = |file| fs::read_to_string(file).unwrap();
    let (four, six) = (table("/proc/net/tcp"), table("/proc/net/tcp6"));
    let sockets_on = |table: &str, port: u64| {
        let wanted = format!(":{port:04X}");
        let listens = |line: &&str| {
            let mut words = line.split_whitespace().skip(1);
            words.next().is_some_and(|local| local.ends_with(&wanted)) && words.nth(1) == Some("0A")
        };
        table.lines().filter(listens).count()
    };
    for member in &zoo.members {
        let (role, port) = (member["role"].as_str().unwrap(), member["port"].as_u64().unwrap());
        let expected = match role {
            "v6" | "v6-only" => (0, 1),
            "reuse-port" => (2, 0),
            _ => (1, 0),
        };
        assert_eq!((sockets_on(&four, port), sockets_on(&six, port)), expected, "{member}");
    }
    let shared = |role| {
        let holders = zoo.pids(role);
        assert_eq!(holders.len(), 2);
        sockets(holders[0]).intersection(&sockets(holders[1])).count()
    };
    assert_eq!((shared("reuse-port"), shared("inherited")), (0, 1));
}

#[test]
fn nothing_outlives_the_zoo() {
    let situations: [&[&str]; 4] = [&["double-fork"], &["orphan"], &["setsid"], &["shared-memory", "1"]];
    for situation in situations {
        let mut zoo = Zoo::open(situation);
        let members: Vec<u32> =
            zoo.members.iter().map(|line| line["pid"].as_u64().unwrap().try_into().unwrap()).collect();
        assert!(members.iter().all(|pid| is_there(*pid)));
        zoo.kill();
        until("all members ended", || members.iter().all(|pid| has_ended(*pid)));
    }
}
