import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, chmodSync, existsSync, linkSync, mkdirSync, readFileSync, rmSync, statSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { TurnReport } from '../../ts/index';
import { SAID } from '../../ts/report/line';
import { buildReader, Home } from './place';

// The library as it is built: other processes use it too.
const dist = join(__dirname, '..', '..', 'dist');
const { measures, TurnReporter } = require(dist) as typeof import('../../ts/index');

const MIB = 1 << 20;
const turn = {
  turns: 1,
  toolCalls: 4,
  errors: 0,
  fallbacks: { off: 1, window: 2, overloaded: 3 },
  tokens: { input: 90_211, output: 4120, cached: 80_000, cacheWritten: 1200 },
  costMicrodollars: 18_412.5,
  seconds: { toModel: 0.412, firstToken: 1.204, turn: 12.345 },
};

let home: Home;
beforeAll(buildReader, 300_000);
beforeEach(() => (home = new Home()));
afterEach(() => home.remove());

const start = (script: string, ...before: string[]): ChildProcess => {
  const [program = process.execPath, ...rest] = [...before, process.execPath];
  const code = `const { TurnReporter } = require(${JSON.stringify(dist)}); const reporter = new TurnReporter(process.env.LNK_MEASURES); ${script}`;
  return spawn(program, [...rest, '-e', code], { stdio: ['ignore', 'ignore', 'inherit'], env: { ...process.env, LNK_MEASURES: home.file } });
};
const exitCode = async (child: ChildProcess): Promise<number> => ((await once(child, 'exit')) as [number])[0];

test('the measures are those of the table that a harness may say, with their units', () => {
  const mayBeSaid = measures().filter(({ saidBy, kind }) => kind === 'turn' && /harness/i.test(saidBy));
  expect(SAID.map(({ name, unit }) => ({ name, unit }))).toEqual(mayBeSaid.map(({ name, unit }) => ({ name, unit })));
});

test('each value of a turn is read as it was said', () => {
  const reporter = new TurnReporter(home.file);
  expect(reporter.report(turn)).toBe(true);
  expect(reporter.report({ turns: 1, costMicrodollars: 1e-7, seconds: { turn: 86_400 } })).toBe(true);
  const values = [1, 4, 0, 1, 2, 3, 90_211, 4120, 80_000, 1200, 18_412.5, 0.412, 1.204, 12.345];
  expect(home.told()).toEqual({
    turns: [
      SAID.map(({ name }, at) => [name, values[at]]),
      [['link.turns.sum', 1], ['link.cost.sum', 1e-7], ['link.time.turn.own', 86_400]],
    ],
    passedOver: 0,
    notes: [],
  });
});

test('a line is an OTLP request of its own', () => {
  new TurnReporter(home.file).report({ turns: 1, seconds: { turn: 2.5 } });
  expect(home.text()).toMatch(/^[^\n]+\n$/);
  const timeUnixNano = expect.stringMatching(/^1\d{18}$/) as string;
  expect(JSON.parse(home.text())).toEqual({
    resourceMetrics: [
      {
        scopeMetrics: [
          {
            scope: { name: 'lnk-measure' },
            metrics: [
              { name: 'link.turns.sum', unit: '{turn}', sum: { aggregationTemporality: 1, isMonotonic: true, dataPoints: [{ timeUnixNano, asInt: '1' }] } },
              { name: 'link.time.turn.own', unit: 's', gauge: { dataPoints: [{ timeUnixNano, asDouble: 2.5 }] } },
            ],
          },
        ],
      },
    ],
  });
});

