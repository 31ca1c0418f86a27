//! What goes wrong with a file, and what is to be said of it.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// A file or folder of the store could not be used.
#[derive(Debug)]
pub struct StoreError {
    path: PathBuf,
    doing: &'static str,
    source: io::Error,
}

impl StoreError {
    pub(crate) fn at(path: &Path, doing: &'static str) -> impl FnOnce(io::Error) -> StoreError {
        move |source| StoreError { path: path.to_owned(), doing, source }
    }

    /// The file or folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What the system said.
    pub fn io(&self) -> &io::Error {
        &self.source
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "can't {} {}: {}", self.doing, self.path.display(), self.source)?;
        let help = match self.source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => ". Make room; it goes on by itself",
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => ". Make it yours to write",
            io::ErrorKind::NotADirectory => ". A folder must be there, not a link",
            _ => "",
        };
        f.write_str(help)
    }
}

impl std::error::Error for StoreError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}
