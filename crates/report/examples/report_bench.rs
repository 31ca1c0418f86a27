//! How fast a harness's lines are read, beside a tree of all of each line.
//!
//! `cargo run --release -p lnk-report --example report_bench`
#![allow(missing_docs, clippy::unwrap_used, clippy::print_stdout, reason = "a bench")]

use std::fs;
use std::hint::black_box;
use std::path::Path;
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
    let folder = tempfile::tempdir().unwrap();
    let (path, line) = (folder.path().join("measures.jsonl"), line());
    fs::write(&path, line.repeat(FILE_BYTES / line.len())).unwrap();
    let place = Place::below(folder.path(), Path::new("measures.jsonl")).unwrap();

    let (lines, bare) = best(|| memchr::memchr_iter(b'\n', &fs::read(&path).unwrap()).count());
    let (turns, ours) = best(|| Reader::of_turns(place.clone(), &Positions::default()).read().turns.len());
    let (trees, tree) = best(|| {
        let text = fs::read(&path).unwrap();
        let parse = |line: &&[u8]| serde_json::from_slice::<serde_json::Value>(line).map(black_box).is_ok();
        text.split_inclusive(|byte| *byte == b'\n').filter(parse).count()
    });
    assert!(turns == lines && trees == lines, "all read the same");

    println!("{lines} lines of {} bytes, best of {ROUNDS}", line.len());
    for (what, seconds) in [("reading the file alone", bare), ("Reader", ours), ("serde_json::Value a line", tree)] {
        let (rate, megabytes) = (lines as f64 / seconds, (lines * line.len()) as f64 / seconds / 1e6);
        println!("{what:26} {rate:>10.0} lines/s  {megabytes:>6.0} MB/s");
    }
    println!("Reader is {:.1} times as fast as a tree a line", tree / ours);
}