test('what is no number within its bounds is left out, and the rest is said', () => {
  const reporter = new TurnReporter(home.file);
  for (const bad of [NaN, Infinity, -1, 1e9 + 1, '7', null, true, [7], { valueOf: () => 7 }, 7n, Symbol('7'), new Number(7), () => 7]) {
    const given = { turns: 1, toolCalls: bad, tokens: { input: bad, output: 7 }, costMicrodollars: bad, seconds: { turn: bad } };
    expect(reporter.report(given as unknown as TurnReport)).toBe(true);
  }
  for (const part of [1.5, -0.5]) expect(reporter.report({ turns: 1, toolCalls: part, tokens: { input: part, output: 7 } })).toBe(true);
  expect(reporter.report({ turns: 1, seconds: { turn: 86_400.5 }, tokens: { output: 7 } })).toBe(true);
  const { turns, notes } = home.told();
  expect(turns).toEqual(Array(16).fill([['link.turns.sum', 1], ['link.tokens.output.sum', 7]]));
  expect(notes).toEqual([]);
  expect(home.text()).not.toContain('-0');
});

test('a turn of which nothing may be said is not written', () => {
  const reporter = new TurnReporter(home.file);
  const throws = { get turns(): number { throw new Error('a getter'); } };
  for (const none of [{}, null, undefined, 7, 'text', [], { other: 1 }, { tokens: 7 }, { tokens: { other: 7 } }, throws]) {
    expect(reporter.report(none as unknown as TurnReport)).toBe(false);
  }
  expect(existsSync(home.folder)).toBe(false);
});

test('a reporter that is told of no file does nothing', () => {
  for (const path of [undefined, '', 'measures.jsonl', 7, null, {}, `${home.path}/a\0b`, join(home.path, 'no', 'such', 'folder')]) {
    expect(new TurnReporter(path as string | undefined).report(turn)).toBe(false);
  }
});

