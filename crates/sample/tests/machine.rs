//! The machine's numbers: over trees that stand for awkward machines, and of the machine the tests run on.
#![cfg(target_os = "linux")]
#![allow(clippy::expect_used, reason = "tests: the helpers' own too")]

mod fake;

use std::fs;
use std::path::Path;

use fake::Tree;
use lnk_sample::linux::machine::{MachineReader, MachineSample};
use lnk_sample::linux::network::NetworkBytes;
use lnk_sample::{DiskBytes, Why};

fn reader(tree: &Tree) -> MachineReader {
    MachineReader::open(tree.root()).expect("a root")
}

fn why<T>(result: Result<T, lnk_sample::Absent>) -> Option<Why> {
    result.err().map(|absent| absent.why)
}

fn disk_line(number: &str, name: &str, read: u64, written: u64) -> String {
    format!("{} {name} 1 1 {read} 1 1 1 {written} 1 0 1 1\n", number.replace(':', " "))
}

fn disks(tree: &Tree, lines: &[(&str, &str, u64, u64)]) {
    let text: String =
        lines.iter().map(|(number, name, read, written)| disk_line(number, name, *read, *written)).collect();
    tree.write("proc/diskstats", &text);
}

fn sectors(read: u64, written: u64) -> DiskBytes {
    DiskBytes { read: read * 512, written: written * 512 }
}

/// A disk with a partition, a device mapper's on it, an array's, a loop and compressed memory.
fn stacked() -> Tree {
    let tree = Tree::new();
    tree.block("8:0", "sda", 1).dir("sys/devices/sda/device");
    tree.block("8:1", "sda/sda1", 1).write("sys/devices/sda/sda1/partition", "1\n");
    tree.block("252:0", "dm-0", 2).dir("sys/devices/dm-0/slaves/sda1");
    tree.block("9:0", "md0", 3).dir("sys/devices/md0/slaves/sda");
    tree.block("7:0", "loop0", 4).block("253:0", "zram0", 5);
    tree
}

#[test]
fn a_byte_through_stacked_devices_counts_once() {
    let tree = stacked();
    let lines =
        [("8:0", "sda"), ("8:1", "sda1"), ("252:0", "dm-0"), ("9:0", "md0"), ("7:0", "loop0"), ("253:0", "zram0")];
    disks(&tree, &lines.map(|(number, name)| (number, name, 100, 10)));
    assert_eq!(reader(&tree).read().disk, Ok(sectors(100, 10)));
}

#[test]
fn a_disk_taken_out_keeps_what_it_moved() {
    let tree = stacked();
    tree.block("8:16", "sdb", 6).dir("sys/devices/sdb/device");
    let mut reader = reader(&tree);
    disks(&tree, &[("8:0", "sda", 100, 10), ("8:16", "sdb", 40, 4)]);
    assert_eq!(reader.read().disk, Ok(sectors(140, 14)));
    disks(&tree, &[("8:0", "sda", 101, 11)]);
    assert_eq!(reader.read().disk, Ok(sectors(141, 15)));
    // Its numbers come again, of a disk that has moved more than it ever did.
    tree.write("sys/devices/sdb/diskseq", "7\n");
    disks(&tree, &[("8:0", "sda", 101, 11), ("8:16", "sdb", 50, 5)]);
    assert_eq!(reader.read().disk, Ok(sectors(191, 20)));
    // And the same disk after a look without it: nothing is counted twice.
    disks(&tree, &[("8:0", "sda", 101, 11)]);
    reader.read();
    disks(&tree, &[("8:0", "sda", 101, 11), ("8:16", "sdb", 51, 5)]);
    assert_eq!(reader.read().disk, Ok(sectors(192, 20)));
}

#[test]
fn a_disk_with_a_counter_that_fell_has_begun_anew() {
    let tree = stacked();
    let mut reader = reader(&tree);
    disks(&tree, &[("8:0", "sda", 100, 10)]);
    reader.read();
    disks(&tree, &[("8:0", "sda", 5, 12)]);
    assert_eq!(reader.read().disk, Ok(sectors(105, 22)));
}

#[test]
fn a_machine_without_a_disk_says_so() {
    let tree = stacked();
    disks(&tree, &[("7:0", "loop0", 100, 10)]);
    assert_eq!(why(reader(&tree).read().disk), Some(Why::Unsupported));
}

