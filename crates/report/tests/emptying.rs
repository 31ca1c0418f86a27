//! Emptied once read: never a line lost, never a line twice, whoever appends meanwhile. Linux alone says who writes.
#![cfg(target_os = "linux")]
#![allow(missing_docs, clippy::unwrap_used, reason = "tests")]

mod common;

use std::collections::HashSet;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, Instant};

use common::{Home, NONE, Seeded, append, calls, line, read_and_keep};
use lnk_report::{Positions, Reader};

fn is_empty(home: &Home) -> bool {
    fs::read_dir(home.path().join(".lnk")).unwrap().next().is_none()
}

#[test]
fn a_file_is_emptied_once_it_is_read_and_kept() {
    let home = Home::new();
    home.append(line(1));
    let mut reader = home.reader();
    for _ in 0..4 {
        reader.read();
    }
    assert!(home.file().exists(), "nothing was kept");
    for _ in 0..4 {
        assert_eq!(calls(&read_and_keep(&mut reader)), NONE);
    }
    assert!(is_empty(&home));
    home.append(line(2));
    assert_eq!(calls(&read_and_keep(&mut reader)), [2]);
    for _ in 0..4 {
        read_and_keep(&mut reader);
    }
    assert!(is_empty(&home));
    assert!(read_and_keep(&mut reader).up_to.is_empty(), "what is gone is forgotten");
}

#[test]
fn a_file_somebody_has_open_to_write_stays_until_it_is_closed() {
    let home = Home::new();
    let mut held = OpenOptions::new().create(true).append(true).open(home.file()).unwrap();
    let mut reader = home.reader();
    for n in 0..5 {
        held.write_all(line(n).as_bytes()).unwrap();
        assert_eq!(calls(&read_and_keep(&mut reader)), [n]);
        assert_eq!(calls(&read_and_keep(&mut reader)), NONE);
        assert!(home.file().exists());
    }
    drop(held);
    for _ in 0..4 {
        read_and_keep(&mut reader);
    }
    assert!(is_empty(&home));
}

#[test]
fn one_who_opened_it_before_it_was_moved_loses_nothing() {
    let home = Home::new();
    home.append(line(1));
    let mut reader = home.reader();
    assert_eq!(calls(&read_and_keep(&mut reader)), [1]);
    assert_eq!(calls(&read_and_keep(&mut reader)), NONE);
    assert!(!home.file().exists() && home.beside(".read").exists());
    // As if the open had been under way when the file was moved.
    let mut late = OpenOptions::new().append(true).open(home.beside(".read")).unwrap();
    for n in 2..6 {
        assert_eq!(calls(&read_and_keep(&mut reader)), NONE);
        late.write_all(line(n).as_bytes()).unwrap();
        home.append(line(n + 100));
        assert_eq!(calls(&read_and_keep(&mut reader)), [n, n + 100]);
    }
    late.write_all(line(9).as_bytes()).unwrap();
    drop(late);
    assert_eq!(calls(&read_and_keep(&mut reader)), [9], "appended after the last read: not removed with it");
    for _ in 0..6 {
        read_and_keep(&mut reader);
    }
    assert!(is_empty(&home));
}

#[test]
fn the_beginning_of_a_line_that_nobody_finishes_does_not_stay_for_ever() {
    let home = Home::new();
    home.append(line(1) + "{\"resourceMetr");
    let mut reader = home.reader();
    for _ in 0..5 {
        read_and_keep(&mut reader);
    }
    assert!(is_empty(&home));
}

#[test]
fn what_is_in_the_way_is_left_and_nothing_is_moved_over_it() {
    let home = Home::new();
    let victim = home.path().join("victim");
    fs::write(&victim, "theirs").unwrap();
    fs::hard_link(&victim, home.beside(".read")).unwrap();
    let mut reader = home.reader();
    for n in 0..5 {
        home.append(line(n));
        assert_eq!(calls(&read_and_keep(&mut reader)), [n]);
    }
    assert!(home.file().exists() && home.beside(".read").exists());
    assert_eq!(fs::read_to_string(victim).unwrap(), "theirs");
}

#[test]
fn a_file_that_got_another_name_meanwhile_is_not_touched() {
    for after in 0..3 {
        let (home, other) = (Home::new(), tempfile::tempdir().unwrap());
        let other = other.path().join("other");
        home.append(line(1));
        let mut reader = home.reader();
        for _ in 0..after {
            read_and_keep(&mut reader);
        }
        let name = if home.file().exists() { home.file() } else { home.beside(".read") };
        fs::hard_link(&name, &other).unwrap();
        for _ in 0..5 {
            assert!(!read_and_keep(&mut reader).notes.is_empty(), "after {after}");
        }
        assert_eq!(fs::read_to_string(&other).unwrap(), line(1));
        assert!(name.exists(), "after {after}");
    }
}

