//! The tokens files: six running totals an agent, added to by as many routes as it has.
//!
//! A file is replaced whole (a temporary file, synced, renamed over it), so it holds an addition or doesn't, whenever a
//! process or the machine dies. The lock that keeps two routes from adding to the same old totals is the kernel's, on a
//! file beside it: it goes with the process that held it, so there is no stale one to judge.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::OFlags;
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

/// How long to wait for another route that is adding. One that was stopped while it held the lock must not stop this
/// one too: the caller keeps its counts and tries again.
const LOCK_WAIT: Duration = Duration::from_secs(2);
const LOCK_POLL: Duration = Duration::from_millis(2);

/// A tokens file is some 150 bytes; a longer one is none.
const MAX_FILE_BYTES: u64 = 4096;

/// Six counts: over an agent's life in a file, or what is to be added.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Requests for a model's answer.
    pub requests: u64,
    /// Of them, those whose answer gave no usage.
    pub unmetered: u64,
    /// Tokens of the prompts, cached or not.
    pub input: u64,
    /// Tokens of the answers.
    pub output: u64,
    /// Of the input, what was read from the provider's cache.
    pub cached: u64,
    /// Of the input, what was written to it.
    pub cache_written: u64,
}

impl Counts {
    fn plus(self, more: Counts) -> Counts {
        Counts {
            requests: self.requests.saturating_add(more.requests),
            unmetered: self.unmetered.saturating_add(more.unmetered),
            input: self.input.saturating_add(more.input),
            output: self.output.saturating_add(more.output),
            cached: self.cached.saturating_add(more.cached),
            cache_written: self.cache_written.saturating_add(more.cache_written),
        }
    }
}

/// A tokens file's content.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Totals {
    /// Tells these totals from others of the same agent that began at zero again.
    pub run: String,
    /// When they began, in seconds since 1970.
    pub since: f64,
    /// The totals.
    #[serde(flatten)]
    pub counts: Counts,
}

/// What went wrong with an addition. Nothing was added.
#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    /// A file could not be read, written or locked.
    #[error("{}: {source}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Another process held the lock all the time.
    #[error("{}: another process holds the lock for too long", .0.display())]
    Busy(PathBuf),
}

/// An addition that is in the file.
#[derive(Debug, PartialEq)]
pub struct Added {
    /// What the file holds now.
    pub totals: Totals,
    /// Where a damaged file was set aside, and the totals so begun anew.
    pub set_aside: Option<PathBuf>,
}

/// Adds to the totals in `<folder>/<name>.json`, and makes what is missing: the folder for this user alone, and the
/// totals from `run` and `since`.
///
/// # Errors
/// Where a file can't be read or written or the lock can't be had; then nothing was added.
pub fn add(folder: &Path, name: &str, more: Counts, run: &str, since: f64) -> Result<Added, LedgerError> {
    make_folder(folder).map_err(at(folder))?;
    let _lock = lock(&folder.join(format!("{name}.lock")))?;
    let path = folder.join(format!("{name}.json"));
    let (before, set_aside) = match read_totals(&path).map_err(at(&path))? {
        Stored::Totals(totals) => (Some(totals), None),
        Stored::Nothing => (None, None),
        Stored::Damaged => {
            let aside = free_name(&path);
            fs::rename(&path, &aside).map_err(at(&path))?;
            (None, Some(aside))
        }
    };
    let before = before.unwrap_or_else(|| Totals { run: run.to_owned(), since, counts: Counts::default() });
    let totals = Totals { counts: before.counts.plus(more), ..before };
    replace(&path, &folder.join(format!("{name}.tmp")), &totals)?;
    Ok(Added { totals, set_aside })
}

enum Stored {
    Totals(Totals),
    Nothing,
    Damaged,
}

/// Opens nothing that would make the holder of the lock wait (a FIFO), nor what is elsewhere (a link).
const HERE_AND_NOW: i32 = (OFlags::NOFOLLOW.bits() | OFlags::NONBLOCK.bits()).cast_signed();

