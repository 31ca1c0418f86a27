// `lnk measure` on looks that are given.

import { spawn } from 'node:child_process';
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Place, program } from './command';
import { agent, busyMachine, type FakeUnit, machine, processOf, report, tree } from './looks';

let place: Place;
beforeEach(() => {
  place = new Place();
  place.setLooks(busyMachine());
});
afterEach(() => place.remove());

const requestsOf = () => readFileSync(place.requests, 'utf8').trim().split('\n').map((line) => JSON.parse(line));
const onlyLook = (units: FakeUnit[], ...agents: object[]) => [{ look: { at: 1, units }, report: report(agents) }];

test('the tree has the machine, its agents by memory, and their processes, in aligned columns', async () => {
  const { status, stdout, stderr } = await place.run(['measure']);
  expect([status, stderr]).toEqual([0, '']);
  const lines = stdout.split('\n');
  expect(lines[0]).toMatch(/^ +memory +cpu +cpu now +in +out +tokens +turns +spend +procs +ports$/);
  expect(lines[1]).toMatch(/^studio +5.2 GiB +2h 03m +20% +812 MiB +64 MiB +312 +14$/);
  expect(lines[2]).toMatch(/^├─ main +734 MiB +3m 12s +20% +12 MiB +879 KiB +14 +2$/);
  expect(lines[3]).toMatch(/^│ {2}├─ 4567 +100 MiB/);
  expect(lines[4]).toMatch(/^│ {2}├─ 4568 node +95 MiB/);
  expect(lines[13]).toMatch(/^│ {2}└─ … 4 more +170 MiB$/);
  expect(lines[14]).toMatch(/^└─ claude/);
  const end = (line = '') => line.indexOf('iB') + 2;
  expect(new Set(lines.slice(1, 16).map(end)).size).toBe(1);
});

test('under the tree stands what a person must know', async () => {
  const { stdout } = await place.run(['measure']);
  expect(stdout).toContain('! 3 processes of main have lost their parent and hold 240 MiB: 4570, 4571, 4572.');
  expect(stdout).toContain("Tokens of main, claude aren't metered");
  expect(stdout).toContain("Can't be read: disk read, disk written (/proc/<pid>/io, 2 times): not allowed for this user.");
  expect(stdout).toContain('Tokens, turns and spend are of the last day');
});

test('no agent: it says so, and what was looked for', async () => {
  place.setLooks(onlyLook([machine()]));
  const { status, stdout } = await place.run(['measure']);
  expect(status).toBe(0);
  expect(stdout).toContain('No agent runs here.');
  expect(stdout).toContain('claude');
  expect(stdout).not.toContain("aren't metered");
});

test.each([40, 60, 80, 120])('%d columns: no line is longer, and memory is there', async (columns) => {
  const long = 'x'.repeat(64);
  const units = [machine(), agent(`a-${long.slice(2)}`, long), processOf(`a-${long.slice(2)}`, 4_194_304, 'lnk-measure', 200)];
  for (const looks of [busyMachine(), onlyLook(units, tree(`a-${long.slice(2)}`, { orphans: [4_194_304] }))]) {
    place.setLooks(looks);
    for (const args of [[], ['--agent', looks[0]?.look.units[1]?.name ?? 'main'], ['check'], ['--help']]) {
      const { stdout } = await place.run(['measure', ...args], { COLUMNS: String(columns) });
      const lines = stdout.split('\n');
      expect(lines.filter((line) => line.length > columns)).toEqual([]);
      if (args.length === 0) expect(lines[0]).toContain('memory');
    }
  }
});

test('two agents of one name are told apart by their IDs', async () => {
  place.setLooks(onlyLook([machine(), agent('agt_01', 'main'), agent('agt_02', 'main')]));
  expect((await place.run(['measure'])).stdout).toContain('main (agt_02)');
  const { status, stderr } = await place.run(['measure', '--agent', 'main']);
  expect(status).toBe(1);
  expect(stderr).toContain('agt_01, agt_02');
  expect((await place.run(['measure', '--agent', 'agt_02'])).stdout).toMatch(/^main\nagt_02\n/);
});

test('--agent shows every measure there is, and the processes; --pid one of them', async () => {
  const page = (await place.run(['measure', '--agent', 'main'])).stdout;
  expect(page).toMatch(/^main\nagt_01 · owner usr_01 · teams team_01\n/);
  expect(page).toMatch(/network out +879 KiB/);
  expect(page).toMatch(/^4580 node +35 MiB/m);
  const one = (await place.run(['measure', '--agent', 'agt_01', '--pid', '4568'])).stdout;
  expect(one).toMatch(/^node\nagt_01\/4568\n/);
  expect(one).toMatch(/memory used +95 MiB/);
});

