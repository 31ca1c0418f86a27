//! A plain reader of valid answers to compare with: it splits events, parses each with `serde_json`, keeps every usage
//! object in a list, and only then makes counts of the list.

use lnk_usage::Usage;
use serde_json::{Deserializer, Value};

use super::{GEMINI, MESSAGES, OLLAMA, SSE};

/// What the answer took, by the plain way.
pub fn read(path: &str, content_type: &str, body: &str) -> Usage {
    let documents = if content_type == SSE { events(body) } else { values(body) };
    let counted = match path {
        MESSAGES => messages(&documents),
        GEMINI => gemini(&documents),
        OLLAMA => ollama(&documents),
        _ => openai(&documents),
    };
    match counted {
        Some([input, cached, cache_written, output]) if [input, output].iter().all(|&count| count <= 1_000_000_000) => {
            Usage { metered: true, input, output, cached, cache_written }
        }
        _ => Usage::default(),
    }
}

fn events(body: &str) -> Vec<Value> {
    let body = body.trim_start_matches('\u{feff}').replace("\r\n", "\n").replace('\r', "\n");
    let mut documents = Vec::new();
    let mut data: Vec<&str> = Vec::new();
    for line in body.lines().chain([""]) {
        if line.is_empty() {
            let joined = std::mem::take(&mut data).join("\n");
            documents.extend(Deserializer::from_str(&joined).into_iter().next().and_then(Result::ok));
        } else if let Some(value) = line.strip_prefix("data:") {
            data.push(value.strip_prefix(' ').unwrap_or(value));
        } else if line == "data" {
            data.push("");
        }
    }
    documents
}

