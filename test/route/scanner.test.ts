// The scanner through the addon: the recorded answers, and what must never make it throw.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isAnswer, UsageScanner } from './library';

interface Recorded {
  file: string;
  path: string;
  contentType: string;
  usage: unknown;
}

const folder = join(__dirname, '..', 'fixtures', 'usage');
const recorded = JSON.parse(readFileSync(join(folder, 'index.json'), 'utf8')) as Recorded[];

test.each(recorded)('$file counts the same whole and byte by byte', ({ file, path, contentType, usage }) => {
  const body = readFileSync(join(folder, file));
  for (const size of [body.length, 1, 7, 511, 513]) {
    const scanner = new UsageScanner({ path, status: 200, contentType });
    for (let at = 0; at < body.length; at += size) expect(scanner.push(body.subarray(at, at + size))).toBeUndefined();
    expect(scanner.end()).toEqual(usage ?? null);
  }
});

const chat = { path: '/v1/chat/completions', status: 200, contentType: 'application/json' };
const unmetered = { metered: false, input: 0, output: 0, cached: 0, cacheWritten: 0 };

test('what is no model answer is null, and one without usage is unmetered', () => {
  expect(new UsageScanner({ ...chat, path: '/v1/models' }).end()).toBeNull();
  expect(new UsageScanner({ ...chat, method: 'GET' }).end()).toBeNull();
  expect(new UsageScanner({ ...chat, status: 429 }).end()).toBeNull();
  expect(new UsageScanner({ ...chat, contentEncoding: 'gzip' }).end()).toEqual(unmetered);
  expect(new UsageScanner(chat).end()).toEqual(unmetered);
  expect([isAnswer('POST', '/v1/messages?beta=true'), isAnswer('GET', '/v1/messages')]).toEqual([true, false]);
});

test('nothing that is handed over throws', () => {
  const odd = [undefined, null, 7, 'text', {}, [1], new Float64Array(2)] as never[];
  for (const value of odd) {
    const scanner = new UsageScanner({ path: chat.path, method: 'POST', status: 200, contentType: value, contentEncoding: value, maxEventBytes: value });
    expect(() => scanner.push(value)).not.toThrow();
    expect(() => scanner.end()).not.toThrow();
    expect(() => new UsageScanner({ path: value, status: value }).end()).not.toThrow();
  }
});

test('bytes that are gone, none, or shared are read as what they are', () => {
  const scanner = new UsageScanner(chat);
  const gone = new Uint8Array(new ArrayBuffer(8));
  structuredClone(gone.buffer, { transfer: [gone.buffer] });
  scanner.push(gone);
  scanner.push(new Uint8Array(0));
  const text = Buffer.from('{"usage":{"prompt_tokens":3,"completion_tokens":4}}');
  scanner.push(text.subarray(0, 20));
  scanner.push(new Uint8Array(text.subarray(20)));
  expect(scanner.end()).toEqual({ metered: true, input: 3, output: 4, cached: 0, cacheWritten: 0 });
  expect(() => scanner.push(text)).not.toThrow();
});

test('answers that pass at once, and one after another, are counted each for itself', () => {
  const answer = (input: number) => Buffer.from(`{"usage":{"prompt_tokens":${input},"completion_tokens":1}}`);
  const of = (input: number) => ({ metered: true, input, output: 1, cached: 0, cacheWritten: 0 });
  const first = new UsageScanner(chat);
  const second = new UsageScanner(chat);
  first.push(answer(7).subarray(0, 30));
  second.push(answer(8).subarray(0, 30));
  first.push(answer(7).subarray(30));
  expect(first.end()).toEqual(of(7));
  const third = new UsageScanner(chat);
  // Over is over, whoever scans with it now.
  first.push(answer(99));
  expect([third.end(), first.end()]).toEqual([unmetered, of(7)]);
  second.push(answer(8).subarray(30));
  expect(second.end()).toEqual(of(8));
});

test('a chunk may be changed once it was pushed, whatever its size', () => {
  const text = Buffer.from(`{"choices":"${'x'.repeat(5000)}","usage":{"prompt_tokens":3,"completion_tokens":4}}`);
  for (const size of [1, 100, 511, 512, 2000, 6000]) {
    const scanner = new UsageScanner(chat);
    const chunk = Buffer.alloc(size);
    for (let at = 0; at < text.length; at += size) {
      const length = text.copy(chunk, 0, at, at + size);
      scanner.push(chunk.subarray(0, length));
      chunk.fill(0);
    }
    expect(scanner.end()).toEqual({ metered: true, input: 3, output: 4, cached: 0, cacheWritten: 0 });
  }
});
