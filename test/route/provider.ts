// Fake providers: what each API answers, whole and streamed, text and tool calls, with usage in its own spelling. They
// answer over TCP as the test says: at once, in bursts, byte by byte.

import type http from 'node:http';

/** The phrase that must never be found anywhere but in what passed. */
export const PHRASE = 'zebra-umbrella-7731';

const sse = (events: [string, unknown][]): string => events.map(([event, data]) => `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`).join('');
const dataOnly = (events: unknown[]): string => events.map((data) => `data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`).join('');
const lines = (values: unknown[]): string => values.map((value) => `${JSON.stringify(value)}\n`).join('');

export interface Answer {
  type: string;
  body: string;
}

interface Asked {
  stream?: boolean;
  tools?: unknown[];
  stream_options?: { include_usage?: boolean };
}

/** What the provider of a path answers to a request. */
export function answerTo(path: string, asked: Asked): Answer {
  const tools = (asked.tools?.length ?? 0) > 0;
  if (path.endsWith('/messages')) return asked.stream ? messagesStream(tools) : json(messages(tools));
  if (path.endsWith('/chat/completions')) return asked.stream ? chatStream(tools, asked.stream_options?.include_usage === true) : json(chat(tools));
  if (path.endsWith('/responses')) return asked.stream ? responsesStream(tools) : json(responses(tools, 'completed'));
  if (path.endsWith('/api/chat')) return asked.stream === false ? json(ollama(tools)) : { type: 'application/x-ndjson', body: lines([{ ...ollama(false), done: false, done_reason: undefined, prompt_eval_count: undefined, eval_count: undefined }, ollama(tools)]) };
  if (path.includes(':streamGenerateContent')) return { type: 'text/event-stream', body: dataOnly([{ ...gemini(tools), usageMetadata: { promptTokenCount: 40 } }, gemini(tools)]) };
  if (path.includes(':generateContent')) return json(gemini(tools));
  return json({ path });
}

const json = (value: unknown): Answer => ({ type: 'application/json', body: JSON.stringify(value, null, 1) });

const MESSAGES_USAGE = { input_tokens: 10, cache_creation_input_tokens: 1733, cache_read_input_tokens: 512, output_tokens: 5, service_tier: 'standard' };
const toolUse = { type: 'tool_use', id: 'toolu_1', name: 'read', input: { usage: { input_tokens: 9999, output_tokens: 9999 }, text: PHRASE } };

function messages(tools: boolean): Record<string, unknown> {
  const content = tools ? [toolUse] : [{ type: 'text', text: `${PHRASE} "usage":{"input_tokens":1}` }];
  return { id: 'msg_1', type: 'message', role: 'assistant', model: 'claude', content, stop_reason: tools ? 'tool_use' : 'end_turn', stop_sequence: null, usage: MESSAGES_USAGE };
}

function messagesStream(tools: boolean): Answer {
  const block = tools ? { ...toolUse, input: {} } : { type: 'text', text: '' };
  const delta = tools ? { type: 'input_json_delta', partial_json: JSON.stringify(toolUse.input) } : { type: 'text_delta', text: PHRASE };
  const body = sse([
    ['message_start', { type: 'message_start', message: { ...messages(tools), content: [], stop_reason: null, usage: { ...MESSAGES_USAGE, output_tokens: 1 } } }],
    ['content_block_start', { type: 'content_block_start', index: 0, content_block: block }],
    ['ping', { type: 'ping' }],
    ['content_block_delta', { type: 'content_block_delta', index: 0, delta }],
    ['content_block_stop', { type: 'content_block_stop', index: 0 }],
    ['message_delta', { type: 'message_delta', delta: { stop_reason: tools ? 'tool_use' : 'end_turn', stop_sequence: null }, usage: { output_tokens: 5 } }],
    ['message_stop', { type: 'message_stop' }],
  ]);
  return { type: 'text/event-stream; charset=utf-8', body };
}

const CHAT_USAGE = { prompt_tokens: 2100, completion_tokens: 40, total_tokens: 2140, prompt_tokens_details: { cached_tokens: 1536 }, completion_tokens_details: { reasoning_tokens: 12 } };
const call = { id: 'call_1', type: 'function', function: { name: 'read', arguments: JSON.stringify({ usage: { prompt_tokens: 1 }, text: PHRASE }) } };
const chatHead = { id: 'chatcmpl-1', created: 1780000000, model: 'gpt' };

function chat(tools: boolean): unknown {
  const message = tools ? { role: 'assistant', content: null, tool_calls: [call] } : { role: 'assistant', content: PHRASE };
  return { ...chatHead, object: 'chat.completion', choices: [{ index: 0, message, finish_reason: tools ? 'tool_calls' : 'stop' }], usage: CHAT_USAGE };
}

