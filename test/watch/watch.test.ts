// The watcher, started and ended as a person would.

import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { program } from '../cli/command';
import { runs, until, WatchPlace } from './place';

let place: WatchPlace;
beforeEach(() => (place = new WatchPlace()));
afterEach(() => place.end());

test('start returns after the first look and changes nothing the second time; stop ends it; each says so', async () => {
  expect((await place.lnk('status')).status).toBe(1);
  expect(await place.lnk('stop')).toMatchObject({ status: 0, stdout: 'No watcher runs.\n' });
  const first = await place.lnk('start');
  expect([first.status, first.stderr]).toEqual([0, '']);
  expect(place.lines().length).toBeGreaterThan(0);
  const { status, stdout } = await place.lnk('status', '--json');
  expect(status).toBe(0);
  const said = JSON.parse(stdout);
  expect(Object.keys(said)).toEqual(['running', 'pid', 'since', 'every', 'lastLook', 'cost', 'export']);
  expect(said).toMatchObject({ running: true, every: 1, cost: { cpu: expect.any(Number), memory: expect.any(Number) }, export: null });
  expect(await place.lnk('start')).toMatchObject({ status: 0, stdout: `A watcher runs already (process ${said.pid}).\n` });
  const again = await place.lnk('start', '--foreground');
  expect([again.status, again.stderr]).toEqual([1, expect.stringContaining(`runs already (process ${said.pid})`)]);
  expect(await place.lnk('stop')).toMatchObject({ status: 0, stdout: `Stopped the watcher (process ${said.pid}).\n` });
  expect(runs(said.pid)).toBe(false);
  expect((await place.lnk('status')).status).toBe(1);
  expect(place.readLog()).toMatch(/ ended\n$/);
});

test('of two started in the same moment one runs, and the other says which', async () => {
  for (let round = 0; round < 50; round++) {
    const both = await Promise.all([place.lnk('start'), place.lnk('start')]);
    expect(both.map(({ status, stderr }) => [status, stderr])).toEqual([[0, ''], [0, '']]);
    const { pid } = await place.status();
    for (const { stdout } of both) expect(stdout).toContain(`(process ${pid})`);
    expect(both.filter(({ stdout }) => stdout.startsWith('Watching')).length).toBeLessThanOrEqual(1);
    expect((await place.lnk('stop')).stdout).toContain(`(process ${pid})`);
  }
}, 180_000);

test('it outlives the terminal it was started in, in a session and an environment of its own', async () => {
  const terminal = place.spawn('script', '-qec', `SECRET=k ${process.execPath} ${program} measure start`, '/dev/null');
  await new Promise((resolve) => terminal.once('exit', resolve));
  const { pid } = await place.status();
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  expect([fields[3], fields[4]]).toEqual([String(pid), '0']);
  expect(readFileSync(`/proc/${pid}/environ`, 'utf8')).not.toContain('SECRET');
  const looks = place.lines().length;
  await until('another look', () => place.lines().length > looks);
});

test('a LNK_HOME named from where one is, is the watcher\'s too', async () => {
  const starting = place.spawn('sh', '-c', 'cd "$2" && LNK_HOME=named exec "$0" "$1" measure start', process.execPath, program, place.folder);
  try {
    expect(await new Promise((resolve) => starting.once('exit', resolve))).toBe(0);
    expect(existsSync(join(place.folder, 'named', 'measure', 'now.json'))).toBe(true);
  } finally {
    await place.run(['measure', 'stop'], { LNK_HOME: join(place.folder, 'named'), LNK_MEASURE_NATIVE: '' });
  }
});

test('a folder that cannot be made is said in a line', async () => {
  const { status, stderr } = await place.run(['measure', 'start'], { LNK_HOME: '/proc/nothing', LNK_MEASURE_NATIVE: '' });
  expect([status, stderr]).toEqual([1, "lnk measure: /proc/nothing can't be made: ENOENT.\n"]);
});

test('settings hold from the next look; bad ones change nothing and are told once', async () => {
  await place.lnk('start');
  expect((await place.lnk('settings', '--every', '2s', '--processes')).status).toBe(0);
  await until('the new settings', async () => (await place.status()).every === 2);
  place.writeSettings('every = "1s"\nkeep_fine = "10 secrets"\n');
  await until('the line', () => place.readLog().includes('settings.toml:2: keep_fine must be'));
  const looks = place.lines().length;
  await until('two more looks', () => place.lines().length >= looks + 2);
  expect(place.readLog().match(/keep_fine must be/g)).toHaveLength(1);
  expect(place.readLog()).not.toContain('secrets');
  expect((await place.status()).every).toBe(2);
  place.writeSettings('every = "1s"\n');
  await until('the new settings', async () => (await place.status()).every === 1);
});

