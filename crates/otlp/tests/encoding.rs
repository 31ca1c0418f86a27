//! What a look becomes, and what a sender's totals are over many looks.

#![allow(clippy::unwrap_used, reason = "tests: the helpers' own too")]

use std::collections::BTreeMap;
use std::sync::Arc;

use lnk_otlp::{Exporter, encode_levels, encode_units};
use lnk_schema::{Look, Measure, Name, Unit, UnitId, UnitKind};
use serde_json::{Value, json};

const START_MS: u64 = 1_780_000_000_000;
const SINCE_NS: u64 = 1_767_225_600_123_456_789;

fn unit(id: &str, kind: UnitKind) -> Unit {
    Unit { since_ns: Some(SINCE_NS), ..Unit::new(UnitId::new(id).unwrap(), kind) }
}

fn agent(values: &[(Measure, f64)], turns: &[(Measure, f64)]) -> Unit {
    let mut unit = Unit { parent: UnitId::new("mch_1"), name: Name::new("main"), ..unit("agt_1", UnitKind::Agent) };
    for &(measure, value) in values {
        unit.values.set(measure, Some(value));
    }
    unit.turns = turns.to_vec();
    unit
}

fn look(nth: u64, units: Vec<Unit>) -> Arc<Look> {
    Arc::new(Look { at_ms: START_MS + nth * 10_000, units })
}

/// The points of a request by unit and measure.
fn points(request: Option<String>) -> BTreeMap<(String, String), Vec<Value>> {
    let mut points = BTreeMap::new();
    let Some(request) = request else { return points };
    let request: Value = serde_json::from_str(&request).unwrap();
    for resource in request["resourceMetrics"].as_array().unwrap() {
        let attributes = resource["resource"]["attributes"].as_array().unwrap();
        let id = attributes.iter().find(|each| each["key"] == "link.unit.id").unwrap();
        let id = id["value"]["stringValue"].as_str().unwrap();
        for metric in resource["scopeMetrics"][0]["metrics"].as_array().unwrap() {
            let name = metric["name"].as_str().unwrap().strip_prefix("link.").unwrap();
            let data = [&metric["gauge"], &metric["sum"]].into_iter().find(|data| !data.is_null()).unwrap();
            let data = data["dataPoints"].as_array().unwrap().clone();
            assert!(!data.is_empty());
            assert!(points.insert((id.to_string(), name.to_string()), data).is_none(), "{id} has {name} twice");
        }
    }
    points
}

fn of(exporter: &Exporter, name: &str) -> Vec<Value> {
    points(exporter.encode(0, exporter.len())).remove(&("agt_1".into(), name.into())).unwrap_or_default()
}

#[test]
fn a_look_is_a_resource_a_unit_with_what_it_has_and_no_more() {
    let machine = Unit { name: Name::new("studio"), ..unit("mch_1", UnitKind::Machine) };
    let owned = Unit {
        owner: Name::new("usr_1"),
        teams: vec![Name::new("t1").unwrap(), Name::new("t2").unwrap()],
        ..agent(&[(Measure::MemoryUsed, 734_003_200.0), (Measure::CpuUsed, 41.25), (Measure::Ports, 0.0)], &[])
    };
    let mut exporter = Exporter::new(START_MS);
    exporter.add(look(1, vec![machine, owned]));
    let request: Value = serde_json::from_str(&exporter.encode(0, 2).unwrap()).unwrap();
    let attribute = |key: &str, value: &str| json!({"key": key, "value": {"stringValue": value}});
    let point = |start: bool, key: &str, value: Value| {
        let mut point = json!({"timeUnixNano": "1780000010000000000", key: value});
        if start {
            point["startTimeUnixNano"] = json!("1767225600123456789");
        }
        point
    };
    // The machine has no value, so it isn't there.
    let expected = json!({"resourceMetrics": [{
        "resource": {"attributes": [
            attribute("service.name", "link"),
            attribute("service.instance.id", "agt_1"),
            attribute("link.unit.id", "agt_1"),
            attribute("link.unit.kind", "agent"),
            attribute("link.unit.parent", "mch_1"),
            attribute("link.unit.name", "main"),
            attribute("link.machine.id", "mch_1"),
            attribute("link.owner.id", "usr_1"),
            {"key": "link.team.ids", "value": {"arrayValue": {"values": [{"stringValue": "t1"}, {"stringValue": "t2"}]}}},
        ]},
        "scopeMetrics": [{
            "scope": {"name": "lnk-measure", "version": env!("CARGO_PKG_VERSION")},
            "metrics": [
                {"name": "link.memory.used.sum", "unit": "By", "gauge": {"dataPoints": [point(false, "asInt", json!("734003200"))]}},
                {"name": "link.cpu.used.sum", "unit": "s", "sum": {"dataPoints": [point(true, "asDouble", json!(41.25))], "aggregationTemporality": 2, "isMonotonic": true}},
                {"name": "link.ports.sum", "unit": "{port}", "gauge": {"dataPoints": [point(false, "asInt", json!("0"))]}},
            ],
        }],
    }]});
    assert_eq!(request, expected);
}

