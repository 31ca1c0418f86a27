//! A fine file, summed up as it is written or read, for `day.json`.

use std::io::Result;
use std::path::Path;

use serde_json::value::RawValue;

use crate::cache::span_sums;
use crate::carry::{LineReader, Registry};
use crate::files::Files;
use crate::load::load;
use crate::span::{Part, Span};
use crate::sums::{Tally, Window};

/// One fine file's looks, added up.
#[derive(Debug)]
pub(crate) struct Live {
    pub span: Span,
    pub reader: LineReader,
    pub ids: Registry,
    pub tally: Tally,
}

impl Live {
    pub(crate) fn new(span: Span) -> Live {
        Live { span, reader: LineReader::default(), ids: Registry::default(), tally: Tally::new(Window::ALL) }
    }

    /// Adds whole lines; calls with each one that is a look.
    pub(crate) fn add(&mut self, bytes: &[u8], mut each: impl FnMut(&LineReader, &[u8])) {
        let (mut at, mut start) = (0, 0);
        while self.reader.next(bytes, &mut at, &mut self.ids, &|_| true) {
            self.tally.look(&self.reader.look());
            // Lines passed over lie between; the look's own begins after the newline before its last.
            let lines = bytes.get(start..at.saturating_sub(1)).unwrap_or_default();
            let line = lines.rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
            each(&self.reader, line);
            start = at;
        }
    }

    /// All of a fine file.
    pub(crate) fn of(files: &dyn Files, folder: &Path, span: Span) -> Result<Live> {
        let mut live = Live::new(span);
        for frame in load(files, folder, Part::Fine, span)? {
            match frame {
                Some(bytes) => live.add(&bytes, |_, _| {}),
                None => live.reader.skip_frame(),
            }
        }
        Ok(live)
    }

    /// As `day.json` has it.
    pub(crate) fn sums(&self) -> Option<Box<RawValue>> {
        span_sums(&self.tally, &self.ids)
    }
}
