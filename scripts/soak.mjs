// Watches for long while agents come and go, and says whether the watcher stays as big as it was.
//
//   npm run soak -- [--minutes 60] [--processes 100000]
//
// A watcher of its own, looking every second in a home of its own, beside agents whose processes live for a moment. Each
// 10 s a line: its memory, descriptors, those beyond one a process of the machine, threads, and CPU since the line
// before. Not part of `npm test`. Ends with 1 if memory, descriptors or threads grew.

import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { root } from './root.mjs';

const { values } = parseArgs({ options: { minutes: { type: 'string', default: '60' }, processes: { type: 'string', default: '100000' } } });
const [seconds, processes] = [Number(values.minutes) * 60, Number(values.processes)];
if (!(seconds > 0) || !(processes > 0)) throw new Error('--minutes and --processes must be numbers above 0');

/** Agents at a time; the IDs they take turns at having; how long each is there. */
const [SLOTS, IDS, LIFE_S] = [10, 40, 20];
const SAMPLE_MS = 10_000;
/** The part of the time that may go by before the watcher is as big as it gets. */
const WARM = 1 / 4;
/**
 * How much more at the end still counts as flat: what the collector leaves for later, and a few descriptors for each
 * process of an agent that happens to be there. It keeps one for every process of the machine too, which are taken off.
 */
const MORE = { mib: 4, beyond: 32, threads: 0 };

const home = mkdtempSync(join(tmpdir(), 'lnk-soak-'));
const [measure, bin, list] = [join(home, '.lnk', 'measure'), join(home, 'bin'), join(home, 'list.json')];
const agentsFolder = join(home, '.lnk', 'agents');
for (const folder of [measure, bin, agentsFolder]) mkdirSync(folder, { recursive: true, mode: 0o700 });
writeFileSync(join(measure, 'settings.toml'), 'every = "1s"\n', { mode: 0o600 });
writeFileSync(join(bin, 'lnk'), `#!/bin/sh\n[ "$1" = agent ] && exec cat ${list}\necho '{"sandboxes":[]}'\n`, { mode: 0o755 });

const began = performance.now();
const elapsed = () => (performance.now() - began) / 1000;
const agents = new Map();
let [started, next] = [0, 0];

/** Tells Link's list anew, as Link does when an agent comes or goes. */
function tell() {
  const entry = ({ pid, id }) => ({ id, name: id, running: true, processes: [pid] });
  writeFileSync(`${list}.new`, JSON.stringify({ machine: { id: 'mch_soak', name: 'soak' }, agents: [...agents.values()].map(entry) }));
  renameSync(`${list}.new`, list);
  utimesSync(agentsFolder, new Date(), new Date());
}

/** An agent that starts processes at the rate that is left to reach, two a round: one that does nothing and one that sleeps. */
function begin(slot) {
  const rate = Math.max(processes - started, 0) / Math.max(seconds - elapsed(), LIFE_S) / SLOTS;
  const rounds = Math.max(Math.round((rate * LIFE_S) / 2), 1);
  const script = `i=0; while [ $i -lt ${rounds} ]; do /bin/true; sleep ${(LIFE_S / rounds).toFixed(3)}; i=$((i+1)); done`;
  const child = spawn('sh', ['-c', script], { stdio: 'ignore' });
  agents.set(slot, { pid: child.pid, id: `agt_${next++ % IDS}`, child });
  child.once('exit', () => {
    started += 2 * rounds;
    agents.delete(slot);
    if (elapsed() < seconds) begin(slot);
    tell();
  });
}

/** The machine's processes at the watcher's last look. */
function machineProcesses() {
  const { units } = JSON.parse(readFileSync(join(measure, 'now.json'), 'utf8'));
  return units.find(({ kind }) => kind === 'machine')?.measures['link.processes.sum']?.now ?? 0;
}

function sampleOf(pid) {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const field = (name) => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1]);
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ');
  const descriptors = readdirSync(`/proc/${pid}/fd`).length;
  return {
    mib: field('VmRSS') / 1024,
    descriptors,
    beyond: descriptors - machineProcesses(),
    threads: field('Threads'),
    cpu: (Number(stat[11]) + Number(stat[12])) / 100,
    asked: (Number(stat[13]) + Number(stat[14])) / 100,
  };
}

const median = (numbers) => numbers.toSorted((a, b) => a - b)[numbers.length >> 1];

function judge(samples) {
  const warm = samples.slice(Math.floor(samples.length * WARM));
  const third = Math.max(Math.floor(warm.length / 3), 1);
  const grew = Object.entries(MORE).map(([name, more]) => {
    const [from, to] = [warm.slice(0, third), warm.slice(-third)].map((part) => median(part.map((sample) => sample[name])));
    const isFlat = to - from <= more;
    process.stdout.write(`${name}: ${from.toFixed(1)} at first, ${to.toFixed(1)} at last: ${isFlat ? 'flat' : 'GREW'}\n`);
    return !isFlat;
  });
  return grew.includes(true);
}

const watcher = spawn(process.execPath, [join(root, 'dist', 'lnk.js'), 'measure', 'start', '--foreground'], {
  env: { HOME: home, PATH: `${bin}:${process.env.PATH}` },
  stdio: ['ignore', 'ignore', 'inherit'],
});
const ended = new Promise((resolve) => watcher.once('exit', (code, signal) => resolve(code ?? signal)));
let stopped = false;
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => (stopped = true));

for (let slot = 0; slot < SLOTS; slot++) setTimeout(begin, (slot * LIFE_S * 1000) / SLOTS, slot);
tell();
const samples = [];
process.stdout.write('   time      MiB  descriptors  beyond  threads   CPU %  asked CPU %  processes\n');
try {
  while (elapsed() < seconds && !stopped) {
    await wait(Math.min(SAMPLE_MS, seconds * 1000));
    if (watcher.exitCode !== null || watcher.signalCode !== null) throw new Error(`the watcher ended: ${await ended}`);
    const sample = { at: elapsed(), ...sampleOf(watcher.pid) };
    const before = samples.at(-1) ?? { at: 0, cpu: 0, asked: 0 };
    const share = (name) => ((100 * (sample[name] - before[name])) / (sample.at - before.at)).toFixed(2).padStart(6);
    const row = [`${sample.at.toFixed(0)} s`.padStart(7), sample.mib.toFixed(1).padStart(8), String(sample.descriptors).padStart(12), String(sample.beyond).padStart(7), String(sample.threads).padStart(8)];
    process.stdout.write(`${row.join(' ')}  ${share('cpu')}       ${share('asked')}  ${String(started).padStart(9)}\n`);
    samples.push(sample);
  }
  const fine = readdirSync(join(measure, 'fine'));
  const looks = fine.filter((name) => name.endsWith('l')).flatMap((name) => readFileSync(join(measure, 'fine', name), 'utf8').split('\n')).length;
  process.stdout.write(`${started} processes; files ${fine.join(', ')}; ${looks} lines in those that aren't closed\n`);
  process.stdout.write(readFileSync(join(measure, 'watch.log'), 'utf8'));
  process.exitCode = judge(samples) || stopped ? 1 : 0;
} finally {
  stopped = true;
  watcher.kill('SIGTERM');
  for (const { child } of agents.values()) child.removeAllListeners('exit').kill('SIGKILL');
  await ended;
  rmSync(home, { recursive: true, force: true });
}
process.exit();
