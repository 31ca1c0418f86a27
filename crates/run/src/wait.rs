//! Waiting for the command, and for whatever it leaves to this process.
//!
//! As its descendants' reaper this process is handed every one whose parent ends. In the process that runs a command
//! nobody else starts children, so every child there is belongs to the command, and the kernel gives with each one's end
//! what it took.

#![allow(unsafe_code, reason = "waitid, wait4 and prctl with what they fill in have no safe face")]

use std::time::{Duration, Instant};

use lnk_sample::DiskBytes;

use crate::signals;

/// How long processes that are about to end with the command may take to: they are then not left behind.
const LINGER: Duration = Duration::from_millis(100);
const LINGER_STEP: Duration = Duration::from_millis(2);

/// What those that were reaped took, their own reaped descendants included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reaped {
    /// CPU time, in microseconds.
    pub cpu_usec: u64,
    /// The most memory any one process was seen by the kernel to hold, shared pages in full, in bytes.
    pub largest_bytes: u64,
    /// Bytes read from and written to disk.
    pub disk: DiskBytes,
    /// When the main process had ended.
    pub ended_at: Instant,
    /// How long before it was last asked to.
    pub asked_to_end: Option<Duration>,
    /// Whether somebody is left.
    pub left: bool,
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// With this exit code.
    Code(i32),
    /// By this signal.
    Signal(i32),
}

/// Makes this process the reaper of its descendants.
///
/// # Errors
/// On kernels without it (before 3.4).
pub(crate) fn become_reaper() -> std::io::Result<()> {
    // SAFETY: this option takes a number, and sets a mark of this process.
    let done = unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) };
    if done == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}

/// Waits until the main process has ended, reaping whoever ends before; and after it, for a moment, those that end with
/// it. A main process that stops stops this one.
///
/// # Errors
/// If the main process is somehow nobody this process can wait for.
pub(crate) fn until_ended(main: i32) -> std::io::Result<(End, Reaped)> {
    let mut reaped = Reaped {
        cpu_usec: 0,
        largest_bytes: 0,
        disk: DiskBytes::default(),
        ended_at: Instant::now(),
        asked_to_end: None,
        left: false,
    };
    loop {
        let Some(change) = next_change(libc::P_ALL, 0, libc::WEXITED | libc::WSTOPPED | libc::WNOWAIT)? else {
            continue;
        };
        if !change.ended {
            follow_stop(main, change.pid)?;
        } else if change.pid == main {
            signals::hand_to(0);
            let end = reap(main, &mut reaped)?;
            reaped.ended_at = Instant::now();
            let asked = signals::asked_to_end_ns().map(|at| signals::now_ns().saturating_sub(at));
            reaped.asked_to_end = asked.map(Duration::from_nanos);
            reaped.left = linger(&mut reaped);
            return Ok((end, reaped));
        } else {
            reap(change.pid, &mut reaped)?;
        }
    }
}

/// Reaps those that end within a moment. Whether somebody is left then, who goes on without this process.
fn linger(reaped: &mut Reaped) -> bool {
    let mut left = LINGER;
    // An error says that there is nobody.
    while let Ok(change) = next_change(libc::P_ALL, 0, libc::WEXITED | libc::WNOWAIT | libc::WNOHANG) {
        match change {
            Some(change) if reap(change.pid, reaped).is_err() => return true,
            Some(_) => {}
            None if left.is_zero() => return true,
            None => {
                std::thread::sleep(LINGER_STEP);
                left = left.saturating_sub(LINGER_STEP);
            }
        }
    }
    false
}

struct Change {
    pid: i32,
    ended: bool,
}

fn next_change(which: libc::idtype_t, id: u32, options: i32) -> std::io::Result<Option<Change>> {
    // SAFETY: an all-zero siginfo_t is a valid one, it outlives the call, and what is read of it the call has filled in.
    let (pid, code) = unsafe {
        let mut info: libc::siginfo_t = std::mem::zeroed();
        if libc::waitid(which, id, &raw mut info, options) != 0 {
            let error = std::io::Error::last_os_error();
            return if error.kind() == std::io::ErrorKind::Interrupted { Ok(None) } else { Err(error) };
        }
        (info.si_pid(), info.si_code)
    };
    let ended = matches!(code, libc::CLD_EXITED | libc::CLD_KILLED | libc::CLD_DUMPED);
    Ok((pid != 0).then_some(Change { pid, ended }))
}

/// Somebody stopped. If it is the main process, this one stops too, for the shell waits for this one; and when the shell
/// has it go on (`fg`, `bg`), so does the main process, which of a whole process group's SIGCONT has got its own.
fn follow_stop(main: i32, pid: i32) -> std::io::Result<()> {
    // Takes the stop, or the same one would be told of again and again.
    let id = u32::try_from(pid).unwrap_or(0);
    next_change(libc::P_PID, id, libc::WSTOPPED | libc::WNOHANG)?;
    if pid == main && is_stopped(main) {
        signals::stop_self();
        if is_stopped(main) {
            signals::send(main, libc::SIGCONT);
        }
    }
    Ok(())
}

fn is_stopped(pid: i32) -> bool {
    let stat = std::fs::read(format!("/proc/{pid}/stat")).unwrap_or_default();
    lnk_sample::parse::stat::parse_stat(&stat).is_some_and(|stat| stat.state == b'T')
}

/// Reaps a process that has ended: what it took, and those it reaped.
fn reap(pid: i32, reaped: &mut Reaped) -> std::io::Result<End> {
    let mut status = 0;
    // SAFETY: an all-zero rusage is a valid one, and both places outlive the call.
    let (waited, usage) = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        (libc::wait4(pid, &raw mut status, 0, &raw mut usage), usage)
    };
    if waited != pid {
        return Err(std::io::Error::last_os_error());
    }
    let usec = |time: libc::timeval| u64::try_from(time.tv_sec * 1_000_000 + time.tv_usec).unwrap_or(0);
    reaped.cpu_usec += usec(usage.ru_utime) + usec(usage.ru_stime);
    reaped.largest_bytes = reaped.largest_bytes.max(u64::try_from(usage.ru_maxrss).unwrap_or(0) << 10);
    // What /proc/<pid>/io says in bytes, in halves of a kibibyte, and of those it reaped in turn (task_io_get_inblock in
    // linux/task_io_accounting_ops.h). That file itself newer kernels show of an ended process to root alone.
    let bytes = |blocks: i64| u64::try_from(blocks).unwrap_or(0) << 9;
    reaped.disk.read += bytes(usage.ru_inblock);
    reaped.disk.written += bytes(usage.ru_oublock);
    Ok(if libc::WIFSIGNALED(status) {
        End::Signal(libc::WTERMSIG(status))
    } else {
        End::Code(libc::WEXITSTATUS(status))
    })
}
