//! Units that another program made itself, such as a relay of itself.

use std::collections::BTreeMap;

use lnk_schema::{Kind, Measure, Name, RollUp, Unit, UnitId, UnitKind, to_whole};
use serde::Deserialize;

use crate::request::{Points, Request};
use crate::sums::is_value;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Given {
    /// Nanoseconds since 1970, in decimal.
    at: String,
    machine: Option<String>,
    units: Vec<GivenUnit>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GivenUnit {
    id: String,
    kind: String,
    parent: Option<String>,
    name: Option<String>,
    owner: Option<String>,
    #[serde(default)]
    teams: Vec<String>,
    /// Nanoseconds since 1970, in decimal.
    since: Option<String>,
    measures: BTreeMap<String, f64>,
}

/// A request of units given as JSON: `{at, machine?, units: [{id, kind, parent?, name?, owner?, teams?, since?,
/// measures: {NAME: value}}]}`, `at` and `since` (when the unit's totals began) in nanoseconds since 1970 as decimal
/// strings. `None` if no unit has a measure.
///
/// # Errors
///
/// What of it isn't what it should be, without repeating it.
pub fn encode_units(json: &str) -> Result<Option<String>, String> {
    let given: Given = serde_json::from_str(json).map_err(|error| error.to_string())?;
    let at_ns = parse_ns(&given.at).ok_or("at is no time in nanoseconds")?;
    let machine = optional(given.machine.as_deref(), UnitId::new, "machine is no ID")?;
    let mut request = Request::new(given.units.len());
    for (place, unit) in given.units.into_iter().enumerate() {
        let (unit, measures) = parse_unit(unit, at_ns).map_err(|why| format!("unit {}: {why}", place + 1))?;
        request.add(&unit, machine.as_ref(), measures.into_iter());
    }
    Ok(request.finish())
}

fn parse_unit(given: GivenUnit, at_ns: u64) -> Result<(Unit, BTreeMap<Measure, Points>), &'static str> {
    let id = UnitId::new(&given.id).ok_or("id is no ID")?;
    let kind = UnitKind::from_word(&given.kind).ok_or("kind is none there is")?;
    let since_ns = optional(given.since.as_deref(), parse_ns, "since is no time in nanoseconds")?;
    if since_ns.is_some_and(|since| since >= at_ns) {
        return Err("since is not before at");
    }
    let unit = Unit {
        parent: optional(given.parent.as_deref(), UnitId::new, "parent is no ID")?,
        name: optional(given.name.as_deref(), Name::new, "name is no name")?,
        owner: optional(given.owner.as_deref(), Name::new, "owner is no ID")?,
        teams: given.teams.iter().map(|team| Name::new(team)).collect::<Option<_>>().ok_or("a team is no ID")?,
        ..Unit::new(id, kind)
    };
    let mut measures = BTreeMap::new();
    for (name, value) in given.measures {
        let measure = Measure::from_name(&name).ok_or("there is no such measure")?;
        if !is_value(value) {
            return Err("a value is negative or no number");
        }
        let points = vec![(at_ns, to_whole(measure, value))];
        let is_gauge = matches!(measure.kind(), Kind::Level | Kind::Peak) || measure.roll_up() == RollUp::Own;
        measures
            .insert(measure, if is_gauge { Points::Gauge(points) } else { Points::Sum { start_ns: since_ns, points } });
    }
    Ok((unit, measures))
}

/// What a text is, if there is one.
fn optional<T>(
    text: Option<&str>,
    parse: impl Fn(&str) -> Option<T>,
    why: &'static str,
) -> Result<Option<T>, &'static str> {
    text.map(|text| parse(text).ok_or(why)).transpose()
}

fn parse_ns(text: &str) -> Option<u64> {
    // `parse` takes a plus sign, which OTLP's JSON has not.
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}
