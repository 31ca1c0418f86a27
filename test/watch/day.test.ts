// What a watcher keeps, read back: against the kernel's own count, and over its sudden end.

import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runs, until, WatchPlace } from './place';

let place: WatchPlace;
beforeEach(() => (place = new WatchPlace()));
afterEach(() => place.end());

const CPU = 'link.cpu.used.sum';
type Measures = Record<string, { now: number | null; day: number | null }>;
interface Shown {
  units: { id: string; measures: Measures }[];
  hours?: { from: number; measures: Record<string, number> }[];
}

/** A process that is busy until the file is there, and then sleeps. */
const busyUntil = (file: string) => place.spawn('sh', '-c', `while [ ! -e ${file} ]; do :; done; exec sleep 1000`);

const addAgent = (...pids: number[]) =>
  place.addLink({ machine: { id: 'mch_1', name: 'studio' }, agents: [{ id: 'agt_1', name: 'main', running: true, processes: pids }] });

const shown = async (...args: string[]): Promise<Shown> => JSON.parse((await place.lnk('--json', ...args)).stdout);

const cpuOf = ({ units }: Shown, id = 'agt_1') => units.find((unit) => unit.id === id)?.measures[CPU];

/** The CPU a process has used, as the kernel counts it, in hundredths of a second. */
function ticksOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return Number(fields[11]) + Number(fields[12]);
}

/** A unit's total at each look, carried forward, with when it began. */
function totals(id: string, measure: string): { since: string; value: number }[] {
  const file = execFileSync('sh', ['-c', `head -qn1 ${join(place.measure, 'fine')}/*.jsonl | head -n1`], { encoding: 'utf8' });
  const at = (JSON.parse(file).measures as string[]).indexOf(measure);
  let [since, value] = ['', -1];
  return place.lines().flatMap(({ units }) => {
    const unit = units.find((each) => each.id === id);
    if (unit === undefined) return [];
    since = unit.s ?? since;
    value = unit.v?.[at] ?? value;
    return [{ since, value }];
  });
}

test("a busy agent's day is what the kernel counted, its hours add up to it, and it outlives the agent and the watcher", async () => {
  const idle = join(place.folder, 'idle');
  const agent = busyUntil(idle);
  addAgent(agent.pid);
  await place.lnk('start');
  await until('ten looks', () => place.lines().length >= 10);
  writeFileSync(idle, '');
  await until('it sleeps', () => readFileSync(`/proc/${agent.pid}/comm`, 'utf8') === 'sleep\n');
  const looks = place.lines().length;
  await until('two looks', () => place.lines().length >= looks + 2);

  const kernel = ticksOf(agent.pid) / 100;
  expect(kernel).toBeGreaterThan(1);
  const all = await shown();
  expect(cpuOf(all)?.day).toBeCloseTo(kernel, 2);
  expect(cpuOf(all)?.now).toBeCloseTo(kernel, 2);

  const one = await shown('--agent', 'main');
  expect(one.hours).toHaveLength(24);
  const sum = (name: string) => (one.hours ?? []).reduce((total, { measures }) => total + Math.round((measures[name] ?? 0) * 1e6), 0);
  expect(sum(CPU)).toBe(Math.round((cpuOf(one)?.day ?? 0) * 1e6));
  expect(cpuOf(one)).toEqual(cpuOf(all));

  const page = (await place.lnk('--agent', 'main')).stdout;
  expect(page).toMatch(/cpu used .*[▁▂▃▄▅▆▇█]/);
  expect(page).toMatch(/^\d\d:\d\d .*iB/m);

  agent.kill('SIGKILL');
  const gone = await until('a look without it', async () => {
    const view = await shown();
    return cpuOf(view)?.now === null ? view : undefined;
  });
  expect(cpuOf(gone)?.day).toBe(cpuOf(all)?.day);
  expect((await place.lnk()).stdout).toContain('Not running any more, with the day it was: main.');

  await place.lnk('stop');
  expect(cpuOf(await shown())?.day).toBe(cpuOf(all)?.day);
  expect((await place.lnk()).stdout).toMatch(/No watcher runs here; the day is as one kept it/);
}, 90_000);

