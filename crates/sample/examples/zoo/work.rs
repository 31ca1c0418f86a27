//! What a process uses: CPU time, memory, the disk.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Write, pipe};
use std::os::unix::ffi::OsStrExt;
use std::time::{Duration, Instant};

use rustix::fs::{Advice, fadvise};
use rustix::process::{Pid, WaitOptions, waitpid};
use rustix::time::{ClockId, clock_gettime};

use crate::nest::{Nest, command_within, next_command, on, reap, say};

/// Uses so much CPU time of this process, by the process's own clock.
pub fn burn_ms(ms: u64) {
    let used = || {
        let now = clock_gettime(ClockId::ProcessCPUTime);
        Duration::new(now.tv_sec.unsigned_abs(), u32::try_from(now.tv_nsec).unwrap_or(0))
    };
    let until = used() + Duration::from_millis(ms);
    while used() < until {}
}

pub fn unreaped(nest: &mut Nest, ms: u64) -> io::Result<()> {
    // SAFETY: ignoring a signal runs no code of ours.
    unsafe { libc::signal(libc::SIGCHLD, libc::SIG_IGN) };
    nest.ready(0)?;
    on("burn", || {
        nest.fork(|_| {
            burn_ms(ms);
            Ok(())
        })?;
        // Answers "no child" once the last one is gone: the kernel keeps none for a parent that ignores the signal.
        while waitpid(None, WaitOptions::empty()).is_ok() {}
        Ok(())
    })
}

pub fn short_lived(nest: &mut Nest, per_second: u32) -> io::Result<()> {
    nest.ready(0)?;
    let start = Instant::now();
    let mut made = 0_u32;
    loop {
        let child = nest.fork(|_| {
            burn_ms(1);
            Ok(())
        })?;
        reap(child)?;
        made += 1;
        let due = made * Duration::from_secs(1) / per_second;
        if command_within(due.saturating_sub(start.elapsed()))? {
            break;
        }
    }
    if next_command()?.as_deref() == Some("stop") {
        say(&format!("{{\"done\":true,\"made\":{made},\"cpu_usec\":{}}}", children_cpu_usec()))?;
    }
    Ok(())
}

/// The CPU time of all children that were waited for.
fn children_cpu_usec() -> i64 {
    // SAFETY: plain numbers, filled in by the call, which can't fail with these arguments.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_CHILDREN, &raw mut usage);
        usage
    };
    let usec = |time: libc::timeval| time.tv_sec * 1_000_000 + time.tv_usec;
    usec(usage.ru_utime) + usec(usage.ru_stime)
}

pub fn churn(nest: &mut Nest, count: u64, seconds: u64) -> io::Result<()> {
    let until = Instant::now() + Duration::from_secs(seconds);
    let mut made = 0_u64;
    let mut start = |nest: &mut Nest| {
        made += 1;
        // Spread out and the same each time: 7919 is prime to the 191 lengths.
        let lives_ms = 10 + made * 7919 % 191;
        nest.fork(|_| {
            std::thread::sleep(Duration::from_millis(lives_ms));
            Ok(())
        })
    };
    for _ in 0..count {
        start(nest)?;
    }
    nest.ready(0)?;
    while Instant::now() < until {
        waitpid(None, WaitOptions::empty())?;
        start(nest)?;
    }
    while waitpid(None, WaitOptions::empty()).is_ok() {}
    on("join", || say(&format!("{{\"made\":{made}}}")))
}

pub fn shared_memory(nest: &mut Nest, mib: u64) -> io::Result<()> {
    // SAFETY: a switch of this process, with no pointer in it. Huge pages would make a look at the memory cheap.
    unsafe { libc::prctl(libc::PR_SET_THP_DISABLE, 1, 0, 0, 0) };
    let length = usize::try_from(mib << 20).map_err(io::Error::other)?;
    let memory = vec![1_u8; length];
    for _ in 0..2 {
        nest.fork(|nest| {
            nest.announce("sharer", "")?;
            nest.wait_for_end()
        })?;
    }
    nest.ready(2)?;
    while next_command()?.is_some() {}
    std::hint::black_box(memory);
    Ok(())
}

pub fn disk(nest: &mut Nest, path: &[u8], mib: u64) -> io::Result<()> {
    let (mut go_read, mut go_write) = pipe()?;
    let writer = nest.fork(|nest| {
        nest.announce("writer", "")?;
        go_read.read_exact(&mut [0])?;
        write_and_read_back(path, mib)
    })?;
    nest.ready(1)?;
    on("go", || {
        go_write.write_all(b"x")?;
        ended_well(writer)
    })
}

fn ended_well(pid: Pid) -> io::Result<()> {
    match waitpid(Some(pid), WaitOptions::empty())? {
        Some((_, status)) if status.exit_status() == Some(0) => Ok(()),
        _ => Err(io::Error::other("the process failed")),
    }
}

fn write_and_read_back(path: &[u8], mib: u64) -> io::Result<()> {
    let path = OsStr::from_bytes(path);
    let mut block = vec![0xa5_u8; 1 << 20];
    let mut file = File::create(path)?;
    for _ in 0..mib {
        file.write_all(&block)?;
    }
    file.sync_all()?;
    // Out of the page cache, so that the reads reach the disk.
    fadvise(&file, 0, None, Advice::DontNeed)?;
    let mut file = File::open(path)?;
    for _ in 0..mib {
        file.read_exact(&mut block)?;
    }
    Ok(())
}
