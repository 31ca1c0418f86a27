//! Answers as no provider would write them all: usage in any spelling at any of its places, noise that looks like it,
//! keys in any order, blanks and escapes anywhere.
#![allow(clippy::format_push_string, reason = "shorter, and nobody waits")]

use serde_json::{Map, Value, json};

use super::{GEMINI, JSON, MESSAGES, NDJSON, OLLAMA, Random, SSE};

/// Keys of usage objects in every spelling, and others that are no counts.
const COUNTS: [&str; 18] = [
    "input_tokens",
    "output_tokens",
    "prompt_tokens",
    "completion_tokens",
    "total_tokens",
    "cache_read_input_tokens",
    "cache_creation_input_tokens",
    "cached_tokens",
    "num_cached_tokens",
    "prompt_cache_hit_tokens",
    "cache_write_tokens",
    "cache_creation_tokens",
    "cached_write_tokens",
    "max_output_tokens",
    "prompt_cache_miss_tokens",
    "reasoning_tokens",
    "cost",
    "service_tier",
];

fn number(random: &mut Random) -> Value {
    match random.below(12) {
        0 => Value::Null,
        1 | 2 => json!(0),
        3 => json!(12.5),
        4 => json!(-3),
        5 => json!("12"),
        6 => json!([7]),
        7 => json!(40.0),
        _ => json!(random.below(100_000)),
    }
}

fn details(random: &mut Random, keys: &[&str]) -> Value {
    if random.once_in(4) {
        return number(random);
    }
    let mut object = Map::new();
    for key in keys {
        if random.below(2) == 0 {
            object.insert((*key).to_owned(), number(random));
        }
    }
    Value::Object(object)
}

/// A usage object, or what may stand in its place.
pub fn usage(random: &mut Random, path: &str) -> Value {
    if random.once_in(6) {
        return random.pick(&[Value::Null, json!({}), json!([{"prompt_tokens": 1}]), json!("usage"), json!(7)]);
    }
    let mut object = Map::new();
    match path {
        GEMINI => {
            for key in [
                "promptTokenCount",
                "candidatesTokenCount",
                "cachedContentTokenCount",
                "thoughtsTokenCount",
                "toolUsePromptTokenCount",
                "totalTokenCount",
            ] {
                if !random.once_in(3) {
                    object.insert(key.to_owned(), number(random));
                }
            }
        }
        MESSAGES => {
            for key in ["input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"] {
                if random.below(2) == 0 {
                    object.insert(key.to_owned(), number(random));
                }
            }
            if random.once_in(4) {
                let split = details(random, &["ephemeral_5m_input_tokens", "ephemeral_1h_input_tokens", "other"]);
                object.insert("cache_creation".to_owned(), split);
            }
            if random.once_in(4) {
                let passes = (0..random.below(4)).map(|_| {
                    let kind = random.pick(&["compaction", "advisor_message", "message", "fallback_message"]);
                    json!({"type": kind, "input_tokens": number(random), "cache_read_input_tokens": number(random),
                        "cache_creation_input_tokens": number(random), "output_tokens": number(random)})
                });
                object.insert("iterations".to_owned(), passes.collect());
            }
        }
        _ => {
            for key in COUNTS {
                if random.once_in(3) {
                    object.insert(key.to_owned(), number(random));
                }
            }
            for key in ["prompt_tokens_details", "input_tokens_details", "prompt_token_details"] {
                if random.once_in(4) {
                    let keys = ["cached_tokens", "cache_write_tokens", "cache_creation_tokens", "cached_write_tokens"];
                    object.insert(key.to_owned(), details(random, &keys));
                }
            }
            if random.once_in(3) {
                let (prompt, completion, reasoning) = (random.below(50), random.below(50), random.below(20));
                let total = prompt + completion + if random.below(2) == 0 { reasoning } else { 0 };
                object.extend([
                    ("prompt_tokens".to_owned(), json!(prompt)),
                    ("completion_tokens".to_owned(), json!(completion)),
                    ("total_tokens".to_owned(), json!(total)),
                    ("completion_tokens_details".to_owned(), json!({"reasoning_tokens": reasoning})),
                ]);
            }
        }
    }
    Value::Object(object)
}

/// A value that has nothing to do with usage but would like to.
pub fn noise(random: &mut Random, depth: usize) -> Value {
    let texts = [
        "plain text of an answer",
        "\"usage\":{\"prompt_tokens\":9}",
        "\\\",\"usage\":{\"input_tokens\":9,\"output_tokens\":9}}",
        "ends in a backslash \\",
        "日本語 🙂 \u{0} \n\n data: {}",
        "_tokens\"",
        "",
    ];
    match random.below(if depth > 3 { 4 } else { 7 }) {
        0 => json!(random.below(1000)),
        1 => json!(-0.001_25),
        2 => random.pick(&[Value::Null, json!(true), json!(false)]),
        3 => json!(random.pick(&texts).repeat(1 + random.below(4))),
        4 => (0..random.below(4)).map(|_| noise(random, depth + 1)).collect(),
        _ => {
            let keys = ["usage", "eval_count", "prompt_tokens", "usageMetadata", "text", "message", "input", "a\"b"];
            let entries = (0..random.below(4)).map(|_| (random.pick(&keys).to_owned(), noise(random, depth + 1)));
            Value::Object(entries.collect())
        }
    }
}

