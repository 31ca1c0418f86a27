//! Opening a file that its owner may turn against us.
//!
//! `O_NOFOLLOW` alone guards the last component: a linked parent is followed, and hard links, FIFOs and devices pass.
//! So: the home is opened once, everything below it is resolved by the kernel without links, mounts or a way out
//! (`openat2(2)`, Linux 5.6), what is found is looked at before it is opened to read (`O_PATH`; opening a device can do
//! things), and only a plain file with one name, of the home's owner, on the home's file system is. From then on only
//! that descriptor is used.
//!
//! One name is not one link: a hard link of another's file that is dropped again right after we opened it leaves a
//! descriptor of a file with a single link, which isn't ours. So the name must lead to the file in between two counts of
//! one link. What is left to an attacker is to make and drop the link between those calls each time they are made; won,
//! it has another's numbers counted as the attacker's own, and changes nothing.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::Errno;

use crate::note::Refused;

/// How often a file is opened anew that was moved while it was.
const TRIES: usize = 4;
/// How often its name is looked up while the file changes, as one does that is appended to.
const LOOKUPS: usize = 8;

/// Where a file is: a folder that we were told of, and the way from there, which somebody else may change at any time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    home: PathBuf,
    /// From the home to the file's folder; empty where that is the home.
    way: PathBuf,
    name: OsString,
}

impl Place {
    /// The place of `file`, which is below `home` or relative to it. `None` where it isn't, or isn't plainly (`..`).
    pub fn below(home: &Path, file: &Path) -> Option<Place> {
        let below = if file.is_absolute() { file.strip_prefix(home).ok()? } else { file };
        let plain = below.components().all(|part| matches!(part, Component::Normal(_)));
        let name = below.file_name().filter(|_| plain)?;
        let way = below.parent().unwrap_or(Path::new(""));
        Some(Place { home: home.to_owned(), way: way.to_owned(), name: name.to_owned() })
    }

    /// The file's name with an ending.
    pub(crate) fn name_with(&self, ending: &str) -> OsString {
        let mut name = self.name.clone();
        name.push(ending);
        name
    }
}

/// Whether the kernel resolves what is below a folder, in one call. Else it is a component at a time: on macOS, on kernels
/// before 5.6, and where a seccomp filter doesn't know the call.
const BY_KERNEL: bool = cfg!(target_os = "linux");

/// Opens nothing yet: only looks. macOS has no such thing; there [`before_opening`] looks first.
#[cfg(target_os = "linux")]
const TO_LOOK: OFlags = OFlags::PATH;
#[cfg(not(target_os = "linux"))]
const TO_LOOK: OFlags = OFlags::RDONLY;

/// A file's folder, reached without a link.
#[derive(Debug)]
pub(crate) struct Folder {
    fd: OwnedFd,
    device: u64,
    owner: u32,
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "only Linux's resolves a path in one call"))]
    by_kernel: bool,
}

impl Folder {
    /// The folder of a place. `None`: there is none yet.
    pub(crate) fn open(place: &Place) -> Result<Option<Folder>, Refused> {
        Folder::open_by(place, BY_KERNEL)
    }

    fn open_by(place: &Place, by_kernel: bool) -> Result<Option<Folder>, Refused> {
        // The home's own path is the settings', not the harness's: links in it are the user's.
        let flags = TO_LOOK | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let Some(fd) = there(openat(CWD, &place.home, flags, Mode::empty()))? else { return Ok(None) };
        let home = File::from(fd);
        let of_home = home.metadata().map_err(|error| Refused::System(error.kind()))?;
        not_the_kernels(&home)?;
        let home = Folder { fd: home.into(), device: of_home.dev(), owner: of_home.uid(), by_kernel };
        if place.way.as_os_str().is_empty() {
            return Ok(Some(home));
        }
        let Some(file) = home.look_at(&place.way)? else { return Ok(None) };
        let found = file.metadata().map_err(|error| Refused::System(error.kind()))?;
        home.check_owner(&found)?;
        if !found.is_dir() {
            return Err(if found.file_type().is_symlink() { Refused::Link } else { Refused::NotPlain });
        }
        Ok(Some(Folder { fd: file.into(), ..home }))
    }

    /// Opens a file of the folder to read it. `None`: there is none of this name.
    pub(crate) fn file(&self, name: &OsStr) -> Result<Option<File>, Refused> {
        for _ in 0..TRIES {
            match self.open_to_read(name)? {
                Some(file) if !self.is_named(name, &file)? => {}
                found => return Ok(found),
            }
        }
        Err(Refused::Moving)
    }

