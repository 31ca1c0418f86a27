//! How fast a harness's lines are read, beside reading their file alone and a tree of all of each line, as one JSON object
//! of seconds, each the best of some rounds.
//!
//! `report_bench FILE`: writes the file first, of the line on the standard input, or of a line of its own where there is
//! none. It is left, for others to be measured on.
#![allow(missing_docs, clippy::unwrap_used, clippy::print_stdout, reason = "a bench")]

use std::fs;
use std::hint::black_box;
use std::path::PathBuf;
use std::time::Instant;

use lnk_report::{Place, Positions, Reader};

/// Under what a look reads, so that one look reads it all.
const FILE_BYTES: usize = 3 << 20;
const ROUNDS: usize = 15;

/// A turn as an OpenTelemetry library writes it: nine measures, each with its unit, description, times and attributes.
fn line() -> String {
    let attributes = r#"[{"key":"model","value":{"stringValue":"a-model-20260101"}},{"key":"session.id","value":{"stringValue":"0c1f9f3e-5b0a-4a57-9a55-1d9f2a3b4c5d"}}]"#;
    let times = r#""startTimeUnixNano":"1780000000000000000","timeUnixNano":"1780000012345678900""#;
    let metric = |(name, unit, kind, value): (&str, &str, &str, &str)| {
        format!(
            r#"{{"name":"link.{name}","description":"What the harness counted of one turn.","unit":"{unit}","{kind}":{{"dataPoints":[{{"attributes":{attributes},{times},{value}}}]}}}}"#
        )
    };
    let metrics = [
        ("turns.sum", "{turn}", "sum", r#""asInt":"1""#),
        ("tool_calls.sum", "{call}", "sum", r#""asInt":"4""#),
        ("tokens.input.sum", "{token}", "sum", r#""asInt":"90211""#),
        ("tokens.output.sum", "{token}", "sum", r#""asInt":"4120""#),
        ("tokens.cached.sum", "{token}", "sum", r#""asInt":"80000""#),
        ("cost.sum", "{microdollar}", "sum", r#""asDouble":18412.5"#),
        ("time.to_model.own", "s", "gauge", r#""asDouble":0.412"#),
        ("time.first_token.own", "s", "gauge", r#""asDouble":1.204"#),
        ("time.turn.own", "s", "gauge", r#""asDouble":12.345"#),
    ];
    let metrics = metrics.map(metric).join(",");
    let resource = r#"{"attributes":[{"key":"service.name","value":{"stringValue":"harness"}}]}"#;
    format!(
        "{{\"resourceMetrics\":[{{\"resource\":{resource},\"scopeMetrics\":[{{\"scope\":{{\"name\":\"harness\",\"version\":\"1.2.3\"}},\"metrics\":[{metrics}]}}]}}]}}\n"
    )
}

fn best(mut round: impl FnMut() -> usize) -> (usize, f64) {
    let time = |_| {
        let began = Instant::now();
        (round(), began.elapsed().as_secs_f64())
    };
    (0..ROUNDS).map(time).min_by(|a, b| a.1.total_cmp(&b.1)).unwrap()
}

fn main() {
    let path = PathBuf::from(std::env::args_os().nth(1).unwrap());
    let given = std::io::read_to_string(std::io::stdin()).unwrap();
    let line = if given.is_empty() { line() } else { given };
    fs::write(&path, line.repeat(FILE_BYTES / line.len())).unwrap();
    let place = Place::below(path.parent().unwrap(), &path).unwrap();

    let (lines, bare) = best(|| memchr::memchr_iter(b'\n', &fs::read(&path).unwrap()).count());
    let (turns, ours) = best(|| Reader::of_turns(place.clone(), &Positions::default()).read().turns.len());
    let (trees, tree) = best(|| {
        let text = fs::read(&path).unwrap();
        let parse = |line: &&[u8]| serde_json::from_slice::<serde_json::Value>(line).map(black_box).is_ok();
        text.split_inclusive(|byte| *byte == b'\n').filter(parse).count()
    });
    assert!(turns == lines && trees == lines, "all read the same");
    let (bytes, seconds) = (line.len(), [bare, ours, tree]);
    println!(
        "{}",
        serde_json::json!({"lines": lines, "line_bytes": bytes, "bare_s": seconds[0], "reader_s": seconds[1], "tree_s": seconds[2]})
    );
}