test('an agent or a process that is not there: exit code 1, and what is', async () => {
  const missing = await place.run(['measure', '--agent', 'mian']);
  expect([missing.status, missing.stdout]).toEqual([1, '']);
  expect(missing.stderr).toContain('Did you mean main?');
  const process = await place.run(['measure', '--agent', 'claude', '--pid', '1']);
  expect([process.status, process.stdout]).toEqual([1, '']);
  expect(process.stderr).toContain('901');
});

test('--json is {at, units} in base units, each measure with now and day', async () => {
  const { status, stdout, stderr } = await place.run(['measure', '--json'], { FORCE_COLOR: '1' });
  expect([status, stderr]).toEqual([0, '']);
  const { at, units } = JSON.parse(stdout);
  expect(at).toBe(1_780_000_000.25);
  expect(units).toHaveLength(18);
  expect(Object.keys(units[1])).toEqual(['id', 'kind', 'parent', 'name', 'owner', 'teams', 'measures']);
  expect(units[1]).toMatchObject({ id: 'agt_01', kind: 'agent', parent: 'mch_7f', owner: 'usr_01', teams: ['team_01'] });
  expect(units[1].measures['link.memory.used.sum']).toEqual({ now: 734 * 1024 * 1024, day: null });
  const one = JSON.parse((await place.run(['measure', '--json', '--agent', 'claude'])).stdout);
  expect(one.units.map((unit: { id: string }) => unit.id)).toEqual(['mch_7f:claude', 'mch_7f:claude/901']);
});

test('names that break the rule are neither shown nor printed as JSON', async () => {
  const bad = { ...agent('agt_01', 'two words\x1b[31m'), owner: 'who?', teams: ['a b', 'ok'] };
  const worse = agent('__proto__', 'shadow');
  place.setLooks(onlyLook([machine(), bad, worse, processOf('agt_01', 7, 'rm -rf', 1)]));
  for (const args of [[], ['--json'], ['--agent', 'agt_01']]) {
    const { status, stdout } = await place.run(['measure', ...args]);
    expect(status).toBe(0);
    expect(stdout).not.toMatch(/two words|who\?|a b|shadow|rm -rf|\x1b/);
  }
});

test('colour: not into a pipe; FORCE_COLOR makes it, NO_COLOR and FORCE_COLOR=0 do not', async () => {
  const colours = async (env: NodeJS.ProcessEnv) => (await place.run(['measure'], env)).stdout.includes('\x1b[');
  expect(await colours({})).toBe(false);
  expect(await colours({ FORCE_COLOR: '1' })).toBe(true);
  expect(await colours({ FORCE_COLOR: '0' })).toBe(false);
  expect(await colours({ NO_COLOR: '1' })).toBe(false);
  expect(await colours({ NO_COLOR: '1', FORCE_COLOR: '1' })).toBe(true);
});

/** Runs the command on a terminal of so many columns, made by `script`. */
function onTerminal(columns: number, more: NodeJS.ProcessEnv): Promise<string> {
  const line = `stty cols ${columns}; ${process.execPath} ${program} measure`;
  const child = spawn('script', ['-qec', line, '/dev/null'], { env: place.env({ TERM: 'xterm', ...more }), stdio: ['pipe', 'pipe', 'inherit'] });
  let text = '';
  child.stdout.on('data', (chunk) => (text += chunk));
  return new Promise((resolve, reject) => child.once('error', reject).once('close', () => resolve(text)));
}

