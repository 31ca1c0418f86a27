//! What a file's lines carry forward: a unit's names and its unchanged totals, from its line before.

use std::collections::HashMap;
use std::ops::Range;

use lnk_schema::{Measure, UnitId};

use crate::json::Bad;
use crate::numbers::{Numbers, TOTALS};
use crate::read::{Columns, Line, Parsed, parse_line};
use crate::row::{Names, Row};
use crate::write::Source;

/// The units met so far, each by a number of its own.
#[derive(Debug, Default)]
pub(crate) struct Registry {
    ids: Vec<UnitId>,
    numbers: HashMap<Box<[u8]>, usize>,
    next: usize,
}

impl Registry {
    /// A unit's number; `None` if the bytes are no ID.
    pub(crate) fn number(&mut self, id: &[u8]) -> Option<usize> {
        // Every look has its units in the same order, so the next is mostly the one after the last.
        let is_next = self.ids.get(self.next).is_some_and(|next| next.as_str().as_bytes() == id);
        let number = if is_next {
            self.next
        } else if let Some(number) = self.numbers.get(id) {
            *number
        } else {
            self.ids.push(UnitId::new(std::str::from_utf8(id).ok()?)?);
            self.numbers.insert(id.into(), self.ids.len() - 1);
            self.ids.len() - 1
        };
        self.next = number + 1;
        Some(number)
    }

    /// A unit's ID.
    pub(crate) fn ids(&self) -> &[UnitId] {
        &self.ids
    }
}

/// What is known of a unit at a line of a file.
#[derive(Debug, Default)]
pub(crate) struct Carried {
    pub names: Names,
    pub numbers: Numbers,
}

/// A unit in the line just read.
#[derive(Debug)]
pub(crate) struct SeenUnit {
    /// Its number in the registry.
    pub number: usize,
    /// Its turns' place in [`Seen::turns`].
    turns: Range<usize>,
    /// Whether the line said its names.
    pub named: bool,
}

/// A look as read back, everything carried forward.
#[derive(Debug)]
pub(crate) struct Seen<'a> {
    pub at_ms: u64,
    pub source: Option<Source>,
    pub units: &'a [SeenUnit],
    carried: &'a [Carried],
    turns: &'a [(Measure, u64)],
}

impl Seen<'_> {
    /// What is known of a unit of this look.
    pub(crate) fn carried(&self, unit: &SeenUnit) -> Option<&Carried> {
        self.carried.get(unit.number)
    }

    /// A unit's turns in this look.
    pub(crate) fn turns(&self, unit: &SeenUnit) -> &[(Measure, u64)] {
        self.turns.get(unit.turns.clone()).unwrap_or_default()
    }

    /// The look as rows.
    pub(crate) fn rows(&self, ids: &Registry) -> Vec<Row> {
        let row = |unit: &SeenUnit| {
            let (id, carried) = (ids.ids.get(unit.number)?, self.carried(unit)?);
            Some(Row {
                id: id.clone(),
                names: carried.names.clone(),
                numbers: carried.numbers.clone(),
                turns: self.turns(unit).to_vec(),
            })
        };
        self.units.iter().filter_map(row).collect()
    }
}

/// What was passed over in a file.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Skipped {
    /// Lines and frames, and how many lines the first of them came after.
    pub lines: u64,
    pub after: u64,
    /// Entries whose ID is none.
    pub entries: u64,
}

/// Reads one file's lines in order, from its first: nothing is known before.
#[derive(Debug, Default)]
pub(crate) struct LineReader {
    columns: Columns,
    carried: Vec<Carried>,
    parsed: Parsed,
    seen: Vec<SeenUnit>,
    line: u64,
    pub skipped: Skipped,
}

impl LineReader {
    /// A frame is missing here.
    pub(crate) fn skip_frame(&mut self) {
        self.skip(false);
    }

    /// Something is missing here: nothing that was known is sure any more.
    fn skip(&mut self, of_a_line: bool) {
        if self.skipped.lines == 0 {
            self.skipped.after = self.line.saturating_sub(u64::from(of_a_line));
        }
        self.skipped.lines += 1;
        self.forget();
    }

    fn forget(&mut self) {
        for carried in &mut self.carried {
            carried.numbers.keep(0);
            if carried.names != Names::default() {
                carried.names = Names::default();
            }
        }
    }

    /// Whether the file's columns are those of this version.
    pub(crate) fn has_columns(&self, columns: &Columns) -> bool {
        self.columns == *columns
    }

    /// Reads on to the next look: from `at`, which it moves past the look's line. `false`: no whole line is left.
    pub(crate) fn next(
        &mut self,
        bytes: &[u8],
        at: &mut usize,
        ids: &mut Registry,
        wanted: &impl Fn(&[u8]) -> bool,
    ) -> bool {
        while let Some(rest) = bytes.get(*at..) {
            let Some(len) = memchr::memchr(b'\n', rest) else { return false };
            let line = rest.get(..len).unwrap_or_default();
            *at += len + 1;
            self.line += 1;
            match parse_line(line, &self.columns, wanted, &mut self.parsed) {
                Ok(Line::Header(columns)) => {
                    self.columns = columns;
                    self.forget();
                }
                Ok(Line::Look) if !self.columns.is_empty() => {
                    self.carry(line, ids);
                    return true;
                }
                // A look before any header: its values have no names.
                Ok(Line::Look) | Err(Bad) => self.skip(true),
            }
        }
        false
    }

    fn carry(&mut self, line: &[u8], ids: &mut Registry) {
        self.seen.clear();
        self.skipped.entries += u64::from(self.parsed.nameless);
        for entry in self.parsed.entries.drain(..) {
            let Some(number) = line.get(entry.id).and_then(|id| ids.number(id)) else {
                self.skipped.entries += 1;
                continue;
            };
            if self.carried.len() <= number {
                self.carried.resize_with(number + 1, Carried::default);
            }
            let Some(Carried { names, numbers }) = self.carried.get_mut(number) else { continue };
            let named = entry.names.is_some();
            numbers.keep(if entry.names.as_ref().is_some_and(|said| said.anew()) { 0 } else { TOTALS });
            numbers.put(&entry.numbers);
            if let Some(said) = entry.names {
                said.put_over(names);
            }
            self.seen.push(SeenUnit { number, turns: entry.turns, named });
        }
    }

    /// The look just read.
    pub(crate) fn look(&self) -> Seen<'_> {
        Seen {
            at_ms: self.parsed.at_ms,
            source: self.parsed.source,
            units: &self.seen,
            carried: &self.carried,
            turns: &self.parsed.turns,
        }
    }

    /// The `c` of the look just read, whose line begins at `line` of the file's bytes.
    pub(crate) fn counted<'a>(&self, line: &'a [u8]) -> Option<&'a str> {
        let text = line.get(self.parsed.counted.clone()?)?;
        std::str::from_utf8(text).ok()
    }

    /// What is known of every unit, by its number.
    pub(crate) fn carried(&self) -> &[Carried] {
        &self.carried
    }
}
