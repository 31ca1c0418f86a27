//! What the tests share: answers with their right counts, and ways to push them.
#![allow(dead_code, reason = "each test takes what it needs")]

pub mod look_alikes;
pub mod reference;
pub mod reported;
pub mod written;

use lnk_usage::{Answer, MAX_EVENT_BYTES, Usage, UsageScanner};

pub const MESSAGES: &str = "/v1/messages";
pub const CHAT: &str = "/v1/chat/completions";
pub const RESPONSES: &str = "/v1/responses";
pub const EMBEDDINGS: &str = "/v1/embeddings";
pub const GEMINI: &str = "/v1beta/models/g:streamGenerateContent";
pub const OLLAMA: &str = "/api/chat";

pub const SSE: &str = "text/event-stream";
pub const JSON: &str = "application/json";
pub const NDJSON: &str = "application/x-ndjson";

/// Input, cached, cache written, output.
#[expect(clippy::unnecessary_wraps, reason = "what a scanner says at the end")]
pub const fn counts(input: u64, cached: u64, cache_written: u64, output: u64) -> Option<Usage> {
    Some(Usage { metered: true, input, output, cached, cache_written })
}

pub const UNMETERED: Option<Usage> = Some(Usage { metered: false, input: 0, output: 0, cached: 0, cache_written: 0 });

/// An answer and what it took.
#[derive(Debug, Clone)]
pub struct Case {
    pub name: &'static str,
    pub path: &'static str,
    pub content_type: &'static str,
    pub body: Vec<u8>,
    pub usage: Option<Usage>,
}

/// A stream of events, each given by its data.
pub fn stream(name: &'static str, path: &'static str, events: &[&str], usage: Option<Usage>) -> Case {
    let body = events.iter().flat_map(|data| ["data: ", data, "\n\n"]).collect::<String>().into_bytes();
    Case { name, path, content_type: SSE, body, usage }
}

/// A stream as it stands on the wire.
pub fn raw_stream(name: &'static str, path: &'static str, body: &str, usage: Option<Usage>) -> Case {
    Case { name, path, content_type: SSE, body: body.as_bytes().to_vec(), usage }
}

/// A whole answer in JSON.
pub fn whole(name: &'static str, path: &'static str, body: &str, usage: Option<Usage>) -> Case {
    Case { name, path, content_type: JSON, body: body.as_bytes().to_vec(), usage }
}

/// Lines of JSON.
pub fn lines(name: &'static str, path: &'static str, body: &str, usage: Option<Usage>) -> Case {
    Case { name, path, content_type: NDJSON, body: body.as_bytes().to_vec(), usage }
}

pub fn answer<'a>(path: &'a str, content_type: &'a str) -> Answer<'a> {
    Answer {
        method: "POST",
        path,
        status: 200,
        content_type: Some(content_type),
        content_encoding: None,
        max_event_bytes: MAX_EVENT_BYTES,
    }
}

pub fn scan<'a>(answer: &Answer<'_>, chunks: impl IntoIterator<Item = &'a [u8]>) -> Option<Usage> {
    let mut scanner = UsageScanner::new(answer);
    for chunk in chunks {
        scanner.push(chunk);
    }
    scanner.end()
}

impl Case {
    pub fn answer(&self) -> Answer<'_> {
        answer(self.path, self.content_type)
    }

    /// Fails unless the counts are right at once, in pieces of several sizes, and cut in two anywhere.
    pub fn check(&self) {
        let check = |what: &str, usage: Option<Usage>| {
            let text = String::from_utf8_lossy(&self.body);
            assert_eq!(usage, self.usage, "{}: {what}\n{}", self.name, text.get(..2000).unwrap_or(&text));
        };
        check("at once", scan(&self.answer(), [&self.body[..]]));
        for size in [1, 2, 3, 7, 64, 129, 1000] {
            check(&format!("{size} bytes a chunk"), scan(&self.answer(), self.body.chunks(size)));
        }
        // The few bodies of many thousand bytes are one thing over and over.
        let step = if self.body.len() > 4000 { self.body.len() / 50 } else { 1 };
        for cut in (0..self.body.len()).step_by(step) {
            let (before, after) = self.body.split_at(cut);
            check(&format!("cut at {cut}"), scan(&self.answer(), [before, after]));
        }
    }
}

/// Choices that replay: from a seed (xorshift64*, Vigna 2016), or first from bytes that a fuzzer wrote.
pub struct Random<'a> {
    state: u64,
    script: &'a [u8],
}

impl<'a> Random<'a> {
    pub fn from_seed(seed: u64) -> Random<'a> {
        Random { state: seed, script: &[] }
    }

    /// Two bytes a choice, and when they are used up the choices of a seed.
    pub fn from_bytes(script: &'a [u8]) -> Random<'a> {
        Random { state: 0x9E37_79B9_7F4A_7C15, script }
    }

    pub fn next(&mut self) -> u64 {
        if let Some((&[high, low], rest)) = self.script.split_first_chunk() {
            self.script = rest;
            return u64::from(u16::from_be_bytes([high, low])) << 33;
        }
        self.state ^= self.state >> 12;
        self.state ^= self.state << 25;
        self.state ^= self.state >> 27;
        self.state.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    pub fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() >> 33).unwrap_or_default() % bound
    }

    /// True once in `times`.
    pub fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    pub fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())].clone()
    }
}
