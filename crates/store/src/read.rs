//! Reading a line back: the bytes of one line to what it says, nothing carried yet.

use lnk_schema::{Measure, Name, UnitId, UnitKind};

use crate::json::{Bad, Cursor};
use crate::numbers::{Numbers, TURNS, bit, decimals};
use crate::row::Names;
use crate::span::Part;
use crate::write::Source;

/// A file's columns: each place's measure, `None` for one this version doesn't know.
pub(crate) type Columns = Vec<Option<Measure>>;

/// What a unit's entry says. Bytes are ranges of the line.
#[derive(Debug)]
pub(crate) struct Entry {
    /// The ID's place in the line.
    pub id: std::ops::Range<usize>,
    /// Its names, where it says any. With a kind they are all of them.
    pub names: Option<Box<NamesSaid>>,
    /// Its values, zeros and unchanged totals absent.
    pub numbers: Numbers,
    /// Its turns' place in [`Parsed::turns`].
    pub turns: std::ops::Range<usize>,
}

/// The names an entry says: outer `None`, not said; inner `None`, said to be none.
#[derive(Debug, Default)]
#[expect(clippy::option_option, reason = "not said and said to be none are two things here")]
pub(crate) struct NamesSaid {
    kind: Option<UnitKind>,
    parent: Option<Option<UnitId>>,
    name: Option<Option<Name>>,
    owner: Option<Option<Name>>,
    teams: Option<Vec<Name>>,
    since_ns: Option<Option<u64>>,
}

impl NamesSaid {
    /// Whether the entry says the unit anew.
    pub(crate) fn anew(&self) -> bool {
        self.kind.is_some()
    }

    /// Puts what is said over what was known.
    pub(crate) fn put_over(self, names: &mut Names) {
        if self.anew() {
            *names = Names { kind: self.kind, ..Names::default() };
        }
        let Names { kind: _, parent, name, owner, teams, since_ns } = names;
        self.parent.into_iter().for_each(|said| *parent = said);
        self.name.into_iter().for_each(|said| *name = said);
        self.owner.into_iter().for_each(|said| *owner = said);
        self.teams.into_iter().for_each(|said| *teams = said);
        self.since_ns.into_iter().for_each(|said| *since_ns = said);
    }
}

/// A look's line, its buffers used again for the next.
#[derive(Debug, Default)]
pub(crate) struct Parsed {
    pub at_ms: u64,
    /// Of a minute: where its looks came from.
    pub source: Option<Source>,
    pub entries: Vec<Entry>,
    pub turns: Vec<(Measure, u64)>,
    /// `c`'s place in the line.
    pub counted: Option<std::ops::Range<usize>>,
    /// Entries whose ID is none.
    pub nameless: u32,
}

/// What a line is.
#[derive(Debug)]
pub(crate) enum Line {
    /// The header: the columns of the lines after it.
    Header(Columns),
    /// A look, in [`Parsed`].
    Look,
}

/// Reads a whole line. `wanted`: the IDs to read; the others are only stepped over.
///
/// # Errors
/// The line isn't JSON, or neither a header nor a look.
pub(crate) fn parse_line(
    line: &[u8],
    columns: &Columns,
    wanted: impl Fn(&[u8]) -> bool,
    into: &mut Parsed,
) -> Result<Line, Bad> {
    std::str::from_utf8(line).map_err(|_| Bad)?;
    let (mut header, mut at_ms, mut units) = (None, None, false);
    let Parsed { entries, turns, .. } = into;
    entries.clear();
    turns.clear();
    let (mut source, mut counted, mut nameless) = (None, None, 0);
    let mut cursor = Cursor::new(line);
    cursor.object(|at, key| {
        match key {
            b"measures" => header = Some(parse_columns(at)?),
            b"t" => at_ms = at.decimal(3)?,
            b"fine" => source = parse_source(at)?,
            b"c" if at.peek() == Some(b'{') => counted = Some(range_in(line, at.skip()?)),
            // Twice would be its units twice.
            b"units" if units => return Err(Bad),
            b"units" => {
                units = true;
                at.array(|at, _| {
                    match parse_entry(at, line, columns, &wanted, turns)? {
                        Some(entry) if entry.id.is_empty() => nameless += 1,
                        entry => entries.extend(entry),
                    }
                    Ok(())
                })?;
            }
            _ => drop(at.skip()?),
        }
        Ok(())
    })?;
    cursor.end()?;
    (into.source, into.counted, into.nameless) = (source, counted, nameless);
    match (header, at_ms) {
        (Some(columns), None) => Ok(Line::Header(columns)),
        (None, Some(at_ms)) if units => {
            into.at_ms = at_ms;
            Ok(Line::Look)
        }
        _ => Err(Bad),
    }
}

