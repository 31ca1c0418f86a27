//! Control groups: real ones, made and removed here, and trees that stand for a machine with version 2 alone.
#![cfg(target_os = "linux")]
#![allow(clippy::expect_used, reason = "tests: the helpers' own too")]

mod fake;
mod made;

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, Instant};

use fake::Tree;
use lnk_sample::linux::cgroup::{DiskSource, Group, v2_path};
use lnk_sample::linux::disks::BlockDevices;
use lnk_sample::linux::layout::{Kind, Layout};
use lnk_sample::{Absent, DiskBytes, Why};
use made::{Made, remove_groups};

fn why<T>(result: Result<T, Absent>) -> Option<Why> {
    result.err().map(|absent| absent.why)
}

// Trees.

fn v2_tree() -> Tree {
    let tree = Tree::new();
    tree.write("proc/self/mountinfo", "31 23 0:28 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw,nsdelegate\n");
    tree.dir("sys/dev/block");
    tree.write("sys/fs/cgroup/agents/main/cgroup.procs", "20\n0\n10\n20\n");
    tree.write("sys/fs/cgroup/agents/main/cpu.stat", "usage_usec 500\nuser_usec 300\nsystem_usec 200\n");
    tree
}

fn open(tree: &Tree) -> (Layout, Group, BlockDevices) {
    let layout = Layout::read(tree.root()).expect("a layout");
    let group = Group::open(&layout, b"/agents/main").expect("a group");
    (layout, group, BlockDevices::open(tree.root()).expect("devices"))
}

const IO_STAT: &str = "sys/fs/cgroup/agents/main/io.stat";

#[test]
fn members_of_every_group_below_are_listed_once() {
    let tree = v2_tree();
    tree.write("sys/fs/cgroup/agents/main/a b/cgroup.procs", "7\n10\n");
    tree.write("sys/fs/cgroup/agents/main/a b/c/d/cgroup.procs", "0\n5\n");
    tree.write("sys/fs/cgroup/agents/other/cgroup.procs", "99\n");
    let (layout, mut group, _) = open(&tree);
    assert_eq!(layout.kind(), Kind::V2);
    let subtree = group.subtree().expect("a subtree");
    assert_eq!(subtree.members, [5, 7, 10, 20]);
    // c has no list of its own and loses nobody else's.
    assert_eq!(subtree.ids.len(), 4);
    assert!(subtree.ids.contains(&group.id()));
}

#[test]
fn bytes_through_a_loop_count_once() {
    let tree = v2_tree();
    tree.block("254:0", "vda", 1).block("7:0", "loop0", 2);
    tree.block("252:0", "dm-0", 3).dir("sys/devices/dm-0/slaves/vda");
    tree.write(
        IO_STAT,
        "7:0 rbytes=9437184 wbytes=0 rios=9\n254:0 rbytes=10485760 wbytes=5 rios=9\n252:0 rbytes=10485760 wbytes=5\n",
    );
    let (layout, mut group, block) = open(&tree);
    let bytes = DiskBytes { read: 10_485_760, written: 5 };
    assert_eq!(group.disk_bytes(&layout, &block), Ok((bytes, DiskSource::IoStat)));
}

#[test]
fn a_device_taken_out_keeps_its_bytes() {
    let tree = v2_tree();
    tree.block("254:0", "vda", 1).block("254:16", "vdb", 2);
    let (layout, mut group, block) = open(&tree);
    let mut total = |text: &str| {
        tree.write(IO_STAT, text);
        group.disk_bytes(&layout, &block).map(|(bytes, _)| (bytes.read, bytes.written))
    };
    assert_eq!(total("254:0 rbytes=10 wbytes=1\n254:16 rbytes=20 wbytes=2\n"), Ok((30, 3)));
    assert_eq!(total("254:0 rbytes=11 wbytes=1\n"), Ok((31, 3)));
    assert_eq!(total("(unknown) rbytes=900 wbytes=900\n254:0 rbytes=12 wbytes=1\n254:16 \n"), Ok((32, 3)));
    // The controller was switched off and on: it counts from zero again.
    assert_eq!(total("254:0 rbytes=4 wbytes=1\n"), Ok((36, 4)));
}