    /// Whether a name is that of a file, and the only one it has.
    pub(crate) fn is_named(&self, name: &OsStr, file: &File) -> Result<bool, Refused> {
        let state = |file: &File| file.metadata().map_err(|error| Refused::System(error.kind()));
        let before = state(file)?;
        one_name(&before)?;
        for _ in 0..LOOKUPS {
            let Some(found) = self.look_at(Path::new(name))? else { return Ok(false) };
            let (found, after) = (state(&found)?, state(file)?);
            one_name(&after)?;
            if (found.dev(), found.ino()) != (after.dev(), after.ino()) || after.nlink() == 0 {
                return Ok(false);
            }
            // A link made or dropped in between would have changed it. So does an append.
            if (before.ctime(), before.ctime_nsec()) == (after.ctime(), after.ctime_nsec()) {
                return Ok(true);
            }
        }
        Ok(true)
    }

    fn open_to_read(&self, name: &OsStr) -> Result<Option<File>, Refused> {
        let Some(found) = self.look_at(Path::new(name))? else { return Ok(None) };
        let metadata = found.metadata().map_err(|error| Refused::System(error.kind()))?;
        if metadata.file_type().is_symlink() {
            return Err(Refused::Link);
        }
        self.check_owner(&metadata)?;
        if !metadata.is_file() {
            return Err(Refused::NotPlain);
        }
        one_name(&metadata)?;
        to_read(&found).map(Some)
    }

    /// The folder's descriptor.
    pub(crate) fn fd(&self) -> &OwnedFd {
        &self.fd
    }

    fn check_owner(&self, found: &std::fs::Metadata) -> Result<(), Refused> {
        if found.dev() != self.device {
            return Err(Refused::OtherFileSystem);
        }
        if found.uid() == self.owner { Ok(()) } else { Err(Refused::Owner) }
    }

    /// What is at a path below, links themselves included.
    pub(crate) fn look_at(&self, below: &Path) -> Result<Option<File>, Refused> {
        #[cfg(target_os = "linux")]
        if self.by_kernel {
            use rustix::fs::{ResolveFlags, openat2};
            let resolve =
                ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS | ResolveFlags::NO_XDEV;
            let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            match openat2(&self.fd, below, flags, Mode::empty(), resolve) {
                Err(Errno::NOSYS | Errno::PERM) => {}
                opened => return Ok(there(opened)?.map(File::from)),
            }
        }
        self.walk_to(below)
    }

    fn walk_to(&self, below: &Path) -> Result<Option<File>, Refused> {
        let mut at: Option<File> = None;
        for part in below.components() {
            let dir = at.as_ref().map_or(self.fd.as_fd(), AsFd::as_fd);
            before_opening(dir, part.as_os_str())?;
            let flags = TO_LOOK | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
            let Some(next) = there(openat(dir, part.as_os_str(), flags, Mode::empty()))? else { return Ok(None) };
            let next = File::from(next);
            let found = next.metadata().map_err(|error| Refused::System(error.kind()))?;
            if found.dev() != self.device {
                return Err(Refused::OtherFileSystem);
            }
            // A link in the middle can't be gone through either way; here it is told from a file.
            if found.file_type().is_symlink() {
                return Err(Refused::Link);
            }
            at = Some(next);
        }
        Ok(at)
    }
}

/// Whether a plain file has the one name it was found by; or none any more, which a descriptor outlives.
pub(crate) fn one_name(metadata: &std::fs::Metadata) -> Result<(), Refused> {
    if metadata.nlink() > 1 { Err(Refused::OtherName) } else { Ok(()) }
}

/// The descriptor that was looked at, opened to read. Through its own number, so that it is the same file whatever has
/// its name by now; and without blocking, so that neither a FIFO nor a lease that somebody holds on the file can stop us.
#[cfg(target_os = "linux")]
fn to_read(found: &File) -> Result<File, Refused> {
    use std::os::fd::AsRawFd;
    let path = format!("/proc/self/fd/{}", found.as_raw_fd());
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    openat(CWD, path, flags, Mode::empty()).map(File::from).map_err(refused)
}

#[cfg(not(target_os = "linux"))]
fn to_read(found: &File) -> Result<File, Refused> {
    found.try_clone().map_err(|error| Refused::System(error.kind()))
}

/// Where opening is the only way to look, a look by name first, so that no device or FIFO is opened that was there all
/// along. One put there in between is opened without blocking and refused by its descriptor.
#[cfg(not(target_os = "linux"))]
fn before_opening(dir: BorrowedFd<'_>, name: &OsStr) -> Result<(), Refused> {
    use rustix::fs::{AtFlags, FileType, statat};
    let Some(stat) = there(statat(dir, name, AtFlags::SYMLINK_NOFOLLOW))? else { return Ok(()) };
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile | FileType::Directory => Ok(()),
        FileType::Symlink => Err(Refused::Link),
        _ => Err(Refused::NotPlain),
    }
}

