//! What is said of agents, gathered look by look: every count once, whoever says it and whatever ends in between.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "only tests run this")]

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use lnk_report::{Counted, Gatherer, Note, Problem, Told};
use lnk_schema::{Look, Measure, RollUp, Unit, UnitId, UnitKind};
use serde_json::{Value, json};
use tempfile::TempDir;

/// The folders of one agent and of the watcher, and the agent's list entry.
struct House {
    folder: TempDir,
    agent: Value,
}

impl House {
    fn new() -> House {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in ["tokens", "home/.lnk", "settings"] {
            fs::create_dir_all(at(name)).unwrap();
        }
        let agent = json!({"id": "agt_1", "name": "main", "owner": "usr_1", "home": at("home"), "settings": at("settings"), "running": true});
        House { folder, agent }
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join(name)
    }

    fn told(&self) -> Told {
        Told::from_json(&json!({"machine": {"id": "mch_1"}, "agents": [self.agent]}).to_string()).unwrap()
    }

    fn gatherer(&self, counted: &Counted, since: f64) -> Gatherer {
        Gatherer::new(&self.path("tokens"), counted.clone(), since)
    }

    /// A route's totals: requests and input tokens.
    fn tokens(&self, id: &str, run: &str, since: f64, requests: u64, input: u64) {
        let totals = json!({"run": run, "since": since, "requests": requests, "unmetered": 0, "input": input,
            "output": 0, "cached": 0, "cache_written": 0});
        fs::write(self.path("tokens").join(format!("{id}.json")), totals.to_string()).unwrap();
    }

    fn traffic(&mut self, proxy: &str, since: f64, model: bool, input: u64) {
        let tokens =
            json!({"requests": 1, "unmetered": 0, "input": input, "output": 0, "cached": 0, "cache_written": 0});
        self.agent["traffic"] =
            json!([{"proxy": proxy, "since": since, "in": 5, "out": 6, "model": model, "tokens": tokens}]);
    }

    /// A turn of its harness.
    fn turn(&self, cost: u64, input: u64) {
        let point =
            |name: &str, value: u64| json!({"name": name, "sum": {"dataPoints": [{"asInt": value.to_string()}]}});
        let metrics = json!([point("link.cost.sum", cost), point("link.tokens.input.sum", input)]);
        let line = json!({"resourceMetrics": [{"scopeMetrics": [{"metrics": metrics}]}]});
        append(&self.path("home/.lnk/measures.jsonl"), &line.to_string());
    }
}

fn append(path: &Path, line: &str) {
    let mut file = OpenOptions::new().create(true).append(true).open(path).unwrap();
    file.write_all(format!("{line}\n").as_bytes()).unwrap();
}

fn look() -> Look {
    let machine = Unit::new(UnitId::new("mch_1").unwrap(), UnitKind::Machine);
    Look { at_ms: 0, units: vec![machine] }
}

/// Every value of a measure that a gathering found, by agent; the machine has the same added up.
fn found(gatherer: &Gatherer, measure: Measure) -> Vec<(String, f64)> {
    let mut look = gatherer.join(&look());
    let machine = look.units.remove(0);
    let values = look.units.iter().flat_map(|unit| unit.turns.iter().map(|value| (unit.id.to_string(), *value)));
    let found: Vec<_> =
        values.filter(|(_, (other, _))| *other == measure).map(|(id, (_, value))| (id, value)).collect();
    let sum: f64 = found.iter().map(|(_, value)| value).sum();
    let of_machine = machine.turns.iter().find(|(other, _)| *other == measure).map(|(_, value)| *value);
    assert_eq!(of_machine, Some(sum).filter(|_| !found.is_empty() && measure.roll_up() == RollUp::Sum));
    found
}

fn of_agent(value: f64) -> Vec<(String, f64)> {
    vec![("agt_1".to_owned(), value)]
}

fn gather(gatherer: &mut Gatherer, house: &House, at: f64) -> Vec<Problem> {
    gatherer.gather(&house.told(), at)
}

