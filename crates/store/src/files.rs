//! The few things the store does to files, as a trait, so that a test can make any of them fail.
//!
//! The real ones never follow a link in a name they open or in the folder it lies in, and never wait for a pipe. Files
//! are 0600 and folders 0700 from the moment they are made.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{Error, ErrorKind, Read, Result, Write};
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{AtFlags, FileType, Mode, OFlags};

/// A file being appended to.
pub trait Appending {
    /// How many bytes it has.
    ///
    /// # Errors
    /// What the system says.
    fn size(&self) -> Result<u64>;
    /// Appends in one write, and says how many bytes it took.
    ///
    /// # Errors
    /// What the system says.
    fn write(&mut self, bytes: &[u8]) -> Result<usize>;
    /// Cuts it back to a length.
    ///
    /// # Errors
    /// What the system says.
    fn cut(&mut self, len: u64) -> Result<()>;
    /// Waits until what was written is on the disk.
    ///
    /// # Errors
    /// What the system says.
    fn sync(&mut self) -> Result<()>;
}

/// What the store does to files.
pub trait Files: Send + Sync {
    /// Makes a folder and those above it, if they aren't there; 0700.
    ///
    /// # Errors
    /// What the system says; a link or a file in its place too.
    fn make_folder(&self, folder: &Path) -> Result<()>;
    /// The names of the plain files in a folder; none if it isn't there.
    ///
    /// # Errors
    /// What the system says.
    fn list(&self, folder: &Path) -> Result<Vec<String>>;
    /// All of a plain file.
    ///
    /// # Errors
    /// What the system says; `FileTooLarge` past `most` bytes.
    fn read(&self, path: &Path, most: u64) -> Result<Vec<u8>>;
    /// How many bytes a plain file has.
    ///
    /// # Errors
    /// What the system says.
    fn len_of(&self, path: &Path) -> Result<u64>;
    /// Opens a plain file to append to, making it if it isn't there; 0600.
    ///
    /// # Errors
    /// What the system says.
    fn append(&self, path: &Path) -> Result<Box<dyn Appending>>;
    /// Makes a new file to write; 0600.
    ///
    /// # Errors
    /// What the system says; `AlreadyExists` if it is there.
    fn create(&self, path: &Path) -> Result<Box<dyn Appending>>;
    /// Renames a file over another, in one folder.
    ///
    /// # Errors
    /// What the system says.
    fn rename(&self, from: &Path, to: &Path) -> Result<()>;
    /// Removes a file.
    ///
    /// # Errors
    /// What the system says.
    fn remove(&self, path: &Path) -> Result<()>;
    /// Waits until the folder's names are on the disk.
    ///
    /// # Errors
    /// What the system says.
    fn sync_folder(&self, folder: &Path) -> Result<()>;
}

/// Calls again for as long as a signal came between.
pub(crate) fn retried<T>(mut call: impl FnMut() -> Result<T>) -> Result<T> {
    loop {
        match call() {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            done => return done,
        }
    }
}

/// Writes all of it, however many writes that takes.
pub(crate) fn write_all(file: &mut dyn Appending, mut bytes: &[u8]) -> Result<()> {
    while !bytes.is_empty() {
        match retried(|| file.write(bytes))? {
            0 => return Err(ErrorKind::WriteZero.into()),
            written => bytes = bytes.get(written..).unwrap_or_default(),
        }
    }
    Ok(())
}

/// The machine's own files.
#[derive(Debug, Clone, Copy, Default)]
pub struct RealFiles;

fn open_folder(folder: &Path) -> Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(rustix::fs::open(folder, flags, Mode::empty())?)
}

/// The folder of a path, opened, and the name in it.
fn beside(path: &Path) -> Result<(OwnedFd, &OsStr)> {
    match (path.parent(), path.file_name()) {
        (Some(folder), Some(name)) => Ok((open_folder(folder)?, name)),
        _ => Err(ErrorKind::InvalidInput.into()),
    }
}

