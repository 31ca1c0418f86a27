// A thousand machines of twenty agents, one look each ten seconds, played from one process into one real Collector that
// writes to a file: what each look takes, and what the Collector does.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { createRequire } from 'node:module';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { root, table } from './table.mjs';

const MACHINES = 1000;
const AGENTS = 20;
const EVERY_MS = 10_000;
const ROUNDS = 2;

/** What a machine's units were at a look; the totals only grow. */
function unitsOf(machine, nth) {
  const since = '1780000000000000000';
  const measures = (factor) => ({
    ...{ 'link.memory.used.sum': 3e8 * factor, 'link.memory.peak.max': 4e8 * factor, 'link.cpu.used.sum': nth * factor, 'link.disk.read.sum': 4096 * nth, 'link.disk.written.sum': 8192 * nth },
    ...{ 'link.network.in.sum': 1e6 * nth, 'link.network.out.sum': 1e5 * nth, 'link.processes.sum': 10 * factor, 'link.ports.sum': factor },
    ...{ 'link.turns.sum': nth, 'link.tokens.input.sum': 9000 * nth, 'link.tokens.output.sum': 400 * nth, 'link.tokens.cached.sum': 8000 * nth, 'link.cost.sum': 42_000 * nth },
  });
  const id = `mch_${machine}`;
  const agents = Array.from({ length: AGENTS }, (_, at) => ({ id: `${id}:agent-${at}`, kind: 'agent', parent: id, name: `agent-${at}`, since, measures: measures(1) }));
  return [{ id, kind: 'machine', name: `machine-${machine}`, since, measures: measures(AGENTS) }, ...agents];
}

/** CPU seconds and resident bytes of a process. */
function costOf(pid) {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return { cpu: (Number(fields[11]) + Number(fields[12])) / 100, memory: Number(fields[21]) * 4096 };
}

async function startCollector(folder) {
  const probe = net.createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address();
  probe.close();
  const config = join(folder, 'collector.yaml');
  writeFileSync(
    config,
    `receivers: {otlp: {protocols: {http: {endpoint: "127.0.0.1:${port}"}}}}
exporters: {file: {path: "${join(folder, 'out.jsonl')}"}}
service: {telemetry: {metrics: {level: none}, logs: {level: warn}}, pipelines: {metrics: {receivers: [otlp], exporters: [file]}}}
`,
  );
  const child = spawn(`${root}/target/otel/bin/collector`, ['--config', config], { stdio: ['ignore', 'inherit', 'inherit'] });
  for (let tries = 0; tries < 200; tries++) {
    if (await fetch(`http://127.0.0.1:${port}`).then(() => true, () => false)) return { child, port };
    await wait(50);
  }
  throw new Error('The Collector did not start.');
}

/** Posts a body on a connection of its own, as a watcher does; how long the answer took, in milliseconds. */
function post(port, body) {
  const start = performance.now();
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
    const request = http.request({ host: '127.0.0.1', port, path: '/v1/metrics', method: 'POST', agent: false, headers }, (response) => {
      response.resume().on('end', () => (response.statusCode === 200 ? resolve(performance.now() - start) : reject(new Error(`HTTP ${response.statusCode}`))));
    });
    request.on('error', reject).end(body);
  });
}

export default async function fleet() {
  if (!existsSync(`${root}/target/otel/bin/collector`)) {
    console.log('Not run: `scripts/otel.sh` builds the Collector it needs.');
    return;
  }
  const { encodeOtlp } = createRequire(import.meta.url)(`${root}/dist/index.js`);
  const folder = mkdtempSync(join(tmpdir(), 'lnk-fleet-'));
  const { child, port } = await startCollector(folder);
  try {
    const before = costOf(child.pid);
    const own = process.cpuUsage();
    const start = performance.now();
    const posts = [];
    let bytes = 0;
    let failed = 0;
    for (let nth = 0; nth < ROUNDS * MACHINES; nth++) {
      const due = start + (nth * EVERY_MS) / MACHINES;
      if (due > performance.now()) await wait(due - performance.now());
      const body = encodeOtlp(unitsOf(nth % MACHINES, 1 + Math.floor(nth / MACHINES)), { machine: `mch_${nth % MACHINES}` });
      bytes += body.length;
      posts.push(post(port, body).catch(() => void failed++));
    }
    const times = (await Promise.all(posts)).filter((time) => time !== undefined).sort((a, b) => a - b);
    const seconds = (performance.now() - start) / 1000;
    const after = costOf(child.pid);
    const { user, system } = process.cpuUsage(own);
    const at = (share) => times[Math.floor(share * (times.length - 1))].toFixed(1);
    console.log(`${MACHINES} machines of ${AGENTS} agents, a look each ${EVERY_MS / 1000} s, for ${seconds.toFixed(0)} s`);
    table([
      ['', ''],
      ['looks a second', (times.length / seconds).toFixed(0)],
      ['looks that failed', failed],
      ['bytes a look', (bytes / posts.length).toFixed(0)],
      ['answer, median and 99 of 100, ms', `${at(0.5)}, ${at(0.99)}`],
      ["the Collector's CPU, of one core", `${((100 * (after.cpu - before.cpu)) / seconds).toFixed(0)} %`],
      ["the Collector's memory, MiB", (after.memory / 2 ** 20).toFixed(0)],
      ["all machines' sending, of one core", `${((user + system) / 1e4 / seconds).toFixed(0)} %`],
    ]);
  } finally {
    child.kill('SIGTERM');
    await once(child, 'exit');
    rmSync(folder, { recursive: true, force: true });
  }
}
