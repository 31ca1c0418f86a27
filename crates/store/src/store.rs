//! The store as the watcher has it: looks in, minutes summed up beside them, closed files packed and old ones deleted.

use std::collections::BTreeMap;
use std::io::{Error, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lnk_schema::{Look, UnitId, UnitKind};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::append::Appender;
use crate::cache::{Cost, DayFile, LineName, Now, cpu_rates, read_closed, write_counted, write_day, write_now};
use crate::error::StoreError;
use crate::files::{Files, RealFiles, retried};
use crate::live::Live;
use crate::load::{folder_of, list_spans, plain_path};
use crate::minute::{Known, Minute};
use crate::numbers::{Numbers, STEPS};
use crate::resume::{Resumed, find_newest, is_object, looks_after, resume, summed_to};
use crate::row::{Row, rows_of};
use crate::span::{DAY_MS, HOUR_MS, MINUTE_MS, Part, Span};
use crate::tidy::{believed_now, compress, delete_old, remove_temporary};
use crate::write::Source;

/// What is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// How long every look is kept, in milliseconds.
    pub keep_fine_ms: u64,
    /// How long a summary of each minute is kept, in milliseconds.
    pub keep_minutes_ms: u64,
    /// Whether each agent's processes are kept too.
    pub processes: bool,
}

/// The store of one measure folder. There may be one writer; the caller holds the lock that says so.
pub struct Store {
    files: Arc<dyn Files>,
    folder: PathBuf,
    settings: Mutex<Settings>,
    writing: Mutex<Writing>,
    tidying: Mutex<()>,
    /// The look that `now.json` has.
    shown: Mutex<Option<Look>>,
}

struct Writing {
    fine: Appender,
    minutes: Appender,
    minute: Option<Minute>,
    /// The totals of the last minute written.
    before: Known,
    /// How far the fine looks are in minutes.
    summed_to: Option<Source>,
    /// Minutes lack looks that fine has, since the minute of this number.
    behind: Option<u64>,
    /// The newest fine file, summed up. `None`: another program changed it.
    live: Option<Live>,
    closed: BTreeMap<Span, Box<RawValue>>,
    counted: Option<String>,
    /// What units grew by in looks that could not be kept.
    unkept: BTreeMap<UnitId, Numbers>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // What it guards is whole between any two statements that may panic: nothing is half changed.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Store {
    /// Opens the store of a measure folder, making what isn't there, and gives back what was kept before.
    ///
    /// # Errors
    /// A folder or its newest file can't be read, made or mended.
    pub fn open(folder: &Path, settings: Settings) -> Result<(Store, Resumed), StoreError> {
        Store::open_with(Arc::new(RealFiles), folder, settings)
    }

    /// [`Store::open`], with files that may be made to fail.
    ///
    /// # Errors
    /// A folder or its newest file can't be read, made or mended.
    pub fn open_with(files: Arc<dyn Files>, folder: &Path, settings: Settings) -> Result<(Store, Resumed), StoreError> {
        let mut resumed = Resumed::default();
        let mut newest = [None; 2];
        for part in Part::BOTH {
            let path = folder_of(folder, part);
            retried(|| files.make_folder(&path)).map_err(StoreError::at(&path, "make"))?;
            remove_temporary(&*files, folder, part).map_err(StoreError::at(&path, "tidy"))?;
            newest[part as usize] = find_newest(&*files, folder, part, &mut resumed.notes)?;
        }
        let [fine, minutes] = newest;
        let live = fine.map(|fine| resume(&*files, folder, fine, &mut resumed)).transpose()?.flatten();
        let appender = |part, newest| Appender::new(files.clone(), folder, part, newest);
        let mut writing = Writing {
            fine: appender(Part::Fine, fine),
            minutes: appender(Part::Minutes, minutes),
            minute: None,
            before: Known::new(),
            summed_to: None,
            behind: None,
            live: live.or_else(|| fine.map(|fine| Live::new(fine.span))),
            closed: read_closed(&*files, folder),
            counted: resumed.counted.clone(),
            unkept: BTreeMap::new(),
        };
        let path = folder_of(folder, Part::Minutes);
        if let Ok(to) = summed_to(&*files, folder).map_err(StoreError::at(&path, "read"))? {
            writing.summed_to = to;
            if let Err(error) = writing.catch_up(&*files, folder, 0) {
                resumed.notes.push(error.to_string());
            }
        } else {
            resumed
                .notes
                .push("minutes: no minute can be read, so those before this start stay as they are".to_owned());
        }
        let (settings, writing) = (Mutex::new(settings), Mutex::new(writing));
        Ok((
            Store {
                files,
                folder: folder.to_owned(),
                settings,
                writing,
                tidying: Mutex::new(()),
                shown: Mutex::new(None),
            },
            resumed,
        ))
    }

