//! The files behind one place: which there are, which of them were known, and how the one written to is emptied.
//!
//! # Why emptying loses no line
//!
//! Cutting a file to nothing can't be made safe against a writer that takes no part in it: a line appended between the
//! last read and the cut is gone. So nothing is ever cut. A file that has been read is moved aside, within its folder,
//! and read on there, since whoever has it open goes on writing to the same file under whatever name. It is removed
//! only when all of this holds:
//!
//! 1. it was aside at the end of the look before, so that nobody has opened it by its old name since: an open that was
//!    under way when it was moved has had a whole look's time to come to its end;
//! 2. the kernel says that no descriptor, of any process, is open to write to it ([`nobody_writes`]);
//! 3. after that answer its size is still the one up to which it had been read, so all that those writers wrote has
//!    been counted, and what is left at most is the beginning of a line that nobody is there to finish;
//! 4. what was read of it is in a line that was kept, so that no crash can lose it now.
//!
//! And it is followed by its descriptor for another look after that. Where the kernel doesn't answer (macOS, some
//! network file systems), and while somebody has the file open to write, it stays as it is: the harness moves it aside
//! itself past 1 MiB, which bounds it.
//!
//! # Why no other file can be harmed
//!
//! Moving and removing change names in the harness's own folder, never a file's content. A hard link of another's file
//! isn't opened at all; one put in our file's place between the last check and the call loses that extra name at most,
//! and its content and its other name stay.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::unix::fs::MetadataExt;

use rustix::fs::{AtFlags, unlinkat};

use crate::lines::{Identity, Progress};
use crate::note::{Note, Refused};
use crate::open::{Folder, Place, one_name};
use crate::position::{MOST_FILES, Position, Positions};
use crate::writers::nobody_writes;

/// The file that is appended to.
const MAIN: usize = 0;
/// What it was moved aside to by us, to be removed.
const READ: usize = 2;
/// The endings of the names a file may have, in the order to look for them: one that is moved aside while we look is
/// then found twice, never missed.
const ENDINGS: [&str; 3] = ["", ".1", ".read"];

/// How far a file has been read in this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Reached {
    pub progress: Progress,
    /// It was never read to its end by anybody: its lines may be older than the watcher.
    pub fresh: bool,
}

/// Nothing of a file has been read.
pub(crate) const NOTHING_YET: Reached = Reached { progress: Progress::START, fresh: true };

/// A file that is followed by its descriptor, whatever it is called.
#[derive(Debug)]
pub(crate) struct Followed {
    pub file: Option<File>,
    identity: Identity,
    /// Read up to here.
    pub at: Reached,
    /// Of that, in a line that was kept.
    kept: Reached,
    /// Its size when it was last read to its end; `None` where it wasn't.
    pub to_end_at: Option<u64>,
    /// For how many looks it had none of its names.
    nameless: u32,
    /// At the end of the look before it was aside, to be removed.
    aside: bool,
}

impl Followed {
    fn new(identity: Identity, file: Option<File>, reached: Reached) -> Followed {
        Followed { file, identity, at: reached, kept: reached, to_end_at: None, nameless: 0, aside: false }
    }

    /// All of it has been read and kept, and nobody is left who could add to it.
    fn is_over(&self) -> bool {
        let Some(file) = self.file.as_ref().filter(|_| self.kept == self.at) else { return false };
        // In this order: whoever wrote before the answer has written before the size is asked for.
        nobody_writes(file) && self.is_as_read()
    }

    fn is_named(&self, folder: &Folder, name: &OsStr) -> bool {
        self.file.as_ref().is_some_and(|file| folder.is_named(name, file) == Ok(true))
    }

    fn is_as_read(&self) -> bool {
        let size = self.file.as_ref().and_then(|file| file.metadata().ok()).map(|metadata| metadata.len());
        size.is_some() && size == self.to_end_at
    }
}

/// What has one of the names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Found {
    Nothing,
    Refused,
    File(Identity),
}

/// What becomes of a file that is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Handling {
    /// It has one name, and stays.
    Stays,
    /// Its writer moves it aside, and it is emptied once read.
    IsEmptied,
    /// The same, but somebody else empties it.
    IsOthers,
}

/// All files behind one place.
#[derive(Debug)]
pub(crate) struct Files {
    place: Place,
    handling: Handling,
    /// Oldest first, which is the order to read them in.
    pub followed: Vec<Followed>,
}

impl Files {
    pub(crate) fn new(place: Place, handling: Handling, from: &Positions) -> Files {
        let known = |position: &Position| {
            Followed::new(position.file, None, Reached { progress: position.progress, fresh: false })
        };
        Files { place, handling, followed: from.0.iter().map(known).collect() }
    }

    /// How far each has been read.
    pub(crate) fn positions(&self) -> Positions {
        let position = |f: &Followed| Position { file: f.identity, progress: f.at.progress };
        Positions(self.followed.iter().map(position).collect())
    }

    /// These positions are in a line that was kept.
    pub(crate) fn kept(&mut self, positions: &Positions) {
        for followed in &mut self.followed {
            if let Some(progress) = positions.of(followed.identity) {
                let fresh = followed.at.fresh && followed.at.progress == progress;
                followed.kept = Reached { progress, fresh };
            }
        }
    }

    /// What was read and not kept is read again.
    pub(crate) fn go_back(&mut self) {
        for followed in &mut self.followed {
            followed.at = followed.kept;
        }
    }

