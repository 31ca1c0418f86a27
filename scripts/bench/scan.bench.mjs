// What reading usage costs a proxy for the bytes that pass: in the core, and through the addon with its calls, beside a
// bare read of the same bytes and JSON.parse of each event.

import { createRequire } from 'node:module';
import { readdirSync } from 'node:fs';
import { buildExamples, root, run, table } from './table.mjs';

const require = createRequire(import.meta.url);
const { UsageScanner } = require(`${root}/dist/index.js`);
// The library hands out no call that does nothing: the addon's own is `version`.
const native = require(`${root}/dist/${readdirSync(`${root}/dist`).find((name) => name.endsWith('.node'))}`);

const WORK_MS = 300;
const CHAT = '/v1/chat/completions';

const event = (size, usage) => {
  const [before, after] = ['data: {"choices":[{"index":0,"delta":{"content":"', `"}}]${usage ? ',"usage":null' : ''}}\n\n`];
  return before + 'x'.repeat(size - before.length - after.length) + after;
};
/** Events of one size, 64 KiB of them: they stay in the cache, as bytes that have just come do. */
const events = (size, usage) => event(size, usage).repeat(Math.ceil(65_536 / size));
const line = 'She said \\"read this\\", then left.\\nThe next line of the text goes on: ';

/** Its bytes, in chunks of a size. */
const BODIES = [130, 330].flatMap((size) =>
  [false, true].flatMap((usage) => {
    const name = `${size} B events${usage ? ', usage:null' : ''}`;
    const body = events(size, usage);
    return [
      { name: `${name}, each a chunk`, body, chunk: size },
      { name: `${name}, 64 KiB a chunk`, body, chunk: body.length },
    ];
  }),
);
BODIES.push(
  { name: 'a 16 MB event, 1 KiB a chunk', body: `data: {"b64":"${'iVBORw0KGgoAAAANSUhEUgAA'.repeat((16 << 20) / 24)}"}\n\n`, chunk: 1024 },
  { name: 'a whole answer of 4 MB, 64 KiB a chunk', body: `{"choices":[{"message":{"content":"${line.repeat((4 << 20) / line.length)}"}}],"usage":{"prompt_tokens":5}}`, chunk: 65_536, whole: true },
);

/** Nanoseconds the work takes: the best of many times, since all that disturbs makes it slower. */
function nanoseconds(work) {
  let best = Infinity;
  for (const until = performance.now() + WORK_MS; performance.now() < until; ) {
    const began = process.hrtime.bigint();
    work();
    best = Math.min(best, Number(process.hrtime.bigint() - began));
  }
  return best;
}

/** The plain way: each event's text parsed, its usage looked up. */
function parseEach(bytes, whole) {
  const text = bytes.toString();
  if (whole) return JSON.parse(text).usage;
  let found = null;
  for (const each of text.split('\n\n')) if (each !== '') found = JSON.parse(each.slice('data: '.length)).usage ?? found;
  return found;
}

export default async function scan() {
  const examples = buildExamples('lnk-usage');
  const call = nanoseconds(() => {
    for (let at = 0; at < 1000; at++) native.version();
  }) / 1000;
  const rows = [['', 'read GB/s', 'core GB/s', 'of a read', 'core ns a chunk', 'addon ns a chunk', 'JSON.parse ns a chunk', '÷ core', '÷ addon']];
  for (const { name, body, chunk, whole } of BODIES) {
    const bytes = Buffer.from(body);
    const contentType = whole ? 'application/json' : 'text/event-stream';
    const { read_ns, scan_ns } = JSON.parse(run(`${examples}/scan_chunks`, [CHAT, contentType, String(chunk)], body));
    const chunks = [];
    for (let at = 0; at < bytes.length; at += chunk) chunks.push(bytes.subarray(at, at + chunk));
    const addon = nanoseconds(() => {
      const scanner = new UsageScanner({ path: CHAT, status: 200, contentType, maxEventBytes: 2 ** 25 });
      for (const each of chunks) scanner.push(each);
      scanner.end();
    });
    const parse = nanoseconds(() => parseEach(bytes, whole));
    const each = (ns) => (ns / chunks.length).toFixed(0);
    const rate = (ns) => (bytes.length / ns).toFixed(2);
    rows.push([name, rate(read_ns), rate(scan_ns), `${((read_ns / scan_ns) * 100).toFixed(0)} %`, each(scan_ns), each(addon), each(parse), (parse / scan_ns).toFixed(0), (parse / addon).toFixed(1)]);
  }
  table(rows);
  console.log(`A call of the addon that does nothing: ${call.toFixed(0)} ns.`);
}
