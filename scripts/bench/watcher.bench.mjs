// What the watcher costs a machine of 200 processes of agents, beside a Node that only waits: its share of a core, and
// the memory it holds. At the 10 s between looks that Link has, and at 1 s with each look's cost as if 10 s apart.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import { Place } from './place.mjs';
import { table } from './table.mjs';

const AGENTS = 20;
const CHILDREN = 9;
const SECONDS = 60;

/** CPU a process's threads have used, in milliseconds: nanoseconds of schedstat, finer than the ticks of stat. */
const cpuMs = (pid) =>
  readdirSync(`/proc/${pid}/task`).reduce((sum, task) => sum + Number(readFileSync(`/proc/${pid}/task/${task}/schedstat`, 'utf8').split(' ')[0]), 0) / 1e6;

const residentKb = (pid) => Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1]);

const looksOf = (place) => Number(JSON.parse(place.lnk('measure', 'status', '--json')).lastLook);

export default async function watcher() {
  const idle = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1 << 30); console.log()'], { stdio: ['ignore', 'pipe', 'inherit'] });
  const places = [new Place(), new Place()];
  try {
    await once(idle.stdout, 'data');
    const [slow, quick] = places;
    quick.every('1s');
    const pids = [];
    for (const place of places) {
      await place.startAgents(AGENTS, CHILDREN);
      pids.push(place.startWatcher());
    }
    // Its first looks read all memory once, and its code is compiled then.
    await wait(21_000);
    const before = pids.map(cpuMs);
    const began = performance.now();
    await wait(SECONDS * 1000);
    const share = pids.map((pid, at) => (cpuMs(pid) - before[at]) / (performance.now() - began));
    const percent = (part) => `${(part * 100).toFixed(3)} %`;
    const base = residentKb(idle.pid);
    const memory = (pid) => [(residentKb(pid) / 1024).toFixed(1), (residentKb(pid) / base).toFixed(2)];
    console.log(`${AGENTS * (CHILDREN + 1)} processes of ${AGENTS} agents, ${SECONDS} s; last looks ${places.map(looksOf).map((at) => `${(Date.now() / 1000 - at).toFixed(1)} s`).join(' and ')} ago`);
    table([
      ['', 'of a core', 'resident, MiB', '× waiting Node', 'goal'],
      ['a Node that waits', '', (base / 1024).toFixed(1), '1.00', ''],
      ['the watcher, every 10 s', percent(share[0]), ...memory(pids[0]), '0.2 %, 1.3 ×'],
      ['every 1 s, a tenth of it', percent(share[1] / 10), ...memory(pids[1]), '0.2 %, 1.3 ×'],
    ]);
  } finally {
    for (const place of places) place.end();
    idle.kill('SIGKILL');
  }
}