fn interface(tree: &Tree, name: &str, ifindex: u32, physical: bool) {
    tree.write(&format!("sys/class/net/{name}/ifindex"), &format!("{ifindex}\n"));
    if physical {
        tree.dir(&format!("sys/class/net/{name}/device"));
    }
}

fn carried(tree: &Tree, lines: &[(&str, u64, u64)]) {
    let line =
        |(name, received, sent): &(&str, u64, u64)| format!("{name}:{received} 0 0 0 0 0 0 0 {sent} 0 0 0 0 0 0 0\n");
    tree.write("proc/net/dev", &lines.iter().map(line).collect::<String>());
}

#[test]
fn only_interfaces_with_a_device_count_and_none_twice() {
    let tree = Tree::new();
    interface(&tree, "lo", 1, false);
    interface(&tree, "eth0", 2, true);
    interface(&tree, "docker0", 3, false);
    tree.write("sys/class/net/bonding_masters", "bond0\n");
    let mut reader = reader(&tree);
    carried(&tree, &[("lo", 5, 5), ("eth0", 100, 10), ("docker0", 90, 9), ("../eth0", 7, 7), ("gone0", 7, 7)]);
    assert_eq!(reader.read().network.ok(), Some(NetworkBytes { received: 100, sent: 10 }));
    // The same interface by another name.
    interface(&tree, "wan", 2, true);
    carried(&tree, &[("wan", 101, 11)]);
    assert_eq!(reader.read().network.ok(), Some(NetworkBytes { received: 101, sent: 11 }));
}

#[test]
fn an_interface_made_again_counts_from_its_own_start() {
    let tree = Tree::new();
    interface(&tree, "eth0", 2, true);
    let mut reader = reader(&tree);
    carried(&tree, &[("eth0", 100, 10)]);
    reader.read();
    carried(&tree, &[]);
    assert_eq!(reader.read().network.ok(), Some(NetworkBytes { received: 100, sent: 10 }));
    interface(&tree, "eth0", 9, true);
    carried(&tree, &[("eth0", 200, 20)]);
    assert_eq!(reader.read().network.ok(), Some(NetworkBytes { received: 300, sent: 30 }));
    // A driver's counter of 32 bits began anew.
    carried(&tree, &[("eth0", 3, 21)]);
    assert_eq!(reader.read().network.ok(), Some(NetworkBytes { received: 303, sent: 31 }));
}

#[test]
fn one_missing_file_costs_only_its_own_numbers() {
    type Number = fn(&MachineSample) -> Option<Why>;
    let numbers: [(&str, Number); 4] = [
        ("proc/stat", |sample| why(sample.cpu_usec.clone())),
        ("proc/meminfo", |sample| why(sample.memory_used_bytes.clone())),
        ("proc/diskstats", |sample| why(sample.disk.clone())),
        ("proc/net/dev", |sample| why(sample.network.clone())),
    ];
    for (missing, _) in &numbers {
        let tree = stacked();
        interface(&tree, "eth0", 2, true);
        tree.write("proc/stat", "cpu 1 2 3 4 5 6 7\nbtime 1780000000\n");
        tree.write("proc/meminfo", "MemTotal: 10 kB\nMemAvailable: 4 kB\n");
        disks(&tree, &[("8:0", "sda", 1, 1)]);
        carried(&tree, &[("eth0", 1, 1)]);
        fs::remove_file(tree.root().join(missing)).expect("it to go");
        let sample = reader(&tree).read();
        for (file, number) in &numbers {
            assert_eq!(number(&sample), (file == missing).then_some(Why::Unsupported), "{file} without {missing}");
        }
    }
}

#[test]
fn an_empty_root_is_absent_throughout() {
    let sample = reader(&Tree::new()).read();
    assert_eq!(why(sample.boot_ns), Some(Why::Unsupported));
    assert_eq!(why(sample.disk), Some(Why::Unsupported));
    assert_eq!(why(sample.network), Some(Why::Unsupported));
}

#[test]
fn memory_that_cannot_be_so_is_absent() {
    for (text, expected) in [
        ("MemTotal: 10 kB\nMemAvailable: 11 kB\n", Err(Why::Invalid)),
        ("MemTotal: 10 kB\nMemAvailable: 0 kB\n", Err(Why::Invalid)),
        ("MemTotal: 10 kB\n", Err(Why::Unsupported)),
        ("MemTotal: 18446744073709551615 kB\nMemAvailable: 1 kB\n", Err(Why::Invalid)),
        ("MemTotal: 10 kB\nMemAvailable: 4 kB\n", Ok(6144)),
    ] {
        let tree = Tree::new();
        tree.write("proc/meminfo", text);
        assert_eq!(reader(&tree).read().memory_used_bytes.map_err(|absent| absent.why), expected, "{text}");
    }
}

