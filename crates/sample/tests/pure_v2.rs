//! Control groups on a stock kernel with version 2 alone: groups, devices and processes made for real, by root, in a
//! virtual machine that nobody else uses. One test at a time: they share its devices.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "only tests run this")]

mod common;

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use common::kernel::number;
use common::looking::Looking;
use common::{Zoo, until};
use lnk_sample::linux::cgroup::{DiskSource, Group};
use lnk_sample::linux::disks::BlockDevices;
use lnk_sample::linux::layout::{Kind, Layout};
use lnk_sample::linux::ports::PortsReader;
use lnk_sample::track::agent::Totals;
use lnk_sample::{Absent, Why};
use lnk_schema::Measure;
use serde_json::json;

const ROOT: &str = "/";
const MIB: u64 = 1 << 20;

/// A control group that is emptied and removed, with all below it, at its end.
struct Made(PathBuf);

impl Made {
    fn new(name: &str) -> Made {
        Made::at(Path::new("/sys/fs/cgroup").join(name))
    }

    fn below(&self, name: &str) -> Made {
        Made::at(self.0.join(name))
    }

    fn at(path: PathBuf) -> Made {
        fs::create_dir(&path).unwrap();
        Made(path)
    }

    fn id(&self) -> u64 {
        fs::metadata(&self.0).unwrap().ino()
    }

    fn file(&self, name: &str) -> String {
        fs::read_to_string(self.0.join(name)).unwrap()
    }

    fn set(&self, file: &str, value: &str) {
        fs::write(self.0.join(file), value).unwrap();
    }

    /// The path as `/proc/<pid>/cgroup` has it.
    fn path(&self) -> &[u8] {
        self.0.to_str().unwrap().strip_prefix("/sys/fs/cgroup").unwrap().as_bytes()
    }

    fn open(&self) -> Group {
        Group::open(&layout(), self.path()).unwrap()
    }

    /// A command that runs a line of shell in the group.
    fn command(&self, line: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", "echo 0 >\"$0/cgroup.procs\" && eval \"$1\""]).arg(&self.0).arg(line);
        command
    }

    /// Runs a line of shell in the group, to its end.
    fn run(&self, line: &str) {
        assert!(self.command(line).status().unwrap().success(), "{line}");
    }

    /// Starts a process in the group that does nothing.
    fn sleeper(&self) -> Sleeper {
        let child = self.command("exec sleep 1000").stdin(Stdio::null()).spawn().unwrap();
        let pid = child.id().to_string();
        until("the process is in its group", || fs::read_to_string(format!("/proc/{pid}/comm")).unwrap() == "sleep\n");
        Sleeper(child)
    }

    /// Removes it now.
    fn remove(self) -> PathBuf {
        let path = self.0.clone();
        drop(self);
        assert!(!path.exists());
        path
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        let _ = fs::write(self.0.join("cgroup.kill"), "1");
        // Busy until the last one killed is gone.
        until("the group can be removed", || fs::remove_dir(&self.0).is_ok() || !self.0.exists());
    }
}

struct Sleeper(Child);

