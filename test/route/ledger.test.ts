import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { TokenLedger } from './library';
import { readTokens } from './place';

const dist = join(__dirname, '..', '..', 'dist');
const usage = { metered: true, input: 100, output: 7, cached: 60, cacheWritten: 5 };

let place: string;
let folder: string;
beforeEach(() => {
  place = mkdtempSync(join(tmpdir(), 'lnk-ledger-'));
  folder = join(place, 'tokens');
});
afterEach(() => rmSync(place, { recursive: true, force: true }));

test('answers are added up by agent, in files for this user alone', async () => {
  const said: string[] = [];
  const ledger = new TokenLedger(folder, (problem) => said.push(problem));
  ledger.add('mch_7f:main', usage);
  ledger.add('mch_7f:main', { ...usage, metered: false });
  ledger.add('a/b', usage);
  ledger.add('a/b', null);
  await ledger.close();
  expect(readTokens(folder, 'mch_7f:main')).toEqual({ run: expect.stringMatching(/^r-/), since: expect.any(Number), requests: 2, unmetered: 1, input: 100, output: 7, cached: 60, cache_written: 5 });
  expect(readTokens(folder, 'a/b')).toMatchObject({ requests: 1 });
  expect(readdirSync(folder).filter((name) => name.endsWith('.json')).sort()).toEqual(['a%2Fb.json', 'mch_7f%3Amain.json']);
  expect([statSync(folder).mode & 0o777, statSync(join(folder, 'a%2Fb.json')).mode & 0o777]).toEqual([0o700, 0o600]);
  ledger.add('a/b', usage);
  expect(said).toEqual([expect.stringContaining('closed')]);
});

test('an agent whose ID may not be kept is refused', async () => {
  const ledger = new TokenLedger(folder);
  for (const id of ['', '__proto__', 'two words', 'x'.repeat(65)]) expect(() => ledger.add(id, usage)).toThrow('no agent');
  await ledger.close();
});

test('what cannot be written is said once, kept, and written when it can be', async () => {
  const said: string[] = [];
  const ledger = new TokenLedger(folder, (problem) => said.push(problem));
  mkdirSync(join(folder, 'a.tmp'), { recursive: true });
  ledger.add('a', usage);
  await expect(ledger.flush()).rejects.toThrow(folder);
  ledger.add('a', usage);
  await expect(ledger.flush()).rejects.toThrow(folder);
  expect(said).toEqual([expect.stringContaining('a.tmp')]);
  rmdirSync(join(folder, 'a.tmp'));
  await ledger.close();
  expect(readTokens(folder, 'a')).toMatchObject({ requests: 2, input: 200 });
});

test('a damaged file is set aside, and that is said', async () => {
  mkdirSync(folder);
  writeFileSync(join(folder, 'a.json'), '{"run":"r-1","since":1,"req');
  const said: string[] = [];
  const ledger = new TokenLedger(folder, (problem) => said.push(problem));
  ledger.add('a', usage);
  await ledger.close();
  expect(said).toEqual([expect.stringContaining('a.json.bad')]);
  expect(readFileSync(join(folder, 'a.json.bad'), 'utf8')).toContain('r-1');
  expect(readTokens(folder, 'a')).toMatchObject({ requests: 1, input: 100 });
});

const start = (script: string) => spawn(process.execPath, ['-e', `const { TokenLedger } = require(${JSON.stringify(dist)}); const usage = ${JSON.stringify(usage)}; ${script}`], { stdio: ['ignore', 'pipe', 'inherit'] });

test('a program that ends without closing its ledger is not kept alive, and loses nothing', async () => {
  const child = start(`const l = new TokenLedger(${JSON.stringify(folder)}); l.add('a', usage);`);
  const [code] = (await once(child, 'exit')) as [number];
  expect(code).toBe(0);
  expect(readTokens(folder, 'a')).toMatchObject({ requests: 1 });
});

test('two processes add at once, and kill -9 in the middle loses and doubles nothing that was flushed', async () => {
  // Each says how many answers it had added before a flush that ended; at most one flush's worth may be there besides.
  const script = `(async () => { const l = new TokenLedger(${JSON.stringify(folder)}); for (let n = 1; ; n++) { l.add('a', usage); await l.flush(); console.log(n); } })()`;
  let surely = 0;
  let killed = 0;
  for (let round = 0; round < 4; round++) {
    const children = [start(script), start(script)];
    const counts = await Promise.all(
      children.map(async (child, at) => {
        let flushed = 0;
        createInterface(child.stdout).on('line', (line) => {
          flushed = Number(line);
          if (flushed >= 10 + 7 * at + round) child.kill('SIGKILL');
        });
        await once(child, 'close');
        return flushed;
      }),
    );
    surely += counts.reduce((sum, each) => sum + each, 0);
    killed += children.length;
    const { requests, input, output } = readTokens(folder, 'a');
    expect(requests).toBeGreaterThanOrEqual(surely);
    // One a process: being flushed, or flushed and not yet said.
    expect(requests).toBeLessThanOrEqual(surely + killed);
    expect([input, output]).toEqual([requests * 100, requests * 7]);
    surely = requests;
    killed = 0;
  }
});