/// What the threads of a test of full speed share.
struct Race {
    home: Home,
    stop: AtomicBool,
    next: AtomicU64,
    looks: AtomicU64,
    counted: AtomicU64,
}

/// How many lines the writers may be ahead: a reader built without optimisation would never come to the end of a file.
const MOST_AHEAD: u64 = 5000;

impl Race {
    fn new() -> Race {
        let [next, looks, counted] = [0, 0, 0].map(AtomicU64::new);
        Race { home: Home::new(), stop: AtomicBool::new(false), next, looks, counted }
    }

    fn line(&self) -> String {
        let n = self.next.fetch_add(1, SeqCst);
        while n > self.counted.load(SeqCst) + MOST_AHEAD && !self.stop.load(SeqCst) {
            thread::yield_now();
        }
        line(n)
    }

    /// Opens, appends, closes: each line by whoever has the name then.
    fn write_by_name(&self) {
        while !self.stop.load(SeqCst) {
            append(&self.home.file(), self.line());
        }
    }

    /// Keeps the file open for a while; past a size it moves it aside, as a harness does, but never twice between two
    /// looks: a whole file that nobody looked at can't be read.
    fn write_held(&self) {
        let mut moved_at = 0;
        while !self.stop.load(SeqCst) {
            let mut held = OpenOptions::new().create(true).append(true).open(self.home.file()).unwrap();
            for _ in 0..500 {
                held.write_all(self.line().as_bytes()).unwrap();
            }
            let looks = self.looks.load(SeqCst);
            if looks > moved_at + 2 && held.metadata().unwrap().len() > 128 << 10 {
                // Another may have moved it already.
                let _ = fs::rename(self.home.file(), self.home.beside(".1"));
                moved_at = self.looks.load(SeqCst);
            }
            held.write_all(self.line().as_bytes()).unwrap();
        }
    }
}

#[derive(Default)]
struct Counted {
    lines: Vec<u64>,
    files: HashSet<String>,
}

impl Counted {
    fn take(&mut self, read: &lnk_report::Read) {
        self.lines.extend(calls(read));
        let file = |text: String| text.split('.').take(3).map(str::to_owned).collect::<Vec<_>>().join(".");
        self.files.extend(read.up_to.to_texts().into_iter().map(file));
    }

    fn assert_each_once(mut self, written: u64) {
        let count = self.lines.len();
        self.lines.sort_unstable();
        self.lines.dedup();
        assert_eq!(count, self.lines.len(), "lines were counted twice");
        let lost = (0..written).find(|n| self.lines.binary_search(n).is_err());
        assert_eq!(lost, None, "lines were lost, of {written}");
        assert_eq!(self.lines.len() as u64, written, "nobody wrote some of the lines");
    }
}

/// Stops the writers also where an assertion fails: nobody would end the test otherwise.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, SeqCst);
    }
}

/// Looks until the writers are told to stop. A look says whether it was kept: one that wasn't doesn't count as one.
fn look_on(race: &Race, mut look: impl FnMut(&mut Counted) -> bool) -> Counted {
    let _stop = Stop(&race.stop);
    let (mut counted, start) = (Counted::default(), Instant::now());
    let is_longer = |seconds| start.elapsed() > Duration::from_secs(seconds);
    // On a busy machine it takes longer until a file has been emptied a few times.
    while !is_longer(3) || (counted.files.len() <= 3 && !is_longer(60)) {
        let is_kept = look(&mut counted);
        race.counted.store(counted.lines.len() as u64, SeqCst);
        race.looks.fetch_add(u64::from(is_kept), SeqCst);
    }
    counted
}

fn drain(reader: &mut Reader, counted: &mut Counted) {
    let mut quiet = 0;
    while quiet < 6 {
        let read = read_and_keep(reader);
        quiet = if read.turns.is_empty() { quiet + 1 } else { 0 };
        counted.take(&read);
    }
}

