//! The scanner never panics, counts the same however an answer is cut, and counts valid answers as the plain reader
//! does, which parses every event and looks usage up.
//!
//! The first byte says whether what follows is an answer, or the choices of a program that writes one.
#![no_main]

#[path = "../../crates/usage/tests/common/mod.rs"]
mod common;
mod valid;

use common::reference::read;
use common::written::body;
use common::{CHAT, GEMINI, JSON, MESSAGES, NDJSON, OLLAMA, RESPONSES, Random, SSE, answer, scan};
use libfuzzer_sys::fuzz_target;
use lnk_usage::{Answer, MAX_EVENT_BYTES, Usage};

const PATHS: [&str; 5] = [MESSAGES, CHAT, RESPONSES, GEMINI, OLLAMA];
const TYPES: [&str; 4] = [SSE, NDJSON, JSON, ""];
const LIMITS: [u64; 4] = [MAX_EVENT_BYTES, 0, 1, 100];

fuzz_target!(|data: &[u8]| {
    let Some((&[kind, path, framing, cut, limit], rest)) = data.split_first_chunk() else { return };
    let [path, content_type] = [PATHS[usize::from(path) % 5], TYPES[usize::from(framing) % 4]];
    if kind % 2 == 0 && content_type != "" {
        let mut random = Random::from_bytes(rest);
        let text = body(&mut random, path, content_type);
        let usage = however_cut(&answer(path, content_type), text.as_bytes(), cut);
        assert_eq!(usage, Some(read(path, content_type, &text)), "{path}, {content_type}:\n{text}");
        return;
    }
    let max_event_bytes = LIMITS[usize::from(limit) % 4];
    let usage = however_cut(&Answer { max_event_bytes, ..answer(path, content_type) }, rest, cut);
    if let (MAX_EVENT_BYTES, Some(text)) = (max_event_bytes, valid::text(path, content_type, rest)) {
        // An answer that only loads a model is none; the plain reader doesn't know those.
        let read = read(path, content_type, text);
        assert!(
            usage == Some(read) || (usage.is_none() && path == OLLAMA),
            "{path}, {content_type}: {usage:?}, not {read:?}\n{text}"
        );
    }
});

/// The usage of an answer, the same at once, byte by byte, and in pieces of some other size.
fn however_cut(answer: &Answer<'_>, body: &[u8], cut: u8) -> Option<Usage> {
    let usage = scan(answer, [body]);
    assert_eq!(usage, scan(answer, body.chunks(1)), "byte by byte");
    assert_eq!(usage, scan(answer, body.chunks(2 + usize::from(cut))), "in pieces of {}", 2 + usize::from(cut));
    let (before, after) = body.split_at(body.len() * usize::from(cut) / 256);
    assert_eq!(usage, scan(answer, [before, after]), "cut at {}", before.len());
    usage
}
