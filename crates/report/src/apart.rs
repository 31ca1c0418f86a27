//! A reader on a thread of its own, for a caller that must not wait: a file system may never answer (FUSE, NFS), and no
//! deadline reaches into the kernel.

use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Instant;

use crate::note::Note;
use crate::open::Place;
use crate::position::Positions;
use crate::reader::{Lines, Read, Reader};

/// Enough for a reader, whose lines and pieces are on the heap.
const STACK_BYTES: usize = 256 << 10;

/// A [`Reader`] that reads apart from its caller. First [`Apart::begin`] on all there are, then [`Apart::collect`] each
/// with one deadline for all. A thread lives for one read; one whose file system never answers is left behind, alone.
#[derive(Debug)]
pub struct Apart {
    place: Place,
    lines: Lines,
    state: State,
    /// What was last said to be kept: a reader whose thread ended is made anew from here.
    kept: Positions,
    /// The read under way began behind lines that are to be read again.
    behind: bool,
}

#[derive(Debug)]
enum State {
    Here(Box<Reader>),
    Reading(Receiver<(Box<Reader>, Read)>),
    /// The thread ended without giving the reader back.
    Lost,
}

impl Apart {
    /// As [`Reader::of_turns`].
    pub fn of_turns(place: Place, from: &Positions) -> Apart {
        Apart::new(place, from, Lines::Turns)
    }

    /// As [`Reader::of_times`].
    pub fn of_times(place: Place, from: &Positions, after: f64) -> Apart {
        Apart::new(place, from, Lines::Times(after))
    }

    fn new(place: Place, from: &Positions, lines: Lines) -> Apart {
        let reader = Reader::new(place.clone(), from, lines);
        Apart { place, lines, state: State::Here(Box::new(reader)), kept: from.clone(), behind: false }
    }

    /// Begins to read, unless an earlier read hasn't come to its end.
    pub fn begin(&mut self) {
        let mut reader = match std::mem::replace(&mut self.state, State::Lost) {
            State::Here(reader) => reader,
            State::Lost => Box::new(Reader::new(self.place.clone(), &self.kept, self.lines)),
            reading @ State::Reading(_) => return self.state = reading,
        };
        reader.kept(&self.kept);
        let (send, receive) = channel();
        let read = move || {
            let read = reader.read();
            // Nobody is there to get it where the caller is gone; then nothing was kept either.
            let _ = send.send((reader, read));
        };
        if thread::Builder::new().name("lnk-report".to_owned()).stack_size(STACK_BYTES).spawn(read).is_ok() {
            self.state = State::Reading(receive);
        }
    }

    /// What was read.
    ///
    /// # Errors
    /// [`Note::NoAnswer`] where the read hasn't come to its end by then; a later call gives it, so nothing is lost.
    /// [`Note::Failed`] where none was begun, or its thread ended; what that read is read again.
    pub fn collect(&mut self, until: Instant) -> Result<Read, Note> {
        let State::Reading(receive) = &self.state else { return Err(Note::Failed) };
        match receive.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok((reader, read)) => {
                self.state = State::Here(reader);
                // It went on behind what was to be read again.
                if self.behind {
                    self.go_back();
                    return Err(Note::NoAnswer);
                }
                Ok(read)
            }
            Err(RecvTimeoutError::Timeout) => Err(Note::NoAnswer),
            Err(RecvTimeoutError::Disconnected) => {
                self.state = State::Lost;
                Err(Note::Failed)
            }
        }
    }

    /// As [`Reader::kept`]; told to the reader with its next read.
    pub fn kept(&mut self, up_to: &Positions) {
        up_to.clone_into(&mut self.kept);
    }

    /// As [`Reader::go_back`], back to what was last said to be kept; a read under way is thrown away.
    pub fn go_back(&mut self) {
        self.behind = matches!(self.state, State::Reading(_));
        if let State::Here(reader) = &mut self.state {
            reader.kept(&self.kept);
            reader.go_back();
        }
    }
}
