//! A harness's line: one OTLP `ExportMetricsServiceRequest` as JSON, of which only the numbers are taken that a harness
//! may say. Names, units, descriptions, attributes, IDs and times are stepped over where they stand.
//!
//! Field names and the two spellings of a 64-bit number are those of opentelemetry-proto's JSON encoding: integers are
//! decimal strings, numbers are accepted too; a double may be a string, which is how it says NaN and Infinity.

use lnk_schema::{Measure, RollUp, SaidBy};

use crate::Turn;
use crate::json::{Bad, Cursor};

/// The most that a turn can be of anything that is counted, in its own unit; of cost, in micro-dollars.
const MOST_COUNTED: f64 = 1e9;
/// The longest that a turn can take, in seconds: a day.
const LONGEST_SECONDS: f64 = 86_400.0;

/// `DataPointFlags`' bit for a point that says there is no value.
const NO_RECORDED_VALUE: u64 = 1;

/// A line, read.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Said {
    pub turn: Turn,
    /// A point of a measure that a harness may say was out of that measure's bounds, and left out.
    pub left_out: bool,
}

/// The numbers of a line. An error refuses the line whole: it isn't JSON, or says the same thing twice.
pub(crate) fn parse_turn(line: &[u8]) -> Result<Said, Bad> {
    let mut points = Points::default();
    let mut at = Cursor::new(line)?;
    each_of(&mut at, b"resourceMetrics", &mut |at| {
        each_of(at, b"scopeMetrics", &mut |at| each_of(at, b"metrics", &mut |at| metric(at, &mut points)))
    })?;
    at.end()?;
    Ok(points.said())
}

/// Whether a harness may say a measure. Tokens too: whether a route counts them instead is known to whoever asks.
fn may_say(measure: Measure) -> bool {
    matches!(measure.said_by(), SaidBy::Harness | SaidBy::RouteElseHarness)
}

/// A value as a turn may have it, or `None`.
fn within_bounds(measure: Measure, value: f64) -> Option<f64> {
    let (most, whole) = match measure {
        _ if measure.unit() == "s" => (LONGEST_SECONDS, false),
        Measure::Cost => (MOST_COUNTED, false),
        _ => (MOST_COUNTED, true),
    };
    let fits = (0.0..=most).contains(&value) && (!whole || value.fract() == 0.0);
    // Minus zero is in the range and becomes zero.
    fits.then_some(value + 0.0)
}

/// What the points of a line come to.
#[derive(Debug)]
struct Points {
    sums: [Option<f64>; Measure::COUNT],
    own: Vec<(Measure, f64)>,
    left_out: bool,
}

impl Default for Points {
    fn default() -> Self {
        Points { sums: [None; Measure::COUNT], own: Vec::new(), left_out: false }
    }
}

impl Points {
    fn add(&mut self, measure: Measure, value: f64) {
        match within_bounds(measure, value) {
            None => self.left_out = true,
            Some(value) if measure.roll_up() == RollUp::Own => self.own.push((measure, value)),
            Some(value) => {
                let sum = &mut self.sums[measure.index()];
                *sum = Some(sum.unwrap_or(0.0) + value);
            }
        }
    }

    /// The bounds are a turn's, so that a thousand points that each keep them can't go past them together.
    fn said(mut self) -> Said {
        let mut values = Vec::new();
        for (&measure, sum) in Measure::ALL.iter().zip(self.sums) {
            match sum.map(|sum| within_bounds(measure, sum)) {
                Some(Some(sum)) => values.push((measure, sum)),
                Some(None) => self.left_out = true,
                None => {}
            }
        }
        values.append(&mut self.own);
        Said { turn: Turn(values), left_out: self.left_out }
    }
}

/// Marks a key as seen; a second one of the same name in one object is what parsers disagree about.
fn first(seen: &mut bool) -> Result<(), Bad> {
    if std::mem::replace(seen, true) { Err(Bad) } else { Ok(()) }
}

/// An object, one key of which holds an array: calls at each value of that, and steps over everything else.
fn each_of<'a>(
    at: &mut Cursor<'a>,
    wanted: &[u8],
    each: &mut dyn FnMut(&mut Cursor<'a>) -> Result<(), Bad>,
) -> Result<(), Bad> {
    let mut seen = false;
    at.object(|at, key| {
        if key != wanted {
            return at.skip();
        }
        first(&mut seen)?;
        if at.null()? { Ok(()) } else { at.array(|at| each(at)) }
    })
}