    /// Settings that hold from the next look.
    pub fn set(&self, settings: Settings) {
        *lock(&self.settings) = settings;
    }

    /// Keeps a look, and with it, in the same write, `counted`: one line of JSON, an object, which the next start gets
    /// back. Gives back what went wrong beside it, with the minutes, if anything did.
    ///
    /// # Errors
    /// The look is not kept, and nothing of it stays. What its units grew by is in the next look of theirs that is kept;
    /// what `counted` said of is for the next one to count.
    pub fn append(&self, look: &Look, counted: &str) -> Result<Option<StoreError>, StoreError> {
        let mut rows = rows_of(look, lock(&self.settings).processes);
        let mut writing = lock(&self.writing);
        let path = writing.fine.path();
        if !is_object(counted) {
            return Err(StoreError::at(&path, "append to")(Error::from(ErrorKind::InvalidInput)));
        }
        writing.add_unkept(&mut rows);
        let span = writing.fine.span_for(look.at_ms);
        let aside = writing.close_minute(&*self.files, &self.folder, look.at_ms, span, &rows).err();
        let before = writing.fine.newest;
        let appended = writing.fine.append(look.at_ms, None, &rows, Some(counted));
        if appended.is_err() {
            writing.keep_back(&rows);
        }
        let (newest, text) = appended.map_err(StoreError::at(&writing.fine.path(), "append to"))?;
        writing.counted = Some(counted.to_owned());
        writing.join_minute(look.at_ms, (span, newest.len), rows);
        let lost = before.is_some_and(|before| before.span == span && before.len + text.len() as u64 != newest.len);
        writing.add_live(span, &text, lost);
        Ok(aside)
    }

    /// Compresses the closed files and deletes the old ones. May be called from another thread than [`Store::append`],
    /// which doesn't wait for it. Gives back what went wrong; the next call tries again.
    pub fn tidy(&self, now_ms: u64) -> Vec<StoreError> {
        let _one = lock(&self.tidying);
        let newest = {
            let writing = lock(&self.writing);
            [writing.fine.newest, writing.minutes.newest].map(|newest| newest.map(|newest| newest.span))
        };
        let settings = *lock(&self.settings);
        let mut wrong = Vec::new();
        let [Some(newest_fine), _] = newest else { return wrong };
        let now = believed_now(&*self.files, &self.folder, newest_fine, now_ms);
        let now = now.map_err(StoreError::at(&folder_of(&self.folder, Part::Fine), "read")).unwrap_or_else(|error| {
            wrong.push(error);
            None
        });
        for (part, newest) in Part::BOTH.into_iter().zip(newest) {
            let (Some(newest), path) = (newest, folder_of(&self.folder, part)) else { continue };
            let keep_ms = if part == Part::Fine { settings.keep_fine_ms } else { settings.keep_minutes_ms };
            let removed = remove_temporary(&*self.files, &self.folder, part);
            wrong.extend(removed.map_err(StoreError::at(&path, "tidy")).err());
            wrong.extend(self.compress_closed(part, newest));
            if let Some(now_ms) = now {
                let deleted = delete_old(&*self.files, &self.folder, part, newest, keep_ms, now_ms);
                wrong.extend(deleted.map_err(StoreError::at(&path, "delete from")).err());
            }
        }
        wrong
    }