function chatStream(tools: boolean, usage: boolean): Answer {
  const chunk = (delta: unknown, finish_reason: string | null = null): unknown => ({ ...chatHead, object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason }], ...(usage && { usage: null }) });
  const delta = tools ? { tool_calls: [{ index: 0, ...call }] } : { content: PHRASE };
  const last = { ...chatHead, object: 'chat.completion.chunk', choices: [], usage: CHAT_USAGE };
  return { type: 'text/event-stream', body: dataOnly([chunk({ role: 'assistant', content: '' }), chunk(delta), chunk({}, tools ? 'tool_calls' : 'stop'), ...(usage ? [last] : []), '[DONE]']) };
}

function responses(tools: boolean, status: string): Record<string, unknown> {
  const output = tools
    ? [{ type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'read', arguments: call.function.arguments, status: 'completed' }]
    : [{ type: 'message', id: 'm_1', role: 'assistant', status: 'completed', content: [{ type: 'output_text', text: PHRASE, annotations: [] }] }];
  const usage = { input_tokens: 300, input_tokens_details: { cached_tokens: 256 }, output_tokens: 21, output_tokens_details: { reasoning_tokens: 9 }, total_tokens: 321 };
  return { id: 'resp_1', object: 'response', created_at: 1780000000, status, model: 'gpt', error: null, incomplete_details: null, instructions: null, tools: [], output: status === 'completed' ? output : [], usage: status === 'completed' ? usage : null };
}

function responsesStream(tools: boolean): Answer {
  const [item] = responses(tools, 'completed')['output'] as unknown[];
  const delta = tools
    ? ['response.function_call_arguments.delta', { item_id: 'fc_1', output_index: 0, delta: call.function.arguments }]
    : ['response.output_text.delta', { item_id: 'm_1', output_index: 0, content_index: 0, delta: PHRASE }];
  const started = tools ? { ...(item as object), arguments: '' } : { ...(item as object), content: [] };
  const events: [string, object][] = [
    ['response.created', { response: responses(tools, 'in_progress') }],
    ['response.output_item.added', { output_index: 0, item: started }],
    ...(tools ? [] : [['response.content_part.added', { item_id: 'm_1', output_index: 0, content_index: 0, part: { type: 'output_text', text: '', annotations: [] } }] as [string, object]]),
    delta as [string, object],
    ['response.output_item.done', { output_index: 0, item: item as object }],
    ['response.completed', { response: responses(tools, 'completed') }],
  ];
  return { type: 'text/event-stream', body: sse(events.map(([type, data], sequence_number) => [type, { type, sequence_number, ...data }])) };
}

function ollama(tools: boolean): Record<string, unknown> {
  const message = tools ? { role: 'assistant', content: '', tool_calls: [{ function: { name: 'read', arguments: { eval_count: 9999, text: PHRASE } } }] } : { role: 'assistant', content: PHRASE };
  return { model: 'llama', created_at: '2026-01-01T00:00:00Z', message, done: true, done_reason: 'stop', total_duration: 5e9, prompt_eval_count: 26, eval_count: 298, eval_duration: 4e9 };
}

function gemini(tools: boolean): Record<string, unknown> {
  const part = tools ? { functionCall: { name: 'read', args: { usageMetadata: { promptTokenCount: 9999 } } } } : { text: PHRASE };
  const usageMetadata = { promptTokenCount: 40, candidatesTokenCount: 8, thoughtsTokenCount: 4, cachedContentTokenCount: 30, totalTokenCount: 52 };
  return { candidates: [{ content: { role: 'model', parts: [part] }, finishReason: 'STOP', index: 0 }], usageMetadata, modelVersion: 'gemini' };
}

/** How bytes are written: each piece in a packet of its own, as far as TCP allows. */
export type Pace = 'at once' | 'slow' | 'bursty';

/** Answers as the path's provider would, and keeps what it was asked. */
export function fakeProvider(pace: () => Pace, seen: http.IncomingMessage[]): http.RequestListener {
  return (request, response) => {
    seen.push(request);
    let text = '';
    request.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
    request.on('end', () => {
      const { type, body } = answerTo((request.url ?? '').split('?')[0] ?? '', JSON.parse(text || '{}') as Asked);
      response.writeHead(200, { 'Content-Type': type, 'X-Said': PHRASE });
      void writePieces(response, body, pace());
    });
  };
}

async function writePieces(response: http.ServerResponse, body: string, pace: Pace): Promise<void> {
  if (pace === 'at once') return void response.end(body);
  const size = pace === 'slow' ? 3 : 170;
  const bytes = Buffer.from(body);
  for (let at = 0; at < bytes.length; at += size) {
    response.write(bytes.subarray(at, at + size));
    if (pace === 'slow' || at % 3 === 0) await new Promise(setImmediate);
  }
  response.end();
}
