// The watcher on disks, clocks and in places that go wrong; what each single call of the store does is the store's own tests'.

import { spawnSync } from 'node:child_process';
import { chmodSync, chownSync, existsSync, readdirSync, readFileSync, renameSync, rmSync, statSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { program } from '../cli/command';
import { listen } from '../route/place';
import { runs, until, WatchPlace } from './place';

let place: WatchPlace;
beforeEach(() => (place = new WatchPlace()));
afterEach(() => place.end());

const CPU = 'link.cpu.used.sum';
const FAKETIME = `/usr/lib/${process.arch === 'arm64' ? 'aarch64' : 'x86_64'}-linux-gnu/faketime/libfaketimeMT.so.1`;
const isRoot = process.geteuid?.() === 0;

/** The test where what it takes is there; else it says so, and fails where all must run. */
function testWith(what: string, why: string | undefined, body: () => Promise<void>, limitMs?: number): void {
  if (why === undefined) return void test(what, body, limitMs);
  process.stderr.write(`NOT TESTED: ${what}: ${why}\n`);
  test(what, () => expect(process.env['CI']).toBeUndefined());
}

const canTrace = spawnSync('strace', ['-qq', '-o', '/dev/null', 'true']).status === 0;
const withStrace = canTrace ? undefined : 'no strace here, or it may not trace (Debian: apt-get install strace)';
const withFaketime = existsSync(FAKETIME) ? undefined : 'no faketime here (Debian: apt-get install faketime)';
const withRoot = isRoot ? undefined : 'only root may';

/** The watcher in the foreground, behind what runs it; its process is that one's or a child of it. */
const watch = (...before: string[]) => place.spawn('env', ...before, process.execPath, program, 'measure', 'start', '--foreground');

const looked = (count = 1) => until('a look', () => existsSync(join(place.measure, 'fine')) && place.lines().length >= count);

const more = async (count: number) => looked(place.lines().length + count);

const addAgents = (pids: number[]) =>
  place.addLink({ machine: { id: 'mch_1' }, agents: pids.map((pid, at) => ({ id: `agt_${at}`, name: `a${at}`, running: true, processes: [pid] })) });

/** An agent that uses some CPU all the time. */
const busy = () => place.spawn('sh', '-c', 'while sleep 0.02; do :; done').pid;

async function cpuOf(id: string): Promise<{ now: number; day: number }> {
  const { units } = JSON.parse((await place.lnk('--json')).stdout) as { units: { id: string; measures: Record<string, { now: number; day: number }> }[] };
  return units.find((unit) => unit.id === id)?.measures[CPU] ?? { now: NaN, day: NaN };
}

/** Looks where a total fell or began anew. */
function broken(id: string): string[] {
  const fine = join(place.measure, 'fine');
  const first = readFileSync(join(fine, readdirSync(fine).sort()[0] ?? ''), 'utf8').split('\n')[0] ?? '';
  const at = (JSON.parse(first).measures as string[]).indexOf('cpu.used.sum');
  let [since, value] = ['', 0];
  return place.lines().flatMap(({ t, units }) => {
    const unit = units.find((each) => each.id === id);
    const [nowSince, now] = [unit?.s ?? since, unit?.v?.[at] ?? value];
    const isBroken = now < value || (since !== '' && nowSince !== since);
    [since, value] = [nowSince, now];
    return isBroken ? [`${t}: ${now} after ${value}, ${nowSince}`] : [];
  });
}

testWith('killed in the middle of what it does to its files, it starts again unaided, and no total is wrong', withStrace, async () => {
  addAgents([busy()]);
  const hour = (ms: number) => join(place.measure, 'fine', `${new Date(ms).toISOString().slice(0, 13).replace('T', '-')}.jsonl`);
  const files = [place.measure, join(place.measure, 'fine'), hour(Date.now()), hour(Date.now() + 3_600_000)].flatMap((path) => ['-P', path]);
  await place.lnk('start');
  await place.lnk('stop');
  for (const call of ['openat', 'write', 'fdatasync', 'renameat']) {
    const kept = place.lines().length;
    const traced = place.spawn('strace', '-f', '-qq', '-o', '/dev/null', ...files, '-e', `trace=${call}`, '-e', `inject=${call}:signal=SIGKILL:when=2`, process.execPath, program, 'measure', 'start', '--foreground');
    await new Promise((resolve) => traced.once('exit', resolve));
    expect([call, traced.signalCode]).toEqual([call, 'SIGKILL']);
    expect((await place.lnk('status')).status).toBe(1);
    expect(await place.lnk('start')).toMatchObject({ status: 0, stderr: '' });
    expect(place.lines().length).toBeGreaterThan(kept);
    await place.lnk('stop');
    expect(readdirSync(join(place.measure, 'fine')).filter((name) => name.includes('tmp'))).toEqual([]);
  }
  expect([...broken('agt_0'), ...broken('mch_1')]).toEqual([]);
  const { now, day } = await cpuOf('agt_0');
  // What it has used since the last look kept is in no day.
  expect(day).toBeGreaterThan(0);
  expect(day).toBeLessThanOrEqual(now);
}, 90_000);

testWith('a full disk is told once; looks go on and are sent, and are kept again once there is room', withRoot, async () => {
  addAgents([busy(), busy(), busy(), busy(), busy()]);
  let sent = 0;
  const collector = createServer((request, response) => {
    request.resume().on('end', () => response.setHeader('Content-Type', 'application/json').end('{}'));
    sent++;
  });
  const url = await listen(collector);
  expect(spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=64k,mode=700', 'tmpfs', place.measure]).status).toBe(0);
  try {
    place.writeSettings(`every = "1s"\n[export]\nurl = "${url}"\n`);
    await place.lnk('start');
    const { pid } = await place.status();
    await more(1);
    const filler = join(place.measure, 'filler');
    expect(() => writeFileSync(filler, Buffer.alloc(65536))).toThrow('ENOSPC');
    const size = () => readdirSync(join(place.measure, 'fine')).reduce((sum, name) => sum + statSync(join(place.measure, 'fine', name)).size, 0);
    await until('it is told', () => place.readLog().includes('keeping: '));
    // Until the file's last page is full, lines still fit; then none do.
    let still = 0;
    for (let before = -1, since = 0; still < 3000; still = Date.now() - since) {
      if (size() !== before) [before, since] = [size(), Date.now()];
      expect(runs(pid)).toBe(true);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    const [kept, before] = [place.lines().length, sent];
    await until('looks that were sent and not kept', () => sent >= before + 2);
    expect(place.lines()).toHaveLength(kept);
    const told = (subject: string) => place.readLog().match(new RegExp(`${subject}: .*Make room; it goes on by itself`, 'g'))?.length;
    expect([told('keeping'), told('copies')]).toEqual([1, 1]);
    unlinkSync(filler);
    await looked(kept + 2);
    await until('it is well', () => /keeping: well again/.test(place.readLog()) && /copies: well again/.test(place.readLog()));
    expect(broken('agt_0')).toEqual([]);
    const { now, day } = await cpuOf('agt_0');
    expect([day > 0, day]).toEqual([true, now]);
    await place.lnk('stop');
  } finally {
    await place.lnk('stop');
    spawnSync('umount', [place.measure]);
    collector.close();
    collector.closeAllConnections();
  }
}, 90_000);

test('a file that may not grow any more ends no watcher', async () => {
  addAgents([busy(), busy()]);
  // 2 KiB a file: what passes that gets SIGXFSZ, which Node ignores.
  const watcher = place.spawn('sh', '-c', `ulimit -f 4; exec ${process.execPath} ${program} measure start --foreground`);
  await until('it is told', () => /(keeping|copies): .*File too large/.test(existsSync(join(place.measure, 'watch.log')) ? place.readLog() : ''));
  expect([runs(watcher.pid), watcher.exitCode]).toEqual([true, null]);
});

testWith('the clock set forth and back, and a night asleep, cost no total and open no closed file', withFaketime, async () => {
  addAgents([busy()]);
  const clock = join(place.folder, 'clock');
  const set = (offset: string) => {
    writeFileSync(`${clock}.new`, offset);
    renameSync(`${clock}.new`, clock);
  };
  set('+0');
  const hour = Math.floor(Date.now() / 3_600_000);
  watch(`LD_PRELOAD=${FAKETIME}`, `FAKETIME_TIMESTAMP_FILE=${clock}`, 'FAKETIME_NO_CACHE=1', 'FAKETIME_DONT_FAKE_MONOTONIC=1');
  await looked(2);
  // To a monotonic clock, which stands still meanwhile, a suspend is the same.
  for (const offset of ['+28800', '-7200', '-90000', '-315360000', '+0']) {
    set(offset);
    await until('looks then', () => {
      const [last, before] = place.lines().slice(-2).reverse();
      return [last, before].every((line) => line !== undefined && Math.abs(line.t - Date.now() / 1000 - Number(offset)) < 60);
    });
  }
  const names = readdirSync(join(place.measure, 'fine')).sort();
  expect(names[0]).toContain(new Date(hour * 3_600_000).toISOString().slice(0, 10));
  expect(names.length).toBeLessThanOrEqual(4);
  expect(broken('agt_0')).toEqual([]);
  const { now, day } = await cpuOf('agt_0');
  expect([day > 0, day]).toEqual([true, now]);
}, 60_000);

test('stopped for a while, it catches up with nothing', async () => {
  addAgents([]);
  await place.lnk('start');
  const { pid } = await place.status();
  const before = place.lines().length;
  process.kill(pid, 'SIGSTOP');
  await new Promise((resolve) => setTimeout(resolve, 3200));
  process.kill(pid, 'SIGCONT');
  await looked(before + 3);
  const times = place.lines().slice(before + 1).map(({ t }) => t);
  // The first may come at once, the next in its place in the grid; from then on it is a second.
  expect(times.slice(1).filter((t, at) => t - (times[at] ?? 0) < 0.5 && at > 0)).toEqual([]);
});

test('files are named in UTC, and the day is the same, in every zone', async () => {
  place.writeSettings('every = "1m"\n');
  addAgents([busy()]);
  const zone = (TZ: string, ...args: string[]) => place.run(['measure', ...args], { LNK_MEASURE_NATIVE: '', TZ });
  const from = Date.now();
  expect((await zone('Pacific/Chatham', 'start')).status).toBe(0);
  const hours = [from, Date.now()].map((ms) => `${new Date(ms).toISOString().slice(0, 13).replace('T', '-')}.jsonl`);
  expect(hours).toContain(readdirSync(join(place.measure, 'fine'))[0]);
  const zones = ['UTC', 'Asia/Kathmandu', 'Pacific/Chatham', 'America/Sao_Paulo', 'Pacific/Kiritimati', 'Mars/Nowhere'];
  const seen = new Set<string>();
  for (const TZ of zones) {
    const { status, stdout, stderr } = await zone(TZ, '--json', '--agent', 'a0');
    expect([TZ, status, stderr]).toEqual([TZ, 0, '']);
    const { units, hours } = JSON.parse(stdout);
    expect(hours).toHaveLength(24);
    seen.add(JSON.stringify(units));
    expect((await zone(TZ, '--agent', 'a0')).status).toBe(0);
  }
  expect(seen.size).toBe(1);
});

test("a process's own day is kept where it is asked for, and outlives it", async () => {
  place.writeSettings('every = "1s"\nprocesses = true\n');
  const done = join(place.folder, 'done');
  const child = place.spawn('sh', '-c', `while [ ! -e ${done} ]; do :; done; exec sleep 1000`);
  addAgents([child.pid]);
  await place.lnk('start');
  const page = async () => JSON.parse((await place.lnk('--json', '--agent', 'a0', '--pid', String(child.pid))).stdout);
  const shown = await until('its day', async () => {
    const found = await page();
    return found.units[0].measures[CPU].day > 0.5 ? found : undefined;
  });
  expect(shown.units.map(({ id, kind }: { id: string; kind: string }) => [id, kind])).toEqual([[`agt_0/${child.pid}`, 'process']]);
  expect(shown.hours).toHaveLength(24);
  const sum = shown.hours.reduce((total: number, { measures }: { measures: Record<string, number> }) => total + (measures[CPU] ?? 0), 0);
  expect(sum).toBeCloseTo(shown.units[0].measures[CPU].day, 6);
  child.kill('SIGKILL');
  const ended = await until('its end', async () => {
    const found = await page();
    return found.units[0].measures[CPU].now === null ? found : undefined;
  });
  expect(ended.units[0].measures[CPU].day).toBeGreaterThanOrEqual(shown.units[0].measures[CPU].day);
});

test("where Link doesn't answer, this machine is still the one it was, and Link is soon asked again", async () => {
  addAgents([]);
  await place.lnk('start');
  await place.lnk('stop');
  const asked = join(place.folder, 'asked');
  place.addProgram('lnk', `echo "$*" >> ${asked}; exit 3`);
  await place.lnk('start');
  await until('asked again', () => readFileSync(asked, 'utf8').match(/agent list/g)?.length === 2);
  const ids = place.lines().flatMap(({ units }) => units.filter(({ kind }) => kind === 'machine').map(({ id }) => id));
  expect(new Set(ids)).toEqual(new Set(['mch_1']));
  expect(readFileSync(join(place.measure, 'machine.json'), 'utf8')).toBe('{"id":"mch_1"}\n');
});

test('an agent that ends while Link is asked is asked for again', async () => {
  const asked = join(place.folder, 'asked');
  const agent = place.spawn('sleep', '1000');
  // Link names it and it ends before the answer is read.
  place.addProgram('lnk', `echo "$*" >> ${asked}; [ "$1" = agent ] || exit 3; kill -9 ${agent.pid}; sleep 0.2; echo '{"agents":[{"name":"main","processes":[${agent.pid}]}]}'`);
  await place.lnk('start');
  const times = () => readFileSync(asked, 'utf8').match(/agent list/g)?.length;
  await until('asked again', () => times() === 2);
  await more(3);
  expect(times()).toBe(2);
});

describe('a folder', () => {
  const modeOf = (path: string) => statSync(path).mode & 0o777;

  test.each(['000', '077', '777'])('and all in it is only its user\'s from its creation: umask %s', async (mask) => {
    rmSync(place.measure, { recursive: true });
    const { status } = spawnSync('sh', ['-c', `umask ${mask}; exec ${process.execPath} ${program} measure start`], { env: place.env({ LNK_MEASURE_NATIVE: '' }) });
    expect(status).toBe(0);
    for (const name of ['', 'fine', 'minutes']) expect([name, modeOf(join(place.measure, name))]).toEqual([name, 0o700]);
    const files = ['now.json', 'watch.log', 'watch.lock', join('fine', readdirSync(join(place.measure, 'fine'))[0] ?? '')];
    for (const name of files) expect([name, modeOf(join(place.measure, name))]).toEqual([name, 0o600]);
  });

  test('that others may read is closed; one that they may write in is refused, with what mends it', async () => {
    chmodSync(place.measure, 0o755);
    expect((await place.lnk('settings', '--every', '2s')).status).toBe(0);
    expect(modeOf(place.measure)).toBe(0o700);
    for (const mode of [0o777, 0o770, 0o1777]) {
      chmodSync(place.measure, mode);
      for (const args of [['start'], ['start', '--foreground'], ['settings', '--every', '3s']]) {
        const { status, stderr } = await place.lnk(...args);
        expect([status, stderr]).toEqual([1, expect.stringContaining(`chmod 700 ${place.measure}`)]);
      }
    }
    chmodSync(place.measure, 0o700);
    expect((await place.lnk('start')).status).toBe(0);
  });

  test('that is a link is refused', async () => {
    const real = join(place.folder, 'real');
    renameSync(place.measure, real);
    symlinkSync(real, place.measure);
    const { status, stderr } = await place.lnk('start');
    expect([status, stderr]).toEqual([1, expect.stringContaining(`rm ${place.measure}`)]);
  });

  testWith("that is another user's is refused, with what mends it", withRoot, async () => {
    chownSync(place.measure, 65534, 65534);
    const { status, stderr } = await place.lnk('start');
    expect([status, stderr]).toEqual([1, expect.stringContaining('sudo chown -R')]);
    chownSync(place.measure, 0, 0);
  });
});
