//! What must hold of every answer: it counts as the plain reader counts it, however it is framed, written and cut; and
//! nothing at all makes the scanner panic. Each round prints its seed when it fails.
#![allow(clippy::format_push_string, clippy::format_collect, reason = "shorter, and nobody waits")]

mod common;

use common::reference::read;
use common::written::{body, noise, usage};
use common::{
    CHAT, Case, GEMINI, JSON, MESSAGES, NDJSON, OLLAMA, RESPONSES, Random, SSE, answer, look_alikes, reported, scan,
};
use serde_json::json;

fn cuts(random: &mut Random, body: &[u8]) -> Vec<usize> {
    let mut cuts: Vec<usize> = (0..random.below(6)).map(|_| random.below(body.len() + 1)).collect();
    cuts.extend([0, body.len()]);
    cuts.sort_unstable();
    cuts
}

#[test]
fn counts_are_the_plain_readers() {
    let mut metered = 0;
    for seed in 1..6000_u64 {
        let mut random = Random::from_seed(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let path = random.pick(&[MESSAGES, CHAT, RESPONSES, GEMINI, OLLAMA]);
        let content_type = random.pick(&[SSE, SSE, NDJSON, JSON]);
        let body = body(&mut random, path, content_type);
        let expected = read(path, content_type, &body);
        metered += usize::from(expected.metered);
        let bytes = body.as_bytes();
        let answer = answer(path, content_type);
        let cuts = cuts(&mut random, bytes);
        let pieces = cuts.windows(2).map(|cut| &bytes[cut[0]..cut[1]]);
        assert_eq!(scan(&answer, pieces), Some(expected), "seed {seed}, {path}, in pieces:\n{body}");
        assert_eq!(scan(&answer, [bytes]), Some(expected), "seed {seed}, {path}, at once:\n{body}");
        assert_eq!(scan(&answer, bytes.chunks(1)), Some(expected), "seed {seed}, {path}, byte by byte:\n{body}");
    }
    assert!(metered > 2500, "only {metered} of the answers had usage");
}

fn all_cases() -> Vec<Case> {
    [reported::cases(), look_alikes::cases()].concat()
}

#[test]
fn line_ends_comments_and_pings_change_nothing() {
    for case in all_cases().into_iter().filter(|case| case.content_type == SSE) {
        let Ok(body) = String::from_utf8(case.body.clone()) else { continue };
        let body = body.replace("\r\n", "\n").replace('\r', "\n");
        let variants = [
            body.clone(),
            body.replace('\n', "\r\n"),
            body.replace('\n', "\r"),
            body.replace("\n\n", "\n\r\n"),
            body.replace("\n\n", "\r\n\n"),
            body.replace("\n\n", "\n\n: ping _tokens\"\n\nevent: ping\ndata: {\"type\":\"ping\"}\n\n"),
            body.replace("\n\n", "\n: in the event\n\n"),
            body.trim_end_matches('\n').to_owned(),
        ];
        for variant in variants {
            for size in [1, 5, variant.len().max(1)] {
                let found = scan(&case.answer(), variant.as_bytes().chunks(size));
                assert_eq!(found, case.usage, "{}, {size} bytes a chunk:\n{variant}", case.name);
            }
        }
    }
}

#[test]
fn whole_and_streamed_agree() {
    for seed in 1..500_u64 {
        let mut random = Random::from_seed(seed.wrapping_mul(0x2545_F491_4F6C_DD1D));
        for path in [MESSAGES, CHAT, RESPONSES] {
            let usage = usage(&mut random, path);
            let whole = json!({"content": noise(&mut random, 0), "usage": usage}).to_string();
            let events = match path {
                MESSAGES => vec![
                    json!({"type": "message_start", "message": {"usage": usage}}),
                    json!({"type": "message_delta", "usage": usage}),
                ],
                RESPONSES => vec![
                    json!({"type": "response.created", "response": {"usage": null}}),
                    json!({"type": "response.completed", "response": {"usage": usage}}),
                ],
                _ => vec![json!({"choices": [{}], "usage": null}), json!({"choices": [], "usage": usage})],
            };
            let streamed: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
            let from_whole = scan(&answer(path, JSON), [whole.as_bytes()]);
            assert_eq!(scan(&answer(path, SSE), [streamed.as_bytes()]), from_whole, "seed {seed}, {path}: {usage}");
        }
    }
}

#[test]
fn nothing_makes_it_panic() {
    let cases = all_cases();
    let bits = [
        &b"\""[..],
        b"\\",
        b"{",
        b"}",
        b"[",
        b"]",
        b"\n",
        b"\r",
        b"\n\n",
        b"\0",
        b"\xff",
        b"data:",
        b"\\u00",
        b"_tokens\"",
        b"1e",
        b"-",
        b",",
    ];
    for seed in 1..20_000_u64 {
        let mut random = Random::from_seed(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let case = random.pick(&cases);
        if case.body.len() > 20_000 {
            continue;
        }
        let mut body = case.body.clone();
        for _ in 0..=random.below(6) {
            let at = random.below(body.len() + 1);
            match random.below(4) {
                0 => body.truncate(at),
                1 => drop(body.splice(at..at, random.pick(&bits).iter().copied())),
                2 if at < body.len() => body[at] = random.next().to_le_bytes()[0],
                _ => {
                    let (from, to) = (random.below(body.len() + 1), random.below(body.len() + 1));
                    let copied = body[from.min(to)..from.max(to)].to_vec();
                    drop(body.splice(at..at, copied));
                }
            }
            body.truncate(20_000);
        }
        let cuts = cuts(&mut random, &body);
        let mut wrong = case.answer();
        wrong.content_type = random.pick(&[wrong.content_type, Some(SSE), Some(JSON), Some(NDJSON), None]);
        wrong.max_event_bytes = random.pick(&[wrong.max_event_bytes, 0, 1, 100]);
        let pieces = scan(&wrong, cuts.windows(2).map(|cut| &body[cut[0]..cut[1]]));
        assert_eq!(pieces, scan(&wrong, body.chunks(1)), "seed {seed}: {:?}", String::from_utf8_lossy(&body));
    }
}