#[test]
fn an_empty_file_is_nothing_moved_and_a_missing_one_is_not_enabled() {
    let tree = v2_tree();
    let (layout, mut group, block) = open(&tree);
    assert_eq!(why(group.disk_bytes(&layout, &block)), Some(Why::NotEnabled));
    tree.write(IO_STAT, "");
    assert_eq!(group.disk_bytes(&layout, &block), Ok((DiskBytes::default(), DiskSource::IoStat)));
    assert_eq!(why(group.memory_current_bytes()), Some(Why::NotEnabled));
    tree.write("sys/fs/cgroup/agents/main/memory.current", "25300992\n");
    tree.write("sys/fs/cgroup/agents/main/memory.peak", "max\n");
    tree.write("sys/fs/cgroup/agents/main/pids.current", "3\n");
    assert_eq!(group.memory_current_bytes(), Ok(25_300_992));
    assert_eq!(why(group.memory_peak_bytes()), Some(Why::Invalid));
    assert_eq!(group.pids_current(), Ok(3));
    assert_eq!(group.cpu_usage_usec(), Ok(500));
}

/// A machine with the disks on version 1. What its root group says is given.
fn hybrid_tree(root_says: &str) -> Tree {
    let tree = v2_tree();
    let mounts =
        "40 31 0:38 / /cg/unified rw - cgroup2 cgroup2 rw\n39 31 0:36 / /cg/blkio rw - cgroup cgroup rw,blkio\n";
    tree.write("proc/self/mountinfo", mounts).block("254:0", "vda", 1).block("252:0", "dm-0", 2);
    tree.dir("sys/devices/dm-0/slaves/vda");
    tree.write("cg/unified/agents/main/cgroup.procs", "10\n20\n");
    tree.write("proc/20/cgroup", "7:blkio:/its:own\n0::/agents/main\n");
    tree.write("cg/blkio/its:own/cgroup.procs", "20\n10\n");
    tree.write("cg/blkio/blkio.throttle.io_service_bytes_recursive", root_says);
    let said = "254:0 Read 7\n254:0 Write 5\n254:0 Sync 12\n254:0 Total 12\n252:0 Read 7\n252:0 Write 5\nTotal 24\n";
    tree.write("cg/blkio/its:own/blkio.throttle.io_service_bytes_recursive", said);
    tree
}

#[test]
fn version_1_counts_reads_and_writes_of_the_lowest_devices() {
    let tree = hybrid_tree("254:0 Read 900\nTotal 900\n");
    let (layout, mut group, block) = open(&tree);
    let bytes = DiskBytes { read: 7, written: 5 };
    assert_eq!(group.disk_bytes(&layout, &block), Ok((bytes, DiskSource::Blkio)));
}

#[test]
fn a_version_1_hierarchy_that_counts_nothing_says_nothing() {
    let tree = hybrid_tree("Total 0\n");
    let (layout, mut group, block) = open(&tree);
    assert_eq!(why(group.disk_bytes(&layout, &block)), Some(Why::NotEnabled));
}

#[test]
fn a_version_1_group_with_a_stranger_below_it_says_nothing() {
    let tree = hybrid_tree("254:0 Read 900\nTotal 900\n");
    tree.write("cg/blkio/its:own/below/cgroup.procs", "77\n");
    let (layout, mut group, block) = open(&tree);
    assert_eq!(why(group.disk_bytes(&layout, &block)), Some(Why::NotEnabled));
}

#[test]
fn a_machine_with_version_1_alone_has_no_group_to_open() {
    let tree = Tree::new();
    tree.write("proc/self/mountinfo", "39 31 0:36 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n");
    tree.write("proc/7/cgroup", "3:memory:/agents/main\n");
    let layout = Layout::read(tree.root()).expect("a layout");
    assert_eq!(layout.kind(), Kind::V1);
    assert_eq!(why(Group::open(&layout, b"/agents/main")), Some(Why::Unsupported));
    assert_eq!(why(Group::of_pid(&layout, 7)), Some(Why::Unsupported));
}

