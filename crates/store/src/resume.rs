//! What a start finds: the newest files, what the last look counted up to, and which looks have no minute yet.

use std::io::Error;
use std::path::Path;

use lnk_schema::{Measure, UnitId};
use rustix::io::Errno;

use crate::append::Newest;
use crate::cache::{LineName, read_counted};
use crate::carry::{LineReader, Registry};
use crate::error::StoreError;
use crate::files::{Files, retried};
use crate::live::Live;
use crate::load::{folder_of, list_spans, load, plain_path};
use crate::numbers::{TOTALS, bit, to_value};
use crate::span::{Part, Span};
use crate::window::file_name;
use crate::write::{Source, columns};

/// What was kept before this start.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct Resumed {
    /// `c` of the last look: what each counter had been read to. `None`: there is none that is surely the last.
    pub counted: Option<String>,
    /// The time of the last look, in milliseconds since 1970.
    pub last_look_ms: Option<u64>,
    /// Each unit's totals as its last line in the newest file has them.
    pub totals: Vec<LastTotals>,
    /// What was found and mended or passed over, a sentence each.
    pub notes: Vec<String>,
}

/// A unit's last totals.
#[derive(Debug, Clone, PartialEq)]
pub struct LastTotals {
    /// The unit.
    pub id: UnitId,
    /// When they began, in nanoseconds since 1970.
    pub since_ns: Option<u64>,
    /// Each there is, in the measure's unit.
    pub totals: Vec<(Measure, f64)>,
}

/// The newest file of a part; a torn line at its end is cut off. `None`: the part has no file.
pub(crate) fn find_newest(
    files: &dyn Files,
    folder: &Path,
    part: Part,
    notes: &mut Vec<String>,
) -> Result<Option<Newest>, StoreError> {
    let spans = list_spans(files, folder, part).map_err(StoreError::at(&folder_of(folder, part), "list"))?;
    let Some((&span, found)) = spans.last_key_value() else { return Ok(None) };
    let read = || -> std::io::Result<Newest> {
        let mut reader = LineReader::default();
        let mut ids = Registry::default();
        let mut last_ms = None;
        let mut len = 0;
        for bytes in load(files, folder, part, span)?.iter().flatten() {
            len = 0;
            while reader.next(bytes, &mut len, &mut ids, &|_| false) {
                last_ms = Some(reader.look().at_ms);
            }
        }
        let last_ms = last_ms.unwrap_or(span * part.span_ms());
        if found.packed {
            // Closed already: what comes next begins a file of its own.
            return Ok(Newest { span: span + 1, last_ms, len: 0, headed: false });
        }
        Ok(Newest { span, last_ms, len: len as u64, headed: reader.has_columns(columns()) })
    };
    let path = plain_path(folder, part, span);
    let newest = match read() {
        Err(error) if !is_shortage(&error) => {
            // It may be whole but for what reads it, so it is let be. Lines go on in a file of their own.
            notes.push(format!("{}; what comes now goes to a file of its own", StoreError::at(&path, "read")(error)));
            let last_ms = span * part.span_ms();
            return Ok(Some(Newest { span: span + 1, last_ms, len: 0, headed: false }));
        }
        newest => newest.map_err(StoreError::at(&path, "read"))?,
    };
    if newest.span == span {
        let torn = cut_torn(files, &path, newest.len).map_err(StoreError::at(&path, "mend"))?;
        if torn > 0 {
            notes.push(format!(
                "{}: a line that was cut off at its end is removed ({torn} bytes)",
                file_name(part, span)
            ));
        }
    }
    Ok(Some(newest))
}

/// Whether what failed is want of something that others may give back, and no file's fault.
fn is_shortage(error: &Error) -> bool {
    let errno = error.raw_os_error().map(Errno::from_raw_os_error);
    matches!(errno, Some(Errno::MFILE | Errno::NFILE | Errno::NOMEM))
}

fn cut_torn(files: &dyn Files, path: &Path, whole: u64) -> std::io::Result<u64> {
    let len = retried(|| files.len_of(path))?;
    if len > whole {
        let mut file = retried(|| files.append(path))?;
        retried(|| file.cut(whole))?;
        retried(|| file.sync())?;
    }
    Ok(len.saturating_sub(whole))
}

