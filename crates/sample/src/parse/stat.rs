//! `/proc/<pid>/stat` and `/proc/stat`.

use super::{lines, number, number32, words};

/// The bit of `flags` that only kernel threads have (`PF_KTHREAD` in the kernel's `sched.h`).
const KERNEL_THREAD: u32 = 0x0020_0000;

/// One process, from `/proc/<pid>/stat`. Times are in clock ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stat<'a> {
    /// The program's short name: any bytes, parentheses and newlines among them, or none at all.
    pub comm: &'a [u8],
    /// The state's letter: `R`, `S`, `D`, `Z`, … and letters kernels to come may add.
    pub state: u8,
    /// The parent; 0 is one outside this pid namespace, or none.
    pub ppid: u32,
    /// The process group; negative while there is none.
    pub pgrp: i32,
    /// The session; negative while there is none.
    pub session: i32,
    /// The kernel's `PF_…` bits.
    pub flags: u32,
    /// Page faults that needed no disk.
    pub minflt: u64,
    /// CPU used in user mode.
    pub utime_ticks: u64,
    /// CPU used in the kernel.
    pub stime_ticks: u64,
    /// User CPU of the children it has waited for, and of theirs. The kernel keeps it signed: negative is `None`.
    pub cutime_ticks: Option<u64>,
    /// Kernel CPU of the children it has waited for, and of theirs.
    pub cstime_ticks: Option<u64>,
    /// How many threads it has; 0 once it is being reaped.
    pub threads: u32,
    /// When it started, since boot on the clock that runs through suspend.
    pub start_ticks: u64,
    /// Its resident memory, in pages; 0 of a zombie.
    pub rss_pages: u64,
}

impl Stat<'_> {
    /// Whether it is a thread of the kernel, which has no memory and no files of its own.
    pub fn is_kernel_thread(&self) -> bool {
        self.flags & KERNEL_THREAD != 0
    }
}

/// Reads `/proc/<pid>/stat`. `None` if anything but the reaped children's times isn't there.
pub fn parse_stat(file: &[u8]) -> Option<Stat<'_>> {
    // A name may hold ") R 1 (": only the last parenthesis ends it, since no later field has one.
    let close = memchr::memrchr(b')', file)?;
    let open = memchr::memchr(b'(', &file[..close])?;
    let line = lines(&file[close + 1..]).next()?;
    let mut fields = words(line);
    let state = match fields.next()? {
        [letter] => *letter,
        _ => return None,
    };
    // In the file's order: each takes from where the one before stopped.
    Some(Stat {
        comm: &file[open + 1..close],
        state,
        ppid: number32(fields.next()?)?,
        pgrp: signed(fields.next()?)?,
        session: signed(fields.next()?)?,
        flags: number32(fields.nth(2)?)?,
        minflt: number(fields.next()?)?,
        utime_ticks: number(fields.nth(3)?)?,
        stime_ticks: number(fields.next()?)?,
        cutime_ticks: number(fields.next()?),
        cstime_ticks: number(fields.next()?),
        threads: number32(fields.nth(2)?)?,
        start_ticks: number(fields.nth(1)?)?,
        rss_pages: number(fields.nth(1)?)?,
    })
}

fn signed(text: &[u8]) -> Option<i32> {
    match text.strip_prefix(b"-") {
        Some(digits) => i32::try_from(-i64::from(number32(digits)?)).ok(),
        None => i32::try_from(number(text)?).ok(),
    }
}

/// The whole machine's CPU since boot, from `/proc/stat`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CpuTicks {
    /// Ticks spent on something: user, nice, system and both kinds of interrupt. A guest's are in the user's already;
    /// idle, waiting for a disk and stolen by another machine are not ours.
    pub used_ticks: u64,
}

/// Reads the `cpu` line of `/proc/stat`. `None` where it says 0 everywhere: some sandboxes do (gVisor 9967), and no
/// machine that runs this has used and idled nothing.
pub fn parse_cpu_total(file: &[u8]) -> Option<CpuTicks> {
    let mut columns = lines(file).find_map(|line| {
        let mut columns = words(line);
        (columns.next()? == b"cpu").then_some(columns)
    })?;
    let mut column = || number(columns.next()?);
    let (user, nice, system, idle) = (column()?, column()?, column()?, column()?);
    // Kernels before 2.6 stop at idle and have interrupts inside system.
    let (iowait, irq, softirq) = (column().unwrap_or(0), column().unwrap_or(0), column().unwrap_or(0));
    let used_ticks = user.checked_add(nice)?.checked_add(system)?.checked_add(irq)?.checked_add(softirq)?;
    if used_ticks == 0 && idle == 0 && iowait == 0 { None } else { Some(CpuTicks { used_ticks }) }
}