#[test]
fn every_measure_is_of_its_kind_and_unit() {
    let all: Vec<_> = Measure::ALL.iter().map(|&measure| (measure, 1.5)).collect();
    let mut exporter = Exporter::new(START_MS);
    exporter.add(look(1, vec![agent(&all, &all)]));
    let request: Value = serde_json::from_str(&exporter.encode(0, 1).unwrap()).unwrap();
    let metrics = request["resourceMetrics"][0]["scopeMetrics"][0]["metrics"].as_array().unwrap();
    assert_eq!(metrics.len(), Measure::COUNT);
    for metric in metrics {
        let measure = Measure::from_name(metric["name"].as_str().unwrap()).unwrap();
        let is_level = ["memory.", "gpu.memory", "disk.used", "disk.files", "processes", "ports", "time."];
        let is_gauge = is_level.iter().any(|start| measure.name().starts_with(start));
        assert_eq!(metric.get("gauge").is_some(), is_gauge, "{metric}");
        assert_eq!(metric.get("sum").is_some(), !is_gauge, "{metric}");
        assert_eq!(metric.get("unit").and_then(Value::as_str).unwrap_or_default(), measure.unit());
    }
}

#[test]
fn turns_add_up_from_a_start_that_never_moves_and_a_sum_begins_with_its_zero() {
    let mut exporter = Exporter::new(START_MS);
    exporter.add(look(1, vec![agent(&[(Measure::Ports, 1.0)], &[])]));
    assert_eq!(of(&exporter, "tokens.input.sum"), Vec::<Value>::new());
    let turns = [(Measure::TokensInput, 100.0), (Measure::TokensInput, 23.0), (Measure::TokensOutput, 0.0)];
    exporter.add(look(2, vec![agent(&[], &turns)]));
    let start = "1780000010000000000";
    let point = |at: u64, value: &str| json!({"startTimeUnixNano": start, "timeUnixNano": ((START_MS + at * 10_000) * 1_000_000).to_string(), "asInt": value});
    assert_eq!(of(&exporter, "tokens.input.sum"), [point(1, "0"), point(2, "123")]);
    assert_eq!(of(&exporter, "tokens.output.sum"), Vec::<Value>::new());
    // Not sent at once: the next that is sent has it.
    exporter.add(look(3, vec![agent(&[], &[(Measure::TokensInput, 7.0)])]));
    exporter.add(look(4, vec![agent(&[], &[])]));
    assert_eq!(of(&exporter, "tokens.input.sum"), [point(4, "130")]);
    // Asked twice, told twice the same.
    assert_eq!(of(&exporter, "tokens.input.sum"), [point(4, "130")]);
}

#[test]
fn a_unit_that_comes_again_begins_anew() {
    let mut exporter = Exporter::new(START_MS);
    let turn = || agent(&[(Measure::GpuUsed, 0.5)], &[(Measure::Turns, 1.0)]);
    exporter.add(look(1, vec![turn()]));
    exporter.add(look(2, vec![turn()]));
    assert_eq!(of(&exporter, "turns.sum").last().unwrap()["asInt"], "2");
    assert_eq!(of(&exporter, "gpu.used.sum").last().unwrap()["asDouble"], json!(1));
    exporter.add(look(3, vec![]));
    assert_eq!(exporter.encode(0, exporter.len()), None);
    exporter.add(look(4, vec![turn()]));
    let last = of(&exporter, "turns.sum").pop().unwrap();
    assert_eq!((&last["asInt"], &last["startTimeUnixNano"]), (&json!("1"), &json!("1780000030000000000")));
}

