//! Reads the usage a model's answer gives as the answer passes: four counts, never a word of it.
//!
//! A [`UsageScanner`] is told what was asked and how it is answered, gets the answer's bytes in whatever pieces they
//! come, and says at the end what the provider counted. It understands Anthropic's Messages, OpenAI's Chat Completions
//! and Responses and everything that imitates them, Gemini's and Ollama's own APIs, whole or streamed. Usage counts
//! only at the exact places where providers put it; text that looks like it, in a string, a tool call's input or an
//! echoed schema, never does.
//!
//! It holds no event and allocates nothing: its state is of one size whatever passes, and its time is linear in the
//! bytes. It does no I/O and never fails: bytes that can't be read make an answer without usage.
//!
//! Known gaps, all counted as answers without usage: Bedrock's binary streams and Converse's spelling, `timings` of
//! llama.cpp where it sends no usage, a background Response (its usage comes by polling).

mod counts;
mod dialect;
mod json;
mod number;
mod place;
#[cfg(test)]
mod random;
mod skim;
mod sse;
mod text;

use memchr::memchr;

pub use dialect::is_answer;

use dialect::{Media, dialect_of, is_identity, media_of};
use json::Json;
use place::Reader;
use skim::Skim;
use sse::Events;

/// How long an event of a stream may be to be read, in bytes of its data, unless [`Answer::max_event_bytes`] says
/// otherwise.
pub const MAX_EVENT_BYTES: u64 = 4 * 1024 * 1024;

/// What is known of an answer before its first byte.
#[derive(Debug, Clone, Copy)]
pub struct Answer<'a> {
    /// The request's method.
    pub method: &'a str,
    /// The request's path, its query included or not.
    pub path: &'a str,
    /// The answer's HTTP status.
    pub status: u16,
    /// The answer's `Content-Type`, if it has one.
    pub content_type: Option<&'a str>,
    /// The `Content-Encoding` the bytes to be pushed still have, if any.
    pub content_encoding: Option<&'a str>,
    /// A stream's event with more data than this is not read; [`MAX_EVENT_BYTES`] unless there is a reason.
    pub max_event_bytes: u64,
}

/// What an answer said it took, in tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// Whether the answer gave usage that is believed. If not, the counts are 0 and mean nothing.
    pub metered: bool,
    /// The whole prompt, cached or not.
    pub input: u64,
    /// Everything the model made, reasoning included.
    pub output: u64,
    /// Of the prompt, what was read from the provider's cache.
    pub cached: u64,
    /// Of the prompt, what was written to the provider's cache.
    pub cache_written: u64,
}

/// Counts one answer's tokens as it passes.
///
/// ```
/// use lnk_usage::{Answer, MAX_EVENT_BYTES, UsageScanner};
///
/// let mut scanner = UsageScanner::new(&Answer {
///     method: "POST",
///     path: "/v1/chat/completions",
///     status: 200,
///     content_type: Some("application/json"),
///     content_encoding: None,
///     max_event_bytes: MAX_EVENT_BYTES,
/// });
/// scanner.push(br#"{"usage":{"prompt_tokens":12,"comple"#);
/// scanner.push(br#"tion_tokens":3}}"#);
/// let usage = scanner.end().unwrap();
/// assert_eq!((usage.input, usage.output), (12, 3));
/// ```
#[derive(Debug, Clone)]
pub struct UsageScanner {
    body: Body,
    max_event_bytes: u64,
    reader: Reader,
}

/// How an answer's bytes are read.
#[derive(Debug, Clone)]
#[expect(clippy::large_enum_variant, reason = "boxing the large one would allocate, and there is one a scanner")]
enum Body {
    /// Not a model's answer.
    NotAnswer,
    /// An answer whose bytes can't be read, or no longer.
    Unread,
    /// Nothing but a byte order mark and blanks so far.
    Start(Start),
    Events(Skim),
    Json(Json),
    /// JSON, a value a line; the second number is the line's length so far.
    Lines(Json, u64),
}

/// What stood before the first byte that tells one framing from another.
#[derive(Debug, Clone, Copy)]
struct Start {
    media: Media,
    /// How much of a byte order mark has come.
    mark: usize,
    /// Whether blanks stand on this line: then it is no field of an event.
    in_line: bool,
}

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