#[test]
fn the_root_group_and_one_removed_are_nobodys_own() {
    let tree = v2_tree();
    tree.write("proc/7/cgroup", "0::/\n").write("proc/8/cgroup", "0::/agents/main (deleted)\n");
    let layout = Layout::read(tree.root()).expect("a layout");
    assert_eq!(why(Group::of_pid(&layout, 7)), Some(Why::NotEnabled));
    assert_eq!(why(Group::of_pid(&layout, 8)), Some(Why::Gone));
    assert_eq!(why(Group::of_pid(&layout, 9)), Some(Why::Gone));
}

// Real groups.

fn layout() -> Layout {
    Layout::read(Path::new("/")).expect("a layout")
}

fn open_real(made: &Made) -> Group {
    Group::open(&layout(), &made.path()).expect("the group")
}

fn inode(dir: &Path) -> u64 {
    fs::metadata(dir).expect("a group").ino()
}

#[test]
fn a_real_groups_members_are_found_with_those_below() {
    let Some(mut made) = Made::v2("members") else { return };
    let mut pids = [made.child("", ""), made.child("a", ""), made.child("a/b c", "")];
    pids.sort_unstable();
    let mut group = open_real(&made);
    let subtree = group.subtree().expect("a subtree");
    assert_eq!(subtree.members, pids);
    let mut ids = ["", "a", "a/b c"].map(|below| inode(&made.dir.join(below)));
    ids.sort_unstable();
    assert_eq!(subtree.ids, ids);
    // As groups below come and go, the open group sees it.
    fs::create_dir(made.dir.join("z")).expect("a group");
    assert_eq!(group.subtree().expect("a subtree").ids.len(), 4);
    made.end_children();
    remove_groups(&made.dir.join("a"));
    let subtree = group.subtree().expect("a subtree");
    assert_eq!((subtree.members.len(), subtree.ids.len()), (0, 2));
}

#[test]
fn a_process_leads_to_its_group() {
    let Some(mut made) = Made::v2("of-pid") else { return };
    let pid = made.child("x", "");
    let group = Group::of_pid(&layout(), pid).expect("the group");
    assert_eq!(group.id(), inode(&made.dir.join("x")));
    assert_eq!(v2_path(Path::new("/"), pid), Ok([&made.path(), b"/x".as_slice()].concat()));
}

#[test]
fn the_time_of_processes_that_ended_stays_with_the_group() {
    let Some(mut made) = Made::v2("cpu") else { return };
    made.child("a", "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done");
    let mut group = open_real(&made);
    let before = group.cpu_usage_usec().expect("time");
    made.finish_children();
    remove_groups(&made.dir.join("a"));
    let usage = || {
        let text = fs::read_to_string(made.dir.join("cpu.stat")).expect("cpu.stat");
        text.strip_prefix("usage_usec ").and_then(|rest| rest.lines().next()?.parse::<u64>().ok()).expect("usage")
    };
    let (low, now, high) = (usage(), group.cpu_usage_usec().expect("time"), usage());
    assert!(now > before && (low..=high).contains(&now), "{before} then {low} {now} {high}");
}

#[test]
fn a_group_made_again_under_its_name_is_another() {
    let Some(mut made) = Made::v2("again") else { return };
    made.child("", "");
    let mut old = open_real(&made);
    old.cpu_usage_usec().expect("time");
    old.subtree().expect("a subtree");
    let unread = open_real(&made);
    made.end_children();
    made.remove();
    assert_eq!(why(old.subtree()), Some(Why::Gone));
    fs::create_dir(&made.dir).expect("it again");
    assert_eq!(why(old.cpu_usage_usec()), Some(Why::Gone));
    assert_eq!(why(old.subtree()), Some(Why::Gone));
    assert_eq!(why(unread.memory_current_bytes()), Some(Why::Gone));
    let block = BlockDevices::open(Path::new("/")).expect("devices");
    assert_eq!(why(old.disk_bytes(&layout(), &block)), Some(Why::Gone));
    let mut new = open_real(&made);
    assert_ne!(new.id(), old.id());
    assert!(new.cpu_usage_usec().is_ok());
}

