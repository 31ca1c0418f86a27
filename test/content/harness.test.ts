// A harness that writes a phrase everywhere it can: nothing kept, shown, logged or sent holds any of it.

import { appendFileSync, chmodSync, copyFileSync, existsSync, mkdirSync, renameSync, rmdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { join } from 'node:path';
import { TurnReporter } from '../route/library';
import { listen } from '../route/place';
import { until, WatchPlace } from '../watch/place';
import { expectNone, filesIn, PHRASE } from './phrase';

let place: WatchPlace;
let home: string;
let sent: string[];
let collector: Server;
const groups: string[] = [];

beforeEach(async () => {
  place = new WatchPlace();
  place.writeSettings('every = "1s"\nprocesses = true\n');
  home = join(place.folder, 'agent');
  mkdirSync(join(home, '.lnk'), { recursive: true });
  sent = [];
  collector = createServer((request, response) => {
    let body = '';
    request.setEncoding('latin1').on('data', (chunk: string) => (body += chunk));
    request.on('end', () => {
      sent.push(`${request.url} ${JSON.stringify(request.headers)} ${body}`);
      response.setHeader('Content-Type', 'application/json').end('{}');
    });
  });
});
afterEach(async () => {
  await place.end();
  collector.close();
  collector.closeAllConnections();
  for (const group of groups.splice(0)) await until('an empty group', () => (rmdirSync(group), true));
});

/** A process of the agent's that calls itself what it likes, in its name, its arguments, its environment, its folder and its files. */
function spawnTalker(name: string): number {
  const folder = join(home, PHRASE);
  mkdirSync(folder, { recursive: true });
  const script = join(folder, `${PHRASE}.js`);
  writeFileSync(script, `process.title = ${JSON.stringify(name)}; require('fs').openSync(${JSON.stringify(join(folder, `${PHRASE}.open`))}, 'w'); process.stdin.resume(); setInterval(() => {}, 1e6);`);
  const { pid } = place.spawn('sh', '-c', `cd ${folder} && ${PHRASE.replace(/\W/g, '_')}=${PHRASE} exec ${process.execPath} ${script} --${PHRASE} ${PHRASE}`);
  return pid;
}

/** One line of OTLP with the phrase wherever text goes, and good numbers among it. */
function line(text: string): string {
  const attributes = [{ key: text, value: { stringValue: text } }];
  const point = { asInt: '1', attributes, startTimeUnixNano: text, timeUnixNano: text, exemplars: [{ filteredAttributes: attributes, spanId: text, traceId: text }], [text]: text };
  const metric = (name: string) => ({ name, description: text, unit: text, metadata: attributes, sum: { dataPoints: [point], aggregationTemporality: text, [text]: [text] } });
  const scope = { name: text, version: text, attributes };
  const resource = { attributes: [{ key: 'link.unit.id', value: { stringValue: text } }, { key: 'link.unit.name', value: { stringValue: text } }, ...attributes] };
  const metrics = [metric('link.turns.sum'), metric(text), metric(`link.${text}.sum`), metric(`link.turns.sum.${text}`)];
  return JSON.stringify({ resourceMetrics: [{ resource, schemaUrl: text, scopeMetrics: [{ scope, schemaUrl: text, metrics }], [text]: { [text]: text } }], [text]: text });
}

/** Fails if a screen, a file or a request holds the phrase. Stops the watcher on the way. */
async function expectNowhere(...more: string[][]): Promise<void> {
  await until('looks sent', () => sent.length > 3);
  const screens: string[][] = [[], ['--json'], ['--agent', 'main'], ['--agent', 'main', '--json'], ['status'], ['status', '--json'], ['check'], ['settings'], ['export'], ...more];
  for (const args of screens) {
    const { stdout, stderr } = await place.lnk(...args);
    expectNone(`lnk measure ${args.join(' ')}`, stdout + stderr);
    expect(stdout + stderr).not.toMatch(/[\u0000-\u0009\u000b-\u001a\u001c-\u001f\u202a-\u202e\u2066-\u2069]/);
  }
  await place.lnk('stop');
  // Those that a look of its own asks.
  for (const args of [[], ['--json'], ['check']]) {
    const { stdout, stderr } = await place.lnk(...args);
    expectNone(`lnk measure ${args.join(' ')} without a watcher`, stdout + stderr);
  }
  expect(sent.join('\n')).toContain('link.turns.sum');
  expectNone('what was sent', sent.join('\n'));
  const kept = filesIn(join(place.home, '.lnk'));
  expect(kept.map(([path]) => path)).toContain('/measure/watch.log');
  for (const [path, content] of kept) expectNone(`the file ${path}`, `${path}\n${content}`);
  expect(statSync(place.measure).mode & 0o777).toBe(0o700);
}

const turnsOfDay = async (): Promise<number> => {
  const { units } = JSON.parse((await place.lnk('--json')).stdout) as { units: { id: string; measures: Record<string, { day: number }> }[] };
  return units.find(({ id }) => id === 'agt_1')?.measures['link.turns.sum']?.day ?? 0;
};

test('a phrase in a turn, through a tool call and its answer, to a reporter, is in nothing kept, shown, logged or sent', async () => {
  const file = join(home, '.lnk', 'measures.jsonl');
  place.addLink({ machine: { id: 'mch_1', name: 'studio' }, agents: [{ id: 'agt_1', name: 'main', running: true, processes: [place.spawn('sleep', '1000').pid], home }] });
  expect((await place.lnk('export', await listen(collector))).status).toBe(0);
  await place.lnk('start');
  const reporter = new TurnReporter(file);
  const turn = { prompt: PHRASE, tool: { name: PHRASE, arguments: { text: PHRASE }, answer: PHRASE }, answer: PHRASE };
  const counts = { turns: 1, toolCalls: 1, errors: 0, tokens: { input: 120, output: 30 }, seconds: { turn: 1.5 } };
  expect(reporter.report(counts)).toBe(true);
  // A harness that hands the whole turn over, and one that hands words over where numbers go.
  reporter.report({ ...counts, ...turn } as object);
  reporter.report({ ...counts, toolCalls: PHRASE, tokens: { input: turn, [PHRASE]: 1 }, seconds: { turn: [PHRASE] }, [PHRASE]: 1 } as object);
  expectNone('the harness file', filesIn(home).join('\n'));
  await until('the turns', async () => (await turnsOfDay()) === 3);
  await expectNowhere();
}, 60_000);

test('a phrase that a harness writes everywhere it could is in nothing kept, shown, logged or sent', async () => {
  const terminal = `\u001b[31m${PHRASE}\u0007\r\u202e`;
  const processes = [spawnTalker(PHRASE), spawnTalker(terminal), spawnTalker(PHRASE.repeat(400))];
  // A program of a known harness's name, in a folder of the phrase's, is found by that name.
  copyFileSync('/bin/sleep', join(home, PHRASE, 'claude'));
  chmodSync(join(home, PHRASE, 'claude'), 0o755);
  place.spawn(join(home, PHRASE, 'claude'), '1000');
  const group = join('/sys/fs/cgroup/unified', `${PHRASE}.service`);
  if (existsSync('/sys/fs/cgroup/unified/cgroup.procs') && process.getuid?.() === 0) {
    mkdirSync(group, { recursive: true });
    groups.push(group);
    writeFileSync(join(group, 'cgroup.procs'), String(processes[0]));
  }
  for (const kind of ['', '.1', '.read', `.${PHRASE}`]) writeFileSync(join(home, '.lnk', `measures.jsonl${kind}`), '');
  place.addLink({ machine: { id: 'mch_1', name: 'studio' }, agents: [{ id: 'agt_1', name: 'main', running: true, processes, home, folders: [home] }] });
  expect((await place.lnk('export', await listen(collector))).status).toBe(0);
  await place.lnk('start');

  const file = join(home, '.lnk', 'measures.jsonl');
  const escaped = [...PHRASE].map((char) => `\\u00${char.charCodeAt(0).toString(16)}`).join('');
  const lines = [
    line(PHRASE),
    line(terminal),
    line(PHRASE.repeat(400)),
    line('TEXT').replaceAll('TEXT', escaped),
    PHRASE,
    `{"${PHRASE}`,
    `{"resourceMetrics":"${PHRASE}"}`,
    line(PHRASE).slice(0, 400),
    JSON.stringify({ resourceMetrics: PHRASE.repeat(4000) }),
  ];
  appendFileSync(file, `${lines.join('\n')}\n`);
  appendFileSync(`${file}.1`, `${line(PHRASE)}\n${PHRASE}\n`);
  // Three good lines (one is too long), and the one that was moved aside: the numbers do come through.
  await until('the turns', async () => (await turnsOfDay()) === 4);
  // Then names that lead elsewhere, and a file in the place of another.
  renameSync(file, `${file}.${PHRASE}.aside`);
  symlinkSync(join(home, PHRASE, `${PHRASE}.js`), file);
  await until('the note', () => place.readLog().includes('agt_1: not read'));
  expect((await place.lnk()).stdout).toContain('claude');
  await expectNowhere(['--agent', 'main', '--pid', String(processes[0])], ['--agent', 'mch_1:claude']);
}, 60_000);

test('the phrase is found wherever it is, whole, escaped or cut', () => {
  const hex = (char: string) => char.charCodeAt(0).toString(16);
  const spellings = [PHRASE, PHRASE.toUpperCase(), PHRASE.slice(3, 11), [...PHRASE].map((char) => `\\u00${hex(char)}`).join(''), [...PHRASE].map((char) => `%${hex(char)}`).join(''), Buffer.from(PHRASE).toString('base64'), Buffer.from(PHRASE).toString('hex')];
  for (const spelling of spellings) expect(() => expectNone('a text', `before ${spelling} after`)).toThrow('a text holds');
  expect(() => expectNone('a text', PHRASE.slice(0, 7))).not.toThrow();
});