#[test]
fn a_tokens_file_counts_by_its_growth_from_look_to_look_and_from_watcher_to_watcher() {
    let house = House::new();
    house.tokens("agt_1", "r-1", 50.0, 10, 1000);
    // It began before anybody watched.
    let mut gatherer = house.gatherer(&Counted::default(), 100.0);
    assert_eq!(gather(&mut gatherer, &house, 101.0), []);
    assert_eq!(found(&gatherer, Measure::TokensInput), []);
    gatherer.kept();

    house.tokens("agt_1", "r-1", 50.0, 12, 1500);
    gather(&mut gatherer, &house, 111.0);
    assert_eq!(found(&gatherer, Measure::TokensInput), of_agent(500.0));
    assert_eq!(found(&gatherer, Measure::RequestsModel), of_agent(2.0));
    // Not kept: the next one finds it again, with what came since.
    gatherer.go_back();
    assert_eq!(found(&gatherer, Measure::TokensInput), []);
    house.tokens("agt_1", "r-1", 50.0, 13, 1600);
    gather(&mut gatherer, &house, 121.0);
    assert_eq!(found(&gatherer, Measure::TokensInput), of_agent(600.0));
    gatherer.kept();
    gather(&mut gatherer, &house, 131.0);
    assert_eq!(found(&gatherer, Measure::TokensInput), []);

    // Another watcher goes on from the line kept last, whatever was found after it.
    let line = Counted::parse(&gatherer.counted().to_json());
    house.tokens("agt_1", "r-1", 50.0, 14, 1650);
    let mut next = house.gatherer(&line, 131.0);
    gather(&mut next, &house, 500.0);
    assert_eq!(found(&next, Measure::TokensInput), of_agent(50.0));
    // A run that began anew, and has caught up.
    next.kept();
    house.tokens("agt_1", "r-2", 400.0, 20, 2000);
    gather(&mut next, &house, 510.0);
    assert_eq!(found(&next, Measure::TokensInput), of_agent(2000.0));
    // A count that fell.
    next.kept();
    house.tokens("agt_1", "r-2", 400.0, 21, 30);
    assert_eq!(gather(&mut next, &house, 520.0), [(UnitId::new("agt_1").unwrap(), Note::Fell)]);
    assert_eq!(found(&next, Measure::TokensInput), of_agent(30.0));
}

#[test]
fn a_tokens_file_that_was_not_there_at_the_look_before_counts_whole_whenever_its_route_began() {
    let house = House::new();
    let mut gatherer = house.gatherer(&Counted::default(), 100.0);
    gather(&mut gatherer, &house, 110.0);
    gatherer.kept();
    house.tokens("agt_1", "r-1", 90.0, 1, 70);
    gather(&mut gatherer, &house, 120.0);
    assert_eq!(found(&gatherer, Measure::TokensInput), of_agent(70.0));
}

#[test]
fn a_tokens_file_of_an_agent_that_nobody_tells_of_is_an_agent_by_its_id() {
    let house = House::new();
    let mut gatherer = house.gatherer(&Counted::default(), 10.0);
    house.tokens("mch_1%3Ascripts", "r-1", 90.0, 1, 70);
    house.tokens("mch_1%3Arun%3Am", "r-2", 90.0, 1, 70);
    gather(&mut gatherer, &house, 120.0);
    let look = gatherer.join(&look());
    // One that was run is called as it was.
    for (id, name) in [("mch_1:scripts", "scripts"), ("mch_1:run:m", "m")] {
        let unit = look.units.iter().find(|unit| unit.id.as_str() == id).unwrap();
        assert_eq!((unit.kind, unit.name.as_ref().unwrap().as_str()), (UnitKind::Agent, name));
        assert_eq!(unit.parent.as_ref().unwrap().as_str(), "mch_1");
    }
}

#[test]
fn a_damaged_tokens_file_is_told_and_what_it_had_counted_stays() {
    let house = House::new();
    house.tokens("agt_1", "r-1", 50.0, 10, 1000);
    let mut gatherer = house.gatherer(&Counted::default(), 10.0);
    gather(&mut gatherer, &house, 100.0);
    gatherer.kept();
    let path = house.path("tokens/agt_1.json");
    let good = fs::read(&path).unwrap();
    for cut in 0..good.len() {
        fs::write(&path, &good[..cut]).unwrap();
        assert_eq!(gather(&mut gatherer, &house, 110.0), [(UnitId::new("agt_1").unwrap(), Note::NoTokens)], "{cut}");
        assert_eq!(found(&gatherer, Measure::TokensInput), []);
        gatherer.kept();
    }
    house.tokens("agt_1", "r-1", 50.0, 11, 1001);
    gather(&mut gatherer, &house, 120.0);
    assert_eq!(found(&gatherer, Measure::TokensInput), of_agent(1.0));
}