fn open_file(path: &Path, flags: OFlags) -> Result<File> {
    let (folder, name) = beside(path)?;
    // NONBLOCK: a pipe in the file's place would wait for a writer for ever.
    let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = File::from(rustix::fs::openat(&folder, name, flags, Mode::RUSR | Mode::WUSR)?);
    if file.metadata()?.is_file() { Ok(file) } else { Err(Error::other("not a plain file")) }
}

/// A Mac's `fsync` ends at the drive's cache, whose content a power cut takes:
/// <https://developer.apple.com/library/archive/documentation/System/Conceptual/ManPages_iPhoneOS/man2/fsync.2.html>.
/// A file system that can't do more than that says so.
#[cfg(target_vendor = "apple")]
fn flush(file: impl std::os::fd::AsFd) -> rustix::io::Result<()> {
    match rustix::fs::fcntl_fullfsync(&file) {
        Err(rustix::io::Errno::NOTSUP | rustix::io::Errno::INVAL) => rustix::fs::fsync(&file),
        done => done,
    }
}

impl Files for RealFiles {
    fn make_folder(&self, folder: &Path) -> Result<()> {
        match rustix::fs::mkdir(folder, Mode::RWXU) {
            Err(rustix::io::Errno::NOENT) => {
                self.make_folder(folder.parent().ok_or(ErrorKind::NotFound)?)?;
                rustix::fs::mkdir(folder, Mode::RWXU)?;
            }
            Err(rustix::io::Errno::EXIST) => {
                open_folder(folder)?;
            }
            other => other?,
        }
        Ok(())
    }

    fn list(&self, folder: &Path) -> Result<Vec<String>> {
        let folder = match open_folder(folder) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            folder => folder?,
        };
        let mut names = Vec::new();
        for entry in rustix::fs::Dir::read_from(&folder)? {
            let entry = entry?;
            // Some file systems don't say what an entry is; opening it will.
            if matches!(entry.file_type(), FileType::RegularFile | FileType::Unknown)
                && let Ok(name) = entry.file_name().to_str()
            {
                names.push(name.to_owned());
            }
        }
        names.sort_unstable();
        Ok(names)
    }

    fn read(&self, path: &Path, most: u64) -> Result<Vec<u8>> {
        let file = open_file(path, OFlags::RDONLY)?;
        let len = file.metadata()?.len();
        if len > most {
            return Err(ErrorKind::FileTooLarge.into());
        }
        // One byte of room: the read that finds the end then needs no bigger buffer.
        let mut bytes = Vec::with_capacity(usize::try_from(len).map_err(Error::other)? + 1);
        file.take(most).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    fn len_of(&self, path: &Path) -> Result<u64> {
        Ok(open_file(path, OFlags::RDONLY)?.metadata()?.len())
    }

    fn append(&self, path: &Path) -> Result<Box<dyn Appending>> {
        Ok(Box::new(open_file(path, OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE)?))
    }

    fn create(&self, path: &Path) -> Result<Box<dyn Appending>> {
        Ok(Box::new(open_file(path, OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL)?))
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        let ((from_folder, from), (to_folder, to)) = (beside(from)?, beside(to)?);
        Ok(rustix::fs::renameat(from_folder, from, to_folder, to)?)
    }

    fn remove(&self, path: &Path) -> Result<()> {
        let (folder, name) = beside(path)?;
        Ok(rustix::fs::unlinkat(folder, name, AtFlags::empty())?)
    }

    fn sync_folder(&self, folder: &Path) -> Result<()> {
        let folder = open_folder(folder)?;
        #[cfg(target_vendor = "apple")]
        flush(&folder)?;
        #[cfg(not(target_vendor = "apple"))]
        rustix::fs::fsync(&folder)?;
        Ok(())
    }
}

impl Appending for File {
    fn size(&self) -> Result<u64> {
        Ok(self.metadata()?.len())
    }

    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        Write::write(self, bytes)
    }

    fn cut(&mut self, len: u64) -> Result<()> {
        self.set_len(len)
    }

    fn sync(&mut self) -> Result<()> {
        #[cfg(target_vendor = "apple")]
        flush(&*self)?;
        #[cfg(not(target_vendor = "apple"))]
        rustix::fs::fdatasync(&*self)?;
        Ok(())
    }
}
