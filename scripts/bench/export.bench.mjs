// What sending costs: to make a look of 1,000 units OTLP, how large it is, and what a watcher takes more with an endpoint.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { root, table } from './table.mjs';

const AGENTS = 20;
const CHILDREN = 48;
const ROUNDS = 60;
const WATCH_MS = 15_000;

/** An agent of processes that do nothing. */
async function startAgent(children) {
  const main = spawn('sh', ['-c', `for i in $(seq ${children}); do sleep 600 & done; echo ready; wait`], { detached: true, stdio: ['ignore', 'pipe', 'ignore'] });
  await once(main.stdout, 'data');
  return main;
}

/** The median of many rounds, in milliseconds. */
function median(call) {
  for (let i = 0; i < 10; i++) call();
  const times = Array.from({ length: ROUNDS }, () => {
    const start = performance.now();
    call();
    return performance.now() - start;
  });
  return times.sort((a, b) => a - b)[ROUNDS >> 1];
}

/** CPU a look of a watcher at one look a second, in milliseconds, by its own count. */
async function watch(url) {
  const home = mkdtempSync(join(tmpdir(), 'lnk-bench-'));
  const measure = join(home, 'measure');
  const env = { PATH: process.env.PATH, HOME: home, LNK_HOME: home };
  const lnk = async (...args) => {
    const child = spawn(process.execPath, [`${root}/dist/lnk.js`, 'measure', ...args], { env, stdio: ['ignore', 'pipe', 'inherit'] });
    let text = '';
    child.stdout.on('data', (chunk) => (text += chunk));
    await once(child, 'close');
    return text;
  };
  try {
    mkdirSync(measure, { mode: 0o700 });
    writeFileSync(join(measure, 'settings.toml'), `every = "1s"\n${url === undefined ? '' : `[export]\nurl = "${url}"\n`}`, { mode: 0o600 });
    await lnk('start');
    await wait(3000);
    const before = JSON.parse(await lnk('status', '--json'));
    await wait(WATCH_MS);
    const after = JSON.parse(await lnk('status', '--json'));
    return { cpu: ((after.cost.cpu - before.cost.cpu) * 1000) / Math.round(after.lastLook - before.lastLook), memory: after.cost.memory };
  } finally {
    await lnk('stop');
    rmSync(home, { recursive: true, force: true });
  }
}

export default async function exporting() {
  const file = readdirSync(`${root}/dist`).find((name) => name.endsWith('.node'));
  if (!file) throw new Error('There is no addon in dist/: run `npm install` first.');
  const binding = createRequire(import.meta.url)(`${root}/dist/${file}`);
  const agents = [];
  const server = http.createServer((request, response) => request.resume().on('end', () => response.end('{}')));
  try {
    while (agents.length < AGENTS) agents.push(await startAgent(CHILDREN));
    const sampler = new binding.Sampler(JSON.stringify({ pssBudgetMs: 500 }));
    const request = JSON.stringify({ machine: { id: 'bench', name: 'bench' }, agents: agents.map(({ pid }) => ({ id: `agent-${pid}`, name: `agent-${pid}`, from: 'link', running: true, pids: [pid] })), found: false });
    const look = sampler.look(request);
    const exporter = new binding.Exporter(Date.now() - 10_000);
    exporter.add(look);
    const { units } = exporter;
    const body = exporter.encode(0, units);
    const text = look.json();
    const floor = median(() => JSON.stringify(JSON.parse(text)));
    const adding = median(() => exporter.add(look));
    const encoding = median(() => exporter.encode(0, units));
    console.log(`a look of ${units} units`);
    table([
      ['', 'ms', '× the floor', 'bytes'],
      ['the look as JSON, parsed and written again: the floor', floor.toFixed(2), '1', text.length],
      ['its totals taken up', adding.toFixed(2), (adding / floor).toFixed(2), ''],
      ['made OTLP', encoding.toFixed(2), (encoding / floor).toFixed(2), body.length],
      ['the same packed with gzip, which is not done', '', '', gzipSync(body).length],
    ]);
    for (const each of agents.splice(0)) process.kill(-each.pid, 'SIGKILL');

    while (agents.length < AGENTS) agents.push(await startAgent(9));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const off = await watch(undefined);
    const on = await watch(`http://127.0.0.1:${server.address().port}`);
    console.log('\na watcher, by its own count');
    table([
      ['', 'CPU ms a look', 'memory MiB'],
      ['nothing is sent', off.cpu.toFixed(2), (off.memory / 2 ** 20).toFixed(0)],
      ['every look is sent', on.cpu.toFixed(2), (on.memory / 2 ** 20).toFixed(0)],
      ['×', (on.cpu / off.cpu).toFixed(2), (on.memory / off.memory).toFixed(2)],
    ]);
  } finally {
    for (const { pid } of agents) process.kill(-pid, 'SIGKILL');
    server.close();
  }
}