test('bad settings: start says where and what is allowed, and starts nothing', async () => {
  place.writeSettings('# mine\nevery = "0s"\n');
  const { status, stderr } = await place.lnk('start');
  expect(status).toBe(1);
  expect(stderr).toContain('settings.toml:2: every must be a time from 1s to 10m, such as "10s".');
  expect((await place.lnk('status')).status).toBe(1);
});

test('what it can not open is said by start, with the end of the log', async () => {
  writeFileSync(join(place.measure, 'fine'), 'not a folder');
  const { status, stderr } = await place.lnk('start');
  expect(status).toBe(1);
  expect(stderr).toContain('The watcher could not start.');
  expect(stderr).toContain(join(place.measure, 'fine'));
});

test("stop signals nobody that only a file names, nor another program that holds the lock", async () => {
  const stranger = place.spawn('sleep', '1000');
  const lock = join(place.measure, 'watch.lock');
  for (const text of ['', 'x'.repeat(5000), `${stranger.pid}`, JSON.stringify({ pid: stranger.pid, since: 1 })]) {
    writeFileSync(lock, text);
    expect(await place.lnk('stop')).toMatchObject({ status: 0, stdout: 'No watcher runs.\n' });
  }
  const addon = join(__dirname, '..', '..', 'dist', 'index.js');
  expect(existsSync(addon)).toBe(true);
  const holder = place.spawn(process.execPath, join(__dirname, 'holder.cjs'), place.measure);
  await until('the lock', () => readFileSync(lock, 'utf8').includes(`"pid":${holder.pid},`));
  for (const pid of [1, stranger.pid]) {
    writeFileSync(lock, JSON.stringify({ pid, since: 1 }));
    const { status, stderr } = await place.lnk('stop');
    expect([status, stderr]).toEqual([1, expect.stringContaining(`process ${holder.pid}, which is no watcher`)]);
  }
  expect((await place.lnk('start')).status).toBe(1);
  expect([runs(stranger.pid), runs(holder.pid)]).toEqual([true, true]);
});

test('a slow command of Link delays no look, and the last good list holds', async () => {
  const [asked, go] = [join(place.folder, 'asked'), join(place.folder, 'go')];
  const main = place.spawn('sleep', '1000');
  const list = JSON.stringify({ machine: { id: 'mch_1' }, agents: [{ id: 'agt_1', name: 'main', running: true, processes: [main.pid] }] });
  place.addProgram('lnk', `[ "$1" = agent ] || exit 3\nif [ -e ${asked} ]; then touch ${asked}.again; while [ ! -e ${go} ]; do sleep 0.05; done; fi\ntouch ${asked}\necho '${list}'`);
  await place.lnk('start');
  mkdirSync(join(place.home, '.lnk', 'agents'));
  await until('Link is asked again', () => existsSync(`${asked}.again`));
  const looks = place.lines().length;
  await until('three looks meanwhile', () => place.lines().length >= looks + 3);
  expect(place.lines().slice(looks).every(({ units }) => units.some(({ id }) => id === 'agt_1'))).toBe(true);
  writeFileSync(go, '');
});

test('the log repeats no name that breaks the rule', async () => {
  place.addLink({ agents: [{ name: 'ignore all of this' }, { name: 'ok', id: 'two words' }, { name: 'ok' }] }, 'nonsense in words');
  mkdirSync(join(place.measure, 'runs'));
  writeFileSync(join(place.measure, 'runs', 'do as I say.json'), '{"name":"a b"}');
  await place.lnk('start');
  const log = await until('the problems', () => (place.readLog().includes('in runs') || place.readLog().includes('runs was skipped') ? place.readLog() : undefined));
  expect(log).toMatch(/agents: .*was skipped/);
  expect(log).not.toMatch(/ignore|words|do as|a b\b/);
  expect(log).toMatch(/^[\x20-\x7e\n]*$/);
});

test('delete asks; with --yes it ends the watcher and leaves nothing', async () => {
  await place.lnk('start');
  const { pid } = await place.status();
  expect((await place.lnk('delete')).status).toBe(2);
  expect(runs(pid)).toBe(true);
  expect((await place.lnk('delete', '--yes')).status).toBe(0);
  expect([runs(pid), existsSync(place.measure)]).toEqual([false, false]);
});

test('all it writes is only its user\'s', async () => {
  await place.lnk('start');
  await until('day.json', () => existsSync(join(place.measure, 'day.json')));
  expect(statSync(place.measure).mode & 0o777).toBe(0o700);
  for (const name of ['watch.log', 'watch.lock', 'now.json', 'day.json', 'settings.toml']) {
    expect([name, statSync(join(place.measure, name)).mode & 0o777]).toEqual([name, 0o600]);
  }
});
