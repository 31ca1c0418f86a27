//! What is an answer, and which bytes of it can be read: method, path, status, content type and coding.

mod common;

use common::{CHAT, JSON, MESSAGES, NDJSON, SSE, UNMETERED, answer, counts, scan};
use lnk_usage::{Answer, MAX_EVENT_BYTES, Usage, UsageScanner, is_answer};

const WHOLE: &[u8] = br#"{"usage":{"prompt_tokens":12,"completion_tokens":3}}"#;
const STREAM: &[u8] = b"data: {\"usage\":{\"prompt_tokens\":12,\"completion_tokens\":3}}\n\n";
const RIGHT: Option<Usage> = counts(12, 0, 0, 3);

#[test]
fn posts_on_an_answers_path_are_answers() {
    let paths = [
        "/v1/messages?beta=true",
        "/anthropic/v1/messages",
        "/apps/anthropic/v1/messages",
        "/v1/complete",
        "/v1/chat/completions",
        "/openai/deployments/NAME/chat/completions?api-version=2026-01-01",
        "/api/coding/paas/v4/chat/completions",
        "/compatible-mode/v1/chat/completions",
        "/models/chat/completions",
        "/v1beta/openai/chat/completions",
        "/v1/completions",
        "/v1/embeddings",
        "/v1/responses",
        "/v1/responses/",
        "/v1/responses/compact",
        "/api/v1/responses",
        "/v1/images/generations",
        "/v1/audio/transcriptions",
        "/api/chat",
        "/api/generate",
        "/api/embed",
        "/api/embeddings",
        "/v1beta/models/g:generateContent",
        "/v1beta/models/g:streamGenerateContent?alt=sse",
        "/v1/projects/p/locations/l/publishers/anthropic/models/m:streamRawPredict",
        "/model/anthropic.m/invoke",
        "/model/anthropic.m/invoke-with-response-stream",
        "/model/anthropic.m/converse-stream",
    ];
    for path in paths {
        assert!(is_answer("POST", path), "{path}");
        assert!(!is_answer("GET", path) && !is_answer("HEAD", path) && !is_answer("DELETE", path), "{path}");
    }
}

#[test]
fn counting_batches_polls_and_replays_are_not() {
    let paths = [
        "/v1/messages/count_tokens",
        "/v1/messages/batches",
        "/v1/messages/batches/b1/cancel",
        "/v1/responses/input_tokens",
        "/v1/responses/resp_1/cancel",
        "/v1/chat/completions/c1",
        "/v1/batches",
        "/v1/files",
        "/v1/models",
        "/v1/moderations",
        "/v1/fine_tuning/jobs",
        "/v1beta/models/g:countTokens",
        "/api/show",
        "/api/pull",
        "/invoke",
        "/x?to=/v1/messages",
        "/",
        "",
    ];
    for path in paths {
        assert!(!is_answer("POST", path), "{path}");
        assert_eq!(scan(&answer(path, JSON), [WHOLE]), None, "{path}");
    }
}

#[test]
fn only_a_2xx_with_a_body_is_an_answer() {
    for status in [100, 101, 199, 204, 205, 301, 304, 400, 401, 429, 500, 503, 529, 0] {
        assert_eq!(scan(&Answer { status, ..answer(CHAT, JSON) }, [WHOLE]), None, "{status}");
    }
    for status in [200, 201, 203, 206, 299] {
        assert_eq!(scan(&Answer { status, ..answer(CHAT, JSON) }, [WHOLE]), RIGHT, "{status}");
    }
    assert_eq!(scan(&Answer { method: "GET", ..answer(CHAT, JSON) }, [WHOLE]), None);
}

#[test]
fn the_first_byte_decides_over_the_content_type() {
    let types = [
        None,
        Some(""),
        Some("text/plain"),
        Some("application/octet-stream"),
        Some("text/event-stream"),
        Some("Text/Event-Stream; charset=utf-8"),
        Some("application/json"),
        Some("application/json; charset=utf-8"),
        Some("APPLICATION/JSON"),
        Some("application/problem+json"),
        Some("application/x-ndjson"),
        Some("application/jsonl"),
    ];
    for content_type in types {
        for body in [WHOLE, STREAM] {
            for lead in [&b""[..], b"\xEF\xBB\xBF", b"\r\n\r\n", b"\n\n"] {
                let body = [lead, body].concat();
                let answer = Answer { content_type, ..answer(CHAT, "") };
                assert_eq!(scan(&answer, [&body[..]]), RIGHT, "{content_type:?}");
                assert_eq!(scan(&answer, body.chunks(1)), RIGHT, "{content_type:?}, byte by byte");
            }
        }
    }
}

