// The providers' own clients through the route: they get what they would without it, and their view of usage is ours.

import type http from 'node:http';
import Anthropic from '@anthropic-ai/sdk';
import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import { generateText, jsonSchema, streamText, tool } from 'ai';
import { Ollama } from 'ollama';
import OpenAI from 'openai';
import { RoutePlace } from './place';
import { fakeProvider, type Pace, PHRASE } from './provider';

let pace: Pace;
let seen: http.IncomingMessage[];
let place: RoutePlace;
beforeEach(async () => {
  seen = [];
  place = await new RoutePlace(fakeProvider(() => pace, seen)).start();
});
afterEach(() => place.stop());

const paces: Pace[] = ['at once', 'slow', 'bursty'];
const cases = paces.flatMap((each) => [true, false].map((tools) => ({ pace: each, tools })));
const schema = { type: 'object' as const, properties: { text: { type: 'string' as const } } };

/** What the file holds now, without its run. */
async function counted(requests: number) {
  const { run: _run, since: _since, ...counts } = await place.tokens(requests);
  expect(seen.map(({ headers }) => headers['accept-encoding'])).toEqual(Array(requests).fill('identity'));
  return counts;
}

describe.each(cases)('$pace, tools: $tools', ({ pace: wanted, tools }) => {
  beforeEach(() => {
    pace = wanted;
  });

  test('@anthropic-ai/sdk', async () => {
    const client = new Anthropic({ baseURL: place.base, apiKey: 'sk-test', maxRetries: 0 });
    const request = { model: 'claude', max_tokens: 99, messages: [{ role: 'user' as const, content: PHRASE }], ...(tools && { tools: [{ name: 'read', input_schema: schema }] }) };
    const whole = await client.messages.create(request);
    const streamed = await client.messages.stream(request).finalMessage();
    expect(streamed.content).toHaveLength(1);
    let [input, output, cached, written] = [0, 0, 0, 0];
    for (const { usage } of [whole, streamed]) {
      input += usage.input_tokens + (usage.cache_read_input_tokens ?? 0) + (usage.cache_creation_input_tokens ?? 0);
      output += usage.output_tokens;
      cached += usage.cache_read_input_tokens ?? 0;
      written += usage.cache_creation_input_tokens ?? 0;
    }
    expect(await counted(2)).toEqual({ requests: 2, unmetered: 0, input, output, cached, cache_written: written });
    expect([input, output, cached, written]).toEqual([4510, 10, 1024, 3466]);
  });

  test('openai, Chat Completions', async () => {
    const client = new OpenAI({ baseURL: `${place.base}/v1`, apiKey: 'sk-test', maxRetries: 0 });
    const request = { model: 'gpt', messages: [{ role: 'user' as const, content: PHRASE }], ...(tools && { tools: [{ type: 'function' as const, function: { name: 'read', parameters: schema } }] }) };
    const whole = await client.chat.completions.create(request);
    const streamed = client.chat.completions.stream({ ...request, stream_options: { include_usage: true } });
    const usages = [whole.usage, (await streamed.finalChatCompletion()).usage];
    const sum = (of: (usage: NonNullable<typeof whole.usage>) => number) => usages.reduce((total, usage) => total + (usage ? of(usage) : 0), 0);
    const expected = { input: sum((usage) => usage.prompt_tokens), output: sum((usage) => usage.completion_tokens), cached: sum((usage) => usage.prompt_tokens_details?.cached_tokens ?? 0) };
    expect(expected).toEqual({ input: 4200, output: 80, cached: 3072 });
    expect(await counted(2)).toEqual({ requests: 2, unmetered: 0, ...expected, cache_written: 0 });
    // One that doesn't ask for usage gets none, and that shows.
    let last: OpenAI.ChatCompletionChunk | undefined;
    for await (const chunk of await client.chat.completions.create({ ...request, stream: true })) last = chunk;
    expect(last?.usage ?? null).toBeNull();
    expect(await counted(3)).toEqual({ requests: 3, unmetered: 1, ...expected, cache_written: 0 });
  });

  test('openai, Responses', async () => {
    const client = new OpenAI({ baseURL: `${place.base}/v1`, apiKey: 'sk-test', maxRetries: 0 });
    const request = { model: 'gpt', input: PHRASE, ...(tools && { tools: [{ type: 'function' as const, name: 'read', parameters: schema, strict: false }] }) };
    const whole = await client.responses.create(request);
    const streamed = await client.responses.stream(request).finalResponse();
    const usages = [whole.usage, streamed.usage];
    expect(usages.map((usage) => [usage?.input_tokens, usage?.input_tokens_details.cached_tokens, usage?.output_tokens])).toEqual([[300, 256, 21], [300, 256, 21]]);
    expect(await counted(2)).toEqual({ requests: 2, unmetered: 0, input: 600, output: 42, cached: 512, cache_written: 0 });
  });

  test('ollama', async () => {
    const client = new Ollama({ host: place.base });
    const request = { model: 'llama', messages: [{ role: 'user', content: PHRASE }], ...(tools && { tools: [{ type: 'function', function: { name: 'read', description: '', parameters: schema } }] }) };
    const whole = await client.chat({ ...request, stream: false });
    let [input, output] = [whole.prompt_eval_count, whole.eval_count];
    for await (const part of await client.chat({ ...request, stream: true })) {
      if (!part.done) continue;
      input += part.prompt_eval_count;
      output += part.eval_count;
    }
    expect(await counted(2)).toEqual({ requests: 2, unmetered: 0, input, output, cached: 0, cache_written: 0 });
    expect([input, output]).toEqual([52, 596]);
  });

  test.each([
    { api: 'Chat Completions', input: 2100, output: 40, cached: 1536, written: 0 },
    { api: 'Responses', input: 300, output: 21, cached: 256, written: 0 },
    { api: 'Messages', input: 2255, output: 5, cached: 512, written: 1733 },
  ])('ai, by $api', async ({ api, input, output, cached, written }) => {
    const settings = { baseURL: `${place.base}/v1`, apiKey: 'sk-test' };
    const openai = createOpenAI(settings);
    const model = api === 'Messages' ? createAnthropic(settings)('claude') : api === 'Responses' ? openai.responses('gpt') : openai.chat('gpt');
    const request = { model, prompt: PHRASE, maxOutputTokens: 99, maxRetries: 0, ...(tools && { tools: { read: tool({ inputSchema: jsonSchema<{ text?: string }>(schema), execute: () => 'done' }) } }) };
    const whole = await generateText(request);
    const streamed = streamText(request);
    await streamed.consumeStream();
    expect([whole.toolCalls.length, (await streamed.toolCalls).length]).toEqual(tools ? [1, 1] : [0, 0]);
    for (const usage of [whole.usage, await streamed.usage]) {
      const { cacheReadTokens, cacheWriteTokens } = usage.inputTokenDetails;
      expect([usage.inputTokens, usage.outputTokens, cacheReadTokens ?? 0, cacheWriteTokens ?? 0]).toEqual([input, output, cached, written]);
    }
    expect(await counted(2)).toEqual({ requests: 2, unmetered: 0, input: input * 2, output: output * 2, cached: cached * 2, cache_written: written * 2 });
  });

  test("Gemini's API", async () => {
    const ask = async (path: string) => (await fetch(`${place.base}/v1beta/models/gemini${path}`, { method: 'POST', body: JSON.stringify({ contents: [], tools: tools ? [{}] : [] }) })).text();
    const whole = JSON.parse(await ask(':generateContent')) as { usageMetadata: { promptTokenCount: number } };
    expect(whole.usageMetadata.promptTokenCount).toBe(40);
    expect(await ask(':streamGenerateContent?alt=sse')).toContain('"promptTokenCount":40');
    expect(await counted(2)).toEqual({ requests: 2, unmetered: 0, input: 80, output: 24, cached: 60, cache_written: 0 });
  });
});