#[cfg(target_os = "linux")]
#[expect(clippy::unnecessary_wraps, reason = "as the other systems' is")]
fn before_opening(_dir: BorrowedFd<'_>, _name: &OsStr) -> Result<(), Refused> {
    Ok(())
}

/// The kernel's own files look plain, empty, and ours.
#[cfg(target_os = "linux")]
fn not_the_kernels(home: &File) -> Result<(), Refused> {
    let file_system = rustix::fs::fstatfs(home).map_err(refused)?;
    if file_system.f_type == rustix::fs::PROC_SUPER_MAGIC { Err(Refused::Kernels) } else { Ok(()) }
}

#[cfg(not(target_os = "linux"))]
#[expect(clippy::unnecessary_wraps, reason = "as Linux's is")]
fn not_the_kernels(_home: &File) -> Result<(), Refused> {
    Ok(())
}

/// What an open gave; `None` where nothing has the name.
fn there<T>(opened: rustix::io::Result<T>) -> Result<Option<T>, Refused> {
    match opened {
        Ok(fd) => Ok(Some(fd)),
        Err(Errno::NOENT) => Ok(None),
        Err(errno) => Err(refused(errno)),
    }
}

fn refused(errno: Errno) -> Refused {
    match errno {
        Errno::LOOP => Refused::Link,
        Errno::NOTDIR | Errno::NXIO => Refused::NotPlain,
        Errno::XDEV => Refused::OtherFileSystem,
        errno => Refused::System(std::io::Error::from(errno).kind()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    const BOTH_WAYS: [bool; 2] = [BY_KERNEL, false];

    fn open(home: &Path, file: &str, by_kernel: bool) -> Result<Option<File>, Refused> {
        let place = Place::below(home, Path::new(file)).unwrap();
        Folder::open_by(&place, by_kernel)?.map_or(Ok(None), |folder| folder.file(&place.name_with("")))
    }

    #[test]
    fn a_place_is_plainly_below_its_home() {
        let home = Path::new("/h/a");
        for good in ["/h/a/.lnk/m.jsonl", ".lnk/m.jsonl"] {
            let place = Place::below(home, Path::new(good)).unwrap();
            assert_eq!((place.way.as_path(), place.name.as_os_str()), (Path::new(".lnk"), OsStr::new("m.jsonl")));
        }
        for bad in ["/h/b/m.jsonl", "/h/a/../b/m", "../m", "/h/a", "", ".", "/h/ab/m"] {
            assert_eq!(Place::below(home, Path::new(bad)), None, "{bad}");
        }
    }

    #[test]
    fn both_ways_give_the_same_answer() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().join("home");
        fs::create_dir_all(home.join("real/deep")).unwrap();
        fs::create_dir(folder.path().join("outside")).unwrap();
        for plain in ["home/real/m", "home/real/deep/m", "outside/m", "home/real/two"] {
            fs::write(folder.path().join(plain), "x").unwrap();
        }
        fs::hard_link(home.join("real/two"), home.join("real/names")).unwrap();
        symlink("../../outside/m", home.join("real/link")).unwrap();
        symlink("../outside", home.join("out")).unwrap();
        symlink("real", home.join("within")).unwrap();
        symlink("missing", home.join("real/dangling")).unwrap();
        symlink(&home, folder.path().join("home-link")).unwrap();
        for way in BOTH_WAYS {
            assert!(open(&home, "real/m", way).unwrap().is_some(), "by the kernel: {way}");
            assert!(open(&home, "real/deep/m", way).unwrap().is_some(), "by the kernel: {way}");
            assert!(open(&folder.path().join("home-link"), "real/m", way).unwrap().is_some(), "by the kernel: {way}");
            for none in ["real/missing", "missing/m"] {
                assert!(open(&home, none, way).unwrap().is_none(), "by the kernel: {way} {none}");
            }
            for (file, why) in [
                ("real/link", Refused::Link),
                ("real/dangling", Refused::Link),
                ("out/m", Refused::Link),
                ("within/m", Refused::Link),
                ("within/deep/m", Refused::Link),
                ("real/two", Refused::OtherName),
                ("real/names", Refused::OtherName),
                ("real/deep", Refused::NotPlain),
                ("real/m/m", Refused::NotPlain),
            ] {
                assert_eq!(open(&home, file, way).unwrap_err(), why, "by the kernel: {way} {file}");
            }
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_kernels_files_and_other_file_systems_are_refused() {
        for way in BOTH_WAYS {
            assert_eq!(open(Path::new("/proc/self"), "status", way).unwrap_err(), Refused::Kernels);
            assert_eq!(open(Path::new("/"), "proc/self/status", way).unwrap_err(), Refused::OtherFileSystem);
            assert!(open(Path::new("/dev"), "null", way).is_err());
        }
    }
}