    /// Looks which files there are, empties what was read, and lets go of what is over. Reading comes after.
    pub(crate) fn look(&mut self, note: &mut dyn FnMut(Note)) {
        let folder = Folder::open(&self.place).unwrap_or_else(|why| {
            note(Note::Refused(why));
            None
        });
        if let Some(folder) = folder {
            let mut found = self.find(&folder, note);
            if self.handling == Handling::IsEmptied {
                self.remove_read(&folder, &mut found);
                self.move_aside(&folder, &mut found);
            }
            self.let_go(&found, note);
        }
    }

    fn find(&mut self, folder: &Folder, note: &mut dyn FnMut(Note)) -> [Found; 3] {
        let (mut found, mut fresh) = ([Found::Nothing; 3], Vec::new());
        let names = if self.handling == Handling::Stays { &ENDINGS[..1] } else { &ENDINGS[..] };
        for (found, ending) in found.iter_mut().zip(names) {
            match folder.file(&self.place.name_with(ending)).and_then(identified) {
                Ok(None) => {}
                Err(why) => {
                    *found = Found::Refused;
                    note(Note::Refused(why));
                }
                Ok(Some((identity, file))) => {
                    *found = Found::File(identity);
                    match self.followed.iter_mut().find(|followed| followed.identity == identity) {
                        Some(followed) => _ = followed.file.get_or_insert(file),
                        None => fresh.push(Followed::new(identity, Some(file), NOTHING_YET)),
                    }
                }
            }
        }
        // The last name is the oldest file's. One that was moved while we looked is there under two.
        for followed in fresh.into_iter().rev() {
            if !self.followed.iter().any(|known| known.identity == followed.identity) {
                self.followed.push(followed);
            }
        }
        found
    }

    fn followed_as(&self, found: Found) -> Option<&Followed> {
        self.followed.iter().find(|followed| found == Found::File(followed.identity))
    }

    /// Removes the file that is aside, where nothing can be lost with it.
    fn remove_read(&self, folder: &Folder, found: &mut [Found; 3]) {
        let name = self.place.name_with(ENDINGS[READ]);
        let over = self
            .followed_as(found[READ])
            .is_some_and(|followed| followed.aside && followed.is_over() && followed.is_named(folder, &name));
        if over && unlinkat(folder.fd(), &name, AtFlags::empty()).is_ok() {
            found[READ] = Found::Nothing;
            sync(folder);
        }
    }

    /// Moves the file aside, where something of it has been read and nobody who has it open would find it gone.
    fn move_aside(&mut self, folder: &Folder, found: &mut [Found; 3]) {
        let (from, to) = (self.place.name_with(ENDINGS[MAIN]), self.place.name_with(ENDINGS[READ]));
        let ready = self.followed_as(found[MAIN]).is_some_and(|followed| {
            found[READ] == Found::Nothing
                && followed.kept.progress.offset > 0
                && followed.kept == followed.at
                && followed.to_end_at.is_some()
                && followed.file.as_ref().is_some_and(nobody_writes)
                && followed.is_named(folder, &from)
        });
        if ready && rename_to_free(folder, &from, &to) {
            found.swap(MAIN, READ);
        }
    }

    /// Lets go of files that have none of the names any more and are over, or too many.
    fn let_go(&mut self, found: &[Found; 3], note: &mut dyn FnMut(Note)) {
        let sure = !found.contains(&Found::Refused);
        for followed in &mut self.followed {
            let named = found.contains(&Found::File(followed.identity));
            followed.nameless = if named { 0 } else { followed.nameless.saturating_add(1) };
            followed.aside = found[READ] == Found::File(followed.identity);
        }
        self.followed.retain(|followed| match &followed.file {
            // From before this process, and now under none of its names. Where one was refused it may be that.
            None => !sure,
            Some(_) => followed.nameless < 2 || !followed.is_over(),
        });
        while self.followed.len() > MOST_FILES {
            let oldest = self.followed.iter().position(|followed| followed.nameless > 0).unwrap_or(0);
            if !self.followed.remove(oldest).is_as_read() {
                note(Note::TooMany);
            }
        }
    }
}

fn identified(file: Option<File>) -> Result<Option<(Identity, File)>, Refused> {
    let Some(file) = file else { return Ok(None) };
    let metadata = file.metadata().map_err(|error| Refused::System(error.kind()))?;
    one_name(&metadata)?;
    Ok(Some((Identity::of(&metadata), file)))
}

/// Renames, never over another file. Only Linux moves files aside: elsewhere the kernel doesn't say who writes.
#[cfg(target_os = "linux")]
fn rename_to_free(folder: &Folder, from: &OsString, to: &OsString) -> bool {
    use rustix::fs::{RenameFlags, renameat_with};
    renameat_with(folder.fd(), from, folder.fd(), to, RenameFlags::NOREPLACE).is_ok()
}

#[cfg(not(target_os = "linux"))]
fn rename_to_free(_folder: &Folder, _from: &OsString, _to: &OsString) -> bool {
    false
}

/// Has the removal on the disk before the next line says nothing of the file any more: a machine that loses power in
/// between would find it there again and count it twice. Where that can't be, only that is at stake.
fn sync(folder: &Folder) {
    use rustix::fs::{Mode, OFlags, fsync, openat};
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    if let Ok(open) = openat(folder.fd(), ".", flags, Mode::empty()) {
        let _ = fsync(open);
    }
}

/// Checks a followed file's descriptor again, before it is read.
pub(crate) fn size_of(file: &File) -> Result<u64, Refused> {
    let metadata = file.metadata().map_err(|error| Refused::System(error.kind()))?;
    one_name(&metadata)?;
    Ok(metadata.size())
}
