//! What a hostile owner may put in the file's place: refused at once, with a note, and nothing else is touched.
#![allow(missing_docs, clippy::unwrap_used, reason = "tests")]

mod common;

use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use common::{FILE, Home, NONE, calls, line, not_tested, read_and_keep};
use lnk_report::{Apart, Note, Place, Positions, Read, Refused};
use rustix::fs::FileType;

/// A file of somebody else's, and how it must stay.
struct Victim {
    _folder: tempfile::TempDir,
    path: PathBuf,
    was: (u64, u64, i64, i64),
}

impl Victim {
    fn new() -> Victim {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("victim");
        fs::write(&path, line(666)).unwrap();
        let was = Victim::state(&path);
        Victim { _folder: folder, path, was }
    }

    fn state(path: &Path) -> (u64, u64, i64, i64) {
        let metadata = fs::metadata(path).unwrap();
        (metadata.ino(), metadata.size(), metadata.mtime(), metadata.mtime_nsec())
    }

    fn assert_untouched(&self, what: &str) {
        assert_eq!(Victim::state(&self.path), self.was, "{what}");
        assert_eq!(fs::read_to_string(&self.path).unwrap(), line(666), "{what}");
    }
}

/// Reads, and fails instead of waiting for ever where a read doesn't come back.
fn read_in_time(place: Place, looks: usize) -> Vec<Read> {
    let mut apart = Apart::of_turns(place, &Positions::default());
    let look = |_| {
        apart.begin();
        let read = apart.collect(Instant::now() + Duration::from_secs(20)).unwrap();
        apart.kept(&read.up_to);
        read
    };
    (0..looks).map(look).collect()
}

#[cfg(target_os = "linux")]
fn make_node(path: &Path, kind: FileType, device: u64) -> bool {
    use rustix::fs::{CWD, Mode, mknodat};
    let made = mknodat(CWD, path, kind, Mode::from_raw_mode(0o600), device);
    if made.is_err() {
        not_tested(&format!("{kind:?} in a harness's home: only root makes one"));
    }
    made.is_ok()
}

/// What has no call for it (a Mac's libc) has a program, for FIFOs alone.
#[cfg(not(target_os = "linux"))]
fn make_node(path: &Path, kind: FileType, _device: u64) -> bool {
    let made = kind == FileType::Fifo && std::process::Command::new("mkfifo").arg(path).status().unwrap().success();
    if !made {
        not_tested(&format!("{kind:?} in a harness's home: it can't be made here"));
    }
    made
}

#[test]
fn whatever_is_no_plain_file_of_one_name_is_refused_at_once() {
    type Put = fn(&Path, &Victim) -> bool;
    let cases: [(&str, Put, Refused); 8] = [
        ("symlink", |path, victim| symlink(&victim.path, path).is_ok(), Refused::Link),
        ("dangling symlink", |path, _| symlink("/nowhere/at/all", path).is_ok(), Refused::Link),
        ("symlink to /proc", |path, _| symlink("/proc/self/environ", path).is_ok(), Refused::Link),
        ("hard link", |path, victim| fs::hard_link(&victim.path, path).is_ok(), Refused::OtherName),
        ("FIFO", |path, _| make_node(path, FileType::Fifo, 0), Refused::NotPlain),
        ("socket", |path, _| UnixListener::bind(path).is_ok(), Refused::NotPlain),
        // The null device.
        ("device", |path, _| make_node(path, FileType::CharacterDevice, 0x103), Refused::NotPlain),
        ("folder", |path, _| fs::create_dir(path).is_ok(), Refused::NotPlain),
    ];
    for (what, put, why) in cases {
        for ending in ["", ".1", ".read"] {
            let (home, victim) = (Home::new(), Victim::new());
            let path = home.beside(ending);
            if !put(&path, &victim) {
                continue;
            }
            let kind = fs::symlink_metadata(&path).unwrap().file_type();
            for read in read_in_time(home.place(), 3) {
                assert_eq!(read.notes, [Note::Refused(why)], "{what}{ending}");
                assert!(read.turns.is_empty() && read.up_to.is_empty(), "{what}{ending}");
            }
            assert_eq!(fs::symlink_metadata(&path).unwrap().file_type(), kind, "{what}{ending} is left there");
            victim.assert_untouched(what);
        }
    }
}

#[test]
fn what_is_in_another_names_place_does_not_keep_the_file_from_being_read() {
    for ending in [".1", ".read"] {
        let (home, victim) = (Home::new(), Victim::new());
        symlink(&victim.path, home.beside(ending)).unwrap();
        let mut reader = home.reader();
        for n in 0..4 {
            home.append(line(n));
            let read = read_and_keep(&mut reader);
            assert_eq!((calls(&read), read.notes), (vec![n], vec![Note::Refused(Refused::Link)]), "{ending}");
        }
        victim.assert_untouched(ending);
    }
}

