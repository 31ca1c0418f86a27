//! What a system must tell of its processes, so that one sampler serves Linux, macOS and the tests' own.

use crate::Absent;

/// Who a process is: its number alone says nothing, since the system gives it out again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Identity {
    /// Its number.
    pub pid: u32,
    /// When it started, in the system's own fine unit: clock ticks since boot on Linux. Compared, never converted.
    pub start: u64,
}

/// Bytes read from and written to disk.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DiskBytes {
    /// Read.
    pub read: u64,
    /// Written.
    pub written: u64,
}

/// A process as one read saw it. Raw counters, not differences.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessSample {
    /// Who it is.
    pub identity: Identity,
    /// Its parent's number; 0 for the first process of a namespace and for kernel threads.
    pub parent: u32,
    /// Its process group's number.
    pub group: i32,
    /// Its session's number.
    pub session: i32,
    /// Whether it has ended and only waits to be reaped.
    pub zombie: bool,
    /// Whether it is one of the kernel's own threads.
    pub kernel: bool,
    /// CPU time of its own threads, in microseconds.
    pub own_cpu_usec: u64,
    /// CPU time of its descendants that ended and were reaped, in microseconds.
    pub reaped_cpu_usec: u64,
    /// Resident bytes, shared pages counted in full: a sign of change, never a measure.
    pub resident_bytes: u64,
    /// Page faults so far: as long as they and the resident bytes stay, its memory does.
    pub faults: u64,
    /// Changes when it becomes another program (or renames itself).
    pub program_mark: u64,
    /// Disk bytes, its reaped children's included. `None`: not asked for.
    pub disk: Option<Result<DiskBytes, Absent>>,
}

/// What a process runs, in the words there are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Program {
    /// The name it may be shown by.
    pub name: Option<&'static str>,
    /// The harness it is, if it is this user's.
    pub harness: Option<&'static str>,
    /// What it runs is said by its first script argument, which has not been read yet.
    pub script_unread: bool,
}

/// A system's processes. One call of [`Processes::list`] a look, then questions about single ones.
pub trait Processes {
    /// Reads every process there is. Those asked for by [`Processes::detail`] have their disk bytes read too, each
    /// just before its CPU time: what a reaped child used is then never in the parent's disk bytes before it is in the
    /// parent's CPU time.
    ///
    /// # Errors
    /// Only if there is no list of processes at all; a process that can't be read is left out.
    fn list(&mut self) -> Result<Vec<ProcessSample>, Absent>;

    /// Reads one process of the list again. `None`: it is gone.
    fn again(&mut self, identity: Identity) -> Option<ProcessSample>;

    /// Has a process's disk bytes read from now on.
    fn detail(&mut self, identity: Identity);

    /// What a process runs; nothing is known of one that ended since.
    fn program(&mut self, identity: Identity) -> Program;
}