test('ended at once and started again: no total falls or begins anew, and nothing is counted twice', async () => {
  const [first, second] = [join(place.folder, 'first'), join(place.folder, 'second')];
  const [one, other] = [busyUntil(first), busyUntil(second)];
  writeFileSync(second, '');
  addAgent(one.pid, other.pid);
  await place.lnk('start');
  await until('some CPU', () => totals('agt_1', 'cpu.used.sum').some(({ value }) => value > 1));
  // One that has ended has used what it has: only a watcher that saw it knows.
  one.kill('SIGKILL');
  for (let round = 0; round < 3; round++) {
    const looks = place.lines().length;
    await until('two looks', () => place.lines().length >= looks + 2);
    const { pid } = await place.status();
    process.kill(pid, 'SIGKILL');
    await until('its end', () => !runs(pid));
    expect((await place.lnk('status')).status).toBe(1);
    expect((await place.lnk('start')).stdout).toMatch(/^Watching/);
  }
  for (const [id, measure] of [['agt_1', 'cpu.used.sum'], ['mch_1', 'cpu.used.sum'], ['mch_1', 'network.in.sum']] as const) {
    const all = totals(id, measure);
    expect(new Set(all.map(({ since }) => since)).size).toBe(1);
    expect(all.filter(({ value }, at) => value < (all[at - 1]?.value ?? 0))).toEqual([]);
  }
  const cpu = cpuOf(await shown());
  expect(cpu?.day).toBeGreaterThan(1);
  expect(cpu?.day).toBe(cpu?.now);
}, 60_000);

test('Link is asked sparingly: once while nothing changes, and again when an agent comes', async () => {
  const asked = join(place.folder, 'asked');
  const agent = place.spawn('sleep', '1000');
  const list = JSON.stringify({ agents: [{ id: 'agt_1', name: 'main', processes: [agent.pid] }] });
  place.addProgram('lnk', `echo "$*" >> ${asked}; [ "$1" = agent ] && echo '${list}' || echo '{"sandboxes":[]}'`);
  await place.lnk('start');
  const times = () => readFileSync(asked, 'utf8').split('\n').filter((line) => line.startsWith('agent list')).length;
  await until('four looks', () => place.lines().length >= 4);
  expect(times()).toBe(1);
  mkdirSync(join(place.home, '.lnk', 'agents'));
  await until('asked again', () => times() === 2);
  agent.kill('SIGKILL');
  await until('asked again', () => times() === 3);
  const looks = place.lines().length;
  await until('three looks', () => place.lines().length >= looks + 3);
  expect(times()).toBe(3);
});

test('other programs read memory and spend, and null where no watcher runs', async () => {
  const agent = place.spawn('sleep', '1000');
  addAgent(agent.pid);
  const library = join(__dirname, '..', '..', 'dist', 'index.js');
  const read = () => {
    const script = `const { readNow, readDay } = require(${JSON.stringify(library)}); console.log(JSON.stringify([readNow(), readDay()]))`;
    return JSON.parse(execFileSync(process.execPath, ['-e', script], { env: place.env({ LNK_MEASURE_NATIVE: '' }), encoding: 'utf8' }));
  };
  expect(read()).toEqual([null, null]);
  await place.lnk('start');
  const [now, day] = await until('its memory', () => {
    const both = read();
    return both[0]?.[0]?.memory > 0 ? both : undefined;
  });
  expect(now).toEqual([{ id: 'agt_1', name: 'main', memory: expect.any(Number) }]);
  expect(day).toEqual([{ id: 'agt_1', name: 'main', cost: null }]);
});

test("with a watcher, `lnk measure` shows its last look and takes none", async () => {
  addAgent();
  await place.lnk('start');
  const { pid, lastLook } = await place.status();
  process.kill(pid, 'SIGSTOP');
  try {
    expect((await shown()) as unknown as { at: number }).toMatchObject({ at: lastLook });
  } finally {
    process.kill(pid, 'SIGCONT');
  }
  expect((await place.lnk()).stdout).toMatch(/The watcher looks every 1s; since it started it has cost/);
  expect(existsSync(join(place.measure, 'now.json'))).toBe(true);
});

test('what a look says of itself is shown with a watcher as without: a process that lost its parent', async () => {
  const [alone, left] = [join(place.folder, 'alone'), join(place.folder, 'left')];
  const main = place.spawn('sh', '-c', `(sleep 1000 & echo $! > ${left}; while [ ! -e ${alone} ]; do sleep 0.05; done); exec sleep 1000`);
  const orphan = Number(await until('the process', () => existsSync(left) && readFileSync(left, 'utf8').trim()));
  try {
    addAgent(main.pid);
    await place.lnk('start');
    await until('it is seen', async () => (await shown('--agent', 'main')).units.some(({ id }) => id === `agt_1/${orphan}`));
    writeFileSync(alone, '');
    const note = await until('the note', async () => /! 1 process of main has lost its parent.*/.exec((await place.lnk()).stdout)?.[0]);
    expect(note).toContain(`: ${orphan}.`);
    expect((await place.lnk()).stdout).toContain('The watcher looks every 1s');
  } finally {
    process.kill(orphan, 'SIGKILL');
  }
});
