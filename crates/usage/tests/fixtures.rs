//! The answers that the TypeScript tests push too (`test/fixtures/usage`, listed in its `index.json`) count right here.

mod common;

use std::fs;
use std::path::Path;

use common::{answer, scan};
use lnk_usage::Usage;
use serde_json::Value;

#[test]
fn every_recorded_answer_counts_right() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../test/fixtures/usage");
    let index: Vec<Value> = serde_json::from_slice(&fs::read(folder.join("index.json")).unwrap()).unwrap();
    for entry in &index {
        let file = entry["file"].as_str().unwrap();
        let body = fs::read(folder.join(file)).unwrap();
        let count = |key: &str| entry["usage"][key].as_u64().unwrap();
        let expected = entry["usage"].is_object().then(|| Usage {
            metered: entry["usage"]["metered"].as_bool().unwrap(),
            input: count("input"),
            output: count("output"),
            cached: count("cached"),
            cache_written: count("cacheWritten"),
        });
        let answer = answer(entry["path"].as_str().unwrap(), entry["contentType"].as_str().unwrap());
        assert_eq!(scan(&answer, [&body[..]]), expected, "{file}, at once");
        for cut in 0..body.len() {
            assert_eq!(scan(&answer, [&body[..cut], &body[cut..]]), expected, "{file}, cut at {cut}");
        }
        assert_eq!(scan(&answer, body.chunks(1)), expected, "{file}, byte by byte");
    }
    // Every file is listed, and the other way round.
    let listed = fs::read_dir(&folder).unwrap().filter(|entry| {
        let name = entry.as_ref().unwrap().file_name();
        name != "index.json" && name != ".gitattributes"
    });
    assert_eq!(listed.count(), index.len());
}