    fn compress_closed(&self, part: Part, newest: Span) -> Vec<StoreError> {
        let spans = match list_spans(&*self.files, &self.folder, part) {
            Ok(spans) => spans,
            Err(error) => return vec![StoreError::at(&folder_of(&self.folder, part), "list")(error)],
        };
        let plain = spans.range(..newest).filter(|(_, found)| found.plain);
        let packed = plain.map(|(&span, _)| {
            compress(&*self.files, &self.folder, part, span)
                .map_err(StoreError::at(&plain_path(&self.folder, part, span), "compress"))
        });
        packed.filter_map(Result::err).collect()
    }

    /// Replaces `now.json` by a look, which must be the one kept last, and its [`Now::report`].
    ///
    /// # Errors
    /// It stays as it was.
    pub fn write_now(&self, look: &Look, every_ms: u64, cost: Option<Cost>, report: Value) -> Result<(), StoreError> {
        let Some(line) = self.last_line() else { return Ok(()) };
        let mut shown = lock(&self.shown);
        let rates = shown.as_ref().map(|before| cpu_rates(before, look, every_ms)).unwrap_or_default();
        let mut now = Now { look: look.clone(), every_ms, cost, rates, report };
        // An agent that is there for its turns alone doesn't run.
        now.look.units.retain(|unit| unit.kind != UnitKind::Agent || unit.values.iter().next().is_some());
        let written = write_now(&*self.files, &self.folder, &now, line);
        *shown = Some(now.look);
        written.map_err(StoreError::at(&self.folder.join("now.json"), "write"))
    }

    /// Replaces `day.json` and `counted.json`: what a reader and a start then needn't read anew.
    ///
    /// # Errors
    /// One of them stays as it was.
    pub fn write_day(&self) -> Result<(), StoreError> {
        let path = self.folder.join("day.json");
        self.sum_up_one().map_err(StoreError::at(&path, "sum up"))?;
        let (day, counted) = {
            let writing = lock(&self.writing);
            let (Some(live), Some(newest)) = (&writing.live, writing.fine.newest) else { return Ok(()) };
            let upto = LineName::new(newest.span, newest.len);
            let mut spans: BTreeMap<_, _> =
                writing.closed.iter().map(|(span, sums)| (Part::Fine.name(*span), sums.clone())).collect();
            spans.extend(live.sums().map(|sums| (Part::Fine.name(live.span), sums)));
            (DayFile { upto: upto.clone(), spans }, writing.counted.clone().map(|counted| (upto, counted)))
        };
        write_day(&*self.files, &self.folder, &day).map_err(StoreError::at(&path, "write"))?;
        let path = self.folder.join("counted.json");
        let counted = counted.map(|(line, counted)| write_counted(&*self.files, &self.folder, line, &counted));
        counted.transpose().map(drop).map_err(StoreError::at(&path, "write"))
    }

    fn last_line(&self) -> Option<LineName> {
        lock(&self.writing).fine.newest.map(|newest| LineName::new(newest.span, newest.len))
    }

    /// Sums up one closed fine file of the day that isn't yet, and forgets those that are gone or past: one a call, so
    /// that a start with a full day costs nothing at once.
    fn sum_up_one(&self) -> std::io::Result<()> {
        let spans = list_spans(&*self.files, &self.folder, Part::Fine)?;
        let missing = {
            let mut writing = lock(&self.writing);
            let Some(newest) = writing.fine.newest else { return Ok(()) };
            let oldest = Part::Fine.span_of(newest.last_ms.saturating_sub(DAY_MS + HOUR_MS));
            writing.closed.retain(|span, _| *span >= oldest && spans.contains_key(span));
            let closed = spans.range(oldest.min(newest.span)..newest.span).rev().map(|(span, _)| *span);
            closed.filter(|span| !writing.closed.contains_key(span)).collect::<Vec<_>>()
        };
        // One that can't be read is told by what compresses it, and by whoever reads the day.
        let summed_up = |span| Some((span, Live::of(&*self.files, &self.folder, span).ok()?.sums()?));
        if let Some((span, sums)) = missing.into_iter().find_map(summed_up) {
            lock(&self.writing).closed.insert(span, sums);
        }
        Ok(())
    }
}

