// The route beside the same proxy without the scanner: a path that no model answers passes through the same code and is
// not read. The proxy has a process of its own, so that what it takes is its own; provider and client share another.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import http from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { root, table } from './table.mjs';

const ROUNDS = 5;
const ROUND_MS = 1500;
const AT_ONCE = 16;
const EVENTS = 2000;

const whole = Buffer.from(JSON.stringify({ choices: [{ message: { content: 'x'.repeat(900) } }], usage: { prompt_tokens: 9, completion_tokens: 3 } }));
const piece = Buffer.from(`data: {"choices":[{"index":0,"delta":{"content":"${'x'.repeat(74)}"}}]}\n\n`);
const last = Buffer.from('data: {"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":3}}\n\n');

const PROXY = `
const http = require('node:http');
const { modelRoute, TokenLedger } = require(${JSON.stringify(`${root}/dist/index.js`)});
const [to, folder] = process.argv.slice(1);
const route = modelRoute({ to, agent: 'bench', ledger: new TokenLedger(folder) });
const server = http.createServer(route).listen(0, '127.0.0.1', () => process.send(server.address().port));
process.on('message', () => process.send(process.cpuUsage()));
`;

/** Answers whole, or streams events one a write. */
async function provide(request, response) {
  request.resume();
  if (!request.url.startsWith('/stream')) {
    response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': whole.length });
    return response.end(whole);
  }
  response.writeHead(200, { 'Content-Type': 'text/event-stream' });
  for (let at = 0; at < EVENTS; at++) if (!response.write(piece)) await once(response, 'drain');
  response.end(last);
}

/** One answer: its bytes, and the milliseconds to its first byte and to its end. */
function ask(agent, port, path) {
  return new Promise((resolve, reject) => {
    const began = performance.now();
    const request = http.request({ agent, port, host: '127.0.0.1', path, method: 'POST', headers: { 'Content-Length': 2 } }, (answer) => {
      let [bytes, first] = [0, 0];
      answer.on('data', (chunk) => {
        first ||= performance.now() - began;
        bytes += chunk.length;
      });
      answer.on('end', () => resolve({ bytes, first, all: performance.now() - began }));
    });
    request.on('error', reject).end('{}');
  });
}

/** As many answers as a round has time for, several at a time. */
async function load(agent, port, path) {
  const began = performance.now();
  const answers = [];
  const loop = async () => {
    while (performance.now() - began < ROUND_MS) answers.push(await ask(agent, port, path));
  };
  await Promise.all(Array.from({ length: AT_ONCE }, loop));
  return { answers, seconds: (performance.now() - began) / 1000 };
}

const sorted = (values) => values.sort((a, b) => a - b);
const median = (values) => sorted(values)[values.length >> 1];

async function cpuOf(proxy) {
  proxy.send('cpu');
  const [{ user, system }] = await once(proxy, 'message');
  return user + system;
}

export default async function route() {
  const folder = mkdtempSync(join(tmpdir(), 'lnk-bench-'));
  const provider = http.createServer(provide).listen(0, '127.0.0.1');
  await once(provider, 'listening');
  const proxy = spawn(process.execPath, ['-e', PROXY, `http://127.0.0.1:${provider.address().port}`, folder], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  const agent = new http.Agent({ keepAlive: true });
  try {
    const [port] = await once(proxy, 'message');
    const rows = [['', 'requests/s', 'MB/s', 'first byte, ms', 'p99, ms', 'proxy CPU, us a request']];
    for (const kind of ['whole', 'stream']) {
      const paths = { 'without the scanner': `/${kind}/other`, 'the route': `/${kind}/v1/chat/completions` };
      const measured = Object.fromEntries(Object.keys(paths).map((name) => [name, []]));
      // In turn, so that what disturbs disturbs both; the first round warms up.
      for (let round = 0; round <= ROUNDS; round++) {
        for (const [name, path] of Object.entries(paths)) {
          const before = await cpuOf(proxy);
          const { answers, seconds } = await load(agent, port, path);
          const cpu = ((await cpuOf(proxy)) - before) / answers.length;
          const bytes = answers.reduce((sum, answer) => sum + answer.bytes, 0);
          const all = sorted(answers.map((answer) => answer.all));
          if (round) measured[name].push([answers.length / seconds, bytes / seconds / 1e6, median(answers.map(({ first }) => first)), all[Math.floor(all.length * 0.99)], cpu]);
        }
      }
      const medians = Object.entries(measured).map(([name, rounds]) => [name, rounds[0].map((_, at) => median(rounds.map((each) => each[at])))]);
      for (const [name, values] of medians) rows.push([`${kind}: ${name}`, ...values.map((value) => value.toFixed(value < 100 ? 2 : 0))]);
      const [[, without], [, ours]] = medians;
      rows.push([`${kind}: ratio`, ...ours.map((value, at) => (value / without[at]).toFixed(3))]);
    }
    table(rows);
  } finally {
    proxy.kill('SIGKILL');
    agent.destroy();
    provider.close();
    provider.closeAllConnections();
    rmSync(folder, { recursive: true, force: true });
  }
}