fn metric(at: &mut Cursor<'_>, points: &mut Points) -> Result<(), Bad> {
    let (mut named, mut measure, mut data) = (false, None, None);
    at.object(|at, key| match key {
        b"name" => {
            first(&mut named)?;
            measure = std::str::from_utf8(at.string()?).ok().and_then(Measure::from_name).filter(|m| may_say(*m));
            Ok(())
        }
        b"sum" | b"gauge" => {
            // Kept as a place: the name may come after.
            let place = *at;
            if at.null()? {
                return Ok(());
            }
            if data.replace(place).is_some() {
                return Err(Bad);
            }
            at.skip()
        }
        _ => at.skip(),
    })?;
    match (measure, data) {
        (Some(measure), Some(mut at)) => each_of(&mut at, b"dataPoints", &mut |at| point(at, measure, points)),
        _ => Ok(()),
    }
}

fn point(at: &mut Cursor<'_>, measure: Measure, points: &mut Points) -> Result<(), Bad> {
    let (mut valued, mut value, mut flagged, mut flags) = (false, None, false, 0);
    at.object(|at, key| match key {
        b"asInt" | b"asDouble" => {
            if at.null()? {
                return Ok(());
            }
            first(&mut valued)?;
            value = Some(if key == b"asInt" { integer(at)? } else { double(at)? });
            Ok(())
        }
        b"flags" => {
            first(&mut flagged)?;
            if !at.null()? {
                flags = at.number()?.parse().map_err(|_| Bad)?;
            }
            Ok(())
        }
        _ => at.skip(),
    })?;
    if let Some(value) = value.filter(|_| flags & NO_RECORDED_VALUE == 0) {
        points.add(measure, value);
    }
    Ok(())
}

/// A number, or a string that holds nothing but one.
fn number<'a>(at: &mut Cursor<'a>) -> Result<&'a str, Bad> {
    if at.peek() != Some(b'"') {
        return at.number();
    }
    let text = at.string()?;
    let mut within = Cursor::new(text)?;
    let number = within.number()?;
    if number.len() == text.len() { Ok(number) } else { Err(Bad) }
}

/// A signed 64-bit integer. Also where it is written `12.0` or `1.2e1`, as protobuf's JSON allows.
fn integer(at: &mut Cursor<'_>) -> Result<f64, Bad> {
    let text = number(at)?;
    if text.contains(['.', 'e', 'E']) {
        let value = finite(text)?;
        // 2^63: the first that is past the range.
        let fits = value.fract() == 0.0 && value.abs() < 9_223_372_036_854_775_808.0;
        return if fits { Ok(value) } else { Err(Bad) };
    }
    text.parse::<i64>().map(|value| value as f64).map_err(|_| Bad)
}

/// A double. `"NaN"`, `"Infinity"` and `"-Infinity"` are well spelled, and out of every bound.
fn double(at: &mut Cursor<'_>) -> Result<f64, Bad> {
    let mut ahead = *at;
    if ahead.peek() == Some(b'"') && matches!(ahead.string()?, b"NaN" | b"Infinity" | b"-Infinity") {
        *at = ahead;
        return Ok(f64::NAN);
    }
    finite(number(at)?)
}

