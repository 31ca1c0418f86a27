//! A busy hour is opened and compressed in little memory, in a process that can have no more.
#![cfg(target_os = "linux")]
#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

mod common;

use std::fmt::Write;
use std::path::PathBuf;
use std::process::Command;

use common::{HOUR_MS, START_MS, Seeded, look, names, open};

const FOLDER: &str = "LNK_TEST_STORE";

#[test]
#[ignore = "the other runs it"]
fn driver() {
    let Some(folder) = std::env::var_os(FOLDER).map(PathBuf::from) else { return };
    let store = open(&folder);
    store.append(&look(START_MS + HOUR_MS, 1, 1), "{}").unwrap();
    assert_eq!(store.tidy(START_MS + HOUR_MS).len(), 0);
}

#[test]
fn twelve_megabytes_are_compressed_in_sixty_four() {
    let at = tempfile::tempdir().unwrap();
    let store = open(at.path());
    store.append(&look(START_MS, 1, 0), "{}").unwrap();
    drop(store);
    // Lines as the store writes them, of 200 units and numbers that don't pack well.
    let (file, mut seeded) = (at.path().join("fine/2026-11-30-21.jsonl"), Seeded(0x9E37_79B9));
    let mut text = std::fs::read_to_string(&file).unwrap();
    while text.len() < 12 << 20 {
        let names = if text.len() < 10_000 { r#","kind":"agent","parent":"mch_7f","s":"7""# } else { "" };
        let units: Vec<_> = (0..200)
            .map(|i| {
                let [used, peak] = [(); 2].map(|()| seeded.below(1 << 34));
                format!(r#"{{"id":"agt_{i}"{names},"v":[{used},{peak}]}}"#)
            })
            .collect();
        writeln!(text, r#"{{"t":1796072410,"units":[{}]}}"#, units.join(",")).unwrap();
    }
    std::fs::write(&file, text).unwrap();
    let driver =
        format!("ulimit -d 65536; exec '{}' --ignored --exact driver", std::env::current_exe().unwrap().display());
    let output = Command::new("sh").args(["-c", &driver]).env(FOLDER, at.path()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(std::fs::metadata(at.path().join("fine/2026-11-30-21.jsonl.zst")).unwrap().len() > 2 << 20);
    assert_eq!(names(at.path(), "fine"), ["2026-11-30-21.jsonl.zst", "2026-11-30-22.jsonl"]);
}
