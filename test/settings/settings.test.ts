// Your settings file: what it may say, and how a flag changes it.

import { chmodSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { editSettings } from '../../ts/settings/edit';
import { linkSettings, parseSettings, settingsOf } from '../../ts/settings/settings';
import { Place } from '../cli/command';

test("Link's hold where yours say nothing", () => {
  expect(linkSettings()).toEqual({ every: '10s', keep_fine: '1d', keep_minutes: '30d', processes: false });
  const { everyMs, keepFineMs, keepMinutesMs, processes } = settingsOf(parseSettings('keep_fine = "6h"\nprocesses = true', 'f'));
  expect([everyMs, keepFineMs, keepMinutesMs, processes]).toEqual([10_000, 21_600_000, 2_592_000_000, true]);
});

test.each([
  ['every = 10', 'f:1: every must be a time from 1s to 10m'],
  ['\n\nevery = "11m"', 'f:3: every must be'],
  ['every = "0s"', 'f:1: every must be'],
  ['keep_fine = "59m"', 'f:1: keep_fine must be a time from 1h to 366d'],
  ['keep_minutes = "-7d"', 'f:1: keep_minutes must be'],
  ['processes = "yes"', 'f:1: processes must be true or false'],
  ['# x\nsecret_word = 1', 'f:2: there is no such setting. There are: every, keep_fine, keep_minutes, processes.'],
  ['every = "10s"\nevery = "20s"', "f:2: this isn't TOML"],
  ['a = [1,\n', "this isn't TOML"],
])('%j is refused with its line and what is allowed', (text, message) => {
  expect(() => parseSettings(text, 'f')).toThrow(message);
  expect(() => parseSettings(text, 'f')).not.toThrow(/secret/);
});

test("another command's table is let be", () => {
  expect(parseSettings('[export]\nurl = "https://example.com"\n', 'f')).toEqual({});
});

const MINE = `# kept short: a small disk
every   = "10s"   # not "1s"

processes = false
[export]
url = "https://example.com" # every = "9s"
every = "x"
`;

test('a change is one line; comments, blanks, order and other tables stay', () => {
  expect(editSettings(MINE, new Map([['every', '30s']]), 'f')).toBe(MINE.replace('"10s"   #', '"30s"   #'));
  expect(editSettings(MINE, new Map([['processes', undefined]]), 'f')).toBe(MINE.replace('processes = false\n', ''));
  expect(editSettings(MINE, new Map([['keep_fine', '6h']]), 'f')).toBe(MINE.replace('[export]', 'keep_fine = "6h"\n\n[export]'));
  expect(editSettings('', new Map([['processes', true]]), 'f')).toBe('processes = true\n');
  expect(editSettings('every = "1s"', new Map([['every', undefined]]), 'f')).toBe('');
});

test('a file in which no line is the setting\'s own is not touched', () => {
  const text = 'every = """\n10s"""\n';
  expect(() => editSettings(text, new Map([['every', '30s']]), 'f')).toThrow(/f/);
});

describe('the command', () => {
  let place: Place;
  let path: string;
  beforeEach(() => {
    place = new Place();
    mkdirSync(join(place.home, '.lnk', 'measure'), { recursive: true });
    path = join(place.home, '.lnk', 'measure', 'settings.toml');
  });
  afterEach(() => place.remove());
  const settings = (...args: string[]) => place.run(['measure', 'settings', ...args]);
  const row = (stdout: string, name: string) => stdout.split('\n').find((line) => line.startsWith(name))?.split(/\s+/).slice(1);

  test('shows what holds, whose it is, and both where both are', async () => {
    writeFileSync(path, 'every = "30s"\n');
    const { stdout } = await settings();
    expect(row(stdout, 'every')).toEqual(['30s', 'yours', '10s']);
    expect(row(stdout, 'keep-fine')).toEqual(['1d', "Link's"]);
    expect(stdout).toContain(path);
  });

  test.each([
    [['--processes'], 'processes = true\n'],
    [['--processes', 'on'], 'processes = true\n'],
    [['--processes', 'off'], 'processes = false\n'],
    [['--processes=off'], 'processes = false\n'],
    [['--processes=on', '--every', '1m'], 'every = "1m"\nprocesses = true\n'],
    [['--keep-fine', '6h', '--keep-minutes=7d'], 'keep_fine = "6h"\nkeep_minutes = "7d"\n'],
  ])('%j writes %j', async (args, text) => {
    expect(await settings(...args)).toMatchObject({ status: 0, stderr: '' });
    expect(readFileSync(path, 'utf8')).toBe(text);
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  test.each([
    [['--every', '0s']],
    [['--processes', 'maybe']],
    [['--processes=maybe']],
    [['on']],
    [['--reset', 'nothing']],
    [['--reset', 'every', '--every', '1m']],
  ])('%j is wrong usage and changes nothing', async (args) => {
    writeFileSync(path, 'every = "30s"\n');
    expect((await settings(...args)).status).toBe(2);
    expect(readFileSync(path, 'utf8')).toBe('every = "30s"\n');
  });

  test("--reset goes back to Link's; a bad file is told and stays", async () => {
    writeFileSync(path, '# why\nkeep_fine = "6h"\nevery = "30s"\n');
    chmodSync(path, 0o644);
    expect((await settings('--reset', 'keep-fine')).status).toBe(0);
    expect(readFileSync(path, 'utf8')).toBe('# why\nevery = "30s"\n');
    writeFileSync(path, 'every = "30 s"\n');
    const { status, stderr } = await settings('--keep-fine', '6h');
    expect([status, stderr]).toEqual([1, expect.stringContaining(`${path}:1: every must be`)]);
    expect(readFileSync(path, 'utf8')).toBe('every = "30 s"\n');
  });
});