#[test]
fn no_folder_on_the_way_may_be_a_link() {
    let (home, outside) = (Home::new(), Home::new());
    outside.append(line(1));
    fs::remove_dir(home.path().join(".lnk")).unwrap();
    for to in [outside.path().join(".lnk"), "real".into()] {
        fs::create_dir_all(home.path().join("real")).unwrap();
        fs::write(home.path().join("real/measures.jsonl"), line(2)).unwrap();
        symlink(to, home.path().join(".lnk")).unwrap();
        for read in read_in_time(home.place(), 3) {
            assert_eq!((calls(&read), read.notes), (vec![], vec![Note::Refused(Refused::Link)]));
        }
        fs::remove_file(home.path().join(".lnk")).unwrap();
    }
    assert_eq!(fs::read_to_string(outside.file()).unwrap(), line(1));
    // Further up too; and a home that was reached by the user's own link is read.
    let deep = Place::below(home.path(), Path::new("a/b/c/m")).unwrap();
    fs::create_dir_all(home.path().join("a/real/c")).unwrap();
    fs::write(home.path().join("a/real/c/m"), line(3)).unwrap();
    symlink("real", home.path().join("a/b")).unwrap();
    assert_eq!(read_in_time(deep, 1)[0].notes, [Note::Refused(Refused::Link)]);
    let link = home.path().join("home-link");
    symlink(outside.path(), &link).unwrap();
    assert_eq!(calls(&read_in_time(Place::below(&link, Path::new(FILE)).unwrap(), 1)[0]), [1]);
}

#[test]
fn a_folder_that_is_a_file_is_refused() {
    let home = Home::new();
    fs::remove_dir(home.path().join(".lnk")).unwrap();
    fs::write(home.path().join(".lnk"), line(1)).unwrap();
    assert_eq!(read_in_time(home.place(), 1)[0].notes, [Note::Refused(Refused::NotPlain)]);
}

#[cfg(target_os = "linux")]
#[test]
fn the_kernels_own_files_are_refused() {
    let of_process = Place::below(Path::new("/proc/self"), Path::new("status")).unwrap();
    assert_eq!(read_in_time(of_process, 1)[0].notes, [Note::Refused(Refused::Kernels)]);
    let through_root = Place::below(Path::new("/"), Path::new("proc/version")).unwrap();
    assert_eq!(read_in_time(through_root, 1)[0].notes, [Note::Refused(Refused::OtherFileSystem)]);
}

#[test]
fn another_users_file_is_refused() {
    let home = Home::new();
    home.append(line(1));
    if std::os::unix::fs::chown(home.file(), Some(12_345), None).is_err() {
        not_tested("another user's file in a harness's home: only root gives files away");
        return;
    }
    assert_eq!(read_in_time(home.place(), 1)[0].notes, [Note::Refused(Refused::Owner)]);
}

#[test]
fn a_file_that_may_not_be_read_is_said() {
    let home = Home::new();
    home.append(line(1));
    fs::set_permissions(home.file(), fs::Permissions::from_mode(0o000)).unwrap();
    if File::open(home.file()).is_ok() {
        not_tested("a file that may not be read: root reads every file");
        return;
    }
    let denied = Refused::System(std::io::ErrorKind::PermissionDenied);
    assert_eq!(read_in_time(home.place(), 1)[0].notes, [Note::Refused(denied)]);
}

#[test]
fn a_file_swapped_for_another_thing_while_it_is_followed_harms_nothing() {
    let (home, victim) = (Home::new(), Victim::new());
    let mut reader = home.reader();
    for n in 0..200_u64 {
        for ending in ["", ".1", ".read"] {
            let _ = fs::remove_file(home.beside(ending));
            match (n + ending.len() as u64) % 4 {
                0 => drop(fs::hard_link(&victim.path, home.beside(ending))),
                1 => symlink(&victim.path, home.beside(ending)).unwrap(),
                2 => fs::write(home.beside(ending), line(n)).unwrap(),
                _ => {}
            }
        }
        assert!(calls(&read_and_keep(&mut reader)).iter().all(|read| *read == n));
    }
    assert_eq!(fs::metadata(&victim.path).unwrap().size(), victim.was.1);
    victim.assert_untouched("swapped");
    assert!(reader.read().up_to.to_texts().len() <= 8);
    assert_eq!(calls(&reader.read()), NONE);
}

#[test]
fn a_swap_at_any_moment_of_a_look_harms_nothing() {
    use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
    let (home, victim, stop) = (Home::new(), Victim::new(), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for n in 0.. {
                let (name, other) = (home.file(), home.path().join(".lnk/other"));
                let _ = match n % 4 {
                    0 => fs::hard_link(&victim.path, &other),
                    1 => symlink(&victim.path, &other),
                    _ => fs::write(&other, line(1)),
                };
                let _ = fs::rename(other, name);
                if stop.load(SeqCst) {
                    return;
                }
            }
        });
        let (mut reader, until) = (home.reader(), Instant::now() + Duration::from_secs(1));
        let mut was_read = false;
        while Instant::now() < until && !was_read {
            was_read = calls(&read_and_keep(&mut reader)).contains(&666);
        }
        // Before any assertion: the other thread waits for it.
        stop.store(true, SeqCst);
        assert!(!was_read, "the victim was read");
    });
    victim.assert_untouched("swapped at any moment");
}