/// Reads back what the last looks say. `live`: the newest file, if it is still open.
pub(crate) fn resume(
    files: &dyn Files,
    folder: &Path,
    newest: Newest,
    resumed: &mut Resumed,
) -> Result<Option<Live>, StoreError> {
    let spans =
        list_spans(files, folder, Part::Fine).map_err(StoreError::at(&folder_of(folder, Part::Fine), "list"))?;
    let mut open = None;
    // The newest may have no look yet, only a header or nothing; its folder's other files go back further.
    for (&span, _) in spans.iter().rev() {
        let mut live = Live::new(span);
        // The text, and how much had been passed over when it was read: something later may have said a newer one.
        let mut counted: Option<(String, u64)> = None;
        let frames = match load(files, folder, Part::Fine, span) {
            Ok(frames) => frames,
            // Told already. What its lines say isn't known, and what older ones say doesn't hold any more.
            Err(_) if span < newest.span => {
                let len = retried(|| files.len_of(&plain_path(folder, Part::Fine, span))).unwrap_or(0);
                resumed.counted = read_counted(files, folder, &LineName::new(span, len)).filter(|text| is_object(text));
                break;
            }
            Err(error) => return Err(StoreError::at(&plain_path(folder, Part::Fine, span), "read")(error)),
        };
        let mut len = 0;
        for frame in &frames {
            let Some(bytes) = frame else {
                live.reader.skip_frame();
                continue;
            };
            len += bytes.len() as u64;
            live.add(bytes, |reader, line| {
                if let Some(text) = reader.counted(line) {
                    counted = Some((text.to_owned(), reader.skipped.lines));
                }
            });
        }
        let skipped = live.reader.skipped.lines;
        let looks = live.tally.looks;
        if skipped > 0 {
            resumed.notes.push(format!("{}: {skipped} places can't be read", file_name(Part::Fine, span)));
        }
        if looks > 0 || skipped > 0 {
            resumed.last_look_ms = live.tally.last_ms;
            resumed.totals = last_totals(&live);
            let sure = counted.filter(|(_, skipped_before)| *skipped_before == skipped).map(|(text, _)| text);
            let end = LineName::new(span, len);
            resumed.counted = sure.or_else(|| read_counted(files, folder, &end)).filter(|text| is_object(text));
        }
        if span == newest.span {
            open = Some(live);
        }
        if looks > 0 || skipped > 0 {
            break;
        }
    }
    Ok(open)
}

fn last_totals(live: &Live) -> Vec<LastTotals> {
    let unit = |(id, carried): (&UnitId, &crate::carry::Carried)| {
        let totals = carried.numbers.iter().filter(|(measure, _)| bit(*measure) & TOTALS != 0);
        let totals: Vec<_> = totals.map(|(measure, whole)| (measure, to_value(measure, whole))).collect();
        (!totals.is_empty()).then(|| LastTotals { id: id.clone(), since_ns: carried.names.since_ns, totals })
    };
    live.ids.ids().iter().zip(live.reader.carried()).filter_map(unit).collect()
}

/// Whether a text is one line of JSON, an object.
pub(crate) fn is_object(text: &str) -> bool {
    text.starts_with('{') && !text.contains('\n') && serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}

/// How far the looks are summed up to minutes: the source of the last minute that can be read. `Ok(None)`: no minute is
/// kept, so none is. `Err`: minutes are kept, but what of can't be told.
pub(crate) fn summed_to(files: &dyn Files, folder: &Path) -> std::io::Result<Result<Option<Source>, ()>> {
    for (&span, _) in list_spans(files, folder, Part::Minutes)?.iter().rev() {
        let (mut reader, mut ids, mut last, mut is_empty) = (LineReader::default(), Registry::default(), None, true);
        for frame in load(files, folder, Part::Minutes, span)? {
            is_empty &= frame.is_some();
            let (bytes, mut at) = (frame.unwrap_or_default(), 0);
            while reader.next(&bytes, &mut at, &mut ids, &|_| false) {
                is_empty = false;
                last = reader.look().source.or(last);
            }
        }
        if last.is_some() {
            return Ok(Ok(last));
        }
        if !is_empty || reader.skipped.lines > 0 {
            return Ok(Err(()));
        }
    }
    Ok(Ok(None))
}

/// A span's looks after a place in it, as rows, with where each ends.
pub(crate) fn looks_after(
    files: &dyn Files,
    folder: &Path,
    span: Span,
    after: u64,
    mut each: impl FnMut(u64, Source, Vec<crate::row::Row>) -> std::io::Result<()>,
) -> std::io::Result<()> {
    let (mut reader, mut ids, mut start) = (LineReader::default(), Registry::default(), 0);
    for frame in load(files, folder, Part::Fine, span)? {
        // Past a frame that can't be read it isn't known how far in the file a line is.
        let Some(bytes) = frame else { break };
        let mut at = 0;
        while reader.next(&bytes, &mut at, &mut ids, &|_| true) {
            let end = start + at as u64;
            if end > after {
                let look = reader.look();
                each(look.at_ms, (span, end), look.rows(&ids))?;
            }
        }
        start += bytes.len() as u64;
    }
    Ok(())
}
