//! Faults others reported of their counting, each as the smallest answer that provokes it. The comment names the
//! report; the counts are the right ones.
#![allow(clippy::too_many_lines, reason = "lists")]

use super::{CHAT, Case, GEMINI, MESSAGES, OLLAMA, RESPONSES, UNMETERED, counts, lines, raw_stream, stream, whole};

/// `message_start` with a usage object.
macro_rules! start {
    ($usage:literal) => {
        concat!(r#"{"type":"message_start","message":{"id":"m1","usage":"#, $usage, "}}")
    };
}

/// `message_delta` with a usage object.
macro_rules! delta {
    ($usage:literal) => {
        concat!(r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":"#, $usage, "}")
    };
}

/// A last event of the Responses API.
macro_rules! ended {
    ($how:literal, $usage:literal) => {
        concat!(r#"{"type":"response."#, $how, r#"","response":{"status":""#, $how, r#"","usage":"#, $usage, "}}")
    };
}

const STOP: &str = r#"{"type":"message_stop"}"#;

pub fn cases() -> Vec<Case> {
    [messages(), compaction(), chat(), gateways(), responses(), others(), framing()].concat()
}

fn messages() -> Vec<Case> {
    vec![
        // envoyproxy/ai-gateway PR 2236, 2239
        stream(
            "cache tokens are not added again from the delta",
            MESSAGES,
            &[
                start!(r#"{"input_tokens":9,"cache_read_input_tokens":1,"output_tokens":1}"#),
                delta!(r#"{"cache_read_input_tokens":1,"output_tokens":16}"#),
                STOP,
            ],
            counts(10, 1, 0, 16),
        ),
        // tensorzero/tensorzero 5481
        stream(
            "the provisional output is not added to the final one",
            MESSAGES,
            &[start!(r#"{"input_tokens":25,"output_tokens":1}"#), delta!(r#"{"output_tokens":15}"#), STOP],
            counts(25, 0, 0, 15),
        ),
        // symfony/ai PR 2178
        stream(
            "prompt and cache repeated in the delta count once",
            MESSAGES,
            &[
                start!(
                    r#"{"input_tokens":2,"cache_creation_input_tokens":47119,"cache_read_input_tokens":0,"output_tokens":4}"#
                ),
                delta!(
                    r#"{"input_tokens":2,"cache_creation_input_tokens":47119,"cache_read_input_tokens":0,"output_tokens":64}"#
                ),
            ],
            counts(47121, 0, 47119, 64),
        ),
        // microsoft/agent-framework 7143; modelbus/one-api-pro 13; langchainjs PR 10250
        stream(
            "a delta with input fields gives totals",
            MESSAGES,
            &[start!(r#"{"input_tokens":7,"output_tokens":1}"#), delta!(r#"{"input_tokens":7,"output_tokens":5}"#)],
            counts(7, 0, 0, 5),
        ),
        stream(
            "a delta without input fields leaves the start's",
            MESSAGES,
            &[start!(r#"{"input_tokens":7,"output_tokens":1}"#), delta!(r#"{"output_tokens":5}"#)],
            counts(7, 0, 0, 5),
        ),
        // PostHog/posthog-python 7.75.4; LibreChat-AI/agents PR 150
        stream(
            "outputs of several deltas are running totals",
            MESSAGES,
            &[
                start!(r#"{"input_tokens":3,"output_tokens":1}"#),
                delta!(r#"{"output_tokens":10}"#),
                delta!(r#"{"output_tokens":25}"#),
                delta!(r#"{"output_tokens":40}"#),
            ],
            counts(3, 0, 0, 40),
        ),
        // decolua/9router PR 2209
        stream(
            "the cache stays the start's when the delta has none",
            MESSAGES,
            &[
                start!(
                    r#"{"input_tokens":50,"cache_read_input_tokens":2400,"cache_creation_input_tokens":120,"output_tokens":2}"#
                ),
                delta!(r#"{"output_tokens":31}"#),
            ],
            counts(2570, 2400, 120, 31),
        ),
        // ccusage/ccusage 901, 938, PR 835; anthropics/claude-code 22686
        stream(
            "the last output is kept, not the first",
            MESSAGES,
            &[
                start!(r#"{"input_tokens":3,"output_tokens":9}"#),
                delta!(r#"{"output_tokens":9}"#),
                delta!(r#"{"output_tokens":159}"#),
            ],
            counts(3, 0, 0, 159),
        ),
        // karthink/gptel PR 1331
        stream(
            "a delta with output alone",
            MESSAGES,
            &[start!(r#"{"input_tokens":9325,"output_tokens":4}"#), delta!(r#"{"output_tokens":76}"#)],
            counts(9325, 0, 0, 76),
        ),
        stream(
            "a delta full of nulls",
            MESSAGES,
            &[
                start!(r#"{"input_tokens":9325,"output_tokens":4}"#),
                delta!(
                    r#"{"input_tokens":null,"cache_read_input_tokens":null,"cache_creation_input_tokens":null,"output_tokens":76}"#
                ),
            ],
            counts(9325, 0, 0, 76),
        ),
        // Menci/Floway PR 2; BerriAI/litellm 13207; Arize-ai/openinference PR 3734; also traceloop/openllmetry PR 4099
        whole(
            "the three parts of a prompt are added",
            MESSAGES,
            r#"{"type":"message","usage":{"input_tokens":10,"cache_creation_input_tokens":1733,"cache_read_input_tokens":512,"output_tokens":5}}"#,
            counts(2255, 512, 1733, 5),
        ),
        // CLIProxyAPI 1700, 747; sglang 20678; litellm 41406
        stream(
            "zeros at the start are replaced",
            MESSAGES,
            &[start!(r#"{"input_tokens":0,"output_tokens":0}"#), delta!(r#"{"input_tokens":123,"output_tokens":45}"#)],
            counts(123, 0, 0, 45),
        ),
        // Ollama's bridge; raine/claude-code-proxy PR 86, 154
        stream(
            "an estimate at the start is replaced by a smaller count",
            MESSAGES,
            &[
                start!(r#"{"input_tokens":1500,"output_tokens":0}"#),
                delta!(r#"{"input_tokens":1212,"output_tokens":9}"#),
            ],
            counts(1212, 0, 0, 9),
        ),
        // QuantumNous/new-api 4760
        stream(
            "a stream without any delta",
            MESSAGES,
            &[start!(r#"{"input_tokens":80,"output_tokens":1}"#), STOP],
            counts(80, 0, 0, 1),
        ),
        // Qwen/DashScope
        stream(
            "a whole prompt at the start and only cache counts after",
            MESSAGES,
            &[
                start!(r#"{"input_tokens":900,"output_tokens":1}"#),
                delta!(r#"{"cache_read_input_tokens":600,"output_tokens":12}"#),
                delta!(r#"{"cache_read_input_tokens":700,"cache_creation_input_tokens":100,"output_tokens":20}"#),
            ],
            counts(900, 700, 100, 20),
        ),
        stream(
            "a whole prompt at the start, larger cache counts after",
            MESSAGES,
            &[
                start!(r#"{"input_tokens":900,"cache_read_input_tokens":null,"output_tokens":1}"#),
                delta!(r#"{"cache_read_input_tokens":1000,"output_tokens":12}"#),
            ],
            counts(1000, 1000, 0, 12),
        ),
        // Kimi/Moonshot
        stream(
            "three parts in the delta beside an OpenAI-style prompt",
            MESSAGES,
            &[
                start!(r#"{"input_tokens":500,"output_tokens":0}"#),
                delta!(
                    r#"{"input_tokens":20,"cache_read_input_tokens":480,"cache_creation_input_tokens":0,"output_tokens":9,"prompt_tokens":500}"#
                ),
            ],
            counts(500, 480, 0, 9),
        ),
        stream(
            "a fallback's numbers replace the declined attempt's, zeros too",
            MESSAGES,
            &[
                start!(
                    r#"{"input_tokens":4,"cache_read_input_tokens":1000,"cache_creation_input_tokens":200,"output_tokens":1}"#
                ),
                delta!(
                    r#"{"input_tokens":1204,"cache_read_input_tokens":0,"cache_creation_input_tokens":0,"output_tokens":8}"#
                ),
            ],
            counts(1204, 0, 0, 8),
        ),
        stream(
            "the prompt grows after the start",
            MESSAGES,
            &[
                start!(
                    r#"{"input_tokens":7,"cache_read_input_tokens":900,"cache_creation_input_tokens":50,"output_tokens":2}"#
                ),
                delta!(
                    r#"{"input_tokens":11,"cache_read_input_tokens":1900,"cache_creation_input_tokens":50,"output_tokens":73}"#
                ),
            ],
            counts(1961, 1900, 50, 73),
        ),
        stream(
            "zeros at the start and only output after",
            MESSAGES,
            &[start!(r#"{"input_tokens":0,"output_tokens":0}"#), delta!(r#"{"output_tokens":45}"#)],
            counts(0, 0, 0, 45),
        ),
        whole(
            "the split of what was written is not added",
            MESSAGES,
            r#"{"usage":{"input_tokens":1,"cache_creation_input_tokens":30,"cache_creation":{"ephemeral_5m_input_tokens":10,"ephemeral_1h_input_tokens":20},"output_tokens":2}}"#,
            counts(31, 0, 30, 2),
        ),
        whole(
            "the split of what was written stands in for its sum",
            MESSAGES,
            r#"{"usage":{"input_tokens":1,"cache_creation_input_tokens":null,"cache_creation":{"ephemeral_5m_input_tokens":10,"ephemeral_1h_input_tokens":20},"output_tokens":2}}"#,
            counts(31, 0, 30, 2),
        ),
        whole(
            "the older completion gives no usage",
            "/v1/complete",
            r#"{"type":"completion","completion":"x"}"#,
            UNMETERED,
        ),
    ]
}

fn compaction() -> Vec<Case> {
    vec![
        // pydantic/pydantic-ai 5065; bifrost PR 6500
        whole(
            "a compaction pass is added, the message's is in already",
            MESSAGES,
            r#"{"usage":{"input_tokens":23000,"output_tokens":1000,"iterations":[{"type":"compaction","input_tokens":180000,"output_tokens":3500},{"type":"message","input_tokens":23000,"output_tokens":1000}]}}"#,
            counts(203_000, 0, 0, 4500),
        ),
        // BerriAI/litellm PR 27065
        whole(
            "a compaction pass read mostly from the cache",
            MESSAGES,
            r#"{"usage":{"input_tokens":400,"output_tokens":30,"iterations":[{"input_tokens":9000,"cache_read_input_tokens":1000,"cache_creation_input_tokens":70,"output_tokens":200,"type":"compaction"},{"type":"message","input_tokens":400,"cache_read_input_tokens":0,"cache_creation_input_tokens":0,"output_tokens":30}]}}"#,
            counts(10_470, 1000, 70, 230),
        ),
        stream(
            "only the last event's passes count",
            MESSAGES,
            &[
                start!(r#"{"input_tokens":1,"output_tokens":1}"#),
                delta!(
                    r#"{"output_tokens":5,"iterations":[{"type":"compaction","input_tokens":50,"output_tokens":2}]}"#
                ),
                delta!(
                    r#"{"output_tokens":9,"iterations":[{"type":"compaction","input_tokens":50,"output_tokens":2},{"type":"advisor_message","model":"m","input_tokens":30,"output_tokens":4},{"type":"fallback_message","input_tokens":70,"output_tokens":4}]}"#
                ),
            ],
            counts(81, 0, 0, 15),
        ),
    ]
}

fn chat() -> Vec<Case> {
    vec![
        // BerriAI/litellm 36168
        stream(
            "usage on the chunk with the finish reason",
            CHAT,
            &[
                r#"{"choices":[{"delta":{"content":"a"}}]}"#,
                r#"{"choices":[{"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":2612,"completion_tokens":8,"total_tokens":2620,"prompt_tokens_details":{"cached_tokens":2560}}}"#,
                "[DONE]",
            ],
            counts(2612, 2560, 0, 8),
        ),
        // BerriAI/litellm 36083, PR 36678, PR 41071
        whole(
            "details are kept",
            CHAT,
            r#"{"usage":{"prompt_tokens":1000,"completion_tokens":100,"prompt_tokens_details":{"cached_tokens":600,"audio_tokens":0},"completion_tokens_details":{"reasoning_tokens":60,"rejected_prediction_tokens":5}}}"#,
            counts(1000, 600, 0, 100),
        ),
        // anomalyco/opencode PR 44229; langchain 40666; aplisay/llm-agent PR 345
        whole(
            "what was written to the cache is a part of the prompt",
            CHAT,
            r#"{"usage":{"prompt_tokens":2304,"completion_tokens":50,"prompt_tokens_details":{"cached_tokens":256,"cache_write_tokens":1024}}}"#,
            counts(2304, 256, 1024, 50),
        ),
        // ogx-ai/ogx 5122; langfuse 8808
        stream(
            "a running usage on every chunk",
            CHAT,
            &[
                r#"{"choices":[{}],"usage":{"prompt_tokens":70,"completion_tokens":1}}"#,
                r#"{"choices":[{}],"usage":{"prompt_tokens":70,"completion_tokens":2}}"#,
                r#"{"choices":[{}],"usage":{"prompt_tokens":70,"completion_tokens":3}}"#,
            ],
            counts(70, 0, 0, 3),
        ),
        // vLLM: the running completion is a choice's, the last is of all
        stream(
            "running usage a choice, then the total of all choices",
            CHAT,
            &[
                r#"{"choices":[{"index":0}],"usage":{"prompt_tokens":70,"completion_tokens":9}}"#,
                r#"{"choices":[{"index":1}],"usage":{"prompt_tokens":70,"completion_tokens":4}}"#,
                r#"{"choices":[],"usage":{"prompt_tokens":70,"completion_tokens":13}}"#,
            ],
            counts(70, 0, 0, 13),
        ),
        // openclaw PR 14239 (review)
        whole(
            "reasoning that is in the completion already",
            CHAT,
            r#"{"usage":{"prompt_tokens":100,"completion_tokens":50,"total_tokens":150,"completion_tokens_details":{"reasoning_tokens":30}}}"#,
            counts(100, 0, 0, 50),
        ),
        // xAI
        whole(
            "reasoning beside the completion, as the total proves",
            CHAT,
            r#"{"usage":{"completion_tokens_details":{"reasoning_tokens":300},"prompt_tokens":32,"completion_tokens":9,"total_tokens":341,"cost_in_usd_ticks":99999999999999}}"#,
            counts(32, 0, 0, 309),
        ),
        // opencode 423, 28758; zai-org/feedback 93; vercel/ai 5736
        stream(
            "a stream that gives no usage",
            CHAT,
            &[r#"{"choices":[{"delta":{"content":"a"}}]}"#, r#"{"choices":[{"finish_reason":"stop"}]}"#, "[DONE]"],
            UNMETERED,
        ),
        // Azure/azure-sdk-for-go 21086; semantic-kernel 9751; go-openai PR 448
        stream(
            "a first chunk without choices is not the usage chunk",
            CHAT,
            &[
                r#"{"choices":[],"id":"","prompt_filter_results":[{"prompt_index":0}],"usage":null}"#,
                r#"{"choices":[{"delta":{"content":"a"}}],"usage":null}"#,
                r#"{"choices":[],"usage":{"prompt_tokens":12,"completion_tokens":3}}"#,
            ],
            counts(12, 0, 0, 3),
        ),
        stream(
            "the usage chunk of a stream that was asked for one",
            CHAT,
            &[
                r#"{"choices":[{"delta":{"content":"ok"}}],"usage":null}"#,
                r#"{"choices":[],"usage":{"prompt_tokens":2100,"completion_tokens":40,"total_tokens":2140,"prompt_tokens_details":{"cached_tokens":1536,"cache_write_tokens":300}}}"#,
                "[DONE]",
            ],
            counts(2100, 1536, 300, 40),
        ),
        whole(
            "embeddings take a prompt alone",
            "/v1/embeddings",
            r#"{"object":"list","data":[{"embedding":[-0.01,1e-5,0,12.5]}],"usage":{"prompt_tokens":8,"total_tokens":8}}"#,
            counts(8, 0, 0, 0),
        ),
    ]
}

fn gateways() -> Vec<Case> {
    vec![
        // vercel/ai 1651; Helicone PR 3497
        stream(
            "Groq's usage under x_groq",
            CHAT,
            &[
                r#"{"x_groq":{"id":"r"},"choices":[]}"#,
                r#"{"choices":[{"finish_reason":"stop","delta":{}}],"x_groq":{"id":"r","usage":{"queue_time":0.01,"prompt_tokens":23,"completion_tokens":19}},"usage_breakdown":{"models":[{"usage":{"prompt_tokens":99}}]}}"#,
            ],
            counts(23, 0, 0, 19),
        ),
        // earendil-works/pi PR 8119; sub2api PR 497
        stream(
            "Kimi's cached count, and its usage inside a choice",
            CHAT,
            &[
                r#"{"choices":[{"index":0,"delta":{"content":"a"}}]}"#,
                r#"{"choices":[{"index":0,"finish_reason":"stop","usage":{"prompt_tokens":500,"completion_tokens":6,"cached_tokens":480}}]}"#,
            ],
            counts(500, 480, 0, 6),
        ),
        // vercel/ai 14382
        whole(
            "three spellings of one cached count",
            CHAT,
            r#"{"usage":{"prompt_tokens":90,"completion_tokens":1,"num_cached_tokens":64,"prompt_tokens_details":{"cached_tokens":64},"prompt_token_details":{"cached_tokens":64}}}"#,
            counts(90, 64, 0, 1),
        ),
        // langfuse 10592, 5568, 12306; dust-tt/dust PR 20989
        whole(
            "the cached part is not added to a whole prompt",
            CHAT,
            r#"{"usage":{"prompt_tokens":17903,"completion_tokens":4,"prompt_tokens_details":{"cached_tokens":17817}}}"#,
            counts(17903, 17817, 0, 4),
        ),
        // Aider-AI/aider 5516, 2304, 2274; litellm PR 28009
        whole(
            "LiteLLM's prompt is whole beside Anthropic's names",
            CHAT,
            r#"{"usage":{"prompt_tokens":17111,"completion_tokens":4,"cache_read_input_tokens":17102,"cache_creation_input_tokens":0}}"#,
            counts(17111, 17102, 0, 4),
        ),
        whole(
            "LiteLLM's object where the path doesn't say",
            "/v1/projects/p/models/m:rawPredict",
            r#"{"usage":{"prompt_tokens":17111,"completion_tokens":4,"cache_read_input_tokens":17102,"cache_creation_input_tokens":5}}"#,
            counts(17111, 17102, 5, 4),
        ),
        whole(
            "Anthropic's object where the path doesn't say",
            "/v1/projects/p/models/m:rawPredict",
            r#"{"usage":{"input_tokens":10,"cache_read_input_tokens":20,"cache_creation_input_tokens":5,"output_tokens":4}}"#,
            counts(35, 20, 5, 4),
        ),
        whole(
            "Responses' object where the path doesn't say",
            "/v1/projects/p/models/m:rawPredict",
            r#"{"usage":{"input_tokens":30,"input_tokens_details":{"cached_tokens":20},"output_tokens":4}}"#,
            counts(30, 20, 0, 4),
        ),
        whole(
            "an OpenAI object on Anthropic's path",
            MESSAGES,
            r#"{"usage":{"prompt_tokens":30,"completion_tokens":4,"prompt_tokens_details":{"cached_tokens":20}}}"#,
            counts(30, 20, 0, 4),
        ),
        raw_stream(
            "OpenRouter keeps the line open with comments",
            "/api/v1/chat/completions",
            ": OPENROUTER PROCESSING\n\ndata: {\"usage\":{\"prompt_tokens\":90,\"completion_tokens\":3,\"total_tokens\":93,\"cost\":0.0001,\"prompt_tokens_details\":{\"cached_tokens\":0,\"cache_write_tokens\":64}}}\n\n",
            counts(90, 0, 64, 3),
        ),
        stream(
            "an error in the middle of a stream leaves what was seen",
            CHAT,
            &[
                r#"{"choices":[],"usage":{"prompt_tokens":90,"completion_tokens":3}}"#,
                r#"{"error":{"code":502,"message":"usage: {\"prompt_tokens\":1}"},"choices":[{"finish_reason":"error"}]}"#,
            ],
            counts(90, 0, 0, 3),
        ),
        whole(
            "DeepSeek's hits are the cached part",
            CHAT,
            r#"{"usage":{"prompt_tokens":100,"completion_tokens":5,"prompt_cache_hit_tokens":64,"prompt_cache_miss_tokens":36,"prompt_tokens_details":{"cached_tokens":64}}}"#,
            counts(100, 64, 0, 5),
        ),
        whole(
            "keep-alive blanks before a whole answer",
            CHAT,
            "\n\n \n\n{\"usage\":{\"prompt_tokens\":3}}\n\n",
            counts(3, 0, 0, 0),
        ),
        whole(
            "LM Studio's stats stand beside usage",
            "/api/v0/chat/completions",
            r#"{"stats":{"tokens_per_second":51.4},"usage":{"prompt_tokens":24,"completion_tokens":53,"total_tokens":77}}"#,
            counts(24, 0, 0, 53),
        ),
        stream(
            "llama.cpp's timings are not usage",
            CHAT,
            &[r#"{"choices":[{"finish_reason":"stop"}],"timings":{"cache_n":5,"prompt_n":10,"predicted_n":3}}"#],
            UNMETERED,
        ),
    ]
}

fn responses() -> Vec<Case> {
    const CREATED: &str =
        r#"{"type":"response.created","response":{"status":"in_progress","max_output_tokens":99,"usage":null}}"#;
    vec![
        // envoyproxy/ai-gateway PR 2184; HKUDS/LightRAG PR 3701; langchain 33840
        stream(
            "a completed response",
            RESPONSES,
            &[CREATED, ended!("completed", r#"{"input_tokens":512,"output_tokens":64,"total_tokens":576}"#)],
            counts(512, 0, 0, 64),
        ),
        stream(
            "an incomplete response",
            RESPONSES,
            &[
                CREATED,
                ended!(
                    "incomplete",
                    r#"{"input_tokens":512,"input_tokens_details":{"cached_tokens":256},"output_tokens":64}"#
                ),
            ],
            counts(512, 256, 0, 64),
        ),
        stream(
            "a failed response with usage",
            RESPONSES,
            &[CREATED, ended!("failed", r#"{"input_tokens":512,"output_tokens":0}"#)],
            counts(512, 0, 0, 0),
        ),
        stream("a failed response without usage", RESPONSES, &[CREATED, ended!("failed", "null")], UNMETERED),
        stream("an incomplete response without usage", RESPONSES, &[CREATED, ended!("incomplete", "null")], UNMETERED),
        stream("a completed response without usage", RESPONSES, &[CREATED, ended!("completed", "{}")], UNMETERED),
        // BerriAI/litellm 28354
        whole(
            "the cached part under its own name",
            RESPONSES,
            r#"{"object":"response","status":"completed","usage":{"input_tokens":70,"input_tokens_details":{"cached_tokens":60,"cache_write_tokens":5},"output_tokens":9,"output_tokens_details":{"reasoning_tokens":4},"total_tokens":79}}"#,
            counts(70, 60, 5, 9),
        ),
        whole("a background response is not done", RESPONSES, r#"{"status":"queued","usage":null}"#, UNMETERED),
        whole(
            "a compaction is an answer",
            "/v1/responses/compact",
            r#"{"object":"response.compaction","output":[],"usage":{"input_tokens":700,"output_tokens":90}}"#,
            counts(700, 0, 0, 90),
        ),
        stream(
            "a picture and usage in one event",
            "/v1/images/generations",
            &[
                r#"{"type":"image_generation.completed","b64_json":"iVBORw0KGgo","usage":{"input_tokens":50,"output_tokens":1056}}"#,
            ],
            counts(50, 0, 0, 1056),
        ),
    ]
}

fn others() -> Vec<Case> {
    vec![
        // langchainjs PR 11423; Portkey-AI/gateway PR 1458; mozilla-ai/any-llm PR 1291
        whole(
            "Gemini's thoughts are output too",
            "/v1beta/models/g:generateContent",
            r#"{"candidates":[{"content":{"parts":[{"functionCall":{"args":{"usageMetadata":{"promptTokenCount":9}}}}]}}],"usageMetadata":{"promptTokenCount":41,"candidatesTokenCount":5,"thoughtsTokenCount":343,"totalTokenCount":389,"promptTokensDetails":[{"modality":"TEXT","tokenCount":41}]}}"#,
            counts(41, 0, 0, 348),
        ),
        // agno-agi/agno PR 6624; langchainjs PR 8694; ayunis-core PR 837
        stream(
            "Gemini's totals run",
            GEMINI,
            &[
                r#"{"usageMetadata":{"promptTokenCount":5000,"totalTokenCount":5000}}"#,
                r#"{"usageMetadata":{"promptTokenCount":5000,"candidatesTokenCount":7}}"#,
                r#"{"usageMetadata":{"promptTokenCount":5000,"candidatesTokenCount":12,"cachedContentTokenCount":4000,"toolUsePromptTokenCount":10}}"#,
            ],
            counts(5010, 4000, 0, 12),
        ),
        whole(
            "Gemini's stream as one array",
            GEMINI,
            "[{\"usageMetadata\":{\"promptTokenCount\":50,\"thoughtsTokenCount\":3}}\n,\r\n{\"usageMetadata\":{\"promptTokenCount\":51,\"candidatesTokenCount\":7}}]",
            counts(51, 0, 0, 10),
        ),
        stream(
            "Code Assist wraps each chunk",
            "/v1internal:streamGenerateContent?alt=sse",
            &[r#"{"response":{"usageMetadata":{"promptTokenCount":50,"candidatesTokenCount":7}}}"#],
            counts(50, 0, 0, 7),
        ),
        // ollama 3427, 2068, 5370, PR 16428; SWE-agent 44
        lines(
            "Ollama leaves a cached prompt's count out",
            OLLAMA,
            "{\"message\":{\"content\":\"a\"},\"done\":false}\n{\"done\":true,\"done_reason\":\"stop\",\"eval_count\":9}\n",
            counts(0, 0, 0, 9),
        ),
        lines(
            "Ollama's last line, with a cached part and no line end",
            OLLAMA,
            "{\"message\":{\"content\":\"\",\"tool_calls\":[{\"function\":{\"arguments\":{\"eval_count\":7,\"prompt_eval_count\":8}}}]},\"done\":false}\r\n{\"done\":true,\"done_reason\":\"stop\",\"prompt_eval_count\":44,\"prompt_eval_cached_count\":40,\"eval_count\":9}",
            counts(44, 40, 0, 9),
        ),
        whole(
            "Ollama's whole answer",
            "/api/generate",
            r#"{"response":"eval_count","done":true,"done_reason":"stop","context":[1,2],"prompt_eval_count":26,"eval_count":290}"#,
            counts(26, 0, 0, 290),
        ),
        whole("Ollama loads a model", "/api/generate", r#"{"response":"","done":true,"done_reason":"load"}"#, None),
        lines("Ollama unloads a model", OLLAMA, "{\"done\":true,\"done_reason\":\"unload\"}\n", None),
        whole(
            "Ollama embeds",
            "/api/embed",
            r#"{"embeddings":[[0.1,-0.2]],"prompt_eval_count":8}"#,
            counts(8, 0, 0, 0),
        ),
        whole("Ollama embeds the older way", "/api/embeddings", r#"{"embedding":[0.1,-0.2]}"#, UNMETERED),
        lines("Ollama fails in the middle", OLLAMA, "{\"done\":false}\n{\"error\":\"out of memory\"}\n", UNMETERED),
    ]
}

fn framing() -> Vec<Case> {
    const USAGE: &str = r#"{"choices":[],"usage":{"prompt_tokens":12,"completion_tokens":3}}"#;
    let made = |name, body: String| raw_stream(name, CHAT, &body, counts(12, 0, 0, 3));
    vec![
        // rexxars/eventsource-parser 17
        made(
            "data over two lines, with CR LF",
            USAGE.replacen(',', ",\r\ndata: ", 1).replacen('{', "data: {", 1) + "\r\n\r\n",
        ),
        // praxis-proxy/praxis PR 739; miruamel/xuan 194
        made(
            "lines end in CR LF",
            format!("data: {{\"choices\":[]}}\r\n\r\ndata: {USAGE}\r\n\r\ndata: [DONE]\r\n\r\n"),
        ),
        made("lines end in CR", format!("data: {{\"choices\":[]}}\r\rdata: {USAGE}\r\rdata: [DONE]\r\r")),
        made(
            "characters of several bytes",
            format!("data: {{\"t\":\"é日本語🙂\"}}\n\ndata: {{\"t\":\"🙂\",{}\n\n", &USAGE[1..]),
        ),
        made("no blank after the colon", format!("data:{USAGE}\n\ndata:[DONE]\n\n")),
        made("no empty line at the end", format!("data: {{}}\n\ndata: {USAGE}\n")),
        made("no line end at the end", format!("data: {USAGE}")),
        // mistralai/client-ts 75
        made(
            "the last events share a chunk",
            format!("data: {{\"choices\":[{{}}]}}\n\ndata: {USAGE}\n\ndata: [DONE]\n\n"),
        ),
        made("a byte order mark", format!("\u{feff}data: {USAGE}\n\n")),
        made(
            "comments, fields without a colon, fields nobody knows",
            format!(": hi\n:\ndata\nid\nretry: 5\nfoo: bar\ndata: {USAGE}\n\n"),
        ),
    ]
}