/// Where a part of the line lies in it.
fn range_in(line: &[u8], part: &[u8]) -> std::ops::Range<usize> {
    let start = part.as_ptr() as usize - line.as_ptr() as usize;
    start..start + part.len()
}

fn parse_columns(at: &mut Cursor<'_>) -> Result<Columns, Bad> {
    let mut columns = Columns::new();
    at.array(|at, _| {
        let measure = Measure::from_name(at.text()?);
        // A name said twice has no second place, or its values would be read over each other.
        columns.push(measure.filter(|known| !columns.contains(&Some(*known))));
        Ok(())
    })?;
    Ok(columns)
}

fn parse_source(at: &mut Cursor<'_>) -> Result<Option<Source>, Bad> {
    let (mut span, mut end) = (None, None);
    at.array(|at, place| {
        match place {
            0 => span = Part::Fine.parse(at.text()?),
            1 => end = at.decimal(0)?,
            _ => drop(at.skip()?),
        }
        Ok(())
    })?;
    Ok(span.zip(end))
}

/// An entry, its ID empty if it has none; `None`: it isn't wanted.
fn parse_entry(
    at: &mut Cursor<'_>,
    line: &[u8],
    columns: &Columns,
    wanted: &impl Fn(&[u8]) -> bool,
    turns: &mut Vec<(Measure, u64)>,
) -> Result<Option<Entry>, Bad> {
    at.peek();
    if at.skip_unit(wanted) {
        return Ok(None);
    }
    let first_turn = turns.len();
    let mut id: Option<&[u8]> = None;
    let mut names: Option<Box<NamesSaid>> = None;
    let mut numbers = Numbers::default();
    at.object(|at, key| {
        // An ID that isn't wanted comes first in a line of ours, so the rest of its unit is only stepped over.
        if id.is_some_and(|id| !wanted(id)) {
            return at.skip().map(drop);
        }
        match key {
            b"id" if at.peek() == Some(b'"') => id = Some(at.string()?),
            b"v" if at.peek() == Some(b'[') => parse_values(at, columns, &mut numbers)?,
            b"e" if at.peek() == Some(b'{') => parse_turns(at, columns, turns)?,
            b"kind" | b"parent" | b"name" | b"owner" | b"teams" | b"s" => {
                parse_name(at, key, names.get_or_insert_default())?;
            }
            _ => drop(at.skip()?),
        }
        Ok(())
    })?;
    let is_wanted = id.is_none_or(wanted);
    if id.is_none() || !is_wanted {
        turns.truncate(first_turn);
    }
    let id = id.map_or(0..0, |id| range_in(line, id));
    Ok(is_wanted.then_some(Entry { id, names, numbers, turns: first_turn..turns.len() }))
}

fn parse_values(at: &mut Cursor<'_>, columns: &Columns, numbers: &mut Numbers) -> Result<(), Bad> {
    at.array(|at, place| {
        match columns.get(place) {
            Some(Some(measure)) if is_number(at) && bit(*measure) & TURNS == 0 => {
                at.decimal(decimals(*measure))?.into_iter().for_each(|value| numbers.set(*measure, value));
            }
            _ => drop(at.skip()?),
        }
        Ok(())
    })
}

