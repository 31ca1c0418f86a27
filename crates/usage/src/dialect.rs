//! What kind of answer a path, a content type and a coding make.

/// How an answer's usage is to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// Anthropic's Messages and everything that imitates it: the prompt in three parts that don't overlap.
    Exclusive,
    /// OpenAI's APIs and everything like them: the prompt whole, its cached part a part of it.
    Inclusive,
    /// A path that serves models of either kind (Vertex, Bedrock): each usage object's keys decide.
    ByKeys,
    Gemini,
    Ollama,
}

/// The ends of the paths a POST to which is answered by a model. Matched as ends since vendors and gateways put
/// prefixes of their own before them.
const ANSWERS: [(&str, Dialect); 21] = [
    ("/messages", Dialect::Exclusive),
    // Anthropic's older API; it gives no usage.
    ("/complete", Dialect::Exclusive),
    ("/chat/completions", Dialect::Inclusive),
    ("/completions", Dialect::Inclusive),
    // Ollama's older `/api/embeddings` too; that one gives no usage.
    ("/embeddings", Dialect::Inclusive),
    ("/responses", Dialect::Inclusive),
    ("/responses/compact", Dialect::Inclusive),
    ("/images/generations", Dialect::Inclusive),
    ("/images/edits", Dialect::Inclusive),
    ("/audio/transcriptions", Dialect::Inclusive),
    ("/api/chat", Dialect::Ollama),
    ("/api/generate", Dialect::Ollama),
    ("/api/embed", Dialect::Ollama),
    (":generateContent", Dialect::Gemini),
    (":streamGenerateContent", Dialect::Gemini),
    (":rawPredict", Dialect::ByKeys),
    (":streamRawPredict", Dialect::ByKeys),
    // Bedrock's: its binary streams and Converse's own spelling aren't read, so those answers are without usage.
    ("/invoke", Dialect::ByKeys),
    ("/invoke-with-response-stream", Dialect::ByKeys),
    ("/converse", Dialect::ByKeys),
    ("/converse-stream", Dialect::ByKeys),
];

/// Whether a request is for a model's answer: a POST on a path that one answers. Counting tokens, batches, polls and
/// replays of stored answers are not. The query is ignored.
pub fn is_answer(method: &str, path: &str) -> bool {
    dialect_of(method, path).is_some()
}

/// How to read the answer to a request, if it is for one.
pub(crate) fn dialect_of(method: &str, path: &str) -> Option<Dialect> {
    if !method.eq_ignore_ascii_case("POST") {
        return None;
    }
    let path = path.split(['?', '#']).next().unwrap_or_default();
    let path = path.strip_suffix('/').unwrap_or(path);
    ANSWERS
        .iter()
        .find(|(end, _)| path.ends_with(end))
        .filter(|(end, _)| !(end.contains("invoke") || end.contains("converse")) || path.contains("/model/"))
        .map(|&(_, dialect)| dialect)
}

/// What a content type says of an answer's framing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Media {
    /// Server-sent events.
    Events,
    /// JSON: one value or several.
    Json,
    /// JSON, a value a line.
    Lines,
    /// Nothing: the first bytes decide.
    Unsaid,
    /// Not text.
    Binary,
}

/// What a `Content-Type` says. Parameters and case don't matter.
pub(crate) fn media_of(content_type: Option<&str>) -> Media {
    let bare = content_type.unwrap_or_default().split(';').next().unwrap_or_default().trim();
    let is = |name: &str| bare.eq_ignore_ascii_case(name);
    let ends = |end: &str| {
        bare.len()
            .checked_sub(end.len())
            .and_then(|at| bare.get(at..))
            .is_some_and(|last| last.eq_ignore_ascii_case(end))
    };
    let begins = |start: &str| bare.get(..start.len()).is_some_and(|first| first.eq_ignore_ascii_case(start));
    if is("text/event-stream") {
        Media::Events
    } else if ["application/x-ndjson", "application/ndjson", "application/jsonl", "application/x-jsonlines"]
        .into_iter()
        .any(is)
    {
        Media::Lines
    } else if begins("application/json") || ends("+json") {
        Media::Json
    } else if bare.is_empty() || begins("text/") || is("application/octet-stream") {
        Media::Unsaid
    } else {
        Media::Binary
    }
}

/// Whether a `Content-Encoding` leaves the bytes as they are.
pub(crate) fn is_identity(content_encoding: Option<&str>) -> bool {
    content_encoding
        .unwrap_or_default()
        .split(',')
        .map(str::trim)
        .all(|coding| coding.is_empty() || coding.eq_ignore_ascii_case("identity"))
}