#[test]
fn what_cannot_be_decoded_is_unmetered() {
    for content_encoding in ["gzip", "br", "zstd", "deflate", "gzip, identity", "x-unheard-of"] {
        let answer = Answer { content_encoding: Some(content_encoding), ..answer(CHAT, SSE) };
        assert_eq!(scan(&answer, [STREAM]), UNMETERED, "{content_encoding}");
    }
    for content_encoding in ["identity", "", "Identity", "identity, identity"] {
        let answer = Answer { content_encoding: Some(content_encoding), ..answer(CHAT, SSE) };
        assert_eq!(scan(&answer, [STREAM]), RIGHT, "{content_encoding}");
    }
}

#[test]
fn binary_answers_are_unmetered() {
    for content_type in
        ["application/vnd.amazon.eventstream", "audio/mpeg", "image/png", "application/grpc", "video/mp4"]
    {
        assert_eq!(scan(&answer("/model/m/invoke-with-response-stream", content_type), [WHOLE]), UNMETERED);
        assert_eq!(scan(&answer(CHAT, content_type), [STREAM]), UNMETERED, "{content_type}");
    }
    assert_eq!(
        scan(&answer("/model/m/converse", JSON), [&br#"{"usage":{"inputTokens":5,"outputTokens":2}}"#[..]]),
        UNMETERED
    );
    assert_eq!(scan(&answer(CHAT, "text/html"), [&b"<html>\"usage\":{\"prompt_tokens\":5}"[..]]), UNMETERED);
}

#[test]
fn an_answer_without_a_byte_is_unmetered() {
    assert_eq!(scan(&answer(CHAT, JSON), []), UNMETERED);
    assert_eq!(scan(&answer(CHAT, SSE), [&b""[..], b"\n"]), UNMETERED);
}

#[test]
fn the_end_may_be_asked_for_twice_and_nothing_is_read_after_it() {
    let mut scanner = UsageScanner::new(&answer(CHAT, SSE));
    scanner.push(STREAM);
    assert_eq!(scanner.end(), RIGHT);
    scanner.push(b"data: {\"usage\":{\"prompt_tokens\":99}}\n\n");
    assert_eq!(scanner.end(), RIGHT);
}

#[test]
fn an_event_past_the_limit_is_not_read_and_one_at_it_is() {
    let of_length = |path: &str, length: usize| {
        let head = r#"{"usage":{"prompt_tokens":12,"completion_tokens":3},"b64":""#;
        let data = format!("{head}{}\"}}", "A".repeat(length - head.len() - 2));
        assert_eq!(data.len(), length);
        (answer(path, SSE).max_event_bytes, data)
    };
    let (limit, data) = of_length(CHAT, 4 * 1024 * 1024);
    assert_eq!((limit, MAX_EVENT_BYTES), (4 * 1024 * 1024, 4 * 1024 * 1024));
    let event = format!("data: {data}\n\n");
    assert_eq!(scan(&answer(CHAT, SSE), event.as_bytes().chunks(1024)), RIGHT);
    assert_eq!(scan(&answer(CHAT, SSE), [event.as_bytes()]), RIGHT);
    let (_, data) = of_length(CHAT, 4 * 1024 * 1024 + 1);
    let event = format!("data: {data}\n\n");
    assert_eq!(scan(&answer(CHAT, SSE), event.as_bytes().chunks(1024)), UNMETERED);
    assert_eq!(scan(&answer(CHAT, SSE), [event.as_bytes()]), UNMETERED);
    // Unless another event gave usage, before or after.
    assert_eq!(scan(&answer(CHAT, SSE), [STREAM, event.as_bytes()]), RIGHT);
    assert_eq!(scan(&answer(CHAT, SSE), [event.as_bytes(), STREAM]), RIGHT);
    // A line is an event; a whole answer isn't.
    let line = format!("{{\"x\":{data}}}\n{{\"usage\":{{\"prompt_tokens\":12,\"completion_tokens\":3}}}}\n");
    assert_eq!(scan(&answer(CHAT, NDJSON), line.as_bytes().chunks(1000)), RIGHT);
    assert_eq!(scan(&answer(CHAT, NDJSON), [data.as_bytes()]), UNMETERED);
    assert_eq!(scan(&answer(CHAT, JSON), [data.as_bytes()]), RIGHT);
}

#[test]
fn events_of_any_length_are_skimmed_and_read_alike() {
    // Around what is held of an open event, and around the block that is searched at once.
    for length in (0..1200).step_by(13).chain(500..530) {
        let filler = "x".repeat(length);
        let body = format!(
            "data: {{\"type\":\"message_start\",\"message\":{{\"x\":\"{filler}\",\"usage\":{{\"input_tokens\":7,\"output_tokens\":1}}}}}}\n\ndata: {{\"x\":\"{filler}\"}}\n\ndata: {{\"x\":\"{filler}\",\"usage\":{{\"output_tokens\":9}}}}"
        );
        for size in [1, 10, 100, 127, 512, 4096] {
            let found = scan(&answer(MESSAGES, SSE), body.as_bytes().chunks(size));
            assert_eq!(found, counts(7, 0, 0, 9), "{length} bytes in {size}-byte chunks");
        }
    }
}
