//! Writing a look's line: what is left out, and what is said anew.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::sync::LazyLock;

use lnk_schema::{Measure, Name, RollUp, UnitId};

use crate::numbers::{Numbers, TOTALS, TURNS, bit, decimals, measures_of};
use crate::read::Columns;
use crate::row::{Names, Row};
use crate::span::{Part, Span};

/// The header's order: what stands in `v` first, so that its places are few; then what is counted per turn.
static ORDER: LazyLock<Vec<Measure>> = LazyLock::new(|| measures_of(!TURNS).chain(measures_of(TURNS)).collect());

/// The columns of a file of this version.
pub(crate) fn columns() -> &'static Columns {
    static COLUMNS: LazyLock<Columns> = LazyLock::new(|| ORDER.iter().copied().map(Some).collect());
    &COLUMNS
}

/// The header line, with its newline.
pub(crate) fn header() -> String {
    let names: Vec<_> = ORDER.iter().map(|measure| format!("\"{}\"", measure.name())).collect();
    format!("{{\"measures\":[{}]}}\n", names.join(","))
}

/// Where a minute's line got its looks from: a fine file, and how far in it they end.
pub(crate) type Source = (Span, u64);

/// A unit's totals, in the table's order.
type Totals = Box<[Option<u64>]>;

/// Writes one file's lines, each from what the lines before it said.
///
/// It remembers the units of the last line only: one that comes back later is said anew, so what is remembered doesn't
/// grow with units that come and go.
#[derive(Debug, Default)]
pub(crate) struct LineWriter {
    said: HashMap<UnitId, (Names, Totals)>,
    counted: Option<String>,
}

impl LineWriter {
    /// The next line says everything anew.
    pub(crate) fn say_anew(&mut self) {
        *self = LineWriter::default();
    }

    /// A line, with its newline. `counted` is `c`, left out while it stays the same.
    pub(crate) fn line(&mut self, at_ms: u64, source: Option<Source>, rows: &[Row], counted: Option<&str>) -> String {
        let mut out = String::with_capacity(64 + rows.len() * 96);
        out.push_str("{\"t\":");
        push_decimal(&mut out, at_ms, 3);
        if let Some((span, end)) = source {
            let _ = write!(out, ",\"fine\":[\"{}\",{end}]", Part::Fine.name(span));
        }
        out.push_str(",\"units\":[");
        let mut said = HashMap::with_capacity(rows.len());
        for (i, row) in rows.iter().enumerate() {
            if i > 0 {
                out.push(',');
            }
            let totals = self.push_unit(&mut out, row);
            said.insert(row.id.clone(), (row.names.clone(), totals));
        }
        self.said = said;
        out.push(']');
        if let Some(counted) = counted.filter(|text| self.counted.as_deref() != Some(*text)) {
            let _ = write!(out, ",\"c\":{counted}");
            self.counted = Some(counted.to_owned());
        }
        out.push_str("}\n");
        out
    }

    /// Writes a unit and gives back its totals, as the next line will remember them.
    fn push_unit(&self, out: &mut String, row: &Row) -> Totals {
        let totals: Totals = measures_of(TOTALS).map(|measure| row.numbers.get(measure)).collect();
        // A total that can't be read any more has no way to be said but by saying the others anew without it.
        let before = self.said.get(&row.id).filter(|(names, before)| {
            *names == row.names && before.iter().zip(&totals).all(|(before, now)| before.is_none() || now.is_some())
        });
        let _ = write!(out, "{{\"id\":\"{}\"", row.id);
        if before.is_none() {
            push_names(out, &row.names);
        }
        let unchanged = measures_of(TOTALS)
            .zip(before.map(|(_, totals)| &totals[..]).unwrap_or_default())
            .zip(&totals)
            .filter(|((_, before), now)| before.is_some() && before == now)
            .fold(0, |mask, ((measure, _), _)| mask | bit(measure));
        let mut values = row.numbers.clone();
        values.keep(!unchanged);
        push_values(out, &values);
        push_turns(out, &row.turns);
        out.push('}');
        totals
    }
}

fn push_names(out: &mut String, names: &Names) {
    let mut push = |key: &str, value: Option<&str>| {
        if let Some(value) = value {
            let _ = write!(out, ",\"{key}\":\"{value}\"");
        }
    };
    push("kind", names.kind.map(lnk_schema::UnitKind::as_str));
    push("parent", names.parent.as_ref().map(UnitId::as_str));
    push("name", names.name.as_ref().map(Name::as_str));
    push("owner", names.owner.as_ref().map(Name::as_str));
    push("s", names.since_ns.map(|since| since.to_string()).as_deref());
    if !names.teams.is_empty() {
        let teams: Vec<_> = names.teams.iter().map(|team| format!("\"{team}\"")).collect();
        let _ = write!(out, ",\"teams\":[{}]", teams.join(","));
    }
}

fn push_values(out: &mut String, values: &Numbers) {
    let Some(last) = ORDER.iter().rposition(|measure| values.get(*measure).is_some()) else { return };
    out.push_str(",\"v\":[");
    for (i, measure) in ORDER.iter().take(last + 1).enumerate() {
        if i > 0 {
            out.push(',');
        }
        match values.get(*measure) {
            Some(value) => push_decimal(out, value, decimals(*measure)),
            None => out.push_str("null"),
        }
    }
    out.push(']');
}

fn push_turns(out: &mut String, turns: &[(Measure, u64)]) {
    let mut by_place = BTreeMap::<_, Vec<_>>::new();
    for &(measure, value) in turns {
        // A time of nothing is still a turn's time, and stands in its median; a count of nothing adds nothing.
        if value != 0 || measure.roll_up() == RollUp::Own {
            by_place.entry(ORDER.iter().position(|other| *other == measure)).or_default().push((measure, value));
        }
    }
    for (i, (place, values)) in by_place.iter().enumerate() {
        let _ = write!(out, "{}\"{}\":[", if i == 0 { ",\"e\":{" } else { "," }, place.unwrap_or_default());
        for (j, &(measure, value)) in values.iter().enumerate() {
            if j > 0 {
                out.push(',');
            }
            push_decimal(out, value, decimals(measure));
        }
        out.push(']');
    }
    if !by_place.is_empty() {
        out.push('}');
    }
}

/// Writes a whole number of `10^-decimals` as short as it goes.
fn push_decimal(out: &mut String, whole: u64, decimals: u32) {
    let unit = 10_u64.pow(decimals);
    let _ = write!(out, "{}", whole / unit);
    let fraction = whole % unit;
    if fraction != 0 {
        let digits = format!("{fraction:0width$}", width = decimals as usize);
        out.push('.');
        out.push_str(digits.trim_end_matches('0'));
    }
}