#[test]
fn a_harness_says_its_turns_and_its_tokens_only_where_no_route_counts_them() {
    let mut house = House::new();
    let mut gatherer = house.gatherer(&Counted::default(), 100.0);
    house.turn(7, 40);
    gather(&mut gatherer, &house, 101.0);
    assert_eq!(
        (found(&gatherer, Measure::Cost), found(&gatherer, Measure::TokensInput)),
        (of_agent(7.0), of_agent(40.0))
    );
    gatherer.kept();

    // Its proxy carries its model from now on.
    house.traffic("p-1", 105.0, true, 300);
    house.turn(8, 41);
    gather(&mut gatherer, &house, 111.0);
    assert_eq!(
        (found(&gatherer, Measure::Cost), found(&gatherer, Measure::TokensInput)),
        (of_agent(8.0), of_agent(300.0))
    );
    gatherer.kept();

    // It stopped, its proxy is gone, the watcher is another: a turn said later brings no tokens.
    let line = Counted::parse(&gatherer.counted().to_json());
    assert_eq!(line.routed.iter().map(ToString::to_string).collect::<Vec<_>>(), ["agt_1"]);
    house.agent["running"] = json!(false);
    house.agent.as_object_mut().unwrap().remove("traffic");
    house.turn(9, 42);
    let mut next = house.gatherer(&line, 111.0);
    gather(&mut next, &house, 200.0);
    assert_eq!((found(&next, Measure::Cost), found(&next, Measure::TokensInput)), (of_agent(9.0), vec![]));
    next.kept();

    // It runs again, and no proxy carries its model any more: its harness's count is the one there is.
    house.agent["running"] = json!(true);
    house.agent["started"] = json!(250.0);
    house.agent["traffic"] = json!([]);
    house.turn(10, 43);
    gather(&mut next, &house, 300.0);
    assert_eq!((found(&next, Measure::Cost), found(&next, Measure::TokensInput)), (of_agent(10.0), of_agent(43.0)));
    next.kept();

    // A route that counts for this start of it, told of by nobody.
    let future = 4_000_000_000.0;
    house.tokens("agt_1", "r-9", future, 1, 5);
    house.turn(11, 44);
    gather(&mut next, &house, 310.0);
    assert_eq!((found(&next, Measure::Cost), found(&next, Measure::TokensInput)), (of_agent(11.0), of_agent(5.0)));
}

#[test]
fn a_proxys_tokens_count_only_where_there_is_no_tokens_file() {
    let mut house = House::new();
    let mut gatherer = house.gatherer(&Counted::default(), 100.0);
    house.traffic("p-1", 50.0, true, 300);
    gather(&mut gatherer, &house, 110.0);
    assert_eq!(found(&gatherer, Measure::TokensInput), [], "begun before anybody watched");
    gatherer.kept();
    house.traffic("p-1", 50.0, true, 310);
    gather(&mut gatherer, &house, 120.0);
    assert_eq!(found(&gatherer, Measure::TokensInput), of_agent(10.0));
    gatherer.kept();
    house.traffic("p-2", 115.0, true, 20);
    gather(&mut gatherer, &house, 130.0);
    assert_eq!(found(&gatherer, Measure::TokensInput), of_agent(20.0));
    gatherer.kept();
    house.traffic("p-2", 115.0, true, 50);
    house.tokens("agt_1", "r-1", 125.0, 1, 3);
    gather(&mut gatherer, &house, 140.0);
    assert_eq!(found(&gatherer, Measure::TokensInput), of_agent(3.0));
}

