//! Appending lines to the newest file of a part, each in one write, with nothing left behind of one that failed.

use std::io::{Error, ErrorKind, Result};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::files::{Appending, Files, retried};
use crate::load::{folder_of, plain_path};
use crate::pack::FILE_MOST;
use crate::row::Row;
use crate::span::{Part, Span};
use crate::write::{LineWriter, Source, header};

/// How big a file may be and take another line: the next span's name is then used early, as after a clock set back. One
/// past [`FILE_MOST`] would be read by nobody.
const FULL: u64 = FILE_MOST / 2;

/// The newest span of a part, and how it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Newest {
    pub span: Span,
    /// The time of its last look.
    pub last_ms: u64,
    /// How many bytes of its plain file are whole lines.
    pub len: u64,
    /// Whether its header is this version's.
    pub headed: bool,
}

/// Appends to one part.
pub(crate) struct Appender {
    files: Arc<dyn Files>,
    folder: PathBuf,
    part: Part,
    pub newest: Option<Newest>,
    writer: LineWriter,
    /// The file's name isn't surely on the disk yet.
    unsynced_name: bool,
    /// An append failed, so that something of it may stand behind the whole lines.
    failed: bool,
}

impl Appender {
    pub(crate) fn new(files: Arc<dyn Files>, folder: &Path, part: Part, newest: Option<Newest>) -> Appender {
        let writer = LineWriter::default();
        Appender { files, folder: folder.to_owned(), part, newest, writer, unsynced_name: true, failed: false }
    }

    /// The file that is appended to.
    pub(crate) fn path(&self) -> PathBuf {
        self.newest
            .map_or_else(|| folder_of(&self.folder, self.part), |at| plain_path(&self.folder, self.part, at.span))
    }

    /// The span that a look of this time goes to.
    pub(crate) fn span_for(&self, at_ms: u64) -> Span {
        match self.newest {
            None => self.part.span_of(at_ms),
            Some(newest) => {
                let span = self.part.next_span(newest.span, newest.last_ms, at_ms);
                if span == newest.span && newest.len >= FULL { span + 1 } else { span }
            }
        }
    }

    /// Appends a line, and gives back how the file stands and what was written. When it fails, nothing of it stays, or what stays is cut off before the next one is written.
    pub(crate) fn append(
        &mut self,
        at_ms: u64,
        source: Option<Source>,
        rows: &[Row],
        counted: Option<&str>,
    ) -> Result<(Newest, String)> {
        let span = self.span_for(at_ms);
        let same = self.newest.filter(|newest| newest.span == span);
        if same.is_none() {
            self.writer.say_anew();
            self.unsynced_name = true;
        }
        let mut newest = same.unwrap_or(Newest { span, last_ms: at_ms, len: 0, headed: false });
        self.newest = Some(newest);
        let appended = self.try_append(&mut newest, |writer| writer.line(at_ms, source, rows, counted));
        self.failed |= appended.is_err();
        if appended.is_err() {
            self.writer.say_anew();
        }
        appended.map(|text| {
            newest.last_ms = at_ms;
            (*self.newest.insert(newest), text)
        })
    }

    fn try_append(&mut self, newest: &mut Newest, line: impl FnOnce(&mut LineWriter) -> String) -> Result<String> {
        let folder = folder_of(&self.folder, self.part);
        retried(|| self.files.make_folder(&folder))?;
        let mut file = retried(|| self.files.append(&self.path()))?;
        let len = retried(|| file.size())?;
        if len > newest.len && !self.failed {
            // Another program's: it is let be, and the next line begins a file of its own.
            self.newest = Some(Newest { span: newest.span + 1, len: 0, headed: false, ..*newest });
            return Err(Error::new(ErrorKind::AlreadyExists, "another program wrote to it"));
        }
        if len > newest.len {
            // What a failed append left. It must go first: whole, it would count its turns a second time.
            retried(|| file.cut(newest.len))?;
        } else if len < newest.len {
            // Somebody took the file away or cut it. What is left is theirs to have; lines after it stand alone.
            *newest = Newest { len, headed: false, ..*newest };
            self.newest = Some(Newest { len, headed: false, ..*newest });
            self.writer.say_anew();
            self.unsynced_name = true;
        }
        if self.unsynced_name {
            retried(|| self.files.sync_folder(&folder))?;
            self.unsynced_name = false;
        }
        let mut text = if newest.headed { String::new() } else { header() };
        text.push_str(&line(&mut self.writer));
        match write_once(&mut *file, text.as_bytes()) {
            Ok(()) => {
                newest.len += text.len() as u64;
                newest.headed = true;
                self.failed = false;
                Ok(text)
            }
            Err(error) => {
                // If this fails too, the next append does it before anything else.
                let _ = retried(|| file.cut(newest.len));
                Err(error)
            }
        }
    }
}

fn write_once(file: &mut dyn Appending, text: &[u8]) -> Result<()> {
    let written = retried(|| file.write(text))?;
    if written < text.len() {
        // Always the same words, so that a log says it once.
        return Err(Error::new(ErrorKind::StorageFull, "only a part of the line could be written"));
    }
    retried(|| file.sync())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::RealFiles;

    #[test]
    fn a_full_file_is_followed_by_the_next_before_its_hour_is_over() {
        let newest = |len| Some(Newest { span: 10, last_ms: 36_000_000, len, headed: true });
        let span =
            |len| Appender::new(Arc::new(RealFiles), Path::new("/"), Part::Fine, newest(len)).span_for(36_010_000);
        assert_eq!([FULL - 1, FULL].map(span), [10, 11]);
    }
}