#[test]
fn a_total_keeps_its_start_until_it_is_another() {
    let mut exporter = Exporter::new(START_MS);
    let mut at = |nth, since: u64, cpu| {
        let unit = Unit { since_ns: Some(since), ..agent(&[(Measure::CpuUsed, cpu)], &[]) };
        exporter.add(look(nth, vec![unit]));
        let [point] = &of(&exporter, "cpu.used.sum")[..] else { panic!("not one point") };
        (point["startTimeUnixNano"].as_str().unwrap().to_string(), point["asDouble"].as_f64().unwrap())
    };
    let since = SINCE_NS.to_string();
    assert_eq!(at(1, SINCE_NS, 5.0), (since.clone(), 5.0));
    assert_eq!(at(2, SINCE_NS, 5.0), (since, 5.0));
    let reset = SINCE_NS + 1;
    assert_eq!(at(3, reset, 1.0), (reset.to_string(), 1.0));
    // Falls under the same start: it gets another, and keeps that.
    assert_eq!(at(4, reset, 0.5), ("1780000030000000000".into(), 0.5));
    assert_eq!(at(5, reset, 2.0), ("1780000030000000000".into(), 2.0));
    assert_eq!(at(6, reset + 7, 0.0), ((reset + 7).to_string(), 0.0));
}

#[test]
fn no_point_is_older_than_its_start_when_the_clock_is_set_back() {
    let mut exporter = Exporter::new(START_MS);
    exporter.add(look(5, vec![agent(&[], &[(Measure::Turns, 3.0)])]));
    let unit = Unit {
        since_ns: Some((START_MS + 20_000) * 1_000_000),
        ..agent(&[(Measure::CpuUsed, 1.0)], &[(Measure::Turns, 2.0)])
    };
    exporter.add(look(1, vec![unit]));
    assert_eq!(of(&exporter, "cpu.used.sum"), Vec::<Value>::new());
    let turns = of(&exporter, "turns.sum");
    assert_eq!(turns.last().unwrap()["asInt"], "2");
    for point in turns {
        let ns = |key: &str| point[key].as_str().unwrap().parse::<u64>().unwrap();
        assert!(ns("startTimeUnixNano") <= ns("timeUnixNano"), "{point}");
    }
}

#[test]
fn times_are_points_of_their_own_after_the_look_before() {
    let mut exporter = Exporter::new(START_MS);
    exporter.add(look(1, vec![agent(&[], &[])]));
    let times = [3.5, 0.25, 12.000_001].map(|time| (Measure::TimeTurn, time));
    exporter.add(look(2, vec![agent(&[], &times)]));
    let found: Vec<_> = of(&exporter, "time.turn.own")
        .iter()
        .map(|p| (p["timeUnixNano"].as_str().unwrap().to_string(), p["asDouble"].as_f64().unwrap()))
        .collect();
    let at = |ms: u64| ((START_MS + 20_000 - ms) * 1_000_000).to_string();
    assert_eq!(found, [(at(2), 3.5), (at(1), 0.25), (at(0), 12.000_001)]);
    // Told once: the next look has none.
    exporter.add(look(3, vec![agent(&[], &[])]));
    assert_eq!(of(&exporter, "time.turn.own"), Vec::<Value>::new());
    let many: Vec<_> = (0..20_000).map(|at| (Measure::TimeTurn, f64::from(at))).collect();
    exporter.add(look(4, vec![agent(&[], &many)]));
    let found = of(&exporter, "time.turn.own");
    assert_eq!((found.len(), &found.last().unwrap()["asDouble"]), (10_000, &json!(19_999)));
}