#[test]
fn a_zombies_removed_group_is_gone() {
    let Some(mut made) = Made::v2("zombie") else { return };
    let pid = made.child("", "");
    made.children[0].kill().expect("its end");
    let deadline = Instant::now() + Duration::from_secs(10);
    while !fs::read_to_string(format!("/proc/{pid}/stat")).expect("a zombie").contains(") Z ") {
        assert!(Instant::now() < deadline, "no zombie");
        std::thread::yield_now();
    }
    made.remove();
    assert_eq!(why(Group::of_pid(&layout(), pid)), Some(Why::Gone));
}

#[test]
fn a_threaded_group_below_loses_nobody() {
    let Some(mut made) = Made::v2("threaded") else { return };
    let pid = made.child("", "");
    let below = made.dir.join("t");
    fs::create_dir(&below).expect("a group");
    fs::write(below.join("cgroup.type"), "threaded").expect("it threaded");
    fs::write(below.join("cgroup.threads"), pid.to_string()).expect("the thread to move");
    assert!(fs::read(below.join("cgroup.procs")).is_err(), "it is not threaded: nothing is tested");
    let subtree = open_real(&made).subtree().expect("a subtree");
    assert_eq!((subtree.members, subtree.ids.len()), (vec![pid], 2));
}

const BLKIO: &str = "blkio.throttle.io_service_bytes_recursive";

/// The bytes a version 1 group's file says were written. `None`: it counts no device.
fn blkio_written(dir: &Path) -> Option<u64> {
    let text = fs::read_to_string(dir.join(BLKIO)).expect("the file");
    let words = text.lines().map(|line| line.split(' ').collect::<Vec<_>>());
    words.filter(|words| words[1] == "Write").map(|words| words[2].parse::<u64>().expect("bytes")).reduce(|a, b| a + b)
}

#[test]
fn where_version_1_has_the_disks_a_group_of_its_own_counts() {
    let (Some(mut made), Some(blkio)) = (Made::v2("blkio"), Made::new(" - cgroup cgroup rw,blkio", "blkio")) else {
        return;
    };
    let (layout, block) = (layout(), BlockDevices::open(Path::new("/")).expect("devices"));
    // Past the page cache, so that the writer's group pays for it, and at once.
    let folder = tempfile::TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let file = folder.path().join("file");
    let pid = made.child("", &format!("dd if=/dev/zero of={} bs=1M count=4 oflag=direct 2>&1", file.display()));
    fs::write(blkio.dir.join("cgroup.procs"), pid.to_string()).expect("the child to move");
    let mut group = open_real(&made);
    let before = group.disk_bytes(&layout, &block);
    made.finish_children();
    let after = group.disk_bytes(&layout, &block);
    if blkio_written(blkio.dir.parent().expect("the root")).is_none() {
        made::loud::not_tested("this kernel's blkio counts nothing");
        assert_eq!((why(before), why(after)), (Some(Why::NotEnabled), Some(Why::NotEnabled)));
        return;
    }
    let (bytes, source) = after.expect("bytes");
    assert_eq!((bytes.written, source), (blkio_written(&blkio.dir).unwrap_or(0), DiskSource::Blkio));
}

#[test]
fn where_others_share_the_version_1_group_nothing_is_said() {
    let (Some(mut made), Some(blkio)) = (Made::v2("shared"), Made::new(" - cgroup cgroup rw,blkio", "shared")) else {
        return;
    };
    let Some(mut other) = Made::v2("shared-other") else { return };
    let (layout, block) = (layout(), BlockDevices::open(Path::new("/")).expect("devices"));
    for child in [made.child("", ""), other.child("", "")] {
        fs::write(blkio.dir.join("cgroup.procs"), child.to_string()).expect("the child to move");
    }
    assert_eq!(why(open_real(&made).disk_bytes(&layout, &block)), Some(Why::NotEnabled));
    // Nor of the root group, where everybody is.
    let Some(mut root) = Made::v2("shared-root") else { return };
    root.child("", "");
    assert_eq!(why(open_real(&root).disk_bytes(&layout, &block)), Some(Why::NotEnabled));
    other.end_children();
    made.end_children();
}
