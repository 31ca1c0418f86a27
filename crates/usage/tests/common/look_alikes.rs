//! What looks like usage and isn't, and what is in disguise. One name a situation.
#![allow(clippy::too_many_lines, reason = "lists")]

use super::{CHAT, Case, EMBEDDINGS, MESSAGES, OLLAMA, RESPONSES, UNMETERED, counts, lines, raw_stream, stream, whole};

pub fn cases() -> Vec<Case> {
    [in_strings(), elsewhere(), real(), odd_values(), not_json(), deep(), not_data()].concat()
}

fn in_strings() -> Vec<Case> {
    vec![
        stream(
            "usage in the text of an answer",
            CHAT,
            &[r#"{"choices":[{"delta":{"content":"{\"usage\":{\"prompt_tokens\":9}}"}}]}"#],
            UNMETERED,
        ),
        stream(
            "usage in a tool call's arguments, over events",
            CHAT,
            &[
                r#"{"choices":[{"delta":{"tool_calls":[{"function":{"arguments":"{\"usage\":{"}}]}}]}"#,
                r#"{"choices":[{"delta":{"tool_calls":[{"function":{"arguments":"\"prompt_tokens\":9}}"}}]}}]}"#,
            ],
            UNMETERED,
        ),
        stream(
            "usage in partial JSON",
            MESSAGES,
            &[
                r#"{"type":"message_start","message":{"usage":{"input_tokens":3,"output_tokens":1}}}"#,
                r#"{"type":"content_block_delta","delta":{"type":"input_json_delta","partial_json":"\"usage\":{\"input_tokens\":9,\"output_tokens\":9}"}}"#,
            ],
            counts(3, 0, 0, 1),
        ),
        // Cut everywhere by the check, right after each backslash too.
        whole(
            "a cut after a backslash leaves the next quote inside the string",
            CHAT,
            r#"{"text":"\",\"usage\":{\"prompt_tokens\":9}\\\"","usage":{"prompt_tokens":4}}"#,
            counts(4, 0, 0, 0),
        ),
        whole(
            "an even run of backslashes ends the string",
            CHAT,
            r#"{"text":"\\","usage":{"prompt_tokens":4}}"#,
            counts(4, 0, 0, 0),
        ),
        whole("an odd run doesn't", CHAT, r#"{"text":"\\\",\"usage\":{\"prompt_tokens\":4}"}"#, UNMETERED),
        stream(
            "an error's message",
            CHAT,
            &[r#"{"error":{"message":"limit: {\"usage\":{\"prompt_tokens\":9,\"total_tokens\":9}}"}}"#],
            UNMETERED,
        ),
    ]
}

fn elsewhere() -> Vec<Case> {
    vec![
        whole(
            "a tool's input with a key named usage",
            MESSAGES,
            r#"{"content":[{"type":"tool_use","input":{"usage":{"input_tokens":9,"output_tokens":9}}}],"usage":{"input_tokens":3,"output_tokens":1}}"#,
            counts(3, 0, 0, 1),
        ),
        stream(
            "a tool's input at the start of a block",
            MESSAGES,
            &[
                r#"{"type":"content_block_start","content_block":{"type":"tool_use","input":{"usage":{"input_tokens":9,"output_tokens":9}}}}"#,
            ],
            UNMETERED,
        ),
        lines(
            "Ollama's tool calls carry the counters' names",
            OLLAMA,
            "{\"message\":{\"tool_calls\":[{\"function\":{\"arguments\":{\"eval_count\":7,\"prompt_eval_count\":8,\"usage\":{\"prompt_tokens\":1}}}}]},\"done\":true,\"eval_count\":2}\n",
            counts(0, 0, 0, 2),
        ),
        stream(
            "a response echoes schemas and metadata",
            RESPONSES,
            &[
                r#"{"type":"response.completed","usage_":1,"response":{"tools":[{"type":"function","parameters":{"properties":{"usage":{"input_tokens":9}}}}],"text":{"format":{"schema":{"usage":{"output_tokens":9}}}},"metadata":{"usage":{"input_tokens":9}},"usage":{"input_tokens":5,"output_tokens":2}}}"#,
            ],
            counts(5, 0, 0, 2),
        ),
        whole(
            "a response's items with usage",
            RESPONSES,
            r#"{"output":[{"type":"mcp_call","usage":{"input_tokens":9}},{"type":"web_search_call","results":[{"usage":{"input_tokens":9}}]}],"usage":{"input_tokens":5,"output_tokens":2}}"#,
            counts(5, 0, 0, 2),
        ),
        stream(
            "other keys",
            CHAT,
            &[
                r#"{"usage_breakdown":{"models":[{"usage":{"prompt_tokens":9}}]},"usage_metadata":{"prompt_tokens":9},"token_usage":{"prompt_tokens":9},"Usage":{"prompt_tokens":9},"x_usage":{"prompt_tokens":9},"usage ":{"prompt_tokens":9}}"#,
            ],
            UNMETERED,
        ),
        stream(
            "the top level before a choice, in whatever order",
            CHAT,
            &[
                r#"{"choices":[{"usage":{"prompt_tokens":9}}],"usage":{"prompt_tokens":5,"completion_tokens":1}}"#,
                r#"{"choices":[{"usage":{"prompt_tokens":10}}]}"#,
            ],
            counts(5, 0, 0, 1),
        ),
        stream(
            "a choice's message and delta",
            CHAT,
            &[r#"{"choices":[{"message":{"usage":{"prompt_tokens":9}},"delta":{"usage":{"prompt_tokens":9}}}]}"#],
            UNMETERED,
        ),
        whole(
            "a message in a wrapper",
            MESSAGES,
            r#"{"message":{"usage":{"input_tokens":9,"output_tokens":9}}}"#,
            UNMETERED,
        ),
        whole(
            "a batch's result",
            MESSAGES,
            r#"{"result":{"type":"succeeded","message":{"usage":{"input_tokens":9}}},"type":"result"}"#,
            UNMETERED,
        ),
        stream(
            "the type after the message",
            MESSAGES,
            &[r#"{"message":{"usage":{"input_tokens":9,"output_tokens":2}},"type":"message_start"}"#],
            counts(9, 0, 0, 2),
        ),
        stream(
            "a response in an event of no such type",
            RESPONSES,
            &[r#"{"type":"other","response":{"usage":{"input_tokens":9}}}"#],
            UNMETERED,
        ),
        stream(
            "usage as a value",
            CHAT,
            &[r#"{"type":"usage","a":["usage",{"input_tokens":3}],"b":["usage",{"prompt_tokens":3}]}"#],
            UNMETERED,
        ),
        whole("the reply to counting tokens", MESSAGES, r#"{"input_tokens":5}"#, UNMETERED),
        stream(
            "limits that are echoed",
            RESPONSES,
            &[
                r#"{"type":"response.created","response":{"max_output_tokens":9,"max_tokens":9,"usage":{"max_completion_tokens":9,"budget_tokens":9}}}"#,
            ],
            UNMETERED,
        ),
        whole(
            "usage of an element of an array in an array",
            CHAT,
            r#"[[{"usage":{"prompt_tokens":9}}],{"usage":{"prompt_tokens":5}}]"#,
            counts(5, 0, 0, 0),
        ),
    ]
}

fn real() -> Vec<Case> {
    let escaped = |name, body: &str| whole(name, CHAT, body, counts(12, 0, 0, 3));
    let streamed = |name, body: &str| stream(name, CHAT, &["{\"choices\":[]}", body], counts(12, 0, 0, 3));
    vec![
        escaped("usage spelled with an escape", r#"{"\u0075sage":{"prompt_tokens":12,"completion_tokens":3}}"#),
        escaped("another letter of it", r#"{"us\u0061ge":{"prompt_tokens":12,"completion_tokens":3}}"#),
        streamed(
            "a key all in escapes, in a stream",
            r#"{"usage":{"prompt\u005ftokens":12,"completion\u005Ft\u006fken\u0073":3}}"#,
        ),
        streamed(
            "upper and lower hex",
            r#"{"usage":{"prompt_\u0074\u006F\u006b\u0065\u006E\u0073":12,"completion_toke\u006es":3}}"#,
        ),
        streamed(
            "every letter",
            "{\"\\u0075\\u0073\\u0061\\u0067\\u0065\":{\"\\u0070rompt_token\\u0073\":12,\"completion_\\u0074okens\":3}}",
        ),
        stream(
            "the last object of two stays, and null erases nothing",
            CHAT,
            &[
                r#"{"usage":{"prompt_tokens":1,"completion_tokens":9},"usage":{"prompt_tokens":12,"completion_tokens":3},"usage":null}"#,
            ],
            counts(12, 0, 0, 3),
        ),
        whole(
            "the last of two equal keys stays",
            CHAT,
            r#"{"usage":{"prompt_tokens":1,"prompt_tokens":12,"completion_tokens":3}}"#,
            counts(12, 0, 0, 3),
        ),
        streamed(
            "blanks and tabs between tokens",
            "{ \"choices\" : [ ] ,\t\"usage\" : {\"prompt_tokens\" : 12 , \"completion_tokens\"\t:3 } } ",
        ),
        whole(
            "line ends between tokens",
            CHAT,
            "{\r\n  \"usage\"\n:\r{\n\n\t\"prompt_tokens\":\n12\n,\r\n\"completion_tokens\":3\n}\n}\n",
            counts(12, 0, 0, 3),
        ),
        streamed(
            "a whole number with a point or an exponent",
            r#"{"usage":{"prompt_tokens":12.0,"completion_tokens":0.3e1}}"#,
        ),
        raw_stream(
            "an event's name that doesn't fit its data",
            CHAT,
            "event: ping\ndata: {\"usage\":{\"prompt_tokens\":12,\"completion_tokens\":3}}\n\n",
            counts(12, 0, 0, 3),
        ),
        streamed(
            "a second value after the first",
            r#"{"usage":{"prompt_tokens":12,"completion_tokens":3}}{"usage":{"prompt_tokens":99}}"#,
        ),
        streamed("rubbish after the closing brace", r#"{"usage":{"prompt_tokens":12,"completion_tokens":3}}}],x"#),
        stream(
            "a cached part larger than its whole",
            CHAT,
            &[
                r#"{"usage":{"prompt_tokens":12,"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":50,"cache_write_tokens":13}}}"#,
            ],
            counts(12, 12, 12, 3),
        ),
    ]
}

fn odd_values() -> Vec<Case> {
    let chat = |name, usage: &str, counts| stream(name, CHAT, &[&format!(r#"{{"usage":{usage},"n":1}}"#)], counts);
    let digits = format!(r#"{{"prompt_tokens":{},"completion_tokens":3}}"#, "9".repeat(400));
    vec![
        chat("null", "null", UNMETERED),
        chat("an empty object", "{}", UNMETERED),
        chat("an array", r#"[{"prompt_tokens":9}]"#, UNMETERED),
        chat("a string", r#""prompt_tokens""#, UNMETERED),
        chat("a number", "7", UNMETERED),
        chat("a boolean", "true", UNMETERED),
        chat("counts that are null", r#"{"prompt_tokens":null,"completion_tokens":null}"#, UNMETERED),
        chat("seconds", r#"{"type":"duration","seconds":9}"#, UNMETERED),
        chat("a price", r#"{"cost":0.25,"cost_details":{"upstream":0.2}}"#, UNMETERED),
        chat("zeros are counts", r#"{"prompt_tokens":0,"completion_tokens":0}"#, counts(0, 0, 0, 0)),
        chat("a fraction is absent", r#"{"prompt_tokens":12.5,"completion_tokens":3}"#, counts(0, 0, 0, 3)),
        chat("a negative is absent", r#"{"prompt_tokens":-3,"completion_tokens":3}"#, counts(0, 0, 0, 3)),
        chat("a string is absent", r#"{"prompt_tokens":"12","completion_tokens":3}"#, counts(0, 0, 0, 3)),
        chat("a boolean is absent", r#"{"prompt_tokens":true,"completion_tokens":3}"#, counts(0, 0, 0, 3)),
        chat(
            "an object is absent",
            r#"{"prompt_tokens":{"prompt_tokens":9},"completion_tokens":3}"#,
            counts(0, 0, 0, 3),
        ),
        chat(
            "a billion is believed",
            r#"{"prompt_tokens":1000000000,"completion_tokens":3}"#,
            counts(1_000_000_000, 0, 0, 3),
        ),
        chat("one more isn't", r#"{"prompt_tokens":1000000001,"completion_tokens":3}"#, UNMETERED),
        chat("past 2^53", r#"{"prompt_tokens":12,"completion_tokens":9007199254740993}"#, UNMETERED),
        chat("past u64", r#"{"prompt_tokens":12,"completion_tokens":18446744073709551617}"#, UNMETERED),
        chat("400 digits", &digits, UNMETERED),
        chat("an exponent past everything", r#"{"prompt_tokens":1e308,"completion_tokens":3}"#, UNMETERED),
        whole(
            "parts whose sum is past a billion",
            MESSAGES,
            r#"{"usage":{"input_tokens":600000000,"cache_read_input_tokens":600000000,"output_tokens":1}}"#,
            UNMETERED,
        ),
        stream(
            "null, nothing and zeros never replace counts",
            CHAT,
            &[
                r#"{"usage":{"prompt_tokens":12,"completion_tokens":3}}"#,
                r#"{"usage":null}"#,
                r#"{"usage":{}}"#,
                r#"{"usage":{"prompt_tokens":0,"completion_tokens":0}}"#,
            ],
            counts(12, 0, 0, 3),
        ),
    ]
}

fn not_json() -> Vec<Case> {
    const GOOD: &str = r#"{"usage":{"prompt_tokens":5,"completion_tokens":1}}"#;
    let bad = |name, body: &str| stream(name, CHAT, &[GOOD, body, "{}"], counts(5, 0, 0, 1));
    vec![
        bad("NaN", r#"{"logprob":NaN,"usage":{"prompt_tokens":9}}"#),
        bad("Infinity", r#"{"usage":{"prompt_tokens":9},"a":-Infinity}"#),
        bad("a comment", r#"{"usage":{"prompt_tokens":9}/* so */}"#),
        bad("single quotes", r#"{'a':1,"usage":{"prompt_tokens":9}}"#),
        bad("a trailing comma", r#"{"usage":{"prompt_tokens":9},}"#),
        bad("a trailing comma in an array", r#"{"a":[1,],"usage":{"prompt_tokens":9}}"#),
        bad("brackets that don't match", r#"{"usage":{"prompt_tokens":9},"a":[}]}"#),
        bad("a key without quotes", r#"{a:1,"usage":{"prompt_tokens":9}}"#),
        bad("a number with a leading zero", r#"{"a":01,"usage":{"prompt_tokens":9}}"#),
        bad("an unfinished event", r#"{"usage":{"prompt_tokens":9},"a":"#),
        bad("no comma", r#"{"a":1 "usage":{"prompt_tokens":9}}"#),
        bad("a literal that isn't one", r#"{"a":nul,"usage":{"prompt_tokens":9}}"#),
        raw_stream(
            "data split inside a string",
            CHAT,
            "data: {\"a\":\"b\ndata: c\",\"usage\":{\"prompt_tokens\":9}}\n\n",
            UNMETERED,
        ),
        lines(
            "a line that isn't JSON costs only itself",
            OLLAMA,
            "{\"done\":false,\"x\":NaN}\nnot json \"\n{\"done\":true,\"eval_count\":4}\n",
            counts(0, 0, 0, 4),
        ),
        whole("a whole answer that isn't JSON", CHAT, r#"{"a":NaN} {"usage":{"prompt_tokens":9}}"#, UNMETERED),
        // The answer was cut: what is complete counts, the object under way doesn't.
        whole(
            "a cut after the usage object",
            CHAT,
            r#"{"usage":{"prompt_tokens":5},"choices":[{"mess"#,
            counts(5, 0, 0, 0),
        ),
        whole("a cut inside the usage object", CHAT, r#"{"usage":{"prompt_tokens":5,"completion_tok"#, UNMETERED),
        whole("a cut inside a count", CHAT, r#"{"usage":{"prompt_tokens":5"#, UNMETERED),
        lines("a cut inside Ollama's last line", OLLAMA, r#"{"done":true,"prompt_eval_count":5,"eval_"#, UNMETERED),
        stream("nothing at all", CHAT, &[], UNMETERED),
    ]
}

fn deep() -> Vec<Case> {
    let nest = |levels: usize| format!("{}1{}", "[".repeat(levels), "]".repeat(levels));
    let objects = format!("{}1{}", "{\"usage\":".repeat(3000), "}".repeat(3000));
    let mixed =
        format!("{{\"a\":{}\"]\\\"\"{},\"usage\":{{\"prompt_tokens\":5}}}}", "[{\"b\":".repeat(500), "}]".repeat(500));
    vec![
        whole("100 000 open brackets", CHAT, &"[".repeat(100_000), UNMETERED),
        whole(
            "usage after 100 000 levels",
            CHAT,
            &format!("{{\"a\":{},\"usage\":{{\"prompt_tokens\":5}}}}", nest(100_000)),
            counts(5, 0, 0, 0),
        ),
        whole(
            "64 levels",
            CHAT,
            &format!("{{\"a\":{},\"usage\":{{\"prompt_tokens\":5}}}}", nest(63)),
            counts(5, 0, 0, 0),
        ),
        whole(
            "65 levels",
            CHAT,
            &format!("{{\"a\":{},\"usage\":{{\"prompt_tokens\":5}}}}", nest(64)),
            counts(5, 0, 0, 0),
        ),
        whole("usage in usage in usage", CHAT, &objects, UNMETERED),
        whole("strings with brackets far down", CHAT, &mixed, counts(5, 0, 0, 0)),
    ]
}

fn not_data() -> Vec<Case> {
    const USAGE: &str = r#"{"usage":{"prompt_tokens":9,"completion_tokens":9}}"#;
    let no_data = |name, body: String| raw_stream(name, CHAT, &body, UNMETERED);
    let mut bytes = b"{\"text\":\"\0\xff\xfe\x80\\ud800\\u0000\x01\",\"usage\":{\"prompt_tokens\":5}}".to_vec();
    let mut odd = whole("NUL bytes, invalid UTF-8 and lone surrogates in strings", CHAT, "", counts(5, 0, 0, 0));
    odd.body.append(&mut bytes);
    vec![
        odd,
        no_data("a comment with usage", format!(": {USAGE}\n\n")),
        no_data("a field named usage", format!("usage: {USAGE}\n\n")),
        no_data("an event named usage", "event: usage\n\n".to_owned()),
        no_data("a blank before data", format!(" data: {USAGE}\n\n")),
        no_data("a blank before data, later", format!(":\n\n data: {USAGE}\n\n")),
        no_data("a field that begins like data", format!("dataset: {USAGE}\n\ndat: {USAGE}\n\n")),
        no_data("a field in capitals", format!("id: 1\nData: {USAGE}\n\nDATA: {USAGE}\n\n")),
        no_data("an error field of an older server", format!("error: {USAGE}\n\n")),
        no_data("a byte order mark further on", format!("data: {{}}\n\n\u{feff}data: {USAGE}\n\n")),
        whole(
            "an embedding in base64",
            EMBEDDINGS,
            r#"{"usage":{"prompt_tokens":5,"total_tokens":5},"data":[{"embedding":"AACAPw=="}]}"#,
            counts(5, 0, 0, 0),
        ),
    ]
}