impl UsageScanner {
    /// A scanner for one answer.
    pub fn new(answer: &Answer<'_>) -> UsageScanner {
        let dialect = dialect_of(answer.method, answer.path);
        // Only a 2xx is an answer, and those two have no body.
        let answers = matches!(answer.status, 200..=203 | 206..=299);
        let media = media_of(answer.content_type);
        let body = if dialect.is_none() || !answers {
            Body::NotAnswer
        } else if media == Media::Binary || !is_identity(answer.content_encoding) {
            Body::Unread
        } else {
            Body::Start(Start { media, mark: 0, in_line: false })
        };
        let reader = Reader::new(dialect.unwrap_or(dialect::Dialect::Inclusive));
        UsageScanner { body, max_event_bytes: answer.max_event_bytes, reader }
    }

    /// Reads the answer's next bytes, cut anywhere.
    pub fn push(&mut self, chunk: &[u8]) {
        let reader = &mut self.reader;
        match &mut self.body {
            Body::NotAnswer | Body::Unread => {}
            Body::Start(start) => {
                if let Some((body, from)) = start.decide(chunk, self.max_event_bytes, reader) {
                    self.body = body;
                    self.push(chunk.get(from..).unwrap_or_default());
                }
            }
            Body::Events(skim) => skim.feed(chunk, reader),
            Body::Json(json) => json.feed(chunk, reader),
            Body::Lines(json, length) => feed_lines(json, length, self.max_event_bytes, chunk, reader),
        }
    }

    /// The answer is over, wherever it stopped: what it took, or `None` if it was not a model's answer. What is pushed
    /// after that is not read.
    pub fn end(&mut self) -> Option<Usage> {
        if matches!(self.body, Body::NotAnswer) {
            return None;
        }
        if matches!(self.body, Body::Events(_) | Body::Json(_) | Body::Lines(..)) {
            self.reader.end_cut_document();
        }
        self.body = Body::Unread;
        if self.reader.is_load() {
            return None;
        }
        Some(self.reader.counts().map_or_else(Usage::default, |[input, output, cached, cache_written]| Usage {
            metered: true,
            input,
            output,
            cached,
            cache_written,
        }))
    }
}

impl Start {
    /// Looks for the byte that tells how to read on, and says from where; `None` if it isn't in `chunk`. What the
    /// content type says counts only where that byte could begin either: gateways send errors and whole answers under
    /// an event stream's type, and streams under JSON's.
    fn decide(&mut self, chunk: &[u8], max_event_bytes: u64, reader: &Reader) -> Option<(Body, usize)> {
        for (at, &byte) in chunk.iter().enumerate() {
            if BYTE_ORDER_MARK.get(self.mark) == Some(&byte) {
                self.mark += 1;
                continue;
            }
            match byte {
                b'\n' | b'\r' => self.in_line = false,
                b' ' | b'\t' => self.in_line = true,
                _ => return Some((self.body(byte, max_event_bytes, reader), at)),
            }
            // A mark counts only as the very first.
            self.mark = BYTE_ORDER_MARK.len();
        }
        None
    }

    fn body(self, first: u8, max_event_bytes: u64, reader: &Reader) -> Body {
        let cut_mark = !self.mark.is_multiple_of(BYTE_ORDER_MARK.len());
        match (first, self.media) {
            (_, Media::Binary) => Body::Unread,
            (b'{' | b'[', Media::Lines) if !cut_mark => Body::Lines(Json::new(true), 0),
            (b'{' | b'[', _) if !cut_mark => Body::Json(Json::new(true)),
            (b':' | b'd' | b'e' | b'i' | b'r', _) | (_, Media::Events) => {
                let mut skim = Skim::new(Events::new(max_event_bytes), reader.counts_end_in_tokens());
                if self.in_line || cut_mark {
                    skim.begin_in_line();
                }
                Body::Events(skim)
            }
            (_, Media::Lines) => Body::Lines(Json::new(true), 0),
            (_, Media::Json) => Body::Json(Json::new(true)),
            (_, Media::Unsaid) => Body::Unread,
        }
    }
}

/// Reads lines of JSON. A value may go on over a line's end, but one that isn't JSON costs its own line only.
fn feed_lines(json: &mut Json, length: &mut u64, max_event_bytes: u64, chunk: &[u8], reader: &mut Reader) {
    let mut rest = chunk;
    while !rest.is_empty() {
        let end = memchr(b'\n', rest);
        let (line, after) = rest.split_at(end.unwrap_or(rest.len()));
        let left = usize::try_from(max_event_bytes - *length).unwrap_or(usize::MAX);
        *length += line.len().min(left) as u64;
        json.feed(line.get(..left).unwrap_or(line), reader);
        if line.len() > left || (end.is_some() && json.is_in_string()) {
            json.give_up(reader);
        }
        if end.is_some() {
            *length = 0;
            if json.is_dead() {
                json.restart(reader);
            } else {
                json.feed(b"\n", reader);
            }
        }
        rest = after.get(1..).unwrap_or_default();
    }
}
