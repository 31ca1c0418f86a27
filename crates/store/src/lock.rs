//! The lock that says a watcher runs, and how the one that holds it is ended.
//!
//! A POSIX record lock on `watch.lock`: the kernel frees it however its holder ends, and names the holder's process to
//! whoever asks. A number in a file would be a wish: what it names may be anybody by now (icinga2 #5991, CVE-2017-11747).
//! The file is never deleted, since a second one of its name would be a second lock.

use std::fs::File;
use std::io::{Error, Read, Result, Seek, SeekFrom, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, Mode, OFlags, fcntl_lock, open};
use rustix::io::Errno;
use rustix::process::{Flock, FlockType, Pid, Signal, fcntl_getlk, geteuid};
use serde::{Deserialize, Serialize};

use crate::error::StoreError;

const NAME: &str = "watch.lock";
/// How long a holder may take to write down who it is.
const SETTLED: Duration = Duration::from_secs(1);
const AGAIN: Duration = Duration::from_millis(10);

/// The lock of a measure folder, held until it is dropped or this process ends.
///
/// Nothing else in this process may open `watch.lock`: closing any descriptor of it would free the lock.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

/// Whoever holds the lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Holder {
    /// Its process, as the kernel names it. `None`: it is in another name space of processes, or no process's own.
    pub pid: Option<u32>,
    /// Since when, in milliseconds since 1970, as it wrote itself.
    pub since_ms: Option<u64>,
    /// Whether it wrote its own number into the file, as a watcher does. Another program that locks the file doesn't.
    pub is_watcher: bool,
}

/// What came of asking for the lock.
#[derive(Debug)]
pub enum Taken {
    /// It is ours.
    Ours(Lock),
    /// It is another's.
    Held(Holder),
}

/// Why a watcher was not ended.
#[derive(Debug, thiserror::Error)]
pub enum StopError {
    /// The lock can't be asked.
    #[error(transparent)]
    Lock(#[from] StoreError),
    /// Its holder didn't write itself down.
    #[error("watch.lock is held by process {0}, which is no watcher. Nothing was signalled.")]
    Stranger(u32),
    /// The kernel names no holder that could be signalled.
    #[error("watch.lock is held in another container or name space of processes. Stop the watcher there.")]
    Elsewhere,
    /// It is another user's.
    #[error("The watcher is process {0}, of another user. Only that user can stop it.")]
    NotOurs(u32),
    /// It was signalled and runs on.
    #[error("The watcher (process {0}) was told to end and hasn't yet.")]
    Slow(u32),
    /// The system refused.
    #[error("process {0} can't be signalled: {1}")]
    Refused(u32, Error),
}

/// What a holder writes.
#[derive(Serialize, Deserialize)]
struct Written {
    pid: u32,
    since: f64,
}

impl Lock {
    /// Takes the lock of a measure folder, if it is free. `at_ms`: now, in milliseconds since 1970.
    ///
    /// # Errors
    /// `watch.lock` can't be opened, locked or written.
    pub fn take(folder: &Path, at_ms: u64) -> std::result::Result<Taken, StoreError> {
        try_take(folder, at_ms).map_err(StoreError::at(&folder.join(NAME), "lock"))
    }
}

fn try_take(folder: &Path, at_ms: u64) -> Result<Taken> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut file = File::from(open(folder.join(NAME), flags, Mode::RUSR | Mode::WUSR)?);
    loop {
        match fcntl_lock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => break,
            // Two answers for one thing: https://man7.org/linux/man-pages/man2/fcntl_locking.2.html
            Err(Errno::ACCESS | Errno::AGAIN) => {
                // Nobody now: it was freed meanwhile.
                if let Some(holder) = ask(&mut file)? {
                    return Ok(Taken::Held(holder));
                }
            }
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    let written = Written { pid: std::process::id(), since: at_ms as f64 / 1000.0 };
    file.set_len(0)?;
    file.seek(SeekFrom::Start(0))?;
    file.write_all(format!("{}\n", serde_json::to_string(&written)?).as_bytes())?;
    Ok(Taken::Ours(Lock { _file: file }))
}

/// Who holds the lock of a measure folder; `None`: nobody. Not to be asked by the process that holds it.
///
/// # Errors
/// `watch.lock` is there and can't be opened or asked.
pub fn holder(folder: &Path) -> std::result::Result<Option<Holder>, StoreError> {
    let path = folder.join(NAME);
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let asked = match open(&path, flags, Mode::empty()) {
        Ok(file) => ask(&mut File::from(file)),
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(error.into()),
    };
    asked.map_err(StoreError::at(&path, "ask"))
}

/// Who holds the lock. One that has it since a moment ago is given time to write itself down.
fn ask(file: &mut File) -> Result<Option<Holder>> {
    let settled = Instant::now() + SETTLED;
    loop {
        match ask_once(file)? {
            Some(holder) if !holder.is_watcher && Instant::now() < settled => std::thread::sleep(AGAIN),
            asked => return Ok(asked),
        }
    }
}

fn ask_once(file: &mut File) -> Result<Option<Holder>> {
    let Some(lock) = fcntl_getlk(&*file, &Flock::from(FlockType::WriteLock))? else { return Ok(None) };
    // 0 or -1 is a holder of another name space, or one of a whole open file.
    let pid = lock.pid.map(Pid::as_raw_nonzero).and_then(|pid| u32::try_from(pid.get()).ok());
    let mut text = String::new();
    file.seek(SeekFrom::Start(0))?;
    let read = (&*file).take(256).read_to_string(&mut text);
    let written = read.ok().and_then(|_| serde_json::from_str::<Written>(&text).ok());
    let written = written.filter(|written| Some(written.pid) == pid);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "`as` stops at both ends")]
    let since_ms = written.as_ref().map(|written| (written.since * 1000.0).round() as u64);
    Ok(Some(Holder { pid, since_ms, is_watcher: written.is_some() }))
}

