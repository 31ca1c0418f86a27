//! A reader on a thread of its own: its caller gets an answer by the deadline whatever the file system does.
#![allow(missing_docs, clippy::unwrap_used, reason = "tests")]

mod common;

#[cfg(target_os = "linux")]
use std::fs;
use std::time::{Duration, Instant};

use common::{Home, NONE, calls, line};
use lnk_report::{Apart, Note, Positions};

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(20)
}

fn apart(home: &Home) -> Apart {
    Apart::of_turns(home.place(), &Positions::default())
}

#[test]
fn what_is_kept_is_not_read_again_and_what_is_not_is() {
    let home = Home::new();
    let mut apart = apart(&home);
    assert_eq!(apart.collect(soon()), Err(Note::Failed), "nothing was begun");
    home.append(line(1));
    apart.begin();
    apart.begin();
    let first = apart.collect(soon()).unwrap();
    assert_eq!(calls(&first), [1]);
    apart.kept(&first.up_to);
    home.append(line(2));
    apart.begin();
    assert_eq!(calls(&apart.collect(soon()).unwrap()), [2]);
    apart.go_back();
    apart.begin();
    let again = apart.collect(soon()).unwrap();
    assert_eq!(calls(&again), [2]);
    apart.kept(&again.up_to);
    apart.begin();
    assert_eq!(calls(&apart.collect(soon()).unwrap()), NONE);
}

#[test]
fn a_read_under_way_is_thrown_away_when_what_came_before_it_is_to_be_read_again() {
    let home = Home::new();
    let mut apart = apart(&home);
    home.append(line(1));
    apart.begin();
    assert_eq!(calls(&apart.collect(soon()).unwrap()), [1]);
    home.append(line(2));
    apart.begin();
    apart.go_back();
    assert_eq!(apart.collect(soon()), Err(Note::NoAnswer));
    apart.begin();
    assert_eq!(calls(&apart.collect(soon()).unwrap()), [1, 2]);
}

#[cfg(target_os = "linux")]
mod never_answering {
    use super::*;
    use crate::common::not_tested;
    use std::fs::{File, OpenOptions};
    use std::os::fd::AsRawFd;
    use std::path::{Path, PathBuf};

    use lnk_report::{Place, Refused};
    use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};

    /// A FUSE file system whose program never answers, until it is dropped: then the kernel gives up on it.
    struct Silent {
        at: PathBuf,
        _program: File,
    }

    impl Silent {
        fn on(at: &Path) -> Option<Silent> {
            let program = OpenOptions::new().read(true).write(true).open("/dev/fuse").ok();
            let mounted = program.and_then(|program| {
                let options = format!("fd={},rootmode=40000,user_id=0,group_id=0", program.as_raw_fd());
                let options = std::ffi::CString::new(options).unwrap();
                mount("silent", at, "fuse", MountFlags::NOSUID, Some(options.as_c_str())).ok()?;
                Some(Silent { at: at.to_owned(), _program: program })
            });
            if mounted.is_none() {
                not_tested("a file system that never answers: only root mounts one");
            }
            mounted
        }
    }

    impl Drop for Silent {
        fn drop(&mut self) {
            unmount(&self.at, UnmountFlags::FORCE | UnmountFlags::DETACH).unwrap();
        }
    }

    #[test]
    fn a_home_on_it_delays_nobody() {
        let home = Home::new();
        let there = home.path().join("there");
        fs::create_dir(&there).unwrap();
        let Some(silent) = Silent::on(&there) else { return };
        let place = Place::below(&there, Path::new("sub/measures.jsonl")).unwrap();
        let mut apart = Apart::of_turns(place, &Positions::default());
        for _ in 0..3 {
            apart.begin();
            assert_eq!(apart.collect(Instant::now() + Duration::from_millis(50)), Err(Note::NoAnswer));
        }
        // Another agent's is read meanwhile.
        let other = Home::new();
        other.append(line(1));
        let mut beside = super::apart(&other);
        beside.begin();
        assert_eq!(calls(&beside.collect(soon()).unwrap()), [1]);
        drop(silent);
        // The read comes to its end, with what the kernel then says.
        let read = apart.collect(soon()).unwrap();
        assert!(matches!(read.notes[..], [Note::Refused(Refused::System(_))] | []), "{:?}", read.notes);
    }

    #[test]
    fn one_mounted_in_a_home_is_refused_at_once() {
        let home = Home::new();
        let Some(_silent) = Silent::on(&home.path().join(".lnk")) else { return };
        let mut apart = apart(&home);
        apart.begin();
        assert_eq!(apart.collect(soon()).unwrap().notes, [Note::Refused(Refused::OtherFileSystem)]);
    }
}
