//! A line of `times.jsonl`: how long one start or stop of an agent took.

use lnk_schema::Measure;
use serde::Deserialize;

use crate::Turn;
use crate::json::Bad;

/// The longest start that is believed, in seconds: a day.
const LONGEST_START: f64 = 86_400.0;
/// The longest stop that is kept, in seconds: after that an agent is no longer waited for.
const LONGEST_STOP: f64 = 10.0;

/// `t` in seconds since 1970, and one of the three, in seconds. Anything else in the line is ignored.
#[derive(Deserialize)]
struct Line {
    t: f64,
    start_cold: Option<f64>,
    start_warm: Option<f64>,
    stop: Option<f64>,
}

/// A line, read: when it was written, in seconds since 1970, and its one value. `None` for a value that isn't kept.
pub(crate) fn parse_time(line: &[u8]) -> Result<(f64, Option<Turn>), Bad> {
    let line: Line = serde_json::from_slice(line).map_err(|_| Bad)?;
    let (measure, value, longest) = match (line.start_cold, line.start_warm, line.stop) {
        (Some(value), None, None) => (Measure::TimeStartCold, value, LONGEST_START),
        (None, Some(value), None) => (Measure::TimeStartWarm, value, LONGEST_START),
        (None, None, Some(value)) => (Measure::TimeStop, value, LONGEST_STOP),
        _ => return Err(Bad),
    };
    if line.t < 0.0 || value < 0.0 {
        return Err(Bad);
    }
    Ok((line.t, (value <= longest).then(|| Turn(vec![(measure, value + 0.0)]))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_is_one_start_or_stop() {
        let value = |text: &str| parse_time(text.as_bytes());
        let turn = |measure, value| Some(Turn(vec![(measure, value)]));
        let t = 1_780_000_000.25;
        assert_eq!(value(r#"{"t":1780000000.25,"start_cold":3.41}"#), Ok((t, turn(Measure::TimeStartCold, 3.41))));
        assert_eq!(value(r#"{"start_warm":0,"t":1780000000.25,"x":"y"}"#), Ok((t, turn(Measure::TimeStartWarm, 0.0))));
        assert_eq!(value(r#"{"t":1780000000.25,"stop":10}"#), Ok((t, turn(Measure::TimeStop, 10.0))));
        assert_eq!(value(r#"{"t":1780000000.25,"stop":10.01}"#), Ok((t, None)));
        for bad in [
            "",
            "{}",
            r#"{"t":1}"#,
            r#"{"stop":1}"#,
            r#"{"t":1,"stop":1,"start_cold":2}"#,
            r#"{"t":1,"stop":-1}"#,
            r#"{"t":-1,"stop":1}"#,
            r#"{"t":1,"stop":1e309}"#,
            r#"{"t":1,"stop":"1"}"#,
            r#"{"t":1,"stop":1,"stop":2}"#,
            r#"{"t":1,"stop":NaN}"#,
            "[1,2]",
        ] {
            assert_eq!(value(bad), Err(Bad), "{bad}");
        }
    }
}