#[test]
fn the_largest_numbers_stop_at_the_largest_there_is() {
    let mut exporter = Exporter::new(START_MS);
    for nth in 1..4 {
        exporter.add(look(
            nth,
            vec![agent(
                &[(Measure::MemoryUsed, f64::MAX)],
                &[(Measure::TokensInput, 1e308), (Measure::Turns, f64::NAN), (Measure::Errors, -1.0)],
            )],
        ));
    }
    assert_eq!(of(&exporter, "tokens.input.sum").pop().unwrap()["asInt"], i64::MAX.to_string());
    assert_eq!(of(&exporter, "memory.used.sum").pop().unwrap()["asInt"], i64::MAX.to_string());
    assert_eq!([of(&exporter, "turns.sum"), of(&exporter, "errors.sum")], [vec![], Vec::<Value>::new()]);
}

#[test]
fn a_look_is_split_by_units_each_there_once_and_one_can_be_left_out() {
    let units = |n: u32| {
        (0..n)
            .map(|nth| {
                let mut unit = unit(&format!("agt_{nth}"), UnitKind::Agent);
                unit.values.set(Measure::Ports, Some(1.0));
                unit
            })
            .collect::<Vec<_>>()
    };
    let mut exporter = Exporter::new(START_MS);
    exporter.add(look(1, units(10)));
    let parts: Vec<_> =
        [(0, 4), (4, 8), (8, 12)].iter().flat_map(|&(from, to)| points(exporter.encode(from, to))).collect();
    assert_eq!(parts.len(), 10);
    exporter.leave_out(exporter.unit_id(3).unwrap().clone());
    exporter.add(look(2, units(10)));
    assert_eq!(exporter.len(), 9);
    assert!(!points(exporter.encode(0, 9)).contains_key(&("agt_3".into(), "ports.sum".into())));
    assert_eq!(exporter.encode(9, 12), None);
}

#[test]
fn levels_alone_hold_no_total() {
    let unit = agent(
        &[(Measure::CpuUsed, 1.0), (Measure::MemoryUsed, 1.0), (Measure::MemoryPeak, 1.0)],
        &[(Measure::Turns, 1.0)],
    );
    let names: Vec<_> = points(encode_levels(&look(1, vec![unit]))).into_keys().map(|(_, name)| name).collect();
    assert_eq!(names, ["memory.peak.max", "memory.used.sum"]);
}

#[test]
fn a_relays_units_are_encoded_and_what_is_wrong_is_told_without_repeating_it() {
    let relay = json!({"id": "rly_1", "kind": "relay", "since": SINCE_NS.to_string(), "measures": {"link.relay.requests.sum": 12, "link.memory.used.sum": 5}});
    let given = |unit: &Value| json!({"at": "1780000000000000000", "machine": "mch_1", "units": [unit]}).to_string();
    let request: Value = serde_json::from_str(&encode_units(&given(&relay)).unwrap().unwrap()).unwrap();
    let metrics = request["resourceMetrics"][0]["scopeMetrics"][0]["metrics"].as_array().unwrap();
    assert_eq!(
        metrics[1],
        json!({"name": "link.relay.requests.sum", "sum": {"dataPoints": [{"startTimeUnixNano": SINCE_NS.to_string(), "timeUnixNano": "1780000000000000000", "asInt": "12"}], "aggregationTemporality": 2, "isMonotonic": true}})
    );
    assert_eq!(encode_units(&json!({"at": "1", "units": []}).to_string()), Ok(None));
    for (key, value, why) in [
        ("id", json!("two words"), "unit 1: id is no ID"),
        ("kind", json!("secret"), "unit 1: kind is none there is"),
        ("parent", json!("\u{1b}[2J"), "unit 1: parent is no ID"),
        ("since", json!("1e9"), "unit 1: since is no time in nanoseconds"),
        ("since", json!("1780000000000000000"), "unit 1: since is not before at"),
        ("measures", json!({"link.secret.sum": 1}), "unit 1: there is no such measure"),
        ("measures", json!({"link.relay.requests.sum": -1}), "unit 1: a value is negative or no number"),
        ("teams", json!(["t", "two words"]), "unit 1: a team is no ID"),
    ] {
        let mut relay = relay.clone();
        relay[key] = value;
        assert_eq!(encode_units(&given(&relay)), Err(why.into()));
    }
}
