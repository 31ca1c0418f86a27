// What pidusage takes to read the CPU time and memory of each process once.
//
// Pids on standard input, apart by white space. Prints one line of JSON: `peer`, `processes`, `wall_usec` (the median
// pass) and `cpu_usec` (the mean). pidusage comes from npm into .cache, the first time: it is no dependency of ours.

import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

const seconds = 2;
const folder = join(import.meta.dirname, '../../.cache/bench/pidusage');

function load() {
  if (!existsSync(join(folder, 'node_modules/pidusage'))) {
    mkdirSync(folder, { recursive: true });
    // Its output goes to stderr: stdout is the result.
    execFileSync('npm', ['install', '--silent', '--no-audit', '--no-fund', '--no-save', '--prefix', folder, 'pidusage'], {
      stdio: ['ignore', 2, 2],
    });
  }
  const require = createRequire(join(folder, 'index.js'));
  return { pidusage: require('pidusage'), version: require('pidusage/package.json').version };
}

const { pidusage, version } = load();
const pids = readFileSync(0, 'utf8').split(/\s+/).filter(Boolean).map(Number);
const walls = [];
await pidusage(pids);
const cpuStart = process.cpuUsage();
const until = performance.now() + seconds * 1000;
while (performance.now() < until) {
  const start = performance.now();
  await pidusage(pids);
  walls.push((performance.now() - start) * 1000);
}
const { user, system } = process.cpuUsage(cpuStart);
pidusage.clear();
walls.sort((a, b) => a - b);
const round = (value) => Math.round(value * 10) / 10;
console.log(
  JSON.stringify({
    peer: `pidusage ${version}`,
    processes: pids.length,
    wall_usec: round(walls[walls.length >> 1]),
    cpu_usec: round((user + system) / walls.length),
  }),
);
