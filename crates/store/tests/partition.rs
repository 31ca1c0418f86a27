//! The same looks make the same day, however they were cut up by restarts and whatever mix of files they lie in.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

mod common;

use std::path::Path;

use common::{DAY_MS, HOUR_MS, KEEP, START_MS, Seeded, id, names, open, oracle, random_looks, values};
use lnk_schema::{Look, Measure};
use lnk_store::{Day, Store, read_day, read_slices};

fn keep(folder: &Path, looks: &[Look], seeded: &mut Seeded, restarts: u64) {
    let mut store = open(folder);
    for look in looks {
        if seeded.below(1000) < restarts {
            drop(store);
            store = open(folder);
        }
        assert!(store.append(look, r#"{"p":1}"#).unwrap().is_none());
        if seeded.below(60) == 0 {
            assert!(store.tidy(look.at_ms).is_empty());
            store.write_day().unwrap();
        }
    }
}

fn check(day: &Day, looks: &[Look], at_ms: u64, what: &str) {
    assert_eq!(day.skipped, Vec::<String>::new(), "{what}");
    let expected = oracle(looks, at_ms - DAY_MS, at_ms);
    let found = values(day);
    for (key, value) in &expected {
        assert_eq!(found.get(key), Some(value), "{what}: {key:?}");
    }
    assert_eq!(found, expected, "{what}");
}

#[test]
fn any_partition_and_any_mix_of_files_gives_the_day_of_the_looks() {
    for seed in 1..=6 {
        let mut seeded = Seeded(seed * 0x9E37_79B9);
        let at = tempfile::tempdir().unwrap();
        let every_ms = if seed % 2 == 0 { 20_000 } else { 200_000 };
        let looks = random_looks(&mut seeded, START_MS, 600, every_ms);
        keep(at.path(), &looks, &mut seeded, seed * 4);
        // The last of the minutes is written when the next begins, and on a restart.
        let last_ms = looks[looks.len() - 1].at_ms;
        // Every end but the last's own minute can be read from minutes alone: whole minutes, a quarter apart.
        let ends: Vec<_> = (0..6).map(|i| (last_ms - i * 5 * HOUR_MS / 2) / 60_000 * 60_000).collect();
        let read = |what: &str| {
            for end in &ends {
                check(&read_day(at.path(), *end, None).unwrap(), &looks, *end, &format!("seed {seed} {what} {end}"));
            }
        };
        check(&read_day(at.path(), last_ms, None).unwrap(), &looks, last_ms, &format!("seed {seed}, with copies"));
        read("with copies");
        std::fs::remove_file(at.path().join("day.json")).unwrap();
        read("from files");
        for name in names(at.path(), "fine") {
            if seeded.below(3) == 0 {
                std::fs::remove_file(at.path().join("fine").join(name)).unwrap();
            }
        }
        read("with some of fine");
        std::fs::remove_dir_all(at.path().join("fine")).unwrap();
        read("from minutes");
        let store = open(at.path());
        assert!(store.tidy(last_ms).is_empty());
        read("after a start without fine");
    }
}

#[test]
fn the_hours_of_a_day_add_up_to_it() {
    let mut seeded = Seeded(77);
    let at = tempfile::tempdir().unwrap();
    let looks = random_looks(&mut seeded, START_MS, 500, 180_000);
    keep(at.path(), &looks, &mut seeded, 10);
    let end = looks[looks.len() - 1].at_ms;
    for agent in ["agt_01", "mch_7f"] {
        let hours = read_day(at.path(), end, Some(&id(agent))).unwrap();
        let whole = values(&read_day(at.path(), end, None).unwrap());
        assert_eq!(hours.units.len(), if agent == "agt_01" { 2 } else { 1 });
        for unit in &hours.units {
            for measure in Measure::ALL.iter().filter(|measure| measure.name() != "time.turn.own") {
                let slices = unit.slices(*measure);
                assert_eq!(slices.len(), 24);
                let micros = |value: f64| (value * 1e6).round();
                let made = match measure.kind() {
                    lnk_schema::Kind::Level | lnk_schema::Kind::Peak => {
                        slices.iter().flatten().copied().reduce(f64::max)
                    }
                    _ => slices.iter().flatten().copied().map(micros).reduce(|a, b| a + b).map(|sum| sum / 1e6),
                };
                assert_eq!(made, unit.day(*measure), "{} {}", unit.id(), measure.name());
                let key = (unit.id().to_string(), measure.name());
                assert_eq!(whole.get(&key).copied(), unit.day(*measure), "{key:?}");
            }
        }
        for slice in 0..3 {
            let to = end - slice as u64 * HOUR_MS;
            let turns = oracle(&looks, to - HOUR_MS, to).remove(&(agent.to_owned(), "tokens.input.sum"));
            let unit = hours.units.iter().find(|unit| unit.id() == &id(agent)).unwrap();
            assert_eq!(unit.slices(Measure::TokensInput)[23 - slice], turns);
        }
    }
}

#[test]
fn a_month_is_read_from_its_minutes() {
    let mut seeded = Seeded(5);
    let at = tempfile::tempdir().unwrap();
    let looks = random_looks(&mut seeded, START_MS, 400, 3_600_000);
    keep(at.path(), &looks, &mut seeded, 0);
    std::fs::remove_dir_all(at.path().join("fine")).unwrap();
    let to = looks[390].at_ms / 60_000 * 60_000 + 60_000;
    let month = read_slices(at.path(), to - 10 * DAY_MS, to, 10, None).unwrap();
    assert_eq!(values(&month), oracle(&looks, to - 10 * DAY_MS, to));
    let (store, resumed) = Store::open(at.path(), KEEP).unwrap();
    assert_eq!(resumed.counted, None);
    drop(store);
}

#[test]
fn a_day_in_copies_that_cant_be_believed_is_read_from_its_files() {
    let mut seeded = Seeded(9);
    let at = tempfile::tempdir().unwrap();
    let looks = random_looks(&mut seeded, START_MS, 500, 60_000);
    keep(at.path(), &looks, &mut seeded, 0);
    let store = open(at.path());
    for _ in 0..30 {
        store.write_day().unwrap();
    }
    let end = looks[499].at_ms;
    let day = std::fs::read_to_string(at.path().join("day.json")).unwrap();
    for bad in [
        String::new(),
        "{".to_owned(),
        "null".to_owned(),
        day.replace("\"upto\":[\"2026", "\"upto\":[\"2031"),
        day[..day.len() / 2].to_owned(),
    ] {
        std::fs::write(at.path().join("day.json"), bad).unwrap();
        check(&read_day(at.path(), end, None).unwrap(), &looks, end, "a bad copy");
    }
    // An earlier end than the copy's: it knows too much.
    std::fs::write(at.path().join("day.json"), day).unwrap();
    let earlier = looks[450].at_ms;
    check(&read_day(at.path(), earlier, None).unwrap(), &looks, earlier, "from the future");
}
