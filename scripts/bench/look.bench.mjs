// What a look at 20 agents of 10 processes each costs, beside the reads it can't do without and beside what others take
// for the same numbers.

import { createRequire } from 'node:module';
import { nativeFile, startAgent } from './place.mjs';
import { buildExamples, run, table } from './table.mjs';

const AGENTS = 20;
const CHILDREN = 9;
const ROUNDS = 3;

/** The look as the watcher takes it: through the addon, its JSON included. */
function lookThroughAddon(roots) {
  const binding = createRequire(import.meta.url)(nativeFile());
  const sampler = new binding.Sampler(JSON.stringify({ pssBudgetMs: 0 }));
  const agents = roots.map((pid) => ({ id: `agent-${pid}`, name: `agent-${pid}`, from: 'link', pids: [pid] }));
  const request = JSON.stringify({ machine: { id: 'bench', name: 'bench' }, agents, found: false });
  for (let i = 0; i < 20; i++) sampler.look(request);
  const walls = [];
  const cpuStart = process.cpuUsage();
  for (const until = performance.now() + 2000; performance.now() < until; ) {
    const start = performance.now();
    sampler.look(request).json();
    walls.push((performance.now() - start) * 1000);
  }
  const { user, system } = process.cpuUsage(cpuStart);
  walls.sort((a, b) => a - b);
  return { peer: 'look, through the addon', wall_usec: walls[walls.length >> 1], cpu_usec: (user + system) / walls.length };
}

export default async function look() {
  const examples = buildExamples('lnk-sample');
  const agents = [];
  try {
    for (let i = 0; i < AGENTS; i++) agents.push(await startAgent(CHILDREN));
    const roots = agents.map((agent) => agent.main.pid);
    const pids = agents.flatMap((agent) => agent.pids).join(' ');
    const peers = [
      () => run(`${examples}/bare_loop`, [], pids),
      () => run(`${examples}/look_bench`, ['0'], roots.join('\n')),
      () => run(`${examples}/look_bench`, ['5'], roots.join('\n')),
      () => lookThroughAddon(roots),
      () => run('python3', ['scripts/bench/peers.py'], pids),
      () => run(process.execPath, ['scripts/bench/pidusage.mjs'], pids),
    ];
    const rounds = [];
    for (let i = 0; i < ROUNDS; i++) {
      rounds.push(peers.map((peer) => peer()).map((row) => (typeof row === 'string' ? JSON.parse(row) : row)));
    }
    // The best of each: what else the machine does only ever adds.
    const best = (column, key) => Math.min(...rounds.map((round) => round[column][key]));
    const rows = rounds[0].map(({ peer }, column) => ({
      peer,
      wall_usec: best(column, 'wall_usec'),
      cpu_usec: best(column, 'cpu_usec'),
    }));
    const [{ cpu_usec: floor }] = rows;
    const cells = rows.map((row) => [
      row.peer,
      row.wall_usec.toFixed(0),
      row.cpu_usec.toFixed(0),
      (row.cpu_usec / floor).toFixed(2),
    ]);
    console.log(`${AGENTS} agents of ${CHILDREN + 1} processes each; pidusage reads no disk bytes`);
    table([['', 'wall µs', 'CPU µs', '× bare loop'], ...cells]);
  } finally {
    for (const { main } of agents) process.kill(-main.pid, 'SIGKILL');
  }
}