/// Reads `btime` of `/proc/stat`: when the machine booted, in seconds since 1970. It moves when the clock is set.
pub fn parse_btime(file: &[u8]) -> Option<u64> {
    lines(file).find_map(|line| {
        let mut columns = words(line);
        if columns.next()? == b"btime" { number(columns.next()?).filter(|seconds| *seconds != 0) } else { None }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const AFTER: &[u8] =
        b" S 7 -1 -1 34816 -1 4194304 81 0 2 0 12 34 -5 6 20 0 3 0 9876 2445312 412 18446744073709551615 1 1 0\n";

    fn named(comm: &[u8]) -> Vec<u8> {
        [b"42 (".as_slice(), comm, b")", AFTER].concat()
    }

    #[test]
    fn a_name_may_be_any_bytes_at_all() {
        for comm in [
            b"a) R 1 (b".as_slice(),
            b"x\ny z",
            b"\xff\xfe\x80",
            b"",
            b"a\\b\tc",
            b"(((",
            b")))",
            b"kworker/u8:2-events_unbound",
        ] {
            let file = named(comm);
            let stat = parse_stat(&file).expect("a record");
            assert_eq!(stat.comm, comm);
            assert_eq!((stat.state, stat.ppid, stat.start_ticks, stat.rss_pages), (b'S', 7, 9876, 412));
        }
    }

    #[test]
    fn every_field_is_taken_from_its_own_column() {
        let file = named(b"node");
        let stat = parse_stat(&file).expect("a record");
        assert_eq!((stat.pgrp, stat.session, stat.flags, stat.minflt), (-1, -1, 0x40_0000, 81));
        assert_eq!((stat.utime_ticks, stat.stime_ticks, stat.threads), (12, 34, 3));
    }

    #[test]
    fn only_a_bad_time_of_its_own_voids_the_record() {
        let file = named(b"node");
        let stat = parse_stat(&file).expect("a record");
        assert_eq!((stat.cutime_ticks, stat.cstime_ticks), (None, Some(6)));
        let text = String::from_utf8(file.clone()).expect("text");
        assert_eq!(parse_stat(text.replace(" 12 34 ", " 12 -34 ").as_bytes()), None);
    }

    #[test]
    fn a_state_nobody_knows_yet_is_kept() {
        let file = String::from_utf8(named(b"node")).expect("text").replace(") S 7", ") Q 0");
        let stat = parse_stat(file.as_bytes()).expect("a record");
        assert_eq!((stat.state, stat.ppid), (b'Q', 0));
    }

    #[test]
    fn a_kernel_thread_is_told_by_its_flag() {
        let file = b"2 (kthreadd) S 0 0 0 0 -1 2129984 0 0 0 0 0 1 0 0 20 0 1 0 9 0 0 18446744073709551615 0 0";
        assert!(parse_stat(file).expect("a record").is_kernel_thread());
        assert!(!parse_stat(&named(b"kthreadd")).expect("a record").is_kernel_thread());
    }

    #[test]
    fn a_record_cut_short_is_none() {
        let file = named(b"node");
        let rss_ends = memchr::memmem::find(&file, b" 412 ").expect("it") + 2;
        for cut in 0..rss_ends {
            assert_eq!(parse_stat(&file[..cut]), None, "cut at {cut}");
        }
    }

    #[test]
    fn a_guests_time_is_counted_once() {
        // user 100 already holds guest 40, nice 10 holds guest_nice 5.
        let file = b"cpu  100 10 20 1000 5 3 2 50 40 5\ncpu0 1 1 1 1 1 1 1 1 1 1\nbtime 1780000000\n";
        assert_eq!(parse_cpu_total(file), Some(CpuTicks { used_ticks: 135 }));
        assert_eq!(parse_btime(file), Some(1_780_000_000));
    }

    #[test]
    fn zeros_everywhere_are_no_reading() {
        assert_eq!(parse_cpu_total(include_bytes!("../../../../test/fixtures/proc/stat_all_zero")), None);
        assert_eq!(parse_cpu_total(b"cpu  0 0 0 17 0 0 0\n"), Some(CpuTicks { used_ticks: 0 }));
    }

    #[test]
    fn blank_lines_and_missing_processors_are_passed_over() {
        let file = include_bytes!("../../../../test/fixtures/proc/stat_blank_lines");
        assert_eq!(parse_cpu_total(file), Some(CpuTicks { used_ticks: 3_221 }));
        assert_eq!(parse_btime(file), Some(1_779_999_000));
        assert_eq!(parse_cpu_total(b"cpu0 1 2 3 4\n"), None);
    }
}
