//! Never content: a known phrase, wherever a line could hold text, is in nothing that the crate gives back.
#![allow(missing_docs, clippy::unwrap_used, reason = "tests")]

mod common;

use std::fmt::Debug;

use common::{Home, Seeded, append, of_metrics, read_and_keep};
use lnk_report::{Counted, Note, Place, Positions, Reader, Refused, Turn, parse_tokens};
use lnk_schema::{Kind, Measure, SaidBy};

const PHRASE: &str = "heron-quartz umbrella";

/// A line with the phrase wherever OTLP has text and wherever it hasn't, and one value to be taken.
fn line_full_of(phrase: &str) -> String {
    let value = r#"{"stringValue":"PHRASE","arrayValue":{"values":[{"stringValue":"PHRASE"}]},"bytesValue":"PHRASE"}"#;
    let attributes = format!(r#"[{{"key":"PHRASE","value":{value}}},{{"key":"x","PHRASE":{value}}}]"#);
    let point = format!(
        r#"{{"attributes":{attributes},"asInt":"7","timeUnixNano":"PHRASE","startTimeUnixNano":"PHRASE","PHRASE":1,
        "exemplars":[{{"filteredAttributes":{attributes},"traceId":"PHRASE","spanId":"PHRASE","asDouble":1}}]}}"#
    );
    let metric = |name: &str| {
        format!(
            r#"{{"name":"{name}","description":"PHRASE","unit":"PHRASE","metadata":{attributes},
            "sum":{{"dataPoints":[{point}],"aggregationTemporality":"PHRASE","PHRASE":"PHRASE"}}}}"#
        )
    };
    let metrics = [metric("turns.sum"), metric("PHRASE"), metric("link.PHRASE"), metric("__proto__")].join(",");
    let resource = format!(r#"{{"attributes":{attributes},"entityRefs":[{{"type":"PHRASE","idKeys":["PHRASE"]}}]}}"#);
    let scope = format!(r#"{{"name":"PHRASE","version":"PHRASE","attributes":{attributes}}}"#);
    let line = format!(
        r#"{{"PHRASE":"PHRASE","resourceMetrics":[{{"resource":{resource},"schemaUrl":"PHRASE",
        "scopeMetrics":[{{"scope":{scope},"schemaUrl":"PHRASE","metrics":[{metrics}]}}]}}]}}"#
    );
    line.replace('\n', " ").replace("PHRASE", phrase) + "\n"
}

/// The phrase as it may come: plain, escaped as JSON and as Rust do, as hexadecimal.
fn spellings() -> Vec<String> {
    let escaped = PHRASE.bytes().fold(String::new(), |text, byte| text + &format!("\\u{byte:04x}"));
    vec![PHRASE.to_owned(), escaped, format!("{PHRASE}\\n\\t\\u001b[31m"), format!("{PHRASE}\u{202e}")]
}

fn assert_without_content(given: &dyn Debug) {
    let text = format!("{given:?}{given:#?}").to_lowercase();
    // Cut anywhere: no six characters of it in a row.
    for start in 0..=PHRASE.len() - 6 {
        assert!(!text.contains(&PHRASE[start..start + 6]), "{text}");
    }
    for word in [b"heron", b"quart", b"umbre"] {
        let hexadecimal = word.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"));
        let numbers = format!("{:?}", word.as_slice());
        assert!(!text.contains(&hexadecimal) && !text.contains(numbers.trim_matches(['[', ']'])), "{text}");
    }
}

#[test]
fn a_phrase_written_everywhere_a_harness_could_is_in_nothing_given_back() {
    for phrase in spellings() {
        let home = Home::new();
        let whole = line_full_of(&phrase);
        home.append(&whole);
        home.append(line_full_of(&phrase.repeat(5000)));
        // Cut at many places, each a line of its own that is refused.
        (1..whole.len()).step_by(37).for_each(|cut| home.append(whole.as_bytes()[..cut].to_vec().as_slice()));
        home.append(format!("\n{phrase}\n\"{phrase}\"\n{{\"{phrase}\":\n"));
        home.append(&whole.as_bytes()[..whole.len() / 2]);
        append(&home.beside(".1"), line_full_of(&phrase));
        let mut reader = home.reader();
        let mut counted = Counted::default();
        for _ in 0..3 {
            let read = read_and_keep(&mut reader);
            assert_without_content(&read);
            assert_without_content(&read.notes.iter().map(Note::to_string).collect::<Vec<_>>());
            counted.turns.insert(lnk_schema::UnitId::new("agt_01").unwrap(), read.up_to);
            assert_without_content(&counted.to_json());
        }
        let read = home.reader().read();
        assert!(read.turns.iter().filter(|turn| **turn == Turn(vec![(Measure::Turns, 7.0)])).count() >= 2, "{read:?}");
    }
}