/// Ends the watcher of a measure folder in order, and gives back its process once it has ended; `None`: there was none.
///
/// Only the process that the kernel says holds the lock is signalled, and only if it wrote itself down as a watcher and
/// is this user's.
///
/// # Errors
/// See [`StopError`]; after `patience` a watcher that runs on is left to.
pub fn stop(folder: &Path, patience: Duration) -> std::result::Result<Option<u32>, StopError> {
    let Some(holder) = holder(folder)? else { return Ok(None) };
    let pid = holder.pid.ok_or(StopError::Elsewhere)?;
    if holder.is_watcher { end(folder, pid, patience) } else { Err(StopError::Stranger(pid)) }
}

/// Whether the lock is still held by a watcher of this number.
fn holds(folder: &Path, pid: u32) -> std::result::Result<bool, StoreError> {
    Ok(holder(folder)?.is_some_and(|holder| holder.is_watcher && holder.pid == Some(pid)))
}

fn signalled(pid: u32) -> Option<Pid> {
    let raw = i32::try_from(pid).ok().filter(|raw| *raw > 1)?;
    (pid != std::process::id()).then(|| Pid::from_raw(raw)).flatten()
}

#[cfg(target_os = "linux")]
fn end(folder: &Path, pid: u32, patience: Duration) -> std::result::Result<Option<u32>, StopError> {
    use std::fs::Metadata;
    use std::io::ErrorKind;

    use rustix::event::{PollFd, PollFlags, poll};
    use rustix::process::{PidfdFlags, pidfd_open, pidfd_send_signal};

    let target = signalled(pid).ok_or(StopError::Stranger(pid))?;
    let pidfd = match pidfd_open(target, PidfdFlags::empty()) {
        Ok(pidfd) => pidfd,
        Err(Errno::SRCH) => return Ok(Some(pid)),
        Err(error) => return Err(StopError::Refused(pid, error.into())),
    };
    // Asked again once the descriptor is there: if the same number still holds it, the descriptor is of the holder.
    if !holds(folder, pid)? {
        return Ok(Some(pid));
    }
    match std::fs::metadata(format!("/proc/{pid}")).as_ref().map(Metadata::uid) {
        Ok(uid) if uid == geteuid().as_raw() => {}
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Some(pid)),
        _ => return Err(StopError::NotOurs(pid)),
    }
    match pidfd_send_signal(&pidfd, Signal::TERM) {
        Ok(()) => {}
        Err(Errno::SRCH) => return Ok(Some(pid)),
        Err(error) => return Err(StopError::Refused(pid, error.into())),
    }
    let deadline = Instant::now() + patience;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let timeout = left.try_into().map_err(|_| StopError::Slow(pid))?;
        match poll(&mut [PollFd::new(&pidfd, PollFlags::IN)], Some(&timeout)) {
            Ok(0) if left.is_zero() => return Err(StopError::Slow(pid)),
            Ok(0) | Err(Errno::INTR) => {}
            Ok(_) => return Ok(Some(pid)),
            Err(error) => return Err(StopError::Refused(pid, error.into())),
        }
    }
}

/// Without a descriptor of a process a moment stays between the last question and the signal, in which the holder may
/// end and its number be given anew.
#[cfg(not(target_os = "linux"))]
fn end(folder: &Path, pid: u32, patience: Duration) -> std::result::Result<Option<u32>, StopError> {
    use rustix::process::kill_process;

    let target = signalled(pid).ok_or(StopError::Stranger(pid))?;
    // Only its own user may write to the file, in a folder that is only this user's.
    let file = std::fs::metadata(folder.join(NAME)).map_err(|error| StopError::Refused(pid, error))?;
    if file.uid() != geteuid().as_raw() {
        return Err(StopError::NotOurs(pid));
    }
    if !holds(folder, pid)? {
        return Ok(Some(pid));
    }
    kill_process(target, Signal::TERM).map_err(|error| StopError::Refused(pid, error.into()))?;
    let deadline = Instant::now() + patience;
    while holds(folder, pid)? {
        if Instant::now() >= deadline {
            return Err(StopError::Slow(pid));
        }
        std::thread::sleep(AGAIN);
    }
    Ok(Some(pid))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_taken_once_and_written_down() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(holder(folder.path()).unwrap(), None);
        let Taken::Ours(lock) = Lock::take(folder.path(), 1_780_000_000_250).unwrap() else { panic!("it was free") };
        let text = std::fs::read_to_string(folder.path().join(NAME)).unwrap();
        assert_eq!(text, format!("{{\"pid\":{},\"since\":1780000000.25}}\n", std::process::id()));
        drop(lock);
        assert!(folder.path().join(NAME).exists());
    }

    #[test]
    fn what_the_file_names_is_nobody_while_the_lock_is_free() {
        let folder = tempfile::tempdir().unwrap();
        for text in ["", "1", "{\"pid\":1,\"since\":0}", "\0\0\0", &"9".repeat(100_000)] {
            std::fs::write(folder.path().join(NAME), text).unwrap();
            assert_eq!(holder(folder.path()).unwrap(), None);
            assert_eq!(stop(folder.path(), Duration::ZERO).unwrap(), None);
        }
    }

    #[test]
    fn the_first_process_and_this_one_are_never_signalled() {
        assert_eq!([0, 1, std::process::id(), u32::MAX].map(signalled), [None; 4]);
    }
}
