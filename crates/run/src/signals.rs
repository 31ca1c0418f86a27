//! Signals on their way to the command.
//!
//! The command is of this process's own process group, as it would be without it, so what a terminal sends (Ctrl-C,
//! Ctrl-\, Ctrl-Z, a resize, a hangup) the kernel sends the command itself. This process only must not end or stop by it
//! before the command does. What another program sends this process alone is the command's too and is handed on. The two
//! are told apart by the sender, which only a handler of the system's own kind learns: Node's says nothing but the number.

#![allow(unsafe_code, reason = "signal handlers, and kill(2) from within one, have no safe face")]

use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};

use libc::{c_int, c_void, siginfo_t};

/// What is handed on. Not SIGCHLD, which says of children; nor SIGCONT, which takes its way with the stop it ends; nor
/// SIGPROF and SIGVTALRM, which a runtime sends itself; nor those of a fault of this process's own.
const HANDED_ON: [c_int; 13] = [
    libc::SIGHUP,
    libc::SIGINT,
    libc::SIGQUIT,
    libc::SIGTERM,
    libc::SIGUSR1,
    libc::SIGUSR2,
    libc::SIGWINCH,
    libc::SIGTSTP,
    libc::SIGALRM,
    libc::SIGURG,
    libc::SIGIO,
    libc::SIGPWR,
    libc::SIGTRAP,
];

/// Those that ask a program to end.
const ENDING: [c_int; 4] = [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGTERM];

/// The command's main process; 0 before it runs and from just before it is reaped, so that nobody else is ever signalled.
static MAIN: AtomicI32 = AtomicI32::new(0);

/// A signal that came before there was somebody to hand it to.
static EARLY: AtomicI32 = AtomicI32::new(0);

/// When it was last asked to end, in nanoseconds on the clock that no one sets; 0: never.
static ASKED_TO_END_NS: AtomicU64 = AtomicU64::new(0);

extern "C" fn hand_on(signal: c_int, info: *mut siginfo_t, _: *mut c_void) {
    if ENDING.contains(&signal) {
        ASKED_TO_END_NS.store(now_ns(), Ordering::SeqCst);
    }
    let main = MAIN.load(Ordering::SeqCst);
    // SAFETY: the kernel gives every handler installed with SA_SIGINFO a siginfo_t to read.
    let (code, sender) = unsafe { ((*info).si_code, (*info).si_pid()) };
    if main == 0 {
        EARLY.store(signal, Ordering::SeqCst);
        return;
    }
    // Positive: the kernel's own, which the command has been sent as well. The command itself, when it signals its whole
    // process group (as vim does to stop), has sent it to whom it means.
    if code <= 0 && sender != main {
        // SAFETY: kill(2) is async-signal-safe and touches no memory of ours.
        unsafe { libc::kill(main, signal) };
    }
}

/// Nanoseconds on the clock that no one sets. Safe to ask within a signal handler.
pub(crate) fn now_ns() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `now` outlives the call, and clock_gettime(2) is async-signal-safe.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
    let part = |value: i64| u64::try_from(value).unwrap_or(0);
    part(now.tv_sec) * 1_000_000_000 + part(now.tv_nsec)
}

/// From now on no signal that is the command's ends or stops this process.
pub(crate) fn catch() {
    for signal in HANDED_ON {
        // SAFETY: an all-zero sigaction is a valid one, its handler is async-signal-safe, and `action` outlives the call.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = hand_on as extern "C" fn(c_int, *mut siginfo_t, *mut c_void) as usize;
            // Node's own system calls go on as if nothing had been.
            action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
            libc::sigaction(signal, &raw const action, std::ptr::null_mut());
        }
    }
}

/// Back to how it was where no command came of it.
pub(crate) fn release() {
    MAIN.store(0, Ordering::SeqCst);
    for signal in HANDED_ON {
        set_default(signal);
    }
}

/// Names whom signals are handed on to; one that came early is handed on now.
pub(crate) fn hand_to(pid: i32) {
    MAIN.store(pid, Ordering::SeqCst);
    let early = EARLY.swap(0, Ordering::SeqCst);
    if early != 0 && pid != 0 {
        send(pid, early);
    }
}

/// Sends a process a signal; one that is gone gets none.
pub(crate) fn send(pid: i32, signal: c_int) {
    // SAFETY: kill(2) touches no memory of ours.
    unsafe { libc::kill(pid, signal) };
}

/// Stops this whole process, and returns once it is continued.
pub(crate) fn stop_self() {
    // To this very thread, so that it takes effect before this returns; and SIGSTOP, not the terminal's, since that one is
    // caught. SAFETY: raise(3) touches no memory of ours.
    unsafe { libc::raise(libc::SIGSTOP) };
}

/// When the command was last asked to end, by a signal that reached this process too.
pub(crate) fn asked_to_end_ns() -> Option<u64> {
    Some(ASKED_TO_END_NS.load(Ordering::SeqCst)).filter(|at| *at != 0)
}

/// A receipt may be written from the background too, whatever the terminal's `tostop` says.
pub(crate) fn allow_writing() {
    // SAFETY: no handler is installed, and signal(2) touches no memory of ours.
    unsafe { libc::signal(libc::SIGTTOU, libc::SIG_IGN) };
}

fn set_default(signal: c_int) {
    // SAFETY: no handler is installed, and signal(2) touches no memory of ours.
    unsafe { libc::signal(signal, libc::SIG_DFL) };
}

/// Ends this process as the command ended, at once: by its signal, so that whoever waits for this process sees the same,
/// else with its exit code. Node's own end is passed by since it would set the terminal back to how it was at its start,
/// undoing what the command (`stty`, `reset`) left on purpose.
pub fn end_as(code: i32, signal: Option<i32>) -> ! {
    if let Some(signal) = signal {
        let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        set_default(signal);
        // SAFETY: each of these takes plain numbers or a structure that outlives the call.
        unsafe {
            // The command has left its core; this process's own would only take its place.
            libc::setrlimit(libc::RLIMIT_CORE, &raw const none);
            let mut set: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&raw mut set);
            libc::sigaddset(&raw mut set, signal);
            libc::pthread_sigmask(libc::SIG_UNBLOCK, &raw const set, std::ptr::null_mut());
            libc::raise(signal);
        }
    }
    // SAFETY: _exit(2) doesn't return, and runs nothing.
    unsafe { libc::_exit(signal.map_or(code, |signal| 128 + signal)) }
}
