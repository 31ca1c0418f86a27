//! Files that fail at a call, or remember what was done to them.

use std::io::{Error, ErrorKind, Result};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use lnk_store::{Appending, Files, RealFiles};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// No room: the call fails once.
    NoSpace,
    /// The call and all after it fail for want of room.
    NoSpaceFromThen,
    /// The disk fails once.
    Io,
    /// A signal comes between, once.
    Signal,
    /// A write takes half of its bytes; another call fails.
    Short,
    /// The process ends before the call: nothing is done from then on.
    CrashBefore,
    /// The process ends in the call: a write takes half, another call is done whole.
    CrashIn,
}

pub const FAULTS: [Fault; 7] = [
    Fault::NoSpace,
    Fault::NoSpaceFromThen,
    Fault::Io,
    Fault::Signal,
    Fault::Short,
    Fault::CrashBefore,
    Fault::CrashIn,
];

/// Something done to the files.
#[derive(Debug, Clone)]
pub enum Done {
    Created(PathBuf),
    Wrote(PathBuf, Vec<u8>),
    Cut(PathBuf, u64),
    Synced(PathBuf),
    Renamed(PathBuf, PathBuf),
    Removed(PathBuf),
    SyncedFolder(PathBuf),
}

#[derive(Default)]
pub struct State {
    calls: AtomicU64,
    fails: Option<(u64, Fault)>,
    done: Mutex<Vec<Done>>,
}

/// The real files, but for one fault.
#[derive(Clone, Default)]
pub struct Faulty(Arc<State>);

enum Then {
    Do,
    Half,
}

impl Faulty {
    pub fn failing(call: u64, fault: Fault) -> Faulty {
        Faulty(Arc::new(State { fails: Some((call, fault)), ..State::default() }))
    }

    /// Whether the fault's call came.
    pub fn came(&self) -> bool {
        self.0.fails.is_some_and(|(call, _)| self.0.calls.load(Ordering::Relaxed) > call)
    }

    pub fn is_dead(&self) -> bool {
        self.came() && matches!(self.0.fails, Some((_, Fault::CrashBefore | Fault::CrashIn)))
    }

    pub fn done(&self) -> Vec<Done> {
        self.0.done.lock().unwrap().clone()
    }

    fn note(&self, done: Done) {
        self.0.done.lock().unwrap().push(done);
    }

    fn call(&self) -> Result<Then> {
        let call = self.0.calls.fetch_add(1, Ordering::Relaxed);
        let Some((at, fault)) = self.0.fails else { return Ok(Then::Do) };
        match (call.cmp(&at), fault) {
            (std::cmp::Ordering::Equal, Fault::NoSpace | Fault::NoSpaceFromThen)
            | (std::cmp::Ordering::Greater, Fault::NoSpaceFromThen) => Err(ErrorKind::StorageFull.into()),
            (std::cmp::Ordering::Equal, Fault::Signal) => Err(ErrorKind::Interrupted.into()),
            (std::cmp::Ordering::Equal, Fault::Short | Fault::CrashIn) => Ok(Then::Half),
            (std::cmp::Ordering::Equal, Fault::Io | Fault::CrashBefore)
            | (std::cmp::Ordering::Greater, Fault::CrashBefore | Fault::CrashIn) => Err(Error::from_raw_os_error(5)),
            _ => Ok(Then::Do),
        }
    }

    fn plain<T>(&self, done: Option<Done>, call: impl FnOnce() -> Result<T>) -> Result<T> {
        let then = self.call()?;
        if matches!(then, Then::Half) && self.0.fails.is_some_and(|(_, fault)| fault == Fault::Short) {
            return Err(Error::from_raw_os_error(5));
        }
        let result = call();
        if let (Ok(_), Some(done)) = (&result, done) {
            self.note(done);
        }
        match then {
            Then::Do => result,
            Then::Half => Err(Error::from_raw_os_error(5)),
        }
    }

    fn file(&self, path: &Path, file: Box<dyn Appending>) -> Box<dyn Appending> {
        Box::new(FaultyFile { files: self.clone(), path: path.to_owned(), file })
    }
}

struct FaultyFile {
    files: Faulty,
    path: PathBuf,
    file: Box<dyn Appending>,
}

impl Appending for FaultyFile {
    fn size(&self) -> Result<u64> {
        self.files.plain(None, || self.file.size())
    }
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        let (bytes, dead) = match self.files.call()? {
            Then::Do => (bytes, false),
            Then::Half => (&bytes[..bytes.len() / 2], self.files.is_dead()),
        };
        let written = self.file.write(bytes)?;
        self.files.note(Done::Wrote(self.path.clone(), bytes.to_vec()));
        if dead { Err(Error::from_raw_os_error(5)) } else { Ok(written) }
    }
    fn cut(&mut self, len: u64) -> Result<()> {
        let FaultyFile { files, path, file } = self;
        files.plain(Some(Done::Cut(path.clone(), len)), || file.cut(len))
    }
    fn sync(&mut self) -> Result<()> {
        // Real time is not what these tests are about: nothing here loses power but in what was noted.
        self.files.plain(Some(Done::Synced(self.path.clone())), || Ok(()))
    }
}

impl Files for Faulty {
    fn make_folder(&self, folder: &Path) -> Result<()> {
        self.plain(None, || RealFiles.make_folder(folder))
    }
    fn list(&self, folder: &Path) -> Result<Vec<String>> {
        self.plain(None, || RealFiles.list(folder))
    }
    fn read(&self, path: &Path, most: u64) -> Result<Vec<u8>> {
        self.plain(None, || RealFiles.read(path, most))
    }
    fn len_of(&self, path: &Path) -> Result<u64> {
        self.plain(None, || RealFiles.len_of(path))
    }
    fn append(&self, path: &Path) -> Result<Box<dyn Appending>> {
        let done = (!path.exists()).then(|| Done::Created(path.to_owned()));
        Ok(self.file(path, self.plain(done, || RealFiles.append(path))?))
    }
    fn create(&self, path: &Path) -> Result<Box<dyn Appending>> {
        Ok(self.file(path, self.plain(Some(Done::Created(path.to_owned())), || RealFiles.create(path))?))
    }
    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        self.plain(Some(Done::Renamed(from.to_owned(), to.to_owned())), || RealFiles.rename(from, to))
    }
    fn remove(&self, path: &Path) -> Result<()> {
        self.plain(Some(Done::Removed(path.to_owned())), || RealFiles.remove(path))
    }
    fn sync_folder(&self, folder: &Path) -> Result<()> {
        self.plain(Some(Done::SyncedFolder(folder.to_owned())), || Ok(()))
    }
}