fn parse_turns(at: &mut Cursor<'_>, columns: &Columns, turns: &mut Vec<(Measure, u64)>) -> Result<(), Bad> {
    at.object(|at, key| {
        let place = std::str::from_utf8(key).ok().and_then(|text| text.parse::<usize>().ok());
        match place.and_then(|place| *columns.get(place)?) {
            Some(measure) if bit(measure) & TURNS != 0 && at.peek() == Some(b'[') => at.array(|at, _| {
                if is_number(at) {
                    turns.extend(at.decimal(decimals(measure))?.map(|value| (measure, value)));
                    Ok(())
                } else {
                    at.skip().map(drop)
                }
            }),
            _ => at.skip().map(drop),
        }
    })
}

fn is_number(at: &mut Cursor<'_>) -> bool {
    matches!(at.peek(), Some(b'0'..=b'9' | b'-' | b'n'))
}

fn parse_name(at: &mut Cursor<'_>, key: &[u8], said: &mut NamesSaid) -> Result<(), Bad> {
    if key == b"teams" && at.peek() == Some(b'[') {
        let mut teams = Vec::new();
        at.array(|at, _| {
            teams.extend(std::str::from_utf8(at.skip()?).ok().and_then(|text| Name::new(text.trim_matches('"'))));
            Ok(())
        })?;
        said.teams = Some(teams);
        return Ok(());
    }
    let text = if at.peek() == Some(b'"') { at.text()? } else { at.skip().map(|_| "")? };
    match key {
        b"kind" => said.kind = UnitKind::from_word(text),
        b"parent" => said.parent = Some(UnitId::new(text)),
        b"name" => said.name = Some(Name::new(text)),
        b"owner" => said.owner = Some(Name::new(text)),
        b"s" => said.since_ns = Some(text.parse().ok()),
        _ => {}
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a line says of two of its units, and of one of them alone.
    fn both_ways(line: &str) -> [Option<Vec<String>>; 2] {
        let columns = vec![Some(Measure::MemoryUsed), Some(Measure::CpuUsed), Some(Measure::Turns)];
        let read = |wanted: &dyn Fn(&[u8]) -> bool| {
            let mut parsed = Parsed::default();
            parse_line(line.as_bytes(), &columns, wanted, &mut parsed).ok()?;
            let said = |entry: &Entry| {
                let turns = parsed.turns.get(entry.turns.clone());
                format!("{:?} {:?} {turns:?}", line.get(entry.id.clone()), entry.numbers)
            };
            let of_a = parsed.entries.iter().filter(|entry| line.get(entry.id.clone()) == Some("a"));
            Some(of_a.map(said).collect())
        };
        [read(&|_| true), read(&|id| id == b"a")]
    }

    #[test]
    fn a_line_says_the_same_of_a_unit_and_is_as_bad_whoever_else_is_read() {
        let a = r#"{"id":"a","v":[7,1.5],"e":{"2":[1]}}"#;
        let others = [
            r#"{"id":"b"}"#,
            r#"{"id":"b","v":[1,null,2]}"#,
            r#"{"id":"b","v":[1],"e":{"2":[1,2],"0":[3]}}"#,
            r#"{"id":"b","e":{"2":[1]}}"#,
            r#"{"id":"b","kind":"agent","v":[1]}"#,
            r#"{"v":[1],"id":"b"}"#,
            r#"{"id":"b","v":[]}"#,
            r#"{"id":"b","e":{}}"#,
            r#"{"id":"b","v":[1],"e":{"2":[1]},"x":{"y":[[]]}}"#,
            r#"{"id":"b","v":"1"}"#,
            r#" { "id" : "b" , "v" : [ 1 ] } "#,
            r#"{"id":"","v":[1]}"#,
            r#"{"id":7,"v":[1]}"#,
        ];
        for other in others {
            for line in [format!(r#"{{"t":1,"units":[{a},{other}]}}"#), format!(r#"{{"t":1,"units":[{other},{a}]}}"#)] {
                let [all, one] = both_ways(&line);
                assert_eq!(all.as_ref().map(Vec::len), Some(1), "{line}");
                assert_eq!(all, one, "{line}");
                // Cut at any byte, or without any byte, it is as bad.
                for at in 0..line.len() {
                    let without = format!("{}{}", &line[..at], &line[at + 1..]);
                    for line in [&line[..at], &without] {
                        let [all, one] = both_ways(line);
                        assert_eq!(all, one, "{line}");
                    }
                }
            }
        }
    }
}