fn read_totals(path: &Path) -> io::Result<Stored> {
    let file = match OpenOptions::new().read(true).custom_flags(HERE_AND_NOW).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Stored::Nothing),
        Err(error) if error.raw_os_error() == Some(Errno::LOOP.raw_os_error()) => return Ok(Stored::Damaged),
        Err(error) => return Err(error),
    };
    if !file.metadata()?.is_file() {
        return Ok(Stored::Damaged);
    }
    let mut text = Vec::new();
    file.take(MAX_FILE_BYTES + 1).read_to_end(&mut text)?;
    Ok(parse_totals(&text).map_or(Stored::Damaged, Stored::Totals))
}

fn parse_totals(text: &[u8]) -> Option<Totals> {
    if text.len() as u64 > MAX_FILE_BYTES {
        return None;
    }
    serde_json::from_slice::<Totals>(text).ok().filter(|totals| !totals.run.is_empty() && totals.since >= 0.0)
}

/// A name for a damaged file that no earlier one has, as long as there are few.
fn free_name(path: &Path) -> PathBuf {
    let named = |end: String| path.with_extension(format!("json.bad{end}"));
    (0..100)
        .map(|number| named(if number == 0 { String::new() } else { format!(".{number}") }))
        .find(|path| !path.exists())
        .unwrap_or_else(|| named(String::new()))
}

fn make_folder(folder: &Path) -> io::Result<()> {
    let mode = match fs::metadata(folder) {
        Ok(metadata) => metadata.mode() & 0o777,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return DirBuilder::new().recursive(true).mode(0o700).create(folder);
        }
        Err(error) => return Err(error),
    };
    if mode == 0o700 { Ok(()) } else { fs::set_permissions(folder, Permissions::from_mode(0o700)) }
}

/// Holds the lock until the file it answers is dropped, or the process ends in whatever way.
fn lock(path: &Path) -> Result<File, LedgerError> {
    let began = Instant::now();
    loop {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .custom_flags(HERE_AND_NOW)
            .open(path)
            .map_err(at(path))?;
        match file.try_lock() {
            // A lock on a file that was deleted meanwhile keeps nobody out.
            Ok(()) if is_still(&file, path) => return Ok(file),
            Ok(()) | Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(source)) => return Err(LedgerError::File { path: path.to_owned(), source }),
        }
        if began.elapsed() > LOCK_WAIT {
            return Err(LedgerError::Busy(path.to_owned()));
        }
        thread::sleep(LOCK_POLL);
    }
}

fn is_still(file: &File, path: &Path) -> bool {
    match (file.metadata(), fs::metadata(path)) {
        (Ok(held), Ok(named)) => (held.dev(), held.ino()) == (named.dev(), named.ino()),
        _ => false,
    }
}

/// Puts totals in place of a file. The temporary file has one name, since only the holder of the lock writes it: a
/// process that is killed leaves one at most.
fn replace(path: &Path, temporary: &Path, totals: &Totals) -> Result<(), LedgerError> {
    let text = serde_json::to_vec(totals).map_err(io::Error::from).map_err(at(temporary))?;
    let written = write_new(temporary, &text).map_err(at(temporary));
    let renamed = written.and_then(|()| fs::rename(temporary, path).map_err(at(path)));
    if renamed.is_err() {
        // A full disk has this much back at once; where it can't be removed, the next one removes it.
        let _ = fs::remove_file(temporary);
    }
    renamed
}

fn write_new(path: &Path, text: &[u8]) -> io::Result<()> {
    // Never into what is there: a link would have it written elsewhere, and a FIFO would make it wait.
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(text)?;
    file.write_all(b"\n")?;
    // Or a machine that loses power may keep the new name and not what was in it.
    file.sync_data()
}

fn at(path: &Path) -> impl Fn(io::Error) -> LedgerError + use<> {
    let path = path.to_owned();
    move |source| LedgerError::File { path: path.clone(), source }
}
