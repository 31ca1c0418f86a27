//! Why a value is not there. A number is there, or it is absent with one of these.

use std::borrow::Cow;

use serde::Serialize;

/// The reason a value is absent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Why {
    /// The kernel won't tell this user.
    Denied,
    /// What it was of has ended.
    Gone,
    /// This system doesn't have it.
    Unsupported,
    /// The system has it, switched off.
    NotEnabled,
    /// The system hides other users' processes.
    Hidden,
    /// It didn't answer in time.
    Timeout,
    /// It has not been read yet: reading it is waiting for its turn.
    NotYet,
    /// It answered something that can't be so.
    Invalid,
}

/// A value that isn't there: why, and of which file or call. Never holds what a file said.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}: {detail}")]
pub struct Absent {
    /// Why.
    pub why: Why,
    /// The file or call that was asked: `smaps_rollup`, `/proc/diskstats`.
    pub file: &'static str,
    /// What came of it, in words: the system's own for an error of its, else ours.
    pub detail: Cow<'static, str>,
}

impl Absent {
    /// Absent for a reason of ours.
    pub fn new(why: Why, file: &'static str, detail: impl Into<Cow<'static, str>>) -> Absent {
        Absent { why, file, detail: detail.into() }
    }

    /// Absent since a file's bytes aren't what the kernel writes there.
    pub fn invalid(file: &'static str, missing: &'static str) -> Absent {
        Absent::new(Why::Invalid, file, format!("has no {missing} that can be read"))
    }
}

#[cfg(target_os = "linux")]
impl Absent {
    /// Absent since a system call failed.
    pub fn failed(file: &'static str, errno: rustix::io::Errno) -> Absent {
        use rustix::io::Errno;
        // By number: which numbers a library files under one name of its own has changed before.
        let why = match errno {
            Errno::ACCESS | Errno::PERM => Why::Denied,
            Errno::NOENT | Errno::SRCH | Errno::NODEV => Why::Gone,
            Errno::OPNOTSUPP | Errno::NOSYS | Errno::AFNOSUPPORT | Errno::PROTONOSUPPORT => Why::Unsupported,
            Errno::TIMEDOUT => Why::Timeout,
            _ => Why::Invalid,
        };
        Absent::new(why, file, std::io::Error::from(errno).to_string())
    }
}