fn finite(text: &str) -> Result<f64, Bad> {
    text.parse().ok().filter(|value: &f64| value.is_finite()).ok_or(Bad)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_point(name: &str, point: &str) -> Result<Said, Bad> {
        let metric = format!(r#"{{"name":"{name}","sum":{{"dataPoints":[{point}]}}}}"#);
        parse_turn(format!(r#"{{"resourceMetrics":[{{"scopeMetrics":[{{"metrics":[{metric}]}}]}}]}}"#).as_bytes())
    }

    fn values(said: Result<Said, Bad>) -> Option<Vec<(Measure, f64)>> {
        said.ok().map(|said| said.turn.0)
    }

    #[test]
    fn both_spellings_of_an_integer_are_read() {
        for point in [
            r#"{"asInt":"12"}"#,
            r#"{"asInt":12}"#,
            r#"{"asInt":12.0}"#,
            r#"{"asInt":1.2e1}"#,
            r#"{"asDouble":12}"#,
            r#"{"asDouble":"12"}"#,
            r#"{"attributes":[],"asInt":"12","flags":0}"#,
        ] {
            for name in ["turns.sum", "link.turns.sum"] {
                assert_eq!(values(of_point(name, point)), Some(vec![(Measure::Turns, 12.0)]), "{point}");
            }
        }
    }

    #[test]
    fn what_the_table_of_facts_refuses_is_refused() {
        for point in [
            r#"{"asDouble":1e309}"#,
            r#"{"asInt":18446744073709551616}"#,
            r#"{"asInt":"9223372036854775808"}"#,
            r#"{"asInt":1,"asInt":2}"#,
            r#"{"asInt":1,"asDouble":2}"#,
            r#"{"asInt":"1 "}"#,
            r#"{"asInt":" 1"}"#,
            r#"{"asInt":""}"#,
            r#"{"asInt":"NaN"}"#,
            r#"{"asInt":1.5}"#,
            r#"{"asInt":true}"#,
            r#"{"asInt":01}"#,
            r#"{"asInt":1,"x":"\ud800"}"#,
            r#"{"asDouble":NaN}"#,
            r#"{"asInt":[1]}"#,
            r#"{"asInt":0x1}"#,
        ] {
            assert_eq!(of_point("turns.sum", point), Err(Bad), "{point}");
        }
    }

    #[test]
    fn a_point_out_of_bounds_is_left_out_alone() {
        for point in [
            r#"{"asInt":-1}"#,
            r#"{"asInt":1000000001}"#,
            r#"{"asInt":9007199254740993}"#,
            r#"{"asDouble":1e308}"#,
            r#"{"asDouble":"NaN"}"#,
            r#"{"asDouble":"Infinity"}"#,
            r#"{"asDouble":2.5}"#,
        ] {
            assert_eq!(of_point("turns.sum", point), Ok(Said { turn: Turn(vec![]), left_out: true }), "{point}");
            let beside = values(of_point("turns.sum", &format!("{point},{{\"asInt\":3}}")));
            assert_eq!(beside, Some(vec![(Measure::Turns, 3.0)]), "{point}");
        }
        let zero = values(of_point("turns.sum", r#"{"asDouble":-0}"#)).unwrap();
        assert!(zero[0].1 == 0.0 && zero[0].1.is_sign_positive());
    }

    #[test]
    fn the_bounds_are_the_whole_turns() {
        let most = r#"{"asInt":1000000000}"#;
        assert_eq!(values(of_point("cost.sum", most)), Some(vec![(Measure::Cost, 1e9)]));
        let twice = of_point("cost.sum", &format!("{most},{most}"));
        assert_eq!(twice, Ok(Said { turn: Turn(vec![]), left_out: true }));
        assert_eq!(values(of_point("cost.sum", r#"{"asDouble":1841.5}"#)), Some(vec![(Measure::Cost, 1841.5)]));
        let day = of_point("time.turn.own", r#"{"asDouble":86400},{"asDouble":86400.1},{"asDouble":0.5}"#).unwrap();
        assert_eq!(day.turn.0, vec![(Measure::TimeTurn, 86_400.0), (Measure::TimeTurn, 0.5)]);
        assert!(day.left_out);
    }

    #[test]
    fn only_what_a_harness_may_say_is_taken() {
        let taken: Vec<_> = Measure::ALL
            .iter()
            .filter(|m| !values(of_point(m.name(), r#"{"asInt":1}"#)).unwrap().is_empty())
            .map(|m| m.name())
            .collect();
        assert_eq!(
            taken,
            [
                "turns.sum",
                "tool_calls.sum",
                "errors.sum",
                "fallbacks.off.sum",
                "fallbacks.window.sum",
                "fallbacks.overloaded.sum",
                "tokens.input.sum",
                "tokens.output.sum",
                "tokens.cached.sum",
                "tokens.cache_written.sum",
                "cost.sum",
                "time.to_model.own",
                "time.first_token.own",
                "time.turn.own",
            ]
        );
        assert_eq!(values(of_point("__proto__", r#"{"asInt":1}"#)), Some(vec![]));
    }

    #[test]
    fn the_name_may_come_after_and_a_histogram_is_stepped_over() {
        let wrap = |metric: &str| {
            parse_turn(format!(r#"{{"resourceMetrics":[{{"scopeMetrics":[{{"metrics":[{metric}]}}]}}]}}"#).as_bytes())
        };
        let after = r#"{"gauge":{"dataPoints":[{"asInt":4}]},"unit":"x","name":"turns.sum"}"#;
        assert_eq!(values(wrap(after)), Some(vec![(Measure::Turns, 4.0)]));
        let histogram = r#"{"name":"turns.sum","histogram":{"dataPoints":[{"count":4,"sum":9}]}}"#;
        assert_eq!(values(wrap(histogram)), Some(vec![]));
        let both = r#"{"name":"turns.sum","sum":{"dataPoints":[]},"gauge":{"dataPoints":[]}}"#;
        assert_eq!(wrap(both), Err(Bad));
        assert_eq!(wrap(r#"{"name":"turns.sum","name":"errors.sum"}"#), Err(Bad));
        assert_eq!(values(of_point("turns.sum", r#"{"asInt":3,"flags":1}"#)), Some(vec![]));
        assert_eq!(values(parse_turn(br#"{"resourceMetrics":null,"__proto__":{"x":1}}"#)), Some(vec![]));
        for bad in ["", "[]", "1", "null", r#"{"resourceMetrics":{}}"#, r#"{"resourceMetrics":[1]}"#, "{} {}"] {
            assert_eq!(parse_turn(bad.as_bytes()), Err(Bad), "{bad}");
        }
    }
}