fn document(random: &mut Random, path: &str) -> Value {
    let mut object = Map::new();
    for key in ["id", "delta", "content", "tools", "Usage", "usage_metadata", "created"] {
        if random.once_in(3) {
            object.insert(key.to_owned(), noise(random, 0));
        }
    }
    let mut put = |key: &str, value: Value| {
        object.insert(key.to_owned(), value);
    };
    match path {
        OLLAMA => {
            for key in ["prompt_eval_count", "eval_count", "prompt_eval_cached_count"] {
                if random.once_in(3) {
                    put(key, number(random));
                }
            }
        }
        GEMINI if random.below(2) == 0 => put("usageMetadata", usage(random, path)),
        GEMINI if random.below(2) == 0 => put("response", json!({"usageMetadata": usage(random, path)})),
        GEMINI => {}
        _ => {
            let kinds = ["message_start", "message_delta", "response.completed", "response.failed", "other"];
            put("type", json!(random.pick(&kinds)));
            if random.once_in(3) {
                put("usage", usage(random, path));
            }
            if random.once_in(3) {
                put("message", json!({"usage": usage(random, path), "content": noise(random, 1)}));
            }
            if random.once_in(3) {
                put("response", json!({"usage": usage(random, path), "tools": noise(random, 1)}));
            }
            if path != MESSAGES && random.once_in(4) {
                put("x_groq", json!({"usage": usage(random, path)}));
            }
            if path != MESSAGES && random.once_in(3) {
                let choices =
                    (0..random.below(3)).map(|_| json!({"usage": usage(random, path), "delta": noise(random, 1)}));
                put("choices", choices.collect());
            }
        }
    }
    Value::Object(object)
}

/// The value as some program might write it: keys in any order, blanks anywhere between tokens, any escapes.
fn write(random: &mut Random, value: &Value, blanks: &[&str], out: &mut String) {
    fn blank(random: &mut Random, blanks: &[&str], out: &mut String) {
        if random.once_in(4) {
            out.push_str(random.pick(blanks));
        }
    }
    fn text(random: &mut Random, text: &str, out: &mut String) {
        let escapes = random.once_in(5);
        out.push('"');
        for character in text.chars() {
            match character {
                '"' | '\\' => out.extend(['\\', character]),
                '\0'..='\x1f' => out.push_str(&format!("\\u{:04x}", u32::from(character))),
                _ if escapes && random.once_in(4) => {
                    for unit in character.encode_utf16(&mut [0; 2]) {
                        out.push_str(&if random.once_in(2) {
                            format!("\\u{unit:04x}")
                        } else {
                            format!("\\u{unit:04X}")
                        });
                    }
                }
                _ => out.push(character),
            }
        }
        out.push('"');
    }
    blank(random, blanks, out);
    match value {
        Value::String(string) => text(random, string, out),
        Value::Array(elements) => {
            out.push('[');
            for (index, element) in elements.iter().enumerate() {
                out.push_str(if index == 0 { "" } else { "," });
                write(random, element, blanks, out);
            }
            out.push(']');
        }
        Value::Object(object) => {
            let mut entries: Vec<_> = object.iter().collect();
            for last in (1..entries.len()).rev() {
                entries.swap(last, random.below(last + 1));
            }
            out.push('{');
            for (index, (key, element)) in entries.into_iter().enumerate() {
                out.push_str(if index == 0 { "" } else { "," });
                blank(random, blanks, out);
                text(random, key, out);
                blank(random, blanks, out);
                out.push(':');
                write(random, element, blanks, out);
            }
            out.push('}');
        }
        other => out.push_str(&other.to_string()),
    }
    blank(random, blanks, out);
}

pub fn body(random: &mut Random, path: &str, content_type: &str) -> String {
    let mut body = String::new();
    if random.once_in(8) {
        body.push('\u{feff}');
    }
    let end = random.pick(&["\n", "\r\n", "\r"]);
    let broken = format!("{end}data: ");
    let count = 1 + random.below(5);
    let is_array = content_type == JSON && random.once_in(3);
    body.push_str(if is_array { "[" } else { "" });
    for index in 0..count {
        let document = document(random, path);
        match content_type {
            SSE => {
                if random.once_in(3) {
                    body.push_str(random.pick(&[": ping", "event: message", ":", "id: 7", "retry", "usage: {}"]));
                    body.push_str(end);
                    body.push_str(if random.once_in(2) { end } else { "" });
                }
                body.push_str(random.pick(&["data: ", "data:"]));
                let blanks: &[&str] = if random.once_in(4) { &[" ", "\t", &broken] } else { &[" "] };
                write(random, &document, blanks, &mut body);
                if index + 1 < count || random.once_in(2) {
                    body.push_str(&end.repeat(2));
                }
            }
            NDJSON => {
                write(random, &document, &[" ", "\t"], &mut body);
                body.push_str(if end == "\r" { "\n" } else { end });
            }
            _ => {
                body.push_str(if is_array && index > 0 { "," } else { "" });
                write(random, &document, &[" ", "\n", "\r\n", "\t"], &mut body);
            }
        }
    }
    body.push_str(if is_array { "]" } else { "" });
    body
}
