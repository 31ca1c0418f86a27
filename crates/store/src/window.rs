//! Reading a time back from whatever mix of looks and minutes, plain and compressed, it is kept in.
//!
//! A minute's line says which fine file its looks are in. Where that file is there, its looks are read and the minute
//! is not; so nothing is read twice whatever the clock did.

use std::collections::BTreeMap;
use std::path::Path;

use lnk_schema::UnitId;

use crate::cache::{Cached, read_day_file};
use crate::carry::{LineReader, Registry};
use crate::day::Day;
use crate::error::StoreError;
use crate::files::{Files, RealFiles};
use crate::load::{Found, folder_of, list_spans, load, plain_path};
use crate::side::side_by_side;
use crate::span::{DAY_MS, Part, Span};
use crate::sums::{LOOK_BACK_MS, Tally, Window};

/// The 24 hours up to `at_ms` of what is kept in the measure folder `folder`.
///
/// `of`: only this agent and its processes, with the day's 24 hours as slices. A damaged line or file costs itself and
/// is told in [`Day::skipped`].
///
/// # Errors
/// A folder is there and can't be read.
pub fn read_day(folder: &Path, at_ms: u64, of: Option<&UnitId>) -> Result<Day, StoreError> {
    read_day_with(&RealFiles, folder, at_ms, of)
}

/// [`read_day`], with files that may be made to fail.
///
/// # Errors
/// A folder is there and can't be read.
pub fn read_day_with(files: &dyn Files, folder: &Path, at_ms: u64, of: Option<&UnitId>) -> Result<Day, StoreError> {
    let window =
        Window { from_ms: Some(at_ms.saturating_sub(DAY_MS)), to_ms: at_ms, slices: if of.is_some() { 24 } else { 1 } };
    let cached = || if of.is_none() { read_day_file(files, folder, at_ms) } else { Cached::default() };
    Reading { files, folder, window, of, newest: [None; 2] }.read(cached, of.is_some())
}

/// Any time of what is kept, after `from_ms` and up to `to_ms`, in equal slices.
///
/// # Errors
/// A folder is there and can't be read.
pub fn read_slices(
    folder: &Path,
    from_ms: u64,
    to_ms: u64,
    slices: usize,
    of: Option<&UnitId>,
) -> Result<Day, StoreError> {
    let window = Window { from_ms: Some(from_ms), to_ms: to_ms.max(from_ms), slices: slices.max(1) };
    Reading { files: &RealFiles, folder, window, of, newest: [None; 2] }.read(Cached::default, true)
}

/// What is read, and of whom.
#[derive(Clone, Copy)]
struct Reading<'a> {
    files: &'a dyn Files,
    folder: &'a Path,
    window: Window,
    of: Option<&'a UnitId>,
    /// The newest file of each part.
    newest: [Option<Span>; 2],
}

/// What was read: units added up, and what was passed over.
struct Read {
    ids: Registry,
    tally: Tally,
    skipped: Vec<String>,
    /// Files that were listed and had gone when they were to be read.
    gone: usize,
}

/// How often what is kept is listed anew where files had gone. One goes an hour: past this it isn't the watcher's doing,
/// and what there is has to do.
const LISTED_AGAIN: usize = 3;

/// Whether an ID is an agent's, or one of its processes'.
fn belongs(id: &[u8], agent: &UnitId) -> bool {
    let rest = id.strip_prefix(agent.as_str().as_bytes());
    rest.is_some_and(|rest| {
        rest.is_empty() || rest.strip_prefix(b"/").is_some_and(|pid| pid.iter().all(u8::is_ascii_digit))
    })
}

impl Read {
    fn new(tally: Tally) -> Read {
        Read { ids: Registry::default(), tally, skipped: Vec::new(), gone: 0 }
    }

    /// Adds a part that lies after all that was added so far.
    fn join(&mut self, part: Read) {
        let Tally { units, looks, last_ms, times, .. } = part.tally;
        for (id, later) in part.ids.ids().iter().zip(units) {
            if let Some(number) = self.ids.number(id.as_str().as_bytes()) {
                self.tally.join(number, later);
            }
        }
        self.tally.joined(looks, last_ms, times);
        self.skipped.extend(part.skipped);
        self.gone += part.gone;
    }
}