test('the phrase is nowhere in the file, wherever a caller passes it', () => {
  const phrase = 'heron-quartz umbrella\u001b[31m';
  const reporter = new TurnReporter(home.file);
  const spelled = { toString: () => phrase, valueOf: () => phrase, toJSON: () => phrase, [phrase]: phrase };
  const texts = [phrase, [phrase], Object(phrase), spelled, { [phrase]: 1 }, Object.assign(Object(7), spelled), Symbol(phrase), new Error(phrase), Buffer.from(phrase), () => phrase];
  const names = ['turns', 'toolCalls', 'errors', 'fallbacks', 'tokens', 'costMicrodollars', 'seconds', 'off', 'window', 'overloaded', 'input', 'output', 'cached', 'cacheWritten', 'toModel', 'firstToken', 'turn', 'name', 'unit', 'description', 'attributes', 'resource', 'scope', '__proto__', phrase];
  // As a value and as a key, everywhere at once and one at a time, own and inherited.
  const inheriting = (given: object): object => Object.assign(Object.create({ [phrase]: phrase, description: phrase }) as object, given);
  for (const text of texts) {
    const everywhere = (depth: number): Record<string, unknown> =>
      Object.fromEntries([...names.map((name) => [name, depth ? everywhere(depth - 1) : text]), [phrase, text]]);
    for (const given of [everywhere(0), everywhere(1), { ...turn, ...everywhere(0), turns: 1 }, inheriting({ ...turn, [phrase]: text })]) reporter.report(given as TurnReport);
    for (const name of names) reporter.report({ ...turn, [name]: text } as TurnReport);
    for (const group of ['fallbacks', 'tokens', 'seconds'] as const) {
      for (const name of names) reporter.report({ ...turn, [group]: { ...turn[group], [name]: text } } as TurnReport);
    }
  }
  // Also where it would be found by serializing.
  const patched = Object.prototype as { toJSON?: () => string };
  patched.toJSON = () => phrase;
  try {
    reporter.report(turn);
  } finally {
    delete patched.toJSON;
  }
  expect(home.told().turns.length).toBeGreaterThan(500);
  const bytes = readFileSync(home.file);
  const text = bytes.toString('latin1').toLowerCase();
  // No five characters of it in a row, whichever way they are written; a line's own words have none of these.
  for (let at = 0; at + 5 <= phrase.length; at++) {
    const piece = phrase.slice(at, at + 5);
    const escaped = [...piece].map((char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`).join('');
    for (const written of [piece, escaped, Buffer.from(piece).toString('hex'), encodeURIComponent(piece)]) expect(text).not.toContain(written.toLowerCase());
  }
  expect(bytes.every((byte) => byte === 10 || (byte >= 32 && byte < 127))).toBe(true);
});

test('the file and its folder are for this user alone, whatever the umask', async () => {
  for (const umask of [0o000, 0o077, 0o777]) {
    rmSync(home.folder, { recursive: true, force: true });
    expect(await exitCode(start(`process.umask(${umask}); process.exit(reporter.report({ turns: 1 }) && reporter.report({ turns: 1 }) ? 0 : 1);`))).toBe(0);
    expect([statSync(home.folder).mode & 0o777, statSync(home.file).mode & 0o777]).toEqual([0o700, 0o600]);
  }
  chmodSync(home.file, 0o644);
  new TurnReporter(home.file).report(turn);
  expect(statSync(home.file).mode & 0o777).toBe(0o600);
});

test('past 1 MiB the file is moved aside, over an older one, and both are read', () => {
  mkdirSync(home.folder);
  writeFileSync(`${home.file}.1`, 'older');
  writeFileSync(home.file, `{"x":"${'y'.repeat(60_000)}"}\n`.repeat(18));
  const full = readFileSync(home.file, 'utf8');
  expect(full.length).toBeGreaterThan(MIB);
  const reporter = new TurnReporter(home.file);
  expect([reporter.report(turn), reporter.report(turn)]).toEqual([true, true]);
  expect(readFileSync(`${home.file}.1`, 'utf8')).toBe(full);
  expect(home.told()).toMatchObject({ turns: { length: 2 }, passedOver: 0 });
  // One that can't be moved aside doesn't grow on.
  rmSync(`${home.file}.1`);
  mkdirSync(join(`${home.file}.1`, 'in the way'), { recursive: true });
  truncateSync(home.file, MIB);
  expect(reporter.report(turn)).toBe(false);
  expect(statSync(home.file).size).toBe(MIB);
});

test('processes that report at once, and move the file aside meanwhile, lose no line', async () => {
  // Between 1 and 2 MiB together, so that it is moved aside once: nobody reads meanwhile.
  const script = 'for (let n = 0; n < 1000; n++) if (!reporter.report({ turns: 1, toolCalls: n })) process.exit(1);';
  const codes = await Promise.all([1, 2, 3, 4].map(() => exitCode(start(script))));
  expect(codes).toEqual([0, 0, 0, 0]);
  expect(existsSync(`${home.file}.1`)).toBe(true);
  const { turns, passedOver } = home.told();
  const counts = new Map<number, number>();
  for (const [, calls] of turns) counts.set(calls?.[1] ?? -1, (counts.get(calls?.[1] ?? -1) ?? 0) + 1);
  expect([passedOver, turns.length, counts.size]).toEqual([0, 4000, 1000]);
  expect([...counts.values()].every((count) => count === 4)).toBe(true);
});

test('a line that another began and never ended takes no line with it', () => {
  mkdirSync(home.folder);
  writeFileSync(home.file, '{"resourceMetrics":[{"sco');
  const reporter = new TurnReporter(home.file);
  reporter.report({ turns: 1 });
  reporter.report({ turns: 2 });
  expect(home.told()).toMatchObject({ turns: [[['link.turns.sum', 1]], [['link.turns.sum', 2]]], passedOver: 1 });
});

test('where the disk takes no more, nothing is thrown, and the next line is whole', async () => {
  // A limit to a file's size stands for a full disk: a short write, then none. SIGXFSZ, which comes with it, is ignored.
  const script = 'const done = [1, 2, 3, 4].map((turns) => reporter.report({ turns })); process.exit(done[0] && !done[3] ? 0 : 1);';
  expect(await exitCode(start(script, 'sh', '-c', 'trap "" XFSZ; ulimit -f 1; exec "$@"', 'sh'))).toBe(0);
  expect(home.text().endsWith('\n')).toBe(false);
  expect(new TurnReporter(home.file).report({ turns: 5 })).toBe(true);
  const { turns, passedOver } = home.told();
  expect([turns[0], turns.at(-1), passedOver]).toEqual([[['link.turns.sum', 1]], [['link.turns.sum', 5]], 1]);
});

describe('what is in the place of the file', () => {
  const refused = (): void => expect(new TurnReporter(home.file).report(turn)).toBe(false);
  let other: string;
  beforeEach(() => {
    mkdirSync(home.folder);
    other = join(home.path, 'other');
    writeFileSync(other, 'theirs');
  });

  test('a directory is refused', () => {
    mkdirSync(home.file);
    refused();
  });

  test('a link is not followed, nor a hard link written to', () => {
    symlinkSync(other, home.file);
    refused();
    rmSync(home.file);
    linkSync(other, home.file);
    refused();
    expect(readFileSync(other, 'utf8')).toBe('theirs');
    rmSync(home.file);
    symlinkSync(join(home.path, 'missing'), home.file);
    refused();
    expect(existsSync(join(home.path, 'missing'))).toBe(false);
  });

  test('a link in the place of the folder is not followed, nor a file', () => {
    rmSync(home.folder, { recursive: true });
    mkdirSync(join(home.path, 'elsewhere'));
    symlinkSync(join(home.path, 'elsewhere'), home.folder);
    refused();
    expect(existsSync(join(home.path, 'elsewhere', 'measures.jsonl'))).toBe(false);
    rmSync(home.folder);
    writeFileSync(home.folder, '');
    refused();
  });

  test('a FIFO is not waited for, with a reader or without', async () => {
    spawnSync('mkfifo', [home.file]);
    refused();
    const reader = spawn('sh', ['-c', 'exec 3<>"$0"; echo ready; read -r line <&3; echo "$line"', home.file], { stdio: ['ignore', 'pipe', 'inherit'] });
    const said: string[] = [];
    reader.stdout.on('data', (data: Buffer) => said.push(String(data)));
    await once(reader.stdout, 'data');
    refused();
    appendFileSync(home.file, 'nothing came before\n');
    await once(reader, 'close');
    expect(said.join('')).toBe('ready\nnothing came before\n');
  });

  const onLinux = process.platform === 'linux' ? test : test.skip;

  onLinux('a file under a lease is waited for no longer than a moment', async () => {
    writeFileSync(home.file, '');
    // A lease that is kept stalls whoever opens the file the plain way for 45 s; one given back is what the watcher does.
    const lease = (answer: string): ChildProcess =>
      spawn('python3', ['-c', `import fcntl,os,signal,sys\nf=os.open(sys.argv[1],os.O_RDONLY)\nsignal.signal(signal.SIGIO,lambda *_: ${answer})\nfcntl.fcntl(f,fcntl.F_SETLEASE,fcntl.F_RDLCK)\nprint("ready",flush=True)\nwhile True: signal.pause()`, home.file], { stdio: ['ignore', 'pipe', 'inherit'] });
    for (const [answer, isWritten] of [['None', false], ['fcntl.fcntl(f,fcntl.F_SETLEASE,fcntl.F_UNLCK)', true]] as const) {
      const holder = lease(answer);
      await once(holder.stdout!, 'data');
      expect(new TurnReporter(home.file).report(turn)).toBe(isWritten);
      holder.kill('SIGKILL');
      await once(holder, 'exit');
    }
  });

  const isRoot = process.getuid?.() === 0;
  if (isRoot) process.stderr.write('NOT TESTED: a reporter where it may not write: root may everywhere\n');

  (isRoot ? test.skip : test)('a folder that may not be written to is left', () => {
    chmodSync(dirname(home.file), 0o500);
    refused();
  });
});