#[test]
fn at_full_speed_every_line_is_counted_once_while_the_file_is_emptied_and_moved_aside() {
    let race = Race::new();
    let mut reader = race.home.reader();
    let mut counted = thread::scope(|scope| {
        scope.spawn(|| race.write_by_name());
        scope.spawn(|| race.write_by_name());
        scope.spawn(|| race.write_held());
        look_on(&race, |counted| {
            counted.take(&read_and_keep(&mut reader));
            true
        })
    });
    drain(&mut reader, &mut counted);
    let written = race.next.load(SeqCst);
    assert!(counted.files.len() > 3, "only {} files in {written} lines", counted.files.len());
    counted.assert_each_once(written);
}

#[test]
fn at_full_speed_every_line_is_counted_once_whenever_the_reader_ends() {
    let race = Race::new();
    let (mut reader, mut kept, mut random) = (race.home.reader(), Positions::default(), Seeded(7));
    let mut counted = thread::scope(|scope| {
        scope.spawn(|| race.write_by_name());
        scope.spawn(|| race.write_by_name());
        scope.spawn(|| race.write_held());
        look_on(&race, |counted| {
            let read = reader.read();
            match random.below(4) {
                // It ends before its line is written: what it read is nowhere.
                0 => {
                    reader = race.home.reader_from(&kept);
                    return false;
                }
                // Right after.
                1 => {
                    counted.take(&read);
                    kept = read.up_to;
                    reader = race.home.reader_from(&kept);
                }
                _ => {
                    counted.take(&read);
                    reader.kept(&read.up_to);
                    kept = read.up_to;
                }
            }
            true
        })
    });
    reader = race.home.reader_from(&kept);
    drain(&mut reader, &mut counted);
    let written = race.next.load(SeqCst);
    assert!(counted.files.len() > 3, "only {} files in {written} lines", counted.files.len());
    counted.assert_each_once(written);
    assert!(File::open(race.home.file()).is_err(), "emptied at the end");
}

/// What a harness that moves its file aside and a watcher share.
#[derive(Default)]
struct Pace {
    moves: AtomicU64,
    looks: AtomicU64,
    /// The harness waits for a look.
    waits: AtomicBool,
    ended: AtomicBool,
}

const LINES: u64 = 200_000;

/// Writes as fast as it can into a file it keeps open, which it moves aside past 1 MiB. At most twice between two looks:
/// a whole file that no look ever found can't be read.
fn write_and_move(home: &Home, pace: &Pace) {
    let open = || OpenOptions::new().create(true).append(true).open(home.file()).unwrap();
    let _ended = Stop(&pace.ended);
    // As if it had been moved once already: no look has found the first file yet.
    let (mut file, mut bytes, mut moves, mut looks) = (open(), 0, 1, 0);
    for n in 0..LINES {
        let line = line(n);
        file.write_all(line.as_bytes()).unwrap();
        bytes += line.len();
        if bytes < 1 << 20 {
            continue;
        }
        if moves == 2 {
            pace.waits.store(true, SeqCst);
            // The one under way may have begun before the last move.
            while pace.looks.load(SeqCst) < looks + 2 && !pace.ended.load(SeqCst) {
                thread::yield_now();
            }
            pace.waits.store(false, SeqCst);
            moves = 0;
        }
        fs::rename(home.file(), home.beside(".1")).unwrap();
        (file, bytes, moves, looks) = (open(), 0, moves + 1, pace.looks.load(SeqCst));
        pace.moves.fetch_add(1, SeqCst);
    }
}

#[test]
fn two_hundred_thousand_lines_are_counted_once_while_their_file_is_moved_aside_twice_between_looks() {
    let (home, pace) = (Home::new(), Pace::default());
    let (mut reader, mut counted, mut twice) = (home.reader(), Counted::default(), 0);
    thread::scope(|scope| {
        let _stop = Stop(&pace.ended);
        scope.spawn(|| write_and_move(&home, &pace));
        let mut seen = 0;
        for look in 0.. {
            // Every other look comes after two moves, if it may.
            let may_wait = || !pace.waits.load(SeqCst) && !pace.ended.load(SeqCst);
            while look % 2 == 0 && pace.moves.load(SeqCst) < seen + 2 && may_wait() {
                thread::yield_now();
            }
            let (moves, has_ended) = (pace.moves.load(SeqCst), pace.ended.load(SeqCst));
            counted.take(&read_and_keep(&mut reader));
            pace.looks.fetch_add(1, SeqCst);
            twice += u64::from(moves >= seen + 2);
            seen = moves;
            if has_ended {
                break;
            }
        }
    });
    drain(&mut reader, &mut counted);
    // How often is the scheduler's to say.
    assert!(twice > 0, "never moved aside twice between looks");
    counted.assert_each_once(LINES);
}
