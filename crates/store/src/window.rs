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
    let cached = if of.is_none() { read_day_file(files, folder, at_ms) } else { Cached::default() };
    Reading::new(files, folder, window, of, cached).read(of.is_some())
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
    Reading::new(&RealFiles, folder, window, of, Cached::default()).read(true)
}

struct Reading<'a> {
    files: &'a dyn Files,
    folder: &'a Path,
    of: Option<&'a UnitId>,
    cached: Cached,
    ids: Registry,
    tally: Tally,
    skipped: Vec<String>,
    newest: [Option<Span>; 2],
}

/// Whether an ID is an agent's, or one of its processes'.
fn belongs(id: &[u8], agent: &UnitId) -> bool {
    let rest = id.strip_prefix(agent.as_str().as_bytes());
    rest.is_some_and(|rest| {
        rest.is_empty() || rest.strip_prefix(b"/").is_some_and(|pid| pid.iter().all(u8::is_ascii_digit))
    })
}

impl<'a> Reading<'a> {
    fn new(files: &'a dyn Files, folder: &'a Path, window: Window, of: Option<&'a UnitId>, cached: Cached) -> Self {
        let (ids, tally) = (Registry::default(), Tally::new(window));
        Reading { files, folder, of, cached, ids, tally, skipped: Vec::new(), newest: [None; 2] }
    }

    fn spans(&self, part: Part) -> Result<BTreeMap<Span, Found>, StoreError> {
        list_spans(self.files, self.folder, part).map_err(StoreError::at(&folder_of(self.folder, part), "list"))
    }

    fn read(mut self, with_slices: bool) -> Result<Day, StoreError> {
        let earliest = self.tally.window.from_ms.unwrap_or(0).saturating_sub(LOOK_BACK_MS);
        let (fine, minutes) = (self.spans(Part::Fine)?, self.spans(Part::Minutes)?);
        self.newest = [&fine, &minutes].map(|spans| spans.keys().next_back().copied());
        let first = Part::Fine.span_of(earliest);
        let mut left = fine.range(first..).map(|(span, _)| *span).peekable();
        // A wrong clock's looks may lie in files named later than the time asked for, but never earlier.
        let is_whole = (first..=Part::Fine.span_of(self.tally.window.to_ms)).all(|span| fine.contains_key(&span));
        let of_minutes = minutes.range(Part::Minutes.span_of(earliest)..).filter(|_| !is_whole);
        let mut reader = LineReader::default();
        for (minutes_span, _) in of_minutes {
            let frames = self.load(Part::Minutes, *minutes_span);
            reader.begin();
            for frame in &frames {
                let mut at = 0;
                let Some(bytes) = frame else {
                    reader.skip_frame();
                    continue;
                };
                while self.next(&mut reader, bytes, &mut at) {
                    let look = reader.look();
                    let span = look.source.map_or(Part::Fine.span_of(look.at_ms), |(span, _)| span);
                    while let Some(fine_span) = left.next_if(|fine_span| *fine_span < span) {
                        self.fine(fine_span);
                    }
                    if !fine.contains_key(&span) {
                        self.tally.look(&look);
                    }
                }
                self.note_torn(Part::Minutes, *minutes_span, bytes, at);
            }
            self.note(Part::Minutes, *minutes_span, &reader);
        }
        for span in left {
            self.fine(span);
        }
        Ok(Day::of(self.tally, &self.ids, with_slices, self.skipped))
    }

    /// A file's bytes; one that can't be read is told and costs itself.
    fn load(&mut self, part: Part, span: Span) -> Vec<Option<Vec<u8>>> {
        let path = plain_path(self.folder, part, span);
        load(self.files, self.folder, part, span).map_err(StoreError::at(&path, "read")).unwrap_or_else(|error| {
            self.skipped.push(error.to_string());
            Vec::new()
        })
    }

    fn next(&mut self, reader: &mut LineReader, bytes: &[u8], at: &mut usize) -> bool {
        match self.of {
            None => reader.next(bytes, at, &mut self.ids, &|_| true),
            Some(agent) => reader.next(bytes, at, &mut self.ids, &|id| belongs(id, agent)),
        }
    }

    /// Adds a fine file: as it was summed up before, as far as that goes, then its lines.
    fn fine(&mut self, span: Span) {
        let from = self.cached.join(span, &mut self.ids, &mut self.tally);
        if from == Some(u64::MAX) {
            return;
        }
        let frames = self.load(Part::Fine, span);
        let mut reader = LineReader::default();
        let mut start = 0;
        for frame in &frames {
            let Some(bytes) = frame else {
                reader.skip_frame();
                continue;
            };
            let mut at = 0;
            while self.next(&mut reader, bytes, &mut at) {
                if from.is_none_or(|from| start + at as u64 > from) {
                    self.tally.look(&reader.look());
                }
            }
            self.note_torn(Part::Fine, span, bytes, at);
            start += bytes.len() as u64;
        }
        self.note(Part::Fine, span, &reader);
    }

    /// What stands after the last whole line is the look under way in the newest file, and a fault in any other.
    fn note_torn(&mut self, part: Part, span: Span, bytes: &[u8], whole: usize) {
        if whole < bytes.len() && self.newest[part as usize] != Some(span) {
            self.skipped.push(format!("{}: its last line is cut off and left out", file_name(part, span)));
        }
    }

    fn note(&mut self, part: Part, span: Span, reader: &LineReader) {
        let skipped = &reader.skipped;
        if skipped.lines > 0 {
            self.skipped.push(format!(
                "{}: {} places can't be read, the first after line {}; they are left out",
                file_name(part, span),
                skipped.lines,
                skipped.after
            ));
        }
        if skipped.entries > 0 {
            self.skipped.push(format!(
                "{}: {} entries have no ID that can be one; they are left out",
                file_name(part, span),
                skipped.entries
            ));
        }
    }
}

/// A span's file as a message names it.
pub(crate) fn file_name(part: Part, span: Span) -> String {
    format!("{}/{}.jsonl", part.folder(), part.name(span))
}
