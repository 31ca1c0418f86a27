//! What scanning costs, beside a bare read of the same bytes and a parse of the same events, in one run:
//! `cargo run --release -p lnk-usage --example scan_bench`. Read the ratios; machines are noisy.
#![allow(clippy::print_stdout, reason = "it prints a table")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use lnk_usage::{Answer, MAX_EVENT_BYTES, UsageScanner};

const STREAM_BYTES: usize = 16 << 20;
const CHUNK_64K: usize = 64 << 10;

fn scanner(path: &str, content_type: &str) -> UsageScanner {
    UsageScanner::new(&Answer {
        method: "POST",
        path,
        status: 200,
        content_type: Some(content_type),
        content_encoding: None,
        // Larger than the largest event below, so that all of it is read.
        max_event_bytes: 8 * MAX_EVENT_BYTES,
    })
}

/// Words of this many bytes of a text that never repeats exactly.
fn words(seed: usize, bytes: usize) -> String {
    let word = ["the", "scanner", "reads", "what", "passes", "and", "keeps", "counts", "of", "it", "only"];
    let mut text = String::new();
    let mut at = seed;
    while text.len() < bytes {
        text.push_str(word[at % word.len()]);
        text.push(' ');
        at = at.wrapping_mul(31).wrapping_add(7);
    }
    text.truncate(bytes);
    text
}

fn anthropic_delta(index: usize) -> String {
    let head = "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"";
    format!("{head}{}\"}}}}\n\n", words(index, 130 - head.len() - 5))
}

fn chat_chunk(index: usize, with_null: bool) -> String {
    let null = if with_null { ",\"usage\":null" } else { "" };
    format!(
        "data: {{\"id\":\"chatcmpl-{index:028}\",\"object\":\"chat.completion.chunk\",\"created\":1780000000,\"model\":\"gpt-5.6-2026-08-01\",\"service_tier\":\"default\",\"system_fingerprint\":\"fp_{:010x}\",\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{}\"}},\"logprobs\":null,\"finish_reason\":null}}]{null},\"obfuscation\":\"{:012x}\"}}\n\n",
        index * 7919,
        words(index, 20),
        index * 104_729
    )
}

fn until(bytes: usize, mut event: impl FnMut(usize) -> String) -> Vec<String> {
    let mut events = Vec::new();
    let mut total = 0;
    while total < bytes {
        events.push(event(events.len()));
        total += events[events.len() - 1].len();
    }
    events
}

fn bare_read(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    let sum = words.iter().fold(0_u64, |sum, word| sum.wrapping_add(u64::from_le_bytes(*word)));
    rest.iter().fold(sum, |sum, &byte| sum.wrapping_add(u64::from(byte)))
}

/// The best of several times, each over the whole work.
fn best(mut work: impl FnMut()) -> Duration {
    (0..7)
        .map(|_| {
            let start = Instant::now();
            work();
            start.elapsed()
        })
        .min()
        .unwrap_or_default()
}

struct Row<'a> {
    name: &'a str,
    bytes: usize,
    events: usize,
    read: Duration,
    scan: Duration,
    parse: Duration,
}

impl Row<'_> {
    fn print(&self) {
        let rate = |took: Duration| self.bytes as f64 / took.as_secs_f64() / 1e9;
        let each = |took: Duration| took.as_secs_f64() * 1e9 / self.events as f64;
        println!(
            "{:<44} read {:6.2} GB/s {:9.1} ns | scan {:6.2} GB/s {:9.1} ns | serde_json {:5.2} GB/s {:11.1} ns | {:5.1} % of a read, {:6.1} x parse",
            self.name,
            rate(self.read),
            each(self.read),
            rate(self.scan),
            each(self.scan),
            rate(self.parse),
            each(self.parse),
            100.0 * self.read.as_secs_f64() / self.scan.as_secs_f64(),
            self.parse.as_secs_f64() / self.scan.as_secs_f64(),
        );
    }
}