#[test]
fn starts_and_stops_count_once_also_of_an_agent_that_does_not_run() {
    let mut house = House::new();
    let times = house.path("settings/times.jsonl");
    append(&times, r#"{"t":50,"start_cold":9.5}"#);
    let mut gatherer = house.gatherer(&Counted::default(), 100.0);
    append(&times, r#"{"t":105,"start_warm":1.5}"#);
    gather(&mut gatherer, &house, 110.0);
    assert_eq!(found(&gatherer, Measure::TimeStartCold), []);
    assert_eq!(found(&gatherer, Measure::TimeStartWarm), of_agent(1.5));
    gatherer.kept();
    house.agent["running"] = json!(false);
    append(&times, r#"{"t":111,"stop":0.5}"#);
    gather(&mut gatherer, &house, 120.0);
    assert_eq!(found(&gatherer, Measure::TimeStop), of_agent(0.5));
    assert_eq!(found(&gatherer, Measure::TimeStartWarm), []);
    let unit = gatherer.join(&look()).units.pop().unwrap();
    assert_eq!((unit.name.unwrap().as_str(), unit.owner.unwrap().as_str()), ("main", "usr_1"));
}

#[test]
fn a_turn_found_and_not_kept_is_found_again_and_one_kept_is_not() {
    let house = House::new();
    let mut counted = Counted::default();
    let mut total = 0.0;
    for turn in 0..60 {
        house.turn(1, 0);
        let mut gatherer = house.gatherer(&counted, 100.0);
        gather(&mut gatherer, &house, 101.0);
        let costs: f64 = found(&gatherer, Measure::Cost).iter().map(|(_, cost)| cost).sum();
        // Every third line is written; after each the watcher is ended, kept or not.
        if turn % 3 == 2 {
            total += costs;
            counted = Counted::parse(&gatherer.counted().to_json());
            gatherer.kept();
        }
    }
    assert!((total - 60.0).abs() < f64::EPSILON, "{total}");
}

#[test]
fn a_file_outside_its_agents_home_is_not_read() {
    let mut house = House::new();
    house.agent["measures"] = json!(house.path("settings/measures.jsonl"));
    let mut gatherer = house.gatherer(&Counted::default(), 100.0);
    let problems = gather(&mut gatherer, &house, 110.0);
    let said: Vec<String> = problems.iter().map(|(_, note)| note.to_string()).collect();
    assert_eq!(said, ["not read: it isn't below its agent's home"]);
}

#[test]
fn a_flood_of_turns_is_counted_whole_and_kept_in_a_few_values() {
    let house = House::new();
    let file = house.path("home/.lnk/measures.jsonl");
    let times = (0..100).map(|n| format!(r#"{{"asDouble":{n}}}"#)).collect::<Vec<_>>().join(",");
    for id in 0..200 {
        // New IDs in each line: nobody keeps one.
        let resource = format!(r#"{{"attributes":[{{"key":"link.unit.id","value":{{"stringValue":"agt_{id}"}}}}]}}"#);
        let metrics = format!(
            r#"{{"name":"link.turns.sum","sum":{{"dataPoints":[{{"asInt":{id}}}]}}}},{{"name":"link.time.turn.own","gauge":{{"dataPoints":[{times}]}}}}"#
        );
        let scopes = format!(r#"[{{"metrics":[{metrics}]}}]"#);
        append(&file, &format!(r#"{{"resourceMetrics":[{{"resource":{resource},"scopeMetrics":{scopes}}}]}}"#));
    }
    let mut gatherer = house.gatherer(&Counted::default(), 100.0);
    // On a busy machine it comes with a later look.
    let until = Instant::now() + Duration::from_secs(30);
    while !gather(&mut gatherer, &house, 101.0).is_empty() {
        assert!(Instant::now() < until, "it never comes to its end");
    }
    let turns = found(&gatherer, Measure::Turns);
    let sum: f64 = turns.iter().map(|(_, count)| count).sum();
    assert_eq!((turns.len(), sum), (64, (0..200).map(f64::from).sum()));
    let times = found(&gatherer, Measure::TimeTurn);
    assert_eq!(times.len(), 64);
    assert!(times.iter().all(|(id, seconds)| id == "agt_1" && seconds.fract() == 0.0), "each is one that was said");
    assert!(gatherer.join(&look()).units.len() == 2, "no unit but the machine and the agent whose home it is");
    // So few as a harness has are kept as they are.
    gatherer.kept();
    (1..=20).for_each(|cost| house.turn(cost, 1));
    gather(&mut gatherer, &house, 111.0);
    let costs: Vec<f64> = found(&gatherer, Measure::Cost).into_iter().map(|(_, cost)| cost).collect();
    assert_eq!(costs, (1..=20).map(f64::from).collect::<Vec<_>>());
}