impl Writing {
    /// Writes the minute that this look is not of.
    fn close_minute(
        &mut self,
        files: &dyn Files,
        folder: &Path,
        at_ms: u64,
        span: Span,
        rows: &[Row],
    ) -> Result<(), StoreError> {
        if let Some(since) = self.behind {
            // Once a minute: it reads the files it has to catch up with.
            return if since == at_ms / MINUTE_MS { Ok(()) } else { self.catch_up(files, folder, at_ms) };
        }
        match self.minute.take_if(|minute| !minute.takes(at_ms, span, rows)) {
            Some(minute) => self.write_minute(&minute, at_ms),
            None => Ok(()),
        }
    }

    /// Adds to each unit what it grew by in looks that could not be kept. A unit that isn't there keeps its own.
    fn add_unkept(&mut self, rows: &mut [Row]) {
        if self.unkept.is_empty() {
            return;
        }
        for row in rows {
            for (measure, grew) in self.unkept.remove(&row.id).iter().flat_map(Numbers::iter) {
                row.numbers.add(measure, grew);
            }
        }
    }

    fn keep_back(&mut self, rows: &[Row]) {
        for row in rows.iter().filter(|row| row.numbers.present() & STEPS != 0) {
            let mut grew = row.numbers.clone();
            grew.keep(STEPS);
            self.unkept.insert(row.id.clone(), grew);
        }
    }

    fn write_minute(&mut self, minute: &Minute, at_ms: u64) -> Result<(), StoreError> {
        match self.minutes.append(minute.at_ms, Some(minute.source), &minute.rows, None) {
            Ok(_) => {
                self.summed_to = Some(minute.source);
                self.before = minute.known();
                Ok(())
            }
            Err(error) => {
                self.behind = Some(at_ms / MINUTE_MS);
                Err(StoreError::at(&self.minutes.path(), "append to")(error))
            }
        }
    }

    fn join_minute(&mut self, at_ms: u64, source: Source, rows: Vec<Row>) {
        if self.behind.is_some() {
            return;
        }
        match &mut self.minute {
            Some(minute) => minute.add(at_ms, source, rows, &self.before),
            None => self.minute = Some(Minute::new(at_ms, source, rows, &self.before)),
        }
    }

    /// Sums up the looks that no minute has, from their files: what a start finds so, and what minutes that could not be
    /// written leave so.
    fn catch_up(&mut self, files: &dyn Files, folder: &Path, at_ms: u64) -> Result<(), StoreError> {
        self.behind = Some(at_ms / MINUTE_MS);
        self.minute = None;
        let (first, after) = self.summed_to.unwrap_or((0, 0));
        let path = folder_of(folder, Part::Fine);
        let spans = list_spans(files, folder, Part::Fine).map_err(StoreError::at(&path, "list"))?;
        let mut unread = Ok(());
        for &span in spans.range(first..).map(|(span, _)| span) {
            let after = if span == first { after } else { 0 };
            let mut wrong = None;
            let read = looks_after(files, folder, span, after, |look_ms, source, rows| {
                if let Some(minute) = self.minute.take_if(|minute| !minute.takes(look_ms, span, &rows)) {
                    self.write_minute(&minute, at_ms).map_err(|error| {
                        wrong = Some(error);
                        Error::from(ErrorKind::Other)
                    })?;
                }
                match &mut self.minute {
                    Some(minute) => minute.add(look_ms, source, rows, &self.before),
                    None => self.minute = Some(Minute::new(look_ms, source, rows, &self.before)),
                }
                Ok(())
            });
            match (read, wrong) {
                (Ok(()), _) => {}
                (Err(_), Some(wrong)) => return Err(wrong),
                (Err(error), None) => {
                    // Its looks get no minutes; those after it do.
                    unread = Err(StoreError::at(&plain_path(folder, Part::Fine, span), "sum up")(error));
                    self.summed_to = Some((span + 1, 0));
                }
            }
        }
        self.behind = None;
        unread
    }

    fn add_live(&mut self, span: Span, text: &str, lost: bool) {
        if self.live.as_ref().is_none_or(|live| live.span != span) {
            let closed = self.live.replace(Live::new(span));
            if let Some((span, sums)) = closed.and_then(|live| Some((live.span, live.sums()?))) {
                self.closed.insert(span, sums);
            }
        }
        if lost {
            self.live = None;
        }
        if let Some(live) = &mut self.live {
            live.add(text.as_bytes(), |_, _| {});
        }
    }
}