fn values(body: &str) -> Vec<Value> {
    let body = body.trim_start_matches('\u{feff}');
    let values = Deserializer::from_str(body).into_iter::<Value>().map_while(Result::ok);
    values.flat_map(|value| if let Value::Array(elements) = value { elements } else { vec![value] }).collect()
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is whole and not negative")]
fn count(object: &Value, key: &str) -> Option<u64> {
    let number = object.get(key)?.as_f64()?;
    (number >= 0.0 && number.fract() == 0.0).then_some(number as u64)
}

fn largest<const N: usize>(counts: [Option<u64>; N]) -> Option<u64> {
    counts.into_iter().flatten().max()
}

/// Input, cached, written, output.
type Record = [Option<u64>; 4];

fn is_nothing(record: &Record) -> bool {
    record.iter().all(|count| count.unwrap_or(0) == 0)
}

fn inclusive(usage: &Value) -> Option<Record> {
    let details = ["prompt_tokens_details", "input_tokens_details", "prompt_token_details"].map(|key| &usage[key]);
    let written = ["cache_write_tokens", "cache_creation_tokens", "cached_write_tokens"];
    let prompt = largest([count(usage, "prompt_tokens"), count(usage, "input_tokens")]);
    let mut output = largest([count(usage, "completion_tokens"), count(usage, "output_tokens")]);
    let cached = largest([
        largest(details.map(|details| count(details, "cached_tokens"))),
        count(usage, "cached_tokens"),
        count(usage, "num_cached_tokens"),
        count(usage, "prompt_cache_hit_tokens"),
        count(usage, "cache_read_input_tokens"),
    ]);
    let cache_written = largest([
        largest(details.map(|details| largest(written.map(|key| count(details, key))))),
        largest(written.map(|key| count(usage, key))),
        count(usage, "cache_creation_input_tokens"),
    ]);
    let reasoning = largest([
        count(&usage["completion_tokens_details"], "reasoning_tokens"),
        count(&usage["output_tokens_details"], "reasoning_tokens"),
    ])
    .unwrap_or(0);
    let beside = output.unwrap_or(0) + reasoning;
    if reasoning > 0 && output.is_some() && count(usage, "total_tokens") == Some(prompt.unwrap_or(0) + beside) {
        output = Some(beside);
    }
    (prompt.is_some() || output.is_some()).then_some([prompt, cached, cache_written, output])
}

/// Where usage may stand in a document, the best place last.
fn places(document: &Value) -> Vec<&Value> {
    let kind = document["type"].as_str().unwrap_or_default();
    let response = kind.starts_with("response.").then(|| &document["response"]["usage"]);
    let message = (kind == "message_start").then(|| &document["message"]["usage"]);
    [Some(&document["x_groq"]["usage"]), response, message, Some(&document["usage"])].into_iter().flatten().collect()
}

fn openai(documents: &[Value]) -> Option<[u64; 4]> {
    let proper = documents.iter().flat_map(places).collect();
    let mut in_choices = Vec::new();
    for document in documents {
        in_choices.extend(document["choices"].as_array().into_iter().flatten().map(|choice| &choice["usage"]));
    }
    let records = |usages: Vec<&Value>| usages.into_iter().filter_map(inclusive).collect::<Vec<Record>>();
    let (proper, in_choices) = (records(proper), records(in_choices));
    let records = if proper.is_empty() { in_choices } else { proper };
    let last = records.iter().rfind(|record| !is_nothing(record)).or(records.last())?;
    let [input, cached, written, output] = last.map(|count| count.unwrap_or(0));
    Some([input, cached.min(input), written.min(input), output])
}

fn messages(documents: &[Value]) -> Option<[u64; 4]> {
    let mut usages: Vec<&Value> = documents.iter().flat_map(places).collect();
    let record = |usage: &&Value| -> Record {
        let split = [
            count(&usage["cache_creation"], "ephemeral_5m_input_tokens"),
            count(&usage["cache_creation"], "ephemeral_1h_input_tokens"),
        ];
        let split = split.iter().any(Option::is_some).then(|| split.iter().flatten().sum());
        [
            count(usage, "input_tokens"),
            count(usage, "cache_read_input_tokens"),
            count(usage, "cache_creation_input_tokens").or(split),
            count(usage, "output_tokens"),
        ]
    };
    usages.retain(|usage| record(usage).iter().any(Option::is_some));
    let records: Vec<Record> = usages.iter().map(record).collect();
    let output = records.iter().rev().find_map(|record| record[3]).unwrap_or(0);
    let mut parts = [0, 0, 0];
    // The first prompt is taken for the whole one until anything says a part of it.
    let mut whole = None;
    for (index, record) in records.iter().enumerate() {
        let group = &record[..3];
        if group.iter().all(|count| count.unwrap_or(0) == 0) {
            continue;
        }
        for (part, count) in parts.iter_mut().zip(group) {
            *part = count.unwrap_or(*part);
        }
        let says_cache = |record: &Record| record[1].is_some() || record[2].is_some();
        match (record[0], whole) {
            (Some(input), _) => whole = Some(input).filter(|_| !records[..=index].iter().any(says_cache)),
            (None, Some(whole)) => parts[0] = u64::max(whole, parts[1] + parts[2]) - parts[1] - parts[2],
            (None, None) => {}
        }
    }
    let mut beside = [0; 4];
    if let Some(passes) = usages.iter().rev().find_map(|usage| usage["iterations"].as_array()) {
        for pass in passes.iter().filter(|pass| pass["type"] == "compaction" || pass["type"] == "advisor_message") {
            for (sum, count) in beside.iter_mut().zip(record(&pass)) {
                *sum += count.unwrap_or(0);
            }
        }
    }
    (!records.is_empty()).then(|| {
        let (cached, written) = (parts[1] + beside[1], parts[2] + beside[2]);
        [parts[0] + beside[0] + cached + written, cached, written, output + beside[3]]
    })
}

fn gemini(documents: &[Value]) -> Option<[u64; 4]> {
    const KEYS: [&str; 5] = [
        "promptTokenCount",
        "toolUsePromptTokenCount",
        "cachedContentTokenCount",
        "candidatesTokenCount",
        "thoughtsTokenCount",
    ];
    let metadata =
        documents.iter().flat_map(|document| [&document["response"]["usageMetadata"], &document["usageMetadata"]]);
    let records: Vec<_> =
        metadata.map(|one| KEYS.map(|key| count(one, key))).filter(|one| one.iter().any(Option::is_some)).collect();
    let speaking = || records.iter().rev().filter(|record| record.iter().any(|count| count.unwrap_or(0) > 0));
    let [prompt, tools, cached, candidates, thoughts] =
        std::array::from_fn(|at| speaking().find_map(|record| record[at]).unwrap_or(0));
    (!records.is_empty()).then(|| [prompt + tools, cached.min(prompt + tools), 0, candidates + thoughts])
}

fn ollama(documents: &[Value]) -> Option<[u64; 4]> {
    const KEYS: [&str; 3] = ["prompt_eval_count", "prompt_eval_cached_count", "eval_count"];
    let records: Vec<_> = documents
        .iter()
        .map(|one| KEYS.map(|key| count(one, key)))
        .filter(|one| one.iter().any(Option::is_some))
        .collect();
    let last = records.iter().rfind(|record| record.iter().any(|count| count.unwrap_or(0) > 0)).or(records.last())?;
    let [input, cached, output] = last.map(|count| count.unwrap_or(0));
    Some([input, cached.min(input), 0, output])
}