(process.platform === 'linux' ? test : test.skip)('on a terminal it is in colour and as wide as that', async () => {
  const text = await onTerminal(60, {});
  expect(text).toContain('\x1b[1m');
  const lines = text.replaceAll(/\x1b\[\d+m/g, '').split('\r\n');
  expect(lines.filter((line) => line.length > 60)).toEqual([]);
  expect(text).toContain('studio');
  expect(await onTerminal(60, { NO_COLOR: '1' })).not.toContain('\x1b[1m');
  expect(await onTerminal(60, { TERM: 'dumb' })).not.toContain('\x1b[1m');
});

test('a reader that goes away early is no error', async () => {
  const units = [machine(), ...Array.from({ length: 3000 }, (_, at) => agent(`agt_${at}`, `agent-${at}`))];
  place.setLooks(onlyLook(units));
  const child = spawn('sh', ['-c', `${process.execPath} ${program} measure | head -1`], { env: place.env() });
  const texts = { out: '', err: '' };
  child.stdout.on('data', (chunk) => (texts.out += chunk));
  child.stderr.on('data', (chunk) => (texts.err += chunk));
  await new Promise((resolve) => child.once('close', resolve));
  expect(texts.out).toMatch(/memory/);
  expect(texts.err).toBe('');
});

test('the look is asked for this machine and for what is found, with an ID made once and kept', async () => {
  await place.run(['measure']);
  await place.run(['measure']);
  const requests = requestsOf();
  expect(requests).toHaveLength(4);
  expect(requests[0]).toMatchObject({ agents: [], found: true });
  expect(requests[0].machine.id).toMatch(/^mch_[0-9a-f]{16}$/);
  expect(new Set(requests.map(({ machine }) => machine.id)).size).toBe(1);
  const folder = join(place.home, '.lnk', 'measure');
  expect(statSync(folder).mode & 0o777).toBe(0o700);
  expect(statSync(join(folder, 'machine.json')).mode & 0o777).toBe(0o600);
});

test('the folder is LNK_HOME, else ~/.lnk, else ~/.config/lnk where only that is there', async () => {
  mkdirSync(join(place.home, '.config', 'lnk'), { recursive: true });
  await place.run(['measure']);
  expect(statSync(join(place.home, '.config/lnk/measure/machine.json')).isFile()).toBe(true);
  const named = join(place.folder, 'named');
  await place.run(['measure'], { LNK_HOME: named });
  expect(statSync(join(named, 'measure', 'machine.json')).isFile()).toBe(true);
});

test('a folder that cannot be made: an ID for this run, and it is said', async () => {
  const { status, stdout } = await place.run(['measure'], { LNK_HOME: '/proc/nothing/here' });
  expect(status).toBe(0);
  expect(stdout.replaceAll(/\s+/g, ' ')).toContain('this machine has an ID for this run only');
});

test('a machine file that holds no ID is not written over', async () => {
  await place.run(['measure']);
  const file = join(place.home, '.lnk', 'measure', 'machine.json');
  const secret = '{"id": "a secret, with spaces"}';
  writeFileSync(file, secret);
  const { stdout } = await place.run(['measure']);
  expect(stdout.replaceAll(/\s+/g, ' ')).toContain('gives no ID for this machine (holds no ID)');
  expect(stdout).not.toContain('secret');
  expect(readFileSync(file, 'utf8')).toBe(secret);
});

describe('check', () => {
  const good = [{ source: '/proc/stat', micros: 100, reads: 1, absent: [] }];

  test('exit code 0: all is well', async () => {
    place.setLooks([{ look: { at: 1, units: [machine()] }, report: report([], good) }]);
    const { status, stdout } = await place.run(['measure', 'check']);
    expect(stdout).toContain('✓ /proc/stat: 1 read in 0.1 ms');
    expect(stdout).toContain('All that is measured here can be.');
    expect(status).toBe(0);
  });

  test('exit code 1: something is missing, and why', async () => {
    const { status, stdout } = await place.run(['measure', 'check']);
    expect(status).toBe(1);
    expect(stdout).toContain('✗ /proc/<pid>/io');
    expect(stdout).toContain('disk read, disk written: not allowed for this user (2 times). Only root may read it.');
  });

  test('what ended meanwhile is not missing', async () => {
    const absent = [{ unit: 'a/1', measures: ['link.memory.used.sum'], why: 'gone', detail: '', count: 3 }];
    place.setLooks([{ look: { at: 1, units: [machine()] }, report: report([], [{ ...good[0], absent }]) }]);
    expect((await place.run(['measure', 'check'])).status).toBe(0);
  });

  test('exit code 2: nothing can be measured', async () => {
    place.setLooks([{}]);
    const broken = await place.run(['measure', 'check']);
    expect([broken.status, broken.stdout]).toEqual([2, '']);
    expect(broken.stderr).toContain('this system has no /proc');
    const none = await place.run(['measure', 'check'], { LNK_MEASURE_NATIVE: '/nonexistent.node' });
    expect(none.status).toBe(2);
    expect(none.stderr).toContain('/nonexistent.node');
  });
});