#[test]
fn a_phrase_in_the_other_files_is_in_nothing_given_back() {
    for phrase in spellings() {
        let folder = tempfile::tempdir().unwrap();
        let times = folder.path().join("times.jsonl");
        append(&times, format!("{{\"t\":1,\"stop\":1,\"{phrase}\":\"{phrase}\"}}\n{phrase}\n{{\"t\":\"{phrase}\"}}\n"));
        let place = Place::below(folder.path(), "times.jsonl".as_ref()).unwrap();
        assert_without_content(&Reader::of_times(place, &Positions::default(), 0.0).read());
        let counts = r#""since":1,"requests":1,"unmetered":1,"input":1,"output":1,"cached":1,"cache_written":1"#;
        let tokens = parse_tokens(format!("{{\"run\":\"{phrase}\",\"{phrase}\":\"{phrase}\",{counts}}}").as_bytes());
        assert!(tokens.is_some());
        assert_without_content(&tokens);
        let counted = Counted::parse(&format!(
            r#"{{"boot":"{phrase}","turns":{{"{phrase}":["{phrase}"],"a":["{phrase}"]}},"routed":["{phrase}"]}}"#
        ));
        assert_without_content(&counted);
        assert_without_content(&counted.to_json());
    }
}

#[test]
fn no_note_says_more_than_its_kind() {
    for why in [Refused::Link, Refused::NotPlain, Refused::System(std::io::ErrorKind::Other)] {
        assert!(!Note::Refused(why).to_string().contains('/'));
    }
}

fn assert_within_bounds(turn: &Turn) {
    for &(measure, value) in &turn.0 {
        let most = if measure.unit() == "s" { 86_400.0 } else { 1e9 };
        assert!((0.0..=most).contains(&value) && value.is_sign_positive(), "{measure:?} {value}");
        assert_eq!(measure.kind(), Kind::Turn);
        assert!(matches!(measure.said_by(), SaidBy::Harness | SaidBy::RouteElseHarness), "{measure:?}");
    }
}

/// What a line says, worked out the plain way from a tree of all of it.
fn plainly(line: &[u8]) -> Option<Vec<(Measure, f64)>> {
    let all: serde_json::Value = serde_json::from_slice(line).ok()?;
    let list = |value: &serde_json::Value, key: &str| value[key].as_array().cloned().unwrap_or_default();
    let (mut sums, mut own) = (std::collections::BTreeMap::new(), Vec::new());
    let scopes = list(&all, "resourceMetrics").into_iter().flat_map(|resource| list(&resource, "scopeMetrics"));
    for metric in scopes.flat_map(|scope| list(&scope, "metrics")) {
        let name = metric["name"].as_str().unwrap_or_default();
        let said = |m: &Measure| matches!(m.said_by(), SaidBy::Harness | SaidBy::RouteElseHarness);
        let Some(measure) = Measure::from_name(name).filter(said) else { continue };
        for point in [list(&metric["sum"], "dataPoints"), list(&metric["gauge"], "dataPoints")].concat() {
            let value = if point["asInt"].is_null() { &point["asDouble"] } else { &point["asInt"] };
            let value = value.as_f64().or_else(|| value.as_str().and_then(|text| text.parse().ok()));
            let flagged = point["flags"].as_u64().unwrap_or(0) & 1 == 1;
            let whole = measure.unit() != "s" && measure != Measure::Cost;
            let most = if measure.unit() == "s" { 86_400.0 } else { 1e9 };
            let fits = |v: &f64| (0.0..=most).contains(v) && (!whole || v.fract() == 0.0);
            let Some(value) = value.filter(fits).filter(|_| !flagged) else { continue };
            if measure.unit() == "s" {
                own.push((measure, value));
            } else {
                *sums.entry(measure).or_insert(0.0) += value;
            }
        }
    }
    Some(sums.into_iter().filter(|(_, sum)| *sum <= 1e9).chain(own).collect())
}