impl Reading<'_> {
    fn read(self, cached: impl Fn() -> Cached, with_slices: bool) -> Result<Day, StoreError> {
        let mut read = self.read_once(&cached())?;
        for _ in 0..LISTED_AGAIN {
            // The looks of a file that was deleted meanwhile are in minutes, which were passed over for it.
            if read.gone == 0 {
                break;
            }
            read = self.read_once(&cached())?;
        }
        Ok(Day::of(read.tally, &read.ids, with_slices, read.skipped))
    }

    fn read_once(mut self, cached: &Cached) -> Result<Read, StoreError> {
        let earliest = self.window.from_ms.unwrap_or(0).saturating_sub(LOOK_BACK_MS);
        let (fine, minutes) = (self.spans(Part::Fine)?, self.spans(Part::Minutes)?);
        self.newest = [&fine, &minutes].map(|spans| spans.keys().next_back().copied());
        let first = Part::Fine.span_of(earliest);
        // A wrong clock's looks may lie in files named later than the time asked for, but never earlier.
        let spans: Vec<_> = fine.range(first..).map(|(span, _)| *span).collect();
        // What `day.json` has of each file, and what its lines say after that.
        let parts = side_by_side(&spans, |span| {
            let reach = cached.reach(*span, &self.window);
            (reach.is_some(), (reach != Some(u64::MAX)).then(|| self.fine(*span, reach)))
        });
        let mut left = spans.into_iter().zip(parts).peekable();
        let mut read = Read::new(Tally::new(self.window));
        let join = |read: &mut Read, (span, (is_cached, part)): (Span, (bool, Option<Read>))| {
            if is_cached {
                cached.join(span, &mut read.ids, &mut read.tally);
            }
            if let Some(part) = part {
                read.join(part);
            }
        };
        let is_whole = (first..=Part::Fine.span_of(self.window.to_ms)).all(|span| fine.contains_key(&span));
        for (span, _) in minutes.range(Part::Minutes.span_of(earliest)..).filter(|_| !is_whole) {
            self.minutes(*span, &mut read, |read, fine_span| {
                while let Some(before) = left.next_if(|(span, _)| *span < fine_span) {
                    join(read, before);
                }
                !fine.contains_key(&fine_span)
            });
        }
        left.for_each(|part| join(&mut read, part));
        Ok(read)
    }

    fn spans(&self, part: Part) -> Result<BTreeMap<Span, Found>, StoreError> {
        list_spans(self.files, self.folder, part).map_err(StoreError::at(&folder_of(self.folder, part), "list"))
    }

    /// Adds a file of minutes, but those of a fine file for which `begin`, called before each with what was read so far,
    /// says no.
    fn minutes(&self, span: Span, read: &mut Read, mut begin: impl FnMut(&mut Read, Span) -> bool) {
        self.lines(Part::Minutes, span, read, |read, reader, _| {
            let look = reader.look();
            let fine_span = look.source.map_or(Part::Fine.span_of(look.at_ms), |(span, _)| span);
            if begin(read, fine_span) {
                read.tally.look(&look);
            }
        });
    }

    /// A fine file's lines, those that end after `after` where some of it is summed up already.
    fn fine(&self, span: Span, after: Option<u64>) -> Read {
        let mut read = Read::new(Tally::part(self.window));
        self.lines(Part::Fine, span, &mut read, |read, reader, end| {
            if after.is_none_or(|after| end > after) {
                read.tally.look(&reader.look());
            }
        });
        read
    }

    /// Reads a file's looks; `each` is called with each and with where in the file it ends. A file that can't be read is
    /// told and costs itself.
    fn lines(&self, part: Part, span: Span, read: &mut Read, mut each: impl FnMut(&mut Read, &LineReader, u64)) {
        let path = plain_path(self.folder, part, span);
        let frames = match load(self.files, self.folder, part, span).map_err(StoreError::at(&path, "read")) {
            Ok(frames) => {
                read.gone += usize::from(frames.is_empty());
                frames
            }
            Err(error) => {
                read.skipped.push(error.to_string());
                Vec::new()
            }
        };
        let mut reader = LineReader::default();
        let mut start = 0;
        for frame in &frames {
            let Some(bytes) = frame else {
                reader.skip_frame();
                continue;
            };
            let mut at = 0;
            while self.next(&mut reader, bytes, &mut at, &mut read.ids) {
                each(read, &reader, start + at as u64);
            }
            self.note_torn(part, span, at < bytes.len(), &mut read.skipped);
            start += bytes.len() as u64;
        }
        note(part, span, &reader, &mut read.skipped);
    }

    fn next(&self, reader: &mut LineReader, bytes: &[u8], at: &mut usize, ids: &mut Registry) -> bool {
        match self.of {
            None => reader.next(bytes, at, ids, &|_| true),
            Some(agent) => reader.next(bytes, at, ids, &|id| belongs(id, agent)),
        }
    }

    /// What stands after the last whole line is the look under way in the newest file, and a fault in any other.
    fn note_torn(&self, part: Part, span: Span, is_torn: bool, skipped: &mut Vec<String>) {
        if is_torn && self.newest[part as usize] != Some(span) {
            skipped.push(format!("{}: its last line is cut off and left out", file_name(part, span)));
        }
    }
}

fn note(part: Part, span: Span, reader: &LineReader, into: &mut Vec<String>) {
    let skipped = &reader.skipped;
    if skipped.lines > 0 {
        into.push(format!(
            "{}: {} places can't be read, the first after line {}; they are left out",
            file_name(part, span),
            skipped.lines,
            skipped.after
        ));
    }
    if skipped.entries > 0 {
        into.push(format!(
            "{}: {} entries have no ID that can be one; they are left out",
            file_name(part, span),
            skipped.entries
        ));
    }
}

/// A span's file as a message names it.
pub(crate) fn file_name(part: Part, span: Span) -> String {
    format!("{}/{}.jsonl", part.folder(), part.name(span))
}