#[test]
fn a_clock_set_back_does_not_move_the_boot() {
    let tree = Tree::new();
    tree.write("proc/stat", "cpu 1 2 3 4\nbtime 1780000000\n");
    let mut reader = reader(&tree);
    reader.read();
    tree.write("proc/stat", "cpu 1 2 3 4\nbtime 1779990000\n");
    assert_eq!(reader.read().boot_ns, Ok(1_780_000_000_000_000_000));
    fs::remove_file(tree.root().join("proc/stat")).expect("it to go");
    assert_eq!(reader.read().boot_ns, Ok(1_780_000_000_000_000_000));
}

#[test]
fn a_sandbox_that_counts_no_time_has_none() {
    let tree = Tree::new();
    tree.write("proc/stat", "cpu 0 0 0 0 0 0 0 0 0 0\nbtime 0\n");
    let sample = reader(&tree).read();
    assert_eq!(why(sample.cpu_usec), Some(Why::Unsupported));
    assert_eq!(why(sample.boot_ns), Some(Why::Invalid));
}

/// The sum of some of a file's words, read in a way of its own.
fn oracle(path: &str, take: impl Fn(&[&str]) -> Option<u64>) -> u64 {
    let text = fs::read_to_string(path).expect("a file");
    text.lines().filter_map(|line| take(&line.replace(':', " ").split_whitespace().collect::<Vec<_>>())).sum()
}

fn bytes_on_disks(column: usize) -> u64 {
    oracle("/proc/diskstats", |words| {
        let whole = Path::new("/sys/block").join(words[2]).join("device").exists();
        whole.then(|| words[column].parse::<u64>().expect("sectors") * 512)
    })
}

fn bytes_received() -> u64 {
    oracle("/proc/net/dev", |words| {
        let physical = Path::new("/sys/class/net").join(words[0]).join("device").exists();
        physical.then(|| words[1].parse().expect("bytes"))
    })
}

#[test]
fn this_machine_lies_between_two_readings_of_ours() {
    let mut reader = MachineReader::open(Path::new("/")).expect("this machine");
    reader.read();
    let before = [bytes_on_disks(5), bytes_on_disks(9), bytes_received()];
    let sample = reader.read();
    let after = [bytes_on_disks(5), bytes_on_disks(9), bytes_received()];
    let total = oracle("/proc/meminfo", |words| (words[0] == "MemTotal").then(|| words[1].parse().expect("kB")));
    let used = sample.memory_used_bytes.expect("memory");
    assert!(used > 1 << 20 && used < total * 1024, "{used} of {total} kB");
    assert_eq!(
        sample.boot_ns.expect("a boot") / 1_000_000_000,
        oracle("/proc/stat", |words| { (words[0] == "btime").then(|| words[1].parse().expect("seconds")) })
    );
    let disk = sample.disk.map(|bytes| vec![bytes.read, bytes.written]);
    let network = sample.network.map(|bytes| vec![bytes.received]);
    let mut at = 0;
    for (numbers, count) in [(disk, 2), (network, 1)] {
        match numbers {
            Ok(numbers) => {
                for (now, at) in numbers.iter().zip(at..) {
                    assert!((before[at]..=after[at]).contains(now), "{now} within {before:?} and {after:?} at {at}");
                }
            }
            // A container has neither: then ours must have found none either.
            Err(absent) => assert_eq!((absent.why, after[at]), (Why::Unsupported, 0), "{absent}"),
        }
        at += count;
    }
}

#[test]
fn this_machines_time_grows_by_the_time_we_burn() {
    let mut reader = MachineReader::open(Path::new("/")).expect("this machine");
    let first = reader.read().cpu_usec.expect("time");
    let started = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    let burnt_ms = || {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
        (now.tv_sec - started.tv_sec) * 1000 + (now.tv_nsec - started.tv_nsec) / 1_000_000
    };
    while burnt_ms() < 300 {
        std::hint::black_box(burnt_ms());
    }
    let grown = reader.read().cpu_usec.expect("time") - first;
    // At a grain of ticks, of every processor.
    assert!(grown >= 200_000, "{grown} µs");
}