/// `parts` pushed one by one into one scanner, `rounds` times over, so that what fits a cache stays in it.
fn row(name: &str, path: &str, content_type: &str, parts: &[&[u8]], texts: &[&str], events: usize, rounds: usize) {
    let bytes: usize = parts.iter().map(|part| part.len()).sum();
    let mut scanner = scanner(path, content_type);
    let scan = best(|| {
        for _ in 0..rounds {
            for part in parts {
                scanner.push(black_box(part));
            }
        }
    });
    black_box(scanner.end());
    let read = best(|| {
        for _ in 0..rounds {
            for part in parts {
                black_box(bare_read(black_box(part)));
            }
        }
    });
    let parse = best(|| {
        for text in texts {
            black_box(serde_json::from_str::<serde_json::Value>(black_box(text)).is_ok());
        }
    }) * u32::try_from(rounds).unwrap_or(u32::MAX);
    Row { name, bytes: bytes * rounds, events: events * rounds, read, scan, parse }.print();
}

fn stream_rows(name: &str, path: &str, event: impl FnMut(usize) -> String + Copy) {
    const SSE: &str = "text/event-stream";
    fn data(event: &str) -> &str {
        event.split("data: ").nth(1).unwrap_or_default().trim_end()
    }
    let cached = until(CHUNK_64K * 2, event);
    let texts: Vec<&str> = cached.iter().map(|event| data(event)).collect();
    let parts: Vec<&[u8]> = cached.iter().map(String::as_bytes).collect();
    let whole = cached.concat();
    let each = whole.len() / cached.len();
    row(&format!("{name}, {each} B, an event a chunk"), path, SSE, &parts, &texts, parts.len(), 64);
    // One chunk of exactly 64 KiB, over and over: it cuts an event at each end.
    let chunk = &whole.as_bytes()[..CHUNK_64K];
    let inside = CHUNK_64K / each;
    row(&format!("{name}, {each} B, 64 KiB in cache"), path, SSE, &[chunk], &texts[..inside], inside, 256);
    let large = until(STREAM_BYTES, event).concat();
    let parts: Vec<&[u8]> = large.as_bytes().chunks(CHUNK_64K).collect();
    let texts: Vec<&str> = large.split("\n\n").map(data).collect();
    row(&format!("{name}, {each} B, 64 KiB from memory"), path, SSE, &parts, &texts, texts.len(), 1);
}

fn main() {
    stream_rows("Messages", "/v1/messages", anthropic_delta);
    stream_rows("Chat", "/v1/chat/completions", |index| chat_chunk(index, false));
    stream_rows("Chat, usage:null", "/v1/chat/completions", |index| chat_chunk(index, true));

    let picture = "iVBORw0KGgoAAAANSUhEUgAA".repeat((16 << 20) / 24);
    let event = format!(
        "data: {{\"type\":\"response.completed\",\"response\":{{\"output\":[{{\"result\":\"{picture}\"}}],\"usage\":{{\"input_tokens\":5,\"output_tokens\":7}}}}}}\n\n"
    );
    let parts: Vec<&[u8]> = event.as_bytes().chunks(1 << 10).collect();
    let text = [&event[6..]];
    row("16 MB event, 1 KiB chunks", "/v1/responses", "text/event-stream", &parts, &text, 1, 1);

    let line = "She said \\\"read this\\\", then left.\\nThe next line of the text goes on: ";
    let answer = format!(
        "{{\"choices\":[{{\"message\":{{\"content\":\"{}\"}}}}],\"usage\":{{\"prompt_tokens\":5,\"completion_tokens\":7}}}}",
        line.repeat((4 << 20) / line.len())
    );
    let parts: Vec<&[u8]> = answer.as_bytes().chunks(CHUNK_64K).collect();
    row("whole answer, 4 MB of escaped text", "/v1/chat/completions", "application/json", &parts, &[&answer], 1, 1);

    let numbers: Vec<String> = (0..400_000_usize).map(|index| format!("-0.0{:07}", index * 7919 % 9_999_991)).collect();
    let answer = format!("{{\"data\":[{{\"embedding\":[{}]}}],\"usage\":{{\"prompt_tokens\":5}}}}", numbers.join(","));
    let parts: Vec<&[u8]> = answer.as_bytes().chunks(CHUNK_64K).collect();
    row("whole answer, 4 MB of numbers", "/v1/embeddings", "application/json", &parts, &[&answer], 1, 1);
}
