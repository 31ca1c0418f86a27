// What reading usage costs a proxy for each chunk that passes, through the addon: beside a call that does nothing, and
// beside JSON.parse of each event.

import { createRequire } from 'node:module';
import { readdirSync } from 'node:fs';
import { root, table } from './table.mjs';

const require = createRequire(import.meta.url);
const { UsageScanner } = require(`${root}/dist/index.js`);
// The library hands out no call that does nothing: the addon's own is `version`.
const native = require(`${root}/dist/${readdirSync(`${root}/dist`).find((name) => name.endsWith('.node'))}`);

const ROUNDS = 7;
const ROUND_MS = 60;

const event = (size, usage) => {
  const [before, after] = ['data: {"choices":[{"index":0,"delta":{"content":"', `"}}]${usage ? ',"usage":null' : ''}}\n\n`];
  return Buffer.from(before + 'x'.repeat(size - before.length - after.length) + after);
};

const CHUNKS = {
  '130 B event': event(130, false),
  '130 B event with usage:null': event(130, true),
  '330 B event': event(330, false),
  '330 B event with usage:null': event(330, true),
  '64 KiB of 130 B events': Buffer.concat(Array(504).fill(event(130, false))),
};

/** Nanoseconds a call takes: the best of several rounds, since all that disturbs makes it slower. */
function nanoseconds(work) {
  let best = Infinity;
  for (let round = 0; round < ROUNDS; round++) {
    let calls = 0;
    const began = process.hrtime.bigint();
    let took = 0;
    do {
      for (let at = 0; at < 64; at++) work();
      calls += 64;
      took = Number(process.hrtime.bigint() - began);
    } while (took < ROUND_MS * 1e6);
    best = Math.min(best, took / calls);
  }
  return best;
}

/** The plain way: each event's text parsed, its usage looked up. */
function parseEach(chunk) {
  let found = null;
  for (const event of chunk.toString().split('\n\n')) {
    if (event !== '') found = JSON.parse(event.slice('data: '.length)).usage ?? found;
  }
  return found;
}

export default async function scan() {
  const empty = nanoseconds(() => native.version());
  const rows = [['', 'ns a chunk', 'MB/s', 'empty call, ns', 'JSON.parse, ns', 'JSON.parse / ours']];
  for (const [name, chunk] of Object.entries(CHUNKS)) {
    const scanner = new UsageScanner({ path: '/v1/chat/completions', status: 200, contentType: 'text/event-stream' });
    const ours = nanoseconds(() => scanner.push(chunk));
    const parse = nanoseconds(() => parseEach(chunk));
    rows.push([name, ours.toFixed(0), ((chunk.length / ours) * 1000).toFixed(0), empty.toFixed(0), parse.toFixed(0), (parse / ours).toFixed(1)]);
  }
  table(rows);
}
