//! Which answers the plain reader and the scanner must agree on: those that say one thing to anybody who reads JSON.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use crate::common::{JSON, MESSAGES, NDJSON, SSE};

/// The text of an answer that is valid throughout: events of one object each, or objects.
pub fn text<'a>(path: &str, content_type: &str, body: &'a [u8]) -> Option<&'a str> {
    let text = str::from_utf8(body).ok()?;
    // In the other convention's words on Anthropic's path the reader would need the scanner's own rules.
    if path == MESSAGES && (text.contains("prompt") || text.contains('\\')) {
        return None;
    }
    let is_valid = match content_type {
        SSE => text.starts_with("data:") && events_are_valid(text),
        NDJSON => text.starts_with('{') && text.lines().all(|line| line.is_empty() || is_object(line)),
        JSON => text.starts_with('{') && is_object(text),
        _ => false,
    };
    is_valid.then_some(text)
}

fn events_are_valid(text: &str) -> bool {
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    text.split("\n\n").all(|event| {
        let lines: Option<Vec<&str>> =
            event.split('\n').map(|line| if line.is_empty() { Some("") } else { line.strip_prefix("data:") }).collect();
        lines.is_some_and(|lines| {
            let data = lines.join("\n");
            data.trim().is_empty() || is_object(&data)
        })
    })
}

fn is_object(text: &str) -> bool {
    text.trim_start_matches([' ', '\t', '\r', '\n']).starts_with('{') && serde_json::from_str::<Plain>(text).is_ok()
}

/// A value that means one thing: no key twice, no fraction, no number that is past what is believed.
struct Plain;

impl<'de> Deserialize<'de> for Plain {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Plain, D::Error> {
        deserializer.deserialize_any(PlainVisitor)
    }
}

struct PlainVisitor;

impl<'de> Visitor<'de> for PlainVisitor {
    type Value = Plain;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a plain value")
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<Plain, E> {
        Ok(Plain)
    }

    fn visit_unit<E: Error>(self) -> Result<Plain, E> {
        Ok(Plain)
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<Plain, E> {
        Ok(Plain)
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<Plain, E> {
        Ok(Plain)
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Plain, E> {
        if value < 100_000_000 { Ok(Plain) } else { Err(E::custom("too many")) }
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<Plain, E> {
        Err(E::custom("a fraction"))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Plain, A::Error> {
        while elements.next_element::<Plain>()?.is_some() {}
        Ok(Plain)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Plain, A::Error> {
        let mut keys: Vec<String> = Vec::new();
        while let Some((key, Plain)) = entries.next_entry::<String, Plain>()? {
            if keys.contains(&key) {
                return Err(A::Error::custom("a key twice"));
            }
            keys.push(key);
        }
        Ok(Plain)
    }
}
