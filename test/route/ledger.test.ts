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

test('totals that begin anew are of another run, so that as many as before count', async () => {
  const ledger = new TokenLedger(folder);
  const first = Date.now() / 1000;
  ledger.add('a', usage);
  await ledger.flush();
  const before = readTokens(folder, 'a');
  rmSync(join(folder, 'a.json'));
  ledger.add('a', usage);
  await ledger.close();
  const { run, since, requests } = readTokens(folder, 'a');
  expect([requests, run === before.run]).toEqual([1, false]);
  expect([before.since >= first, since >= before.since]).toEqual([true, true]);
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

/** Choices that replay from their seed (a linear congruential generator; Knuth's numbers of MMIX, cut to 32 bits). */
const choices = (seed: number) => (below: number): number => ((seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0) >>> 8) % below;

interface Adding {
  /** When each answer was added. */
  times: number[];
  /** The longest that this machine kept it from adding, in ms. */
  stall: number;
}

test('kill -9 at any moment: what ended more than a second ago is neither lost nor doubled', async () => {
  // Answers end a few ms apart, and are written when the ledger itself says so. Before each it says that it will be.
  const script = `const l = new TokenLedger(${JSON.stringify(folder)}); let last = Date.now();
    const adding = setInterval(() => { const now = Date.now(); process.stdout.write(now + ' ' + (now - last - 10) + '\\n'); last = now; l.add('a', usage); }, 10);
    process.on('SIGTERM', () => (clearInterval(adding), l.close()).then(() => process.exit()));`;
  const choose = choices(7);
  let [fewest, most] = [0, 0];
  for (let round = 0; round < 5; round++) {
    const children = [start(script), start(script)];
    const closed = children.map((child) => once(child, 'close'));
    const adding: Adding[] = children.map(() => ({ times: [], stall: 0 }));
    children.forEach((child, at) =>
      createInterface(child.stdout).on('line', (line) => {
        const [time = 0, late = 0] = line.split(' ').map(Number);
        adding[at]?.times.push(time);
        if (adding[at]) adding[at].stall = Math.max(adding[at].stall, late);
      }),
    );
    while (adding.some(({ times }) => times.length < 10)) await new Promise((resolve) => setTimeout(resolve, 5));
    await new Promise((resolve) => setTimeout(resolve, choose(2000)));
    const killedAt = Date.now();
    children[0]?.kill('SIGKILL');
    await closed[0];
    children[1]?.kill('SIGTERM');
    await closed[1];
    const [killed, ended] = adding as [Adding, Adding];
    // A second, and what the machine gave to others instead: the write itself may be kept waiting as the adding was.
    const sure = killedAt - 1000 - 2 * killed.stall;
    fewest += killed.times.filter((time) => time < sure).length + ended.times.length;
    // One may have been added and not yet said.
    most += killed.times.length + 1 + ended.times.length + 1;
    const { requests, input, output } = readTokens(folder, 'a');
    expect([round, requests >= fewest, requests <= most]).toEqual([round, true, true]);
    expect([input, output]).toEqual([requests * 100, requests * 7]);
    [fewest, most] = [requests, requests];
  }
});

test('a full disk: said once, the old totals stay whole, and nothing is lost once there is room', async () => {
  // A disk of its own in a mount namespace of its own, so that it goes when its process does.
  const script = `(async () => {
    const fs = require('node:fs'); const said = []; const out = [];
    const l = new TokenLedger(process.argv[1] + '/tokens', (problem) => said.push(problem));
    const file = () => JSON.parse(fs.readFileSync(process.argv[1] + '/tokens/a.json', 'utf8')).requests;
    l.add('a', usage); await l.flush(); out.push(file());
    const filler = fs.openSync(process.argv[1] + '/filler', 'w');
    try { for (;;) fs.writeSync(filler, Buffer.alloc(4096)); } catch (error) { out.push(error.code); }
    for (let n = 0; n < 3; n++) { l.add('a', usage); out.push(await l.flush().then(() => 'written', () => 'not written'), file()); }
    fs.ftruncateSync(filler); await l.flush(); out.push(file(), said);
    await l.close();
    console.log(JSON.stringify(out));
  })()`;
  const run = `const { TokenLedger } = require(${JSON.stringify(dist)}); const usage = ${JSON.stringify(usage)}; ${script}`;
  const mount = 'mount -t tmpfs -o size=65536 none "$1" || exit 77; exec "$2" -e "$3" "$1"';
  const child = spawn('unshare', ['--map-root-user', '--mount', 'sh', '-c', mount, 'sh', place, process.execPath, run], { stdio: ['ignore', 'pipe', 'pipe'] });
  let [text, errors] = ['', ''];
  child.stdout.on('data', (piece) => (text += piece));
  child.stderr.on('data', (piece) => (errors += piece));
  const status = await new Promise((resolve) => child.once('close', resolve).once('error', () => resolve('no unshare')));
  if (text === '' && (status !== 0 || process.platform !== 'linux')) {
    process.stderr.write(`NOT TESTED: the ledger on a full disk: a small one can't be mounted here (${status}, ${errors.trim()})\n`);
    return;
  }
  const not = 'not written';
  expect(JSON.parse(text)).toEqual([1, 'ENOSPC', not, 1, not, 1, not, 1, 4, [expect.stringContaining('kept in memory')]]);
});
