//! Reading what was appended since the last look.

use std::collections::BTreeSet;

use crate::files::{Files, Followed, Handling, NOTHING_YET, size_of};
use crate::lines::{MOST_A_LOOK, is_still, read_on};
use crate::note::{Note, Refused};
use crate::open::Place;
use crate::otlp::parse_turn;
use crate::position::Positions;
use crate::times::parse_time;
use crate::turn::Turn;

/// What one look read.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Read {
    /// Each line's values, oldest first.
    pub turns: Vec<Turn>,
    /// How far everything has now been read: to be kept in one write with what the turns come to.
    pub up_to: Positions,
    /// What went wrong, each once.
    pub notes: Vec<Note>,
    /// How many lines were stepped over: too long, or not as they should be.
    pub passed_over: u64,
}

/// What the lines are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Lines {
    /// A harness's turns.
    Turns,
    /// Starts and stops. Of a file not known before, only those later than this, in seconds since 1970, count.
    Times(f64),
}

/// Reads one agent's file on from look to look, whatever its owner does with it meanwhile.
///
/// It reads on from where it left off, at most 4 MiB a look. What it read is the caller's to keep, together with
/// [`Read::up_to`]; once both are, [`Reader::kept`] says so, and only then is anything emptied. A reader made anew from
/// the positions last kept goes on there, so nothing is counted twice and nothing left out, wherever the other ended.
///
/// Each of its calls may take as long as the file system does: [`Apart`](crate::Apart) has them on another thread.
#[derive(Debug)]
pub struct Reader {
    files: Files,
    lines: Lines,
    buffer: Vec<u8>,
}

impl Reader {
    /// A reader of a harness's turns, which are emptied once read. Reads on from `from`, the positions last kept.
    pub fn of_turns(place: Place, from: &Positions) -> Reader {
        Reader::new(place, from, Lines::Turns)
    }

    /// A reader of a harness's turns beside the one that empties their file: it changes nothing.
    pub(crate) fn beside(place: Place) -> Reader {
        let files = Files::new(place, Handling::IsOthers, &Positions::default());
        Reader { files, lines: Lines::Turns, buffer: Vec::new() }
    }

    /// A reader of starts and stops, `times.jsonl`, which is only read. Of a file that `from` doesn't know, only lines
    /// later than `after` count, in seconds since 1970: those before it happened unwatched.
    pub fn of_times(place: Place, from: &Positions, after: f64) -> Reader {
        Reader::new(place, from, Lines::Times(after))
    }

    pub(crate) fn new(place: Place, from: &Positions, lines: Lines) -> Reader {
        let handling = if lines == Lines::Turns { Handling::IsEmptied } else { Handling::Stays };
        Reader { files: Files::new(place, handling, from), lines, buffer: Vec::new() }
    }

    /// Reads what was appended since the last read.
    pub fn read(&mut self) -> Read {
        let mut look = Look { lines: self.lines, turns: Vec::new(), notes: BTreeSet::new(), passed_over: 0 };
        self.files.look(&mut |note| _ = look.notes.insert(note));
        let mut budget = MOST_A_LOOK;
        for followed in &mut self.files.followed {
            if let Err(why) = look.read(followed, &mut budget, &mut self.buffer) {
                look.notes.insert(Note::Refused(why));
            }
        }
        // A hundred agents' buffers would be kept for the few looks a minute that need one.
        self.buffer = Vec::new();
        Read {
            turns: look.turns,
            up_to: self.files.positions(),
            notes: look.notes.into_iter().collect(),
            passed_over: look.passed_over,
        }
    }

    /// These positions, of an earlier read, are in a line that was kept.
    pub fn kept(&mut self, up_to: &Positions) {
        self.files.kept(up_to);
    }

    /// What was read since those positions could not be kept: it is read again.
    pub fn go_back(&mut self) {
        self.files.go_back();
    }
}

/// A look under way.
struct Look {
    lines: Lines,
    turns: Vec<Turn>,
    notes: BTreeSet<Note>,
    passed_over: u64,
}

impl Look {
    fn read(&mut self, followed: &mut Followed, budget: &mut u64, buffer: &mut Vec<u8>) -> Result<(), Refused> {
        let system = |error: std::io::Error| Refused::System(error.kind());
        let Followed { file, at, to_end_at, .. } = followed;
        *to_end_at = None;
        let Some(file) = file else { return Ok(()) };
        let size = size_of(file)?;
        if !is_still(file, size, at.progress).map_err(system)? {
            *at = NOTHING_YET;
            self.notes.insert(Note::BegunAnew);
        }
        let (before, read_before, fresh) = (at.progress, self.turns.len(), at.fresh);
        match read_on(file, &mut at.progress, budget, buffer, &mut |line| self.take(line, fresh)) {
            Ok(passed) => {
                if passed.long > 0 {
                    self.notes.insert(Note::LongLine);
                }
                self.passed_over += passed.long;
                *to_end_at = passed.to_end_at;
                at.fresh &= to_end_at.is_none();
                Ok(())
            }
            Err(error) => {
                // Lines that the position is not behind come again.
                if at.progress == before {
                    self.turns.truncate(read_before);
                }
                Err(system(error))
            }
        }
    }

    fn take(&mut self, line: &[u8], fresh: bool) {
        if line.iter().all(u8::is_ascii_whitespace) {
            return;
        }
        let turn = match self.lines {
            Lines::Turns => parse_turn(line).map(|said| {
                if said.left_out {
                    self.notes.insert(Note::OutOfBounds);
                }
                Some(said.turn).filter(|turn| !turn.0.is_empty())
            }),
            Lines::Times(after) => parse_time(line).map(|(at, turn)| {
                if turn.is_none() {
                    self.notes.insert(Note::OutOfBounds);
                }
                turn.filter(|_| !fresh || at > after)
            }),
        };
        if let Ok(turn) = turn {
            self.turns.extend(turn);
        } else {
            self.notes.insert(Note::BadLine);
            self.passed_over += 1;
        }
    }
}