/// A line with some of each measure, spelled in every way.
fn any_line(random: &mut Seeded) -> Vec<u8> {
    let mut metrics = Vec::new();
    for _ in 0..random.below(5) {
        let any = Measure::ALL[random.below(Measure::COUNT)];
        let measure =
            if any.kind() == Kind::Turn { any } else { [any, Measure::Turns, Measure::Cost][random.below(3)] };
        let values = ["1", "\"2\"", "3.0", "4e2", "7", "\"86400\"", "1e9", "-1", "-0", "9007199254740993"];
        let odd = ["0.25", "1e308", "\"NaN\"", "1e309", "18446744073709551616", "\"x\""];
        let points: Vec<String> = (0..random.below(4))
            .map(|_| {
                let key = ["asInt", "asDouble"][random.below(2)];
                let other =
                    ["", r#""attributes":[{"key":"a","value":{"stringValue":"\ud83d\ude00"}}],"#, r#""flags":1,"#];
                let value = if random.below(20) == 0 {
                    odd[random.below(odd.len())]
                } else {
                    values[random.below(values.len())]
                };
                format!("{{{}\"{key}\":{value}}}", other[random.below(3)])
            })
            .collect();
        let data = format!(r#""{}":{{"dataPoints":[{}]}}"#, ["sum", "gauge"][random.below(2)], points.join(","));
        let name = format!(r#""name":"{}""#, measure.full_name());
        let parts = if random.below(2) == 0 { [name, data] } else { [data, name] };
        metrics.push(format!("{{{}}}", parts.join(",")));
    }
    of_metrics(&metrics.join(",")).trim_end().as_bytes().to_vec()
}

fn mutated(mut line: Vec<u8>, random: &mut Seeded) -> Vec<u8> {
    for _ in 0..random.below(4) {
        let at = random.below(line.len().max(1)).min(line.len());
        let some = b"{}[]\",:\\0123456789eE+-.nulltruefalse\xff\x00\x1b \n";
        match random.below(5) {
            0 => line.insert(at, some[random.below(some.len())]),
            1 if at < line.len() => line[at] = some[random.below(some.len())],
            2 if at < line.len() => drop(line.remove(at)),
            3 => line.truncate(at),
            4 => {
                let end = (at + random.below(40)).min(line.len());
                let piece = line[at..end].to_vec();
                let to = random.below(line.len() + 1);
                line.splice(to..to, piece);
            }
            _ => {}
        }
    }
    line.retain(|byte| *byte != b'\n');
    line
}

#[test]
fn lines_changed_at_random_never_break_anything_and_never_say_another_thing() {
    for seed in 1..=8 {
        let (home, mut random) = (Home::new(), Seeded(seed));
        let (mut reader, mut taken) = (home.reader(), 0);
        for n in 0..800 {
            let line = mutated(any_line(&mut random), &mut random);
            home.append([&line[..], b"\n"].concat());
            // Not kept, so that no time goes into emptying the file.
            let read = reader.read();
            let text = String::from_utf8_lossy(&line);
            assert!(read.turns.len() <= 1, "seed {seed}, line {n}: {text}");
            if let Some(turn) = read.turns.first() {
                assert_within_bounds(turn);
                match plainly(&line) {
                    Some(said) => assert_eq!(turn.0, said, "seed {seed}, line {n}: {text}"),
                    // A number past what a tree can hold, where nothing is taken from; it must be JSON all the same.
                    None => drop(serde_json::from_slice::<serde::de::IgnoredAny>(&line).expect(&text)),
                }
                taken += 1;
            } else if read.passed_over == 0 {
                let said = plainly(&line).unwrap_or_default();
                assert!(said.is_empty(), "seed {seed}, line {n} says {said:?}: {text}");
            }
        }
        assert!(taken > 60, "seed {seed} tests little: {taken}");
    }
}

#[test]
fn any_bytes_at_all_are_read_to_their_end() {
    for seed in 1..=20 {
        let (home, mut random) = (Home::new(), Seeded(seed));
        for _ in 0..20 {
            let bytes = (0..random.below(20_000)).map(|_| random.next().to_le_bytes()[3]);
            home.append(bytes.collect::<Vec<_>>());
            home.append(mutated(any_line(&mut random), &mut random));
        }
        home.append("\n".to_owned() + &common::line(1));
        let read = home.reader().read();
        read.turns.iter().for_each(assert_within_bounds);
        assert_eq!(read.turns.last(), Some(&Turn(vec![(Measure::ToolCalls, 1.0)])), "seed {seed}");
    }
}
