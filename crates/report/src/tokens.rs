//! The tokens files: what the routes have counted of an agent's model, six running totals.

use std::io::Read;
use std::path::Path;

use lnk_schema::{Measure, Name, UnitId};
use serde::Deserialize;

use crate::counter::Counter;
use crate::note::Refused;
use crate::open::{Folder, Place};

/// A tokens file is some 150 bytes; a longer one is none.
const MOST_BYTES: u64 = 4096;

/// The largest number that every program writes as a whole one.
const LARGEST_WHOLE: f64 = 9_007_199_254_740_992.0;

/// The measures of a tokens file's counts, in the order of [`Counter::counts`].
pub const TOKEN_MEASURES: [Measure; 6] = [
    Measure::RequestsModel,
    Measure::RequestsUnmetered,
    Measure::TokensInput,
    Measure::TokensOutput,
    Measure::TokensCached,
    Measure::TokensCacheWritten,
];

/// A whole number of zero or more, however it is written: `12`, `12.0`, `1.2e1`.
struct Count(u64);

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let number = serde_json::Number::deserialize(from)?;
        let written_otherwise = || {
            let value =
                number.as_f64().filter(|value| (0.0..=LARGEST_WHOLE).contains(value) && value.fract() == 0.0)?;
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "whole and within the range")]
            Some(value as u64)
        };
        let count = number.as_u64().or_else(written_otherwise);
        count.map(Count).ok_or_else(|| serde::de::Error::custom("not a count"))
    }
}

#[derive(Deserialize)]
struct Totals<'a> {
    #[serde(borrow)]
    run: std::borrow::Cow<'a, str>,
    since: f64,
    requests: Count,
    unmetered: Count,
    input: Count,
    output: Count,
    cached: Count,
    cache_written: Count,
}

/// A tokens file's content. `None` where it isn't one: a count that isn't there isn't zero.
pub fn parse_tokens(text: &[u8]) -> Option<Counter<6>> {
    let Totals { run, since, requests, unmetered, input, output, cached, cache_written } = serde_json::from_slice(text)
        .ok()
        .filter(|totals: &Totals<'_>| totals.since >= 0.0 && !totals.run.is_empty())?;
    let run = Name::new(&run).unwrap_or_else(|| Name::stand_in("run", run.as_bytes()));
    let counts = [requests, unmetered, input, output, cached, cache_written].map(|Count(count)| count);
    Some(Counter { run, since, counts })
}

/// The name of an agent's tokens file: its ID, with what isn't plain in a file's name percent-encoded.
pub fn tokens_file_name(agent: &UnitId) -> String {
    let mut name = String::new();
    for char in agent.as_str().chars() {
        match char {
            '/' => name.push_str("%2F"),
            ':' => name.push_str("%3A"),
            '@' => name.push_str("%40"),
            plain => name.push(plain),
        }
    }
    name + ".json"
}

/// The agent whose tokens file a file's name is, if it is one.
pub fn agent_of_tokens_file(name: &str) -> Option<UnitId> {
    let id = name.strip_suffix(".json")?.replace("%2F", "/").replace("%3A", ":").replace("%40", "@");
    UnitId::new(&id).filter(|id| tokens_file_name(id) == name)
}

/// Reads an agent's tokens file in `folder`. `None`: there is none, or what is there isn't one.
///
/// # Errors
/// Why the file isn't read.
pub fn read_tokens(folder: &Path, agent: &UnitId) -> Result<Option<Counter<6>>, Refused> {
    let name = tokens_file_name(agent);
    let Some(place) = Place::below(folder, Path::new(&name)) else { return Ok(None) };
    let Some(file) = Folder::open(&place)?.map(|folder| folder.file(name.as_ref())).transpose()?.flatten() else {
        return Ok(None);
    };
    let mut text = Vec::new();
    file.take(MOST_BYTES + 1).read_to_end(&mut text).map_err(|error| Refused::System(error.kind()))?;
    Ok(if text.len() as u64 > MOST_BYTES { None } else { parse_tokens(&text) })
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"{"run":"r-91c3","since":1780000000,"requests":12,"unmetered":1,"input":90211,"output":4120,
        "cached":80000,"cache_written":1200}"#;

    #[test]
    fn a_tokens_file_is_read_whatever_else_is_in_it() {
        let counter = parse_tokens(GOOD.as_bytes()).unwrap();
        assert_eq!((counter.run.as_str(), counter.since), ("r-91c3", 1_780_000_000.0));
        assert_eq!(counter.counts, [12, 1, 90_211, 4120, 80_000, 1200]);
        let more = GOOD.replace("12,", "1.2e1,").replace("\"run\"", "\"note\":{\"x\":[1]},\"__proto__\":{},\"run\"");
        assert_eq!(parse_tokens(more.as_bytes()), Some(counter));
        let words = parse_tokens(GOOD.replace("r-91c3", "two words").as_bytes()).unwrap().run;
        assert!(words.as_str().starts_with("run-") && !words.as_str().contains("words"));
    }

    #[test]
    fn what_is_no_tokens_file_says_nothing() {
        for (from, to) in [
            ("\"input\":90211,", ""),
            ("90211", "-1"),
            ("90211", "1.5"),
            ("90211", "\"90211\""),
            ("90211", "null"),
            ("90211", "1e309"),
            ("r-91c3", ""),
            ("1780000000", "-1"),
            ("\"run\"", "\"input\":1,\"run\""),
            ("}", ""),
        ] {
            assert_eq!(parse_tokens(GOOD.replacen(from, to, 1).as_bytes()), None, "{from} {to}");
        }
        assert_eq!(parse_tokens(b""), None);
    }

    #[test]
    fn the_files_name_is_the_one_the_routes_write() {
        let id = UnitId::new("mch_7f:@me/x.y-z").unwrap();
        assert_eq!(tokens_file_name(&id), "mch_7f%3A%40me%2Fx.y-z.json");
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(read_tokens(folder.path(), &id), Ok(None));
        std::fs::write(folder.path().join("mch_7f%3A%40me%2Fx.y-z.json"), GOOD).unwrap();
        assert_eq!(read_tokens(folder.path(), &id).unwrap().unwrap().counts[0], 12);
        std::fs::write(folder.path().join("mch_7f%3A%40me%2Fx.y-z.json"), GOOD.to_owned() + &" ".repeat(4096)).unwrap();
        assert_eq!(read_tokens(folder.path(), &id), Ok(None));
    }
}
