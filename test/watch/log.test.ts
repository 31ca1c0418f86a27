import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Log, logTail } from '../../ts/watch/log';

let folder: string;
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'lnk-log-'))));
afterEach(() => rmSync(folder, { recursive: true }));
const text = () => readFileSync(join(folder, 'watch.log'), 'utf8');

test('a problem is told when it comes and when the last has gone, not each time', () => {
  const log = new Log(folder);
  for (const problems of [[], ['a'], ['a'], ['b', 'a'], ['a'], [], []]) log.tell('disk', problems);
  expect(text().split('\n').map((line) => line.slice(21))).toEqual(['disk: a', 'disk: b', 'disk: well again.', '']);
});

test('past 1 MiB it is turned, one older is kept, and both are only the user\'s', () => {
  const log = new Log(folder);
  const line = 'x'.repeat(400);
  for (let at = 0; at < 6000; at++) log.say(line);
  expect(readdirSync(folder).sort()).toEqual(['watch.log', 'watch.log.1']);
  for (const name of readdirSync(folder)) {
    const { size, mode } = statSync(join(folder, name));
    expect(size).toBeLessThan(1024 * 1024 + 1000);
    expect(mode & 0o777).toBe(0o600);
  }
});

test('a line is one line of plain text, and no link is followed', () => {
  new Log(folder).say(`a\nb\x1b[31m\u202e${'y'.repeat(1000)}`);
  expect(text()).toMatch(/^\S+ a b \[31m y+\n$/);
  expect(text().length).toBeLessThan(600);
  rmSync(join(folder, 'watch.log'));
  writeFileSync(join(folder, 'other'), '');
  symlinkSync(join(folder, 'other'), join(folder, 'watch.log'));
  new Log(folder).say('a');
  expect(text()).toBe('');
});

test('its end is what came after a place in it, at most ten lines', () => {
  const log = new Log(folder);
  log.say('before');
  const from = statSync(join(folder, 'watch.log')).size;
  expect(logTail(folder, from)).toEqual([]);
  for (let at = 0; at < 12; at++) log.say(`line ${at}`);
  expect(logTail(folder, from).map((line) => line.slice(21))).toEqual(Array.from({ length: 10 }, (_, at) => `line ${at + 2}`));
});
