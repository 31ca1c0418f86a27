//! Every parser against bytes no kernel wrote: it may find nothing, or nonsense, but never panics or loops.

use super::*;

/// A fixture, and the parser of its format, run to its end.
type Case = (&'static [u8], fn(&[u8]));

/// A case whose bytes are made at run time.
type MadeCase = (Vec<u8>, fn(&[u8]));

macro_rules! fixture {
    ($name:literal) => {
        include_bytes!(concat!("../../../../test/fixtures/proc/", $name)).as_slice()
    };
}

const PROCESS: &[u8] = b"42 (a) R 1 (b) S 7 42 42 0 -1 4194304 81 0 2 0 12 34 5 6 20 0 3 0 9876 2445312 412 0 1";

const CASES: &[Case] = &[
    (PROCESS, |file| _ = stat::parse_stat(file).map(|stat| stat.is_kernel_thread())),
    (fixture!("stat_blank_lines"), |file| _ = stat::parse_cpu_total(file)),
    (fixture!("stat_all_zero"), |file| _ = stat::parse_btime(file)),
    (fixture!("io_broken_lines"), |file| _ = io::parse_io(file)),
    (fixture!("smaps_rollup_swap_pss"), |file| _ = rollup::parse_rollup(file)),
    (fixture!("meminfo_no_blank_after_colon"), |file| _ = meminfo::parse_meminfo(file)),
    (fixture!("diskstats_14_18_20_columns"), |file| diskstats::parse_diskstats(file).for_each(drop)),
    (fixture!("net_dev_alias_with_colon"), |file| netdev::parse_netdev(file).for_each(drop)),
    (fixture!("cgroup_hybrid_differing_paths"), |file| {
        cgroup::parse_cgroup(file).for_each(|one| _ = (one.is_v2(), one.has(b"memory")));
    }),
    (fixture!("cgroup_procs_with_zeros"), |file| cgroup::parse_members(file).for_each(drop)),
    (fixture!("mountinfo_optional_fields"), |file| {
        mountinfo::parse_mountinfo(file).for_each(|mount| {
            _ = (mount.has(b"cpu"), mountinfo::unescape(mount.root), mountinfo::unescape(mount.mount_point));
        });
    }),
    (fixture!("io_stat_unknown_device"), |file| iostat::parse_io_stat(file).for_each(drop)),
    (fixture!("io_stat_devices_without_keys"), |file| iostat::parse_io_stat(file).for_each(drop)),
    (fixture!("blkio_totals"), |file| blkio::parse_blkio(file).for_each(drop)),
    (b"usage_usec 194296893\nuser_usec 131938136\n", |file| _ = cpustat::parse_cpu_usage_usec(file)),
    (fixture!("net_tcp_states"), |file| proctcp::parse_proc_tcp(file).for_each(drop)),
    (fixture!("net_tcp6_states"), |file| proctcp::parse_proc_tcp(file).for_each(drop)),
    (b"/usr/bin/node\0\0a b\0", |file| cmdline::parse_cmdline(file).for_each(drop)),
    (b"Name:\tsh\nUid:\t1000\t0\t0\t0\n", |file| _ = ids::parse_real_uid(file)),
];

/// What the formats part their fields with, and what overflows: likelier to hurt than any byte.
const SHARP: &[u8] = b"\n \t:()=-+\\/0579aF\0\xff";

/// All fixtures, and what is made of numbers and not kept as a file.
fn cases() -> Vec<MadeCase> {
    let mut cases: Vec<MadeCase> = CASES.iter().map(|(file, parse)| (file.to_vec(), *parse)).collect();
    cases.push((sockdiag::tests::answer(), |datagram| sockdiag::parse_messages(datagram).for_each(drop)));
    cases
}

#[test]
fn files_cut_at_every_byte() {
    for (file, parse) in cases() {
        for at in 0..=file.len() {
            parse(&file[..at]);
            parse(&file[at..]);
        }
    }
}

#[test]
fn files_changed_at_random() {
    // Seeded: a failure repeats.
    let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = |below: usize| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        usize::try_from(seed % below as u64).expect("below a usize")
    };
    for (file, parse) in cases() {
        for _ in 0..1000 {
            let mut file = file.clone();
            for _ in 0..=random(8) {
                let at = random(file.len() + 1);
                match random(5) {
                    0 if at < file.len() => file[at] = u8::try_from(random(256)).expect("a byte"),
                    1 if at < file.len() => file[at] = SHARP[random(SHARP.len())],
                    2 if at < file.len() => _ = file.remove(at),
                    3 => file.insert(at, SHARP[random(SHARP.len())]),
                    // A number of more digits than any has.
                    _ => _ = file.splice(at..at, b"99999999999999999999".iter().copied()),
                }
            }
            parse(&file);
        }
    }
}
