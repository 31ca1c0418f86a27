//! What is written, and what a restart, a clock and time make of it.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

mod common;

use common::{DAY_MS, HOUR_MS, KEEP, START_MS, day_of, id, look, names, open, unit};
use lnk_schema::{Measure, Name, UnitKind};
use lnk_store::{Settings, Store, read_day, read_now};

fn lines(folder: &std::path::Path, file: &str) -> Vec<String> {
    std::fs::read_to_string(folder.join(file)).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn a_line_leaves_out_zeros_and_what_hasnt_changed() {
    let at = tempfile::tempdir().unwrap();
    let store = open(at.path());
    let mut first = look(START_MS, 3, 2);
    first.units[1].teams = vec![Name::new("team_01").unwrap()];
    first.units[1].turns.push((Measure::TimeTurn, 1.5));
    store.append(&first, r#"{"p":1}"#).unwrap();
    let mut second = look(START_MS + 10_250, 3, 0);
    second.units[1].teams = first.units[1].teams.clone();
    second.units[1].values.set(Measure::MemoryUsed, Some(0.0));
    store.append(&second, r#"{"p":1}"#).unwrap();
    second.at_ms += 10_000;
    second.units[1].name = Name::new("other");
    store.append(&second, r#"{"p":2}"#).unwrap();
    let lines = lines(at.path(), "fine/2026-11-30-21.jsonl");
    assert!(
        lines[0].starts_with(r#"{"measures":["memory.used.sum","memory.peak.max","cpu.used.sum","#),
        "{}",
        lines[0]
    );
    assert_eq!(
        lines[1],
        concat!(
            r#"{"t":1796072400,"units":[{"id":"mch_7f","kind":"machine","s":"5","v":[8000000000,null,3]},"#,
            r#"{"id":"agt_01","kind":"agent","parent":"mch_7f","name":"main","s":"7","teams":["team_01"],"#,
            r#""v":[null,null,0.75,null,null,null,null,9],"e":{"17":[1,1],"32":[1.5]}}],"c":{"p":1}}"#
        )
    );
    assert_eq!(lines[2], r#"{"t":1796072410.25,"units":[{"id":"mch_7f","v":[8000000000]},{"id":"agt_01"}]}"#);
    assert_eq!(
        lines[3],
        concat!(
            r#"{"t":1796072420.25,"units":[{"id":"mch_7f","v":[8000000000]},{"id":"agt_01","kind":"agent","#,
            r#""parent":"mch_7f","name":"other","s":"7","teams":["team_01"],"v":[null,null,0.75,null,null,null,null,9]}],"#,
            r#""c":{"p":2}}"#
        )
    );
}

#[test]
fn a_total_of_zero_is_kept_and_processes_only_when_asked() {
    let at = tempfile::tempdir().unwrap();
    let store = Store::open(at.path(), Settings { processes: false, ..KEEP }).unwrap().0;
    let mut look = look(START_MS, 0, 0);
    look.units.push(unit("agt_01/77", UnitKind::Process, 7, &[(Measure::CpuUsed, 1.0)]));
    store.append(&look, "{}").unwrap();
    look.at_ms += 10_000;
    store.set(KEEP);
    store.append(&look, "{}").unwrap();
    let lines = lines(at.path(), "fine/2026-11-30-21.jsonl");
    assert!(lines[1].contains(r#""v":[null,null,0,"#) && !lines[1].contains("agt_01/77"), "{}", lines[1]);
    assert!(lines[2].contains(r#"{"id":"agt_01/77","kind":"process""#), "{}", lines[2]);
}

#[test]
fn a_start_gives_back_what_was_counted_and_says_everything_anew() {
    let at = tempfile::tempdir().unwrap();
    open(at.path()).append(&look(START_MS, 4, 0), r#"{"proxy":["p",7]}"#).unwrap();
    let (store, resumed) = Store::open(at.path(), KEEP).unwrap();
    assert_eq!(resumed.counted.as_deref(), Some(r#"{"proxy":["p",7]}"#));
    assert_eq!(resumed.last_look_ms, Some(START_MS));
    assert_eq!(resumed.totals[1].id, id("agt_01"));
    assert_eq!(resumed.totals[1].since_ns, Some(7));
    assert_eq!(resumed.totals[1].totals, [(Measure::CpuUsed, 1.0), (Measure::DiskRead, 9.0)]);
    assert!(resumed.notes.is_empty());
    store.append(&look(START_MS + 10_000, 4, 0), r#"{"proxy":["p",7]}"#).unwrap();
    let lines = lines(at.path(), "fine/2026-11-30-21.jsonl");
    assert_eq!(lines.len(), 3);
    assert_eq!(lines[2].replace("1796072410", "1796072400"), lines[1]);
}

#[test]
fn what_was_counted_is_not_believed_when_a_later_line_cant_be_read() {
    let at = tempfile::tempdir().unwrap();
    let store = open(at.path());
    store.append(&look(START_MS, 4, 0), r#"{"p":1}"#).unwrap();
    store.append(&look(START_MS + 10_000, 5, 0), r#"{"p":2}"#).unwrap();
    let path = at.path().join("fine/2026-11-30-21.jsonl");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replace(r#"{"p":2}}"#, r#"{"p":2;}"#)).unwrap();
    assert_eq!(Store::open(at.path(), KEEP).unwrap().1.counted, None);
    // The copy names that very line, so it is what the line said.
    store.write_day().unwrap();
    assert_eq!(Store::open(at.path(), KEEP).unwrap().1.counted.as_deref(), Some(r#"{"p":2}"#));
}

#[test]
fn files_are_for_nobody_else_from_the_start() {
    use std::os::unix::fs::PermissionsExt;
    let at = tempfile::tempdir().unwrap();
    let folder = at.path().join("measure");
    let store = open(&folder);
    store.append(&look(START_MS, 1, 0), "{}").unwrap();
    store.append(&look(START_MS + HOUR_MS, 1, 0), "{}").unwrap();
    store.write_day().unwrap();
    assert!(store.tidy(START_MS + HOUR_MS).is_empty());
    let mode = |path: &str| std::fs::metadata(folder.join(path)).unwrap().permissions().mode() & 0o777;
    for path in ["", "fine", "minutes"] {
        assert_eq!(mode(path), 0o700, "{path}");
    }
    for path in ["fine/2026-11-30-21.jsonl.zst", "fine/2026-11-30-22.jsonl", "minutes/2026-11-30.jsonl", "day.json"] {
        assert_eq!(mode(path), 0o600, "{path}");
    }
}

#[test]
fn nothing_is_written_through_a_link() {
    let at = tempfile::tempdir().unwrap();
    let victim = at.path().join("victim");
    std::fs::write(&victim, "mine").unwrap();
    let folder = at.path().join("measure");
    let store = open(&folder);
    std::os::unix::fs::symlink(&victim, folder.join("fine/2026-11-30-21.jsonl")).unwrap();
    let error = store.append(&look(START_MS, 1, 0), "{}").unwrap_err();
    assert!(error.to_string().contains("fine/2026-11-30-21.jsonl"), "{error}");
    std::fs::remove_dir_all(folder.join("fine")).unwrap();
    std::fs::create_dir(at.path().join("elsewhere")).unwrap();
    std::os::unix::fs::symlink(at.path().join("elsewhere"), folder.join("fine")).unwrap();
    assert!(store.append(&look(START_MS, 1, 0), "{}").is_err());
    std::fs::remove_file(folder.join("fine")).unwrap();
    store.append(&look(START_MS, 1, 0), "{}").unwrap();
    assert_eq!(std::fs::read(&victim).unwrap(), b"mine");
    assert_eq!(names(at.path(), "elsewhere"), Vec::<String>::new());
    assert_eq!(lines(&folder, "fine/2026-11-30-21.jsonl").len(), 2);
}

#[test]
fn closed_spans_are_compressed_and_old_files_deleted_whole() {
    let at = tempfile::tempdir().unwrap();
    let store = Store::open(at.path(), Settings { keep_fine_ms: 3 * HOUR_MS, ..KEEP }).unwrap().0;
    for hour in 0..8 {
        for n in 0..3 {
            store.append(&look(START_MS + hour * HOUR_MS + n * 10_000, hour * 3 + n, 1), "{}").unwrap();
        }
        assert!(store.tidy(START_MS + hour * HOUR_MS + 30_000).is_empty());
    }
    assert_eq!(
        names(at.path(), "fine"),
        [
            "2026-12-01-00.jsonl.zst",
            "2026-12-01-01.jsonl.zst",
            "2026-12-01-02.jsonl.zst",
            "2026-12-01-03.jsonl.zst",
            "2026-12-01-04.jsonl"
        ]
    );
    assert_eq!(names(at.path(), "minutes"), ["2026-11-30.jsonl.zst", "2026-12-01.jsonl"]);
    let day = read_day(at.path(), START_MS + 7 * HOUR_MS + 20_000, None).unwrap();
    assert_eq!(day_of(&day, "agt_01", Measure::Turns), Some(24.0));
    assert_eq!(day_of(&day, "mch_7f", Measure::CpuUsed), Some(23.0));
    assert!(day.skipped.is_empty());
}

#[test]
fn one_look_with_a_wrong_clock_deletes_nothing_and_opens_no_endless_file() {
    let at = tempfile::tempdir().unwrap();
    let store = open(at.path());
    let mut n = 0;
    let mut keep = |at_ms: u64| {
        n += 1;
        store.append(&look(at_ms, n, 1), "{}").unwrap();
        assert!(store.tidy(at_ms).is_empty());
    };
    for hour in 0..3 {
        keep(START_MS + hour * HOUR_MS);
    }
    keep(START_MS + 3650 * DAY_MS);
    for minute in 0..180 {
        keep(START_MS + 2 * HOUR_MS + (minute + 1) * 60_000);
    }
    let fine = names(at.path(), "fine");
    assert_eq!(fine[..3], ["2026-11-30-21.jsonl.zst", "2026-11-30-22.jsonl.zst", "2026-11-30-23.jsonl.zst"]);
    // The wrong look's hour, and then a file an hour again.
    assert!(fine.len() >= 6 && fine[3..].iter().all(|name| name.starts_with("2036-")), "{fine:?}");
    let day = read_day(at.path(), START_MS + 5 * HOUR_MS, None).unwrap();
    assert_eq!(day_of(&day, "agt_01", Measure::Turns), Some(183.0));
}

#[test]
fn a_clock_set_back_loses_nothing_and_opens_no_closed_span() {
    for back in [HOUR_MS, DAY_MS] {
        let at = tempfile::tempdir().unwrap();
        let store = open(at.path());
        for n in 0..3 {
            store.append(&look(START_MS + n * HOUR_MS, n, 1), "{}").unwrap();
        }
        assert!(store.tidy(START_MS + 2 * HOUR_MS).is_empty());
        store.append(&look(START_MS + 2 * HOUR_MS - back, 3, 1), "{}").unwrap();
        drop(store);
        let store = open(at.path());
        store.append(&look(START_MS + 2 * HOUR_MS - back + 10_000, 4, 1), "{}").unwrap();
        assert_eq!(names(at.path(), "fine")[2], "2026-11-30-23.jsonl");
        assert_eq!(names(at.path(), "fine").len(), 3);
        let day = read_day(at.path(), START_MS + 2 * HOUR_MS, None).unwrap();
        // Of the two that say a day ago, one says it was just in the day.
        let turns = if back == DAY_MS { 4.0 } else { 5.0 };
        assert_eq!(day_of(&day, "agt_01", Measure::Turns), Some(turns), "{back}");
    }
}

#[test]
fn the_last_look_is_believed_only_while_its_line_is_there() {
    let at = tempfile::tempdir().unwrap();
    let store = open(at.path());
    let kept = look(START_MS, 3, 2);
    store.append(&kept, "{}").unwrap();
    store.write_now(&kept, 10_000, None, serde_json::json!({"agents": []})).unwrap();
    let now = read_now(at.path(), START_MS + 5).unwrap();
    assert_eq!((now.look.at_ms, now.every_ms), (START_MS, 10_000));
    assert!(now.look.units[1].values.iter().eq(kept.units[1].values.iter()));
    assert_eq!(now.look.units[1].name, Name::new("main"));
    assert_eq!(now.report, serde_json::json!({"agents": []}));
    assert_eq!(read_now(at.path(), START_MS - 1), None, "from the future");
    std::fs::write(at.path().join("fine/2026-11-30-21.jsonl"), "").unwrap();
    assert_eq!(read_now(at.path(), START_MS + 5), None, "its line is gone");
    store.write_now(&kept, 10_000, None, serde_json::json!({"agents": []})).unwrap();
    std::fs::write(at.path().join("now.json"), r#"{"at":1,"#).unwrap();
    assert_eq!(read_now(at.path(), START_MS + 5), None, "not JSON");
}

#[test]
fn a_day_is_written_in_the_shape_that_scripts_read() {
    let at = tempfile::tempdir().unwrap();
    let store = open(at.path());
    for n in 0..3 {
        store.append(&look(START_MS + n * 10_000, n, n), "{}").unwrap();
    }
    let day = read_day(at.path(), START_MS + 20_000, Some(&id("agt_01"))).unwrap();
    let json = serde_json::to_value(&day).unwrap();
    assert_eq!(json["at"], 1_796_072_420);
    let unit = &json["units"][0];
    assert_eq!(unit["id"], "agt_01");
    assert_eq!(unit["kind"], "agent");
    assert_eq!(unit["parent"], "mch_7f");
    assert_eq!(unit["owner"], serde_json::Value::Null);
    assert_eq!(unit["teams"], serde_json::json!([]));
    assert_eq!(unit["measures"]["link.cpu.used.sum"], serde_json::json!({"now": 0.5, "day": 0.5}));
    assert_eq!(unit["measures"]["link.disk.read.sum"], serde_json::json!({"now": 9, "day": 0}));
    assert_eq!(unit["measures"]["link.turns.sum"], serde_json::json!({"now": null, "day": 3}));
    let hours = unit["hours"].as_array().unwrap();
    assert_eq!(hours.len(), 24);
    assert_eq!(hours[23]["from"], 1_796_072_420 - 3600);
    assert_eq!(hours[23]["measures"]["link.turns.sum"], 3);
    assert_eq!(hours[0]["measures"], serde_json::json!({}));
    let mut whole = read_day(at.path(), START_MS + 20_000, None).unwrap();
    whole.set_now(&look(START_MS + 25_000, 9, 0));
    let json = serde_json::to_value(&whole).unwrap();
    assert_eq!(json["at"], 1_796_072_425);
    assert_eq!(json["units"][0]["measures"]["link.cpu.used.sum"], serde_json::json!({"now": 9, "day": 2}));
    assert_eq!(json["units"][0].get("hours"), None);
}

#[test]
fn a_unit_that_is_gone_keeps_its_day_and_one_begun_today_grew_by_all_of_it() {
    let at = tempfile::tempdir().unwrap();
    let store = open(at.path());
    let mut with = look(START_MS, 1, 0);
    with.units.push(unit("agt_02", UnitKind::Agent, (START_MS - 5000) * 1_000_000, &[(Measure::CpuUsed, 2.5)]));
    store.append(&with, "{}").unwrap();
    store.append(&look(START_MS + 10_000, 1, 0), "{}").unwrap();
    let day = read_day(at.path(), START_MS + 10_000, None).unwrap();
    let gone = day.units.iter().find(|unit| unit.id() == &id("agt_02")).unwrap();
    assert_eq!((gone.day(Measure::CpuUsed), gone.now(Measure::CpuUsed)), (Some(2.5), None));
    assert_eq!(
        day_of(&day, "mch_7f", Measure::CpuUsed),
        Some(0.0),
        "what began before the day counts from its first look"
    );
}
