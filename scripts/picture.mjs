// Makes docs/picture.svg: what a terminal shows of example agents that are really run and measured, their model a server
// here that answers as a provider does. `node scripts/picture.mjs` after a build.
import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { isMain, root } from './root.mjs';
import { svgOf } from './svg.mjs';

const COLUMNS = 104;

/** An agent: asks its model, holds some memory, starts a tool, and says what its turns took. */
const agentScript = (turns, megabytes, cost) => `
import { spawn } from 'node:child_process';
import { TurnReporter } from ${JSON.stringify(`${root}/dist/index.js`)};
const reporter = new TurnReporter(process.env.LNK_MEASURES);
const held = Buffer.alloc(${megabytes} * 2 ** 20, 1);
const tool = spawn(process.execPath, ['-e', 'process.stdin.resume()'], { stdio: ['pipe', 'ignore', 'ignore'] });
for (let turn = 0; turn < ${turns}; turn++) {
  const began = performance.now();
  const answer = await fetch(process.env.ANTHROPIC_BASE_URL + '/v1/messages', { method: 'POST', body: '{}', headers: { 'content-type': 'application/json' } });
  await answer.text();
  for (let at = 0, until = performance.now() + 150; performance.now() < until; ) at += held[at & 0xfffff];
  reporter.report({ turns: 1, toolCalls: 3, costMicrodollars: ${cost}, seconds: { turn: (performance.now() - began) / 1000 } });
}
console.log('ready');
process.stdin.on('end', () => tool.kill()).resume();
`;

async function main() {
  const place = mkdtempSync(join(tmpdir(), 'lnk-picture-'));
  const env = { PATH: process.env.PATH, HOME: place, LNK_COMMAND: '' };
  const lnk = (args, more = {}) => execFileSync(process.execPath, [`${root}/dist/lnk.js`, 'measure', ...args], { env: { ...env, ...more }, encoding: 'utf8' });
  const provider = createServer((request, response) => {
    const usage = { input_tokens: 1200, cache_read_input_tokens: 18_000, cache_creation_input_tokens: 900, output_tokens: 740 };
    request.resume().on('end', () => response.setHeader('content-type', 'application/json').end(JSON.stringify({ type: 'message', usage })));
  });
  await new Promise((listening) => provider.listen(0, '127.0.0.1', listening));
  const agents = [];
  try {
    mkdirSync(join(place, 'work'));
    lnk(['settings', '--every', '1s']);
    lnk(['start']);
    for (const [name, ...what] of [['claude', 9, 180, 31_000], ['opencode', 4, 60, 12_000]]) {
      // Not by a harness's name: it would be found by that too, until the watcher knows the run.
      const script = join(place, `agent-${agents.length}.mjs`);
      writeFileSync(script, agentScript(...what));
      const words = [`${root}/dist/lnk.js`, 'measure', 'run', '--meter', '--quiet', '--name', name, '--', process.execPath, script];
      const url = `http://127.0.0.1:${provider.address().port}`;
      const agent = spawn(process.execPath, words, { cwd: join(place, 'work'), env: { ...env, ANTHROPIC_BASE_URL: url }, stdio: ['pipe', 'pipe', 'ignore'] });
      agents.push(agent);
      await new Promise((ready, failed) => agent.once('exit', failed).stdout.once('data', ready));
    }
    const day = () => JSON.parse(lnk(['--json'])).units.filter(({ kind, measures }) => kind === 'agent' && measures['link.cost.sum']?.day > 0 && measures['link.network.in.sum']?.now > 0).length === agents.length;
    for (const deadline = Date.now() + 30_000; !day(); await wait(200)) if (Date.now() > deadline) throw new Error("no look has the agents' turns");
    const text = lnk([], { FORCE_COLOR: '1', COLUMNS: String(COLUMNS) });
    writeFileSync(`${root}/docs/picture.svg`, svgOf(`\x1b[2m$\x1b[22m lnk measure\n${text}`, COLUMNS));
  } finally {
    for (const agent of agents) agent.stdin.end();
    await Promise.all(agents.map((agent) => agent.exitCode ?? new Promise((ended) => agent.once('exit', ended))));
    lnk(['delete', '--yes']);
    provider.close();
    rmSync(place, { recursive: true, force: true });
  }
}

if (isMain(import.meta.url)) await main();
