//! What everything had been counted up to, as one object of JSON: the `c` of a look's line.

use std::collections::{BTreeMap, BTreeSet};

use lnk_schema::{Name, UnitId};
use serde_json::{Map, Value, json};

use crate::counter::Baseline;
use crate::position::Positions;

/// What a kept line says everything had been counted up to, by agent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counted {
    /// Which start of the machine it was.
    pub boot: Option<Name>,
    /// Of each tokens file, its six counts.
    pub tokens: BTreeMap<UnitId, Baseline<6>>,
    /// Of each run of an agent's proxies, the latest last: bytes in and out, and the six counts of a tokens file (zero
    /// where it counts none).
    pub proxies: BTreeMap<UnitId, Vec<Baseline<8>>>,
    /// The agents whose tokens a route counts, so that a turn reported after its agent ended isn't added on top.
    pub routed: BTreeSet<UnitId>,
    /// How far each harness's file was read.
    pub turns: BTreeMap<UnitId, Positions>,
    /// How far each file of starts and stops was read.
    pub times: BTreeMap<UnitId, Positions>,
}

impl Counted {
    /// Reads what a line says. An entry that isn't as it should be is left out; text that is no object says nothing.
    pub fn parse(text: &str) -> Counted {
        let Ok(Value::Object(all)) = serde_json::from_str(text) else { return Counted::default() };
        Counted {
            boot: all.get("boot").and_then(Value::as_str).and_then(Name::new),
            tokens: entries(all.get("tokens"), baseline),
            proxies: entries(all.get("proxies"), |runs| Some(runs.as_array()?.iter().filter_map(baseline).collect())),
            routed: texts(all.get("routed")).filter_map(UnitId::new).collect(),
            turns: entries(all.get("turns"), positions),
            times: entries(all.get("times"), positions),
        }
    }

    /// As text on one line: the same for the same, whatever order it was made in.
    pub fn to_json(&self) -> String {
        let mut all = Map::new();
        let mut put = |key: &str, value: Value| {
            let nothing = value.is_null() || value == json!({}) || value == json!([]);
            if !nothing {
                all.insert(key.to_owned(), value);
            }
        };
        put("boot", json!(self.boot.as_ref().map(Name::as_str)));
        put("tokens", of_entries(&self.tokens, of_baseline));
        put("proxies", of_entries(&self.proxies, |runs| runs.iter().map(of_baseline).collect()));
        put("routed", json!(self.routed.iter().map(UnitId::as_str).collect::<Vec<_>>()));
        put("turns", of_entries(&self.turns, |positions| json!(positions.to_texts())));
        put("times", of_entries(&self.times, |positions| json!(positions.to_texts())));
        Value::Object(all).to_string()
    }
}

fn entries<T>(from: Option<&Value>, parse: impl Fn(&Value) -> Option<T>) -> BTreeMap<UnitId, T> {
    let all = from.and_then(Value::as_object).into_iter().flatten();
    all.filter_map(|(id, value)| Some((UnitId::new(id)?, parse(value)?))).collect()
}

fn texts(from: Option<&Value>) -> impl Iterator<Item = &str> {
    from.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

fn baseline<const N: usize>(from: &Value) -> Option<Baseline<N>> {
    let run = Name::new(from.get("run")?.as_str()?)?;
    let counts: Option<Vec<u64>> = from.get("counts")?.as_array()?.iter().map(Value::as_u64).collect();
    Some(Baseline { run, counts: counts?.try_into().ok()? })
}

fn positions(from: &Value) -> Option<Positions> {
    from.is_array().then(|| Positions::from_texts(texts(Some(from))))
}

fn of_entries<T>(entries: &BTreeMap<UnitId, T>, of: impl Fn(&T) -> Value) -> Value {
    entries.iter().map(|(id, entry)| (id.as_str().to_owned(), of(entry))).collect::<Map<_, _>>().into()
}

fn of_baseline<const N: usize>(baseline: &Baseline<N>) -> Value {
    json!({"run": baseline.run.as_str(), "counts": baseline.counts.as_slice()})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(text: &str) -> UnitId {
        UnitId::new(text).unwrap()
    }

    fn full() -> Counted {
        let run = Name::new("r-1").unwrap();
        let positions = Positions::from_texts(["fe01.1a2b.17e.400.ffffffffffffffff", "1.2.0.3.4.s"]);
        Counted {
            boot: Name::new("0a1b-2c"),
            tokens: [(id("b"), Baseline { run: run.clone(), counts: [u64::MAX, 2, 3, 4, 5, 6] })].into(),
            proxies: [(id("a"), vec![Baseline { run, counts: [1; 8] }])].into(),
            routed: [id("b"), id("a")].into(),
            turns: [(id("a"), positions.clone())].into(),
            times: [(id("m:x"), positions)].into(),
        }
    }

    #[test]
    fn it_is_the_same_after_its_text_and_its_text_is_one_line() {
        let text = full().to_json();
        assert_eq!(Counted::parse(&text), full());
        assert_eq!(Counted::parse(&text).to_json(), text);
        assert!(!text.contains('\n'));
        assert_eq!(Counted::default().to_json(), "{}");
    }

    #[test]
    fn one_bad_entry_is_left_out_alone() {
        let text = full().to_json();
        let other =
            r#"{"__proto__":{"run":"r","counts":[1,2,3,4,5,6]},"two words":1,"c":{"run":"r","counts":[1]},"b":"#;
        let worse = text.replace(r#""tokens":{"b":"#, &format!(r#""later":[1],"tokens":{other}"#));
        assert_ne!(worse, text);
        assert_eq!(Counted::parse(&worse), full());
        for none in ["", "[]", "null", "{", "{\"tokens\":[]}", "{\"turns\":{\"a\":1},\"routed\":{},\"boot\":7}"] {
            assert_eq!(Counted::parse(none), Counted::default(), "{none}");
        }
    }

    #[test]
    fn cut_at_every_byte_it_says_nothing_or_all() {
        let text = full().to_json();
        for cut in 0..text.len() {
            assert_eq!(Counted::parse(&text[..cut]), Counted::default());
        }
    }
}