impl Sleeper {
    fn pid(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for Sleeper {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn layout() -> Layout {
    let layout = Layout::read(Path::new(ROOT)).unwrap();
    assert_eq!(layout.kind(), Kind::V2);
    layout
}

/// Runs a line of shell outside every group, to its end.
fn shell(line: &str) {
    assert!(Command::new("sh").args(["-c", line]).status().unwrap().success(), "{line}");
}

fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap().trim().to_owned()
}

/// Bytes read and written by the group, as the sampler adds them up.
fn disk(group: &mut Group) -> (u64, u64) {
    let (bytes, source) = group.disk_bytes(&layout(), &BlockDevices::open(Path::new(ROOT)).unwrap()).unwrap();
    assert_eq!(source, DiskSource::IoStat);
    (bytes.read, bytes.written)
}

/// Bytes read and written on one device, 0 without a line, by a group's `io.stat`.
fn on_device(made: &Made, device: &str) -> (u64, u64) {
    let io_stat = made.file("io.stat");
    let Some(line) = io_stat.lines().find(|line| line.starts_with(&format!("{device} "))) else { return (0, 0) };
    let value = |key: &str| line.split(' ').find_map(|word| word.strip_prefix(key)).unwrap().parse().unwrap();
    (value("rbytes="), value("wbytes="))
}

fn why<T: std::fmt::Debug>(result: Result<T, Absent>) -> Why {
    result.unwrap_err().why
}

/// A file system on the second disk, at `/disk`, unmounted at its end with what is stacked on it.
struct Disk;

impl Disk {
    const PATH: &str = "/disk";

    fn mount() -> Disk {
        shell("mkdir -p /disk && mke2fs /dev/vdb >/dev/null 2>&1 && mount -t ext4 /dev/vdb /disk");
        Disk
    }

    fn device() -> String {
        read("/sys/block/vdb/dev")
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // A test that failed may have left something mounted on it.
        shell("dmsetup remove stacked 2>/dev/null; losetup -d /dev/loop0 2>/dev/null; umount /disk");
    }
}

#[test]
#[ignore = "runs in a VM: scripts/vm/test.sh"]
fn members_are_those_of_all_nested_groups() {
    let top = Made::new("top");
    let (first, second) = (top.below("first"), top.below("second: it's"));
    let deep = first.below("deep");
    let groups = [&top, &first, &second, &deep];
    let mut sleepers: Vec<Sleeper> = groups.iter().map(|made| made.sleeper()).collect();
    let mut pids: Vec<u32> = sleepers.iter().map(Sleeper::pid).collect();
    pids.sort_unstable();
    let mut ids: Vec<u64> = groups.iter().map(|made| made.id()).collect();
    ids.sort_unstable();

    let mut group = top.open();
    let subtree = group.subtree().unwrap();
    assert_eq!((subtree.members, subtree.ids), (pids.clone(), ids.clone()));

    let ended = sleepers.pop().unwrap();
    pids.retain(|pid| *pid != ended.pid());
    ids.retain(|id| *id != deep.id());
    drop(ended);
    drop(deep);
    let subtree = group.subtree().unwrap();
    assert_eq!((subtree.members, subtree.ids), (pids, ids));
}

#[test]
#[ignore = "runs in a VM: scripts/vm/test.sh"]
fn members_of_threaded_groups_are_there_once() {
    let top = Made::new("top");
    let threads = top.below("threads");
    threads.set("cgroup.type", "threaded");
    let (above, inside) = (top.sleeper(), threads.sleeper());
    let mut pids = vec![above.pid(), inside.pid()];
    pids.sort_unstable();
    assert_eq!(top.open().subtree().unwrap().members, pids);
    drop((above, inside, threads));
}

#[test]
#[ignore = "runs in a VM: scripts/vm/test.sh"]
fn a_group_is_found_by_its_process() {
    let made = Made::new("one: two:three");
    let sleeper = made.sleeper();
    let group = Group::of_pid(&layout(), sleeper.pid()).unwrap();
    assert_eq!(group.id(), made.id());
    // Whoever is in the root has no group of its own.
    assert_eq!(why(Group::of_pid(&layout(), 1)), Why::NotEnabled);
}

#[test]
#[ignore = "runs in a VM: scripts/vm/test.sh"]
fn a_zombie_of_a_removed_group_has_none() {
    let made = Made::new("top");
    let mut zoo = Zoo::start(&mut made.command("exec $LNK_TEST_ZOO zombie"));
    let zombie = zoo.member("zombie");
    // Out of it, so that it can be removed: a zombie doesn't keep it, nor can it be moved.
    fs::write("/sys/fs/cgroup/cgroup.procs", zoo.pid().to_string()).unwrap();
    made.remove();
    assert_eq!(why(Group::of_pid(&layout(), zombie)), Why::Gone);
    zoo.command("reap");
}

#[test]
#[ignore = "runs in a VM: scripts/vm/test.sh"]
fn cpu_time_is_the_kernels_with_all_who_ended() {
    let top = Made::new("top");
    let below = top.below("below");
    let mut group = top.open();
    let before = group.cpu_usage_usec().unwrap();
    below.run("i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); done");
    let used = group.cpu_usage_usec().unwrap();
    assert!(used > before + 50_000, "{before} {used}");
    let usage = |made: &Made| made.file("cpu.stat").lines().next().unwrap().to_owned();
    assert_eq!(usage(&top), format!("usage_usec {used}"));
    below.remove();
    assert_eq!(usage(&top), format!("usage_usec {}", group.cpu_usage_usec().unwrap()));
    assert!(group.cpu_usage_usec().unwrap() >= used);
}

#[test]
#[ignore = "runs in a VM: scripts/vm/test.sh"]
fn disk_bytes_are_none_before_the_first_and_then_the_kernels() {
    let made = Made::new("top");
    let mut group = made.open();
    assert_eq!(disk(&mut group), (0, 0));

    let mounted = Disk::mount();
    made.run(&format!("dd if=/dev/zero of={}/file bs=1M count=8 2>/dev/null", Disk::PATH));
    shell("sync");
    let (read_bytes, written) = disk(&mut group);
    assert!((8 * MIB..10 * MIB).contains(&written), "{written}");
    assert_eq!((read_bytes, written), on_device(&made, &Disk::device()));
    drop(mounted);
}

#[test]
#[ignore = "runs in a VM: scripts/vm/test.sh"]
fn what_passes_through_stacked_devices_counts_once() {
    let made = Made::new("top");
    let mut group = made.open();
    let mounted = Disk::mount();
    shell(
        "head -c 8388608 /dev/zero >/disk/image && losetup /dev/loop0 /disk/image \
         && dmsetup create stacked --table '0 16384 linear /dev/loop0 0' \
         && dmsetup mknodes && sync && echo 3 >/proc/sys/vm/drop_caches",
    );
    made.run("dd if=/dev/mapper/stacked of=/dev/null bs=1M 2>/dev/null");
    let mapper = read("/sys/block/dm-0/dev");
    for device in [mapper.as_str(), "7:0"] {
        assert!(on_device(&made, device).0 >= 8 * MIB, "{device} in {}", made.file("io.stat"));
    }
    let once = on_device(&made, &Disk::device());
    assert!((8 * MIB..12 * MIB).contains(&once.0), "{}", made.file("io.stat"));
    assert_eq!(disk(&mut group), once);
    drop(mounted);
    assert_eq!(disk(&mut group), once);
}

#[test]
#[ignore = "runs in a VM: scripts/vm/test.sh"]
fn a_removed_device_keeps_its_bytes_and_its_successor_adds_to_them() {
    shell("modprobe sd_mod && modprobe scsi_debug dev_size_mb=16");
    // This link comes last, after /dev/sda.
    let is_there = || Path::new("/sys/block/sda/dev").exists();
    until("the device is there", is_there);
    let number = read("/sys/block/sda/dev");
    let made = Made::new("top");
    let mut group = made.open();
    made.run("dd if=/dev/sda of=/dev/null bs=1M count=4 2>/dev/null");
    let first = disk(&mut group);
    assert!(first.0 >= 4 * MIB);

    let host = fs::canonicalize("/sys/block/sda/device").unwrap().ancestors().nth(2).unwrap().to_owned();
    fs::write("/sys/block/sda/device/delete", "1").unwrap();
    until("its line is gone", || on_device(&made, &number) == (0, 0));
    assert_eq!(disk(&mut group), first);

    // Another device, under the same number.
    let name = host.file_name().unwrap().to_str().unwrap();
    fs::write(host.join("scsi_host").join(name).join("scan"), "- - -").unwrap();
    until("a device is back", is_there);
    assert_eq!(read("/sys/block/sda/dev"), number);
    made.run("dd if=/dev/sda of=/dev/null bs=1M count=8 2>/dev/null");
    let second = on_device(&made, &number).0;
    assert!(second >= 8 * MIB);
    assert_eq!(disk(&mut group), (first.0 + second, first.1));
    shell("rmmod scsi_debug");
    assert_eq!(disk(&mut group), (first.0 + second, first.1));
}

#[test]
#[ignore = "runs in a VM: scripts/vm/test.sh"]
fn a_listening_socket_names_the_group_it_was_made_in() {
    let made = Made::new("top");
    let below = made.below("below");
    let kinds = "v4:0 v6:0 reuse-port:0 inherited:0";
    let zoo = Zoo::start(&mut below.command(&format!("exec $LNK_TEST_ZOO listen {kinds}")));
    // Moved away: its sockets keep the group they were made in.
    made.set("cgroup.procs", &zoo.pid().to_string());

    let listeners = PortsReader::open(Path::new(ROOT)).unwrap().read().unwrap();
    assert_eq!(listeners.without_diag, None);
    assert!(made.open().subtree().unwrap().ids.contains(&below.id()));
    for member in &zoo.members {
        let of_port = listeners.sockets.iter().filter(|socket| u64::from(socket.port) == member["port"]);
        let groups: Vec<_> = of_port.map(|socket| socket.cgroup_id).collect();
        let expected = if member["role"] == "reuse-port" { 2 } else { 1 };
        assert_eq!(groups, vec![Some(below.id()); expected], "{member}");
    }
    drop(zoo);
}

#[test]
#[ignore = "runs in a VM: scripts/vm/test.sh"]
fn a_removed_group_is_gone_and_its_successor_is_somebody_else() {
    let made = Made::new("top");
    let (id, mut group) = (made.id(), made.open());
    made.run("i=0; while [ $i -lt 50000 ]; do i=$((i + 1)); done");
    let used = group.cpu_usage_usec().unwrap();
    assert_eq!(group.id(), id);

    let again = Made::at(made.remove());
    let sleeper = again.sleeper();
    assert_eq!(why(group.subtree()), Why::Gone);
    assert_eq!(why(group.cpu_usage_usec()), Why::Gone);
    assert_eq!(why(group.memory_current_bytes()), Why::Gone);
    let block = BlockDevices::open(Path::new(ROOT)).unwrap();
    assert_eq!(why(group.disk_bytes(&layout(), &block)), Why::Gone);

    let mut successor = again.open();
    assert_ne!(successor.id(), id);
    assert_eq!(successor.subtree().unwrap().members, [sleeper.pid()]);
    assert!(successor.cpu_usage_usec().unwrap() < used);
}

#[test]
#[ignore = "runs in a VM: scripts/vm/test.sh"]
fn memory_is_the_groups_with_its_highest() {
    let made = Made::new("top");
    let group = made.open();
    made.run("head -c 16777216 /dev/zero >/tmp/kept");
    assert!(group.memory_current_bytes().unwrap() >= 16 * MIB);
    assert_eq!(group.memory_current_bytes().unwrap().to_string(), made.file("memory.current").trim());
    fs::remove_file("/tmp/kept").unwrap();
    until("what was kept is given back", || group.memory_current_bytes().unwrap() < 8 * MIB);
    assert!(group.memory_peak_bytes().unwrap() >= 16 * MIB);
    assert_eq!(group.memory_peak_bytes().unwrap().to_string(), made.file("memory.peak").trim());
    let _sleeper = made.sleeper();
    assert_eq!(group.pids_current(), Ok(1));
}

#[test]
#[ignore = "runs in a VM: scripts/vm/test.sh"]
fn what_is_not_enabled_says_so_and_only_that() {
    let top = Made::new("top");
    top.set("cgroup.subtree_control", "+memory");
    let only_memory = top.below("only-memory");
    let nothing = only_memory.below("nothing");
    let block = BlockDevices::open(Path::new(ROOT)).unwrap();

    let mut group = only_memory.open();
    assert!(group.memory_current_bytes().is_ok() && group.memory_peak_bytes().is_ok());
    assert_eq!(why(group.disk_bytes(&layout(), &block)), Why::NotEnabled);
    assert_eq!(why(group.pids_current()), Why::NotEnabled);

    let mut group = nothing.open();
    assert!(group.cpu_usage_usec().is_ok());
    assert_eq!(why(group.memory_current_bytes()), Why::NotEnabled);
    assert_eq!(why(group.memory_peak_bytes()), Why::NotEnabled);
}

#[test]
#[ignore = "runs in a VM: scripts/vm/test.sh"]
fn an_agents_group_says_what_it_used_and_wrote_and_read() {
    let made = Made::new("agent");
    let mounted = Disk::mount();
    let mut zoo = Zoo::start(&mut made.command(&format!("exec $LNK_TEST_ZOO disk {}/file 8", Disk::PATH)));
    let mut looking = Looking::at(zoo.pid());
    looking.look();
    zoo.command("go");
    shell("sync");

    let usage = || made.file("cpu.stat").lines().next().unwrap().rsplit(' ').next().unwrap().parse::<f64>().unwrap();
    let before = usage() / 1e6;
    let seen = looking.look();
    let after = usage() / 1e6;
    assert_eq!((seen.told().by, seen.told().disk_by), (Totals::ControlGroup, Totals::ControlGroup));
    let used = seen.value(Measure::CpuUsed);
    assert!((before..=after).contains(&used), "{before} {used} {after}");
    let (read, written) = on_device(&made, &Disk::device());
    assert!(read >= 8 * MIB && written >= 8 * MIB, "{}", made.file("io.stat"));
    let disk = [Measure::DiskRead, Measure::DiskWritten].map(|measure| seen.value(measure));
    assert_eq!(disk, [read as f64, written as f64]);

    // The group is charged for the file it read too; memory in use is the process's own.
    let own = (number(zoo.pid(), "smaps_rollup", "Pss") * 1024) as f64;
    assert!((seen.value(Measure::MemoryUsed) / own - 1.0).abs() < 0.05, "{own} {:?}", seen.agent());
    assert!((made.file("memory.current").trim().parse::<f64>().unwrap()) > own);
    drop(zoo);
    drop(mounted);
}

#[test]
#[ignore = "runs in a VM: scripts/vm/test.sh"]
fn an_agents_group_has_its_orphans_and_those_of_groups_below() {
    let made = Made::new("agent");
    let below = made.below("below");
    let zoo = Zoo::start(&mut made.command("exec $LNK_TEST_ZOO double-fork"));
    let daemon = zoo.member("daemon");
    let other = below.sleeper();
    let mut pids = vec![zoo.pid(), daemon, other.pid()];
    pids.sort_unstable();
    let path = String::from_utf8(made.path().to_vec()).unwrap();
    for said in [json!({ "pids": [zoo.pid()], "cgroup": path }), json!({ "pids": [zoo.pid()], "unit": "agent" })] {
        let mut looking = Looking::with(&said);
        looking.look();
        let seen = looking.look();
        assert_eq!(seen.pids(), pids, "{said}");
        assert!(seen.told().orphans.contains(&daemon));
        assert_eq!(seen.value(Measure::Processes), 3.0);
    }
    drop((other, zoo, below));
}
