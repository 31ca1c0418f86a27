// What others say of an agent, in the day: its route of its tokens, its harness of its turns, its starter of its starts.

import { appendFileSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { TokenLedger } from '../route/library';
import { runs, until, WatchPlace } from './place';

let place: WatchPlace;
let home: string;
let settings: string;
let processes: number[];
beforeEach(() => {
  place = new WatchPlace();
  home = join(place.folder, 'agent-home');
  settings = join(place.folder, 'agent-settings');
  for (const folder of [join(home, '.lnk'), settings]) mkdirSync(folder, { recursive: true });
  processes = [place.spawn('sleep', '1000').pid];
});
afterEach(() => place.end());

type Days = Record<string, number | null>;

/** An agent of Link's, and what its proxy says it carried. */
const addAgent = (running = true, traffic: object[] = []) =>
  place.addLink(
    { machine: { id: 'mch_1', name: 'studio' }, agents: [{ id: 'agt_1', name: 'main', running, processes: running ? processes : [], home, settings }] },
    { sandboxes: traffic },
  );

const proxy = (tokens: number, model = true) => ({
  ...{ agent: 'agt_1', proxy: 'p-1', since: 1, in: 1000 + tokens, out: 10, model },
  tokens: { requests: tokens, unmetered: 0, input: tokens, output: 0, cached: 0, cache_written: 0 },
});

/** A unit's day, by measure without `link.`; what is zero isn't there. */
async function day(id: string): Promise<Days> {
  const { units } = JSON.parse((await place.lnk('--json')).stdout) as { units: { id: string; measures: Record<string, { day: number | null }> }[] };
  const measures = units.find((unit) => unit.id === id)?.measures ?? {};
  return Object.fromEntries(Object.entries(measures).map(([name, { day }]) => [name.replace('link.', ''), day]));
}

/** A turn of its harness: by name, whole numbers; times in seconds. */
function turn(counts: Record<string, number>): void {
  const metrics = Object.entries(counts).map(([name, value]) => ({ name: `link.${name}`, sum: { dataPoints: [{ asDouble: value }] } }));
  appendFileSync(join(home, '.lnk', 'measures.jsonl'), `${JSON.stringify({ resourceMetrics: [{ scopeMetrics: [{ metrics }] }] })}\n`);
}

const looksFrom = async (count: number) => {
  const before = place.lines().length;
  await until('looks', () => place.lines().length >= before + count);
};

test('a turn, its tokens and its times count once, over the sudden end of the watcher and of the agent', async () => {
  addAgent();
  await place.lnk('start');
  appendFileSync(join(settings, 'times.jsonl'), `${JSON.stringify({ t: Date.now() / 1000, start_warm: 1.25 })}\n`);
  turn({ 'turns.sum': 1, 'tool_calls.sum': 3, 'cost.sum': 420_000, 'tokens.input.sum': 900, 'time.turn.own': 4 });
  turn({ 'turns.sum': 1, 'errors.sum': 1, 'cost.sum': 80_000, 'tokens.output.sum': 50, 'time.turn.own': 8 });
  const all = { 'turns.sum': 2, 'tool_calls.sum': 3, 'errors.sum': 1, 'cost.sum': 500_000, 'tokens.input.sum': 900, 'tokens.output.sum': 50 };
  await until('the turns', async () => (await day('agt_1'))['turns.sum'] === 2);
  expect(await day('agt_1')).toMatchObject({ ...all, 'time.turn.own': 6, 'time.start_warm.own': 1.25 });
  expect(await day('mch_1')).toMatchObject(all);
  expect((await place.lnk()).stdout).toMatch(/main .* 950 +2 +\$0\.50/);

  const { pid } = await place.status();
  process.kill(pid, 'SIGKILL');
  await until('its end', () => !runs(pid));
  turn({ 'turns.sum': 1, 'cost.sum': 1 });
  addAgent(false);
  await place.lnk('start');
  await until('the turn meanwhile', async () => (await day('agt_1'))['turns.sum'] === 3);
  await looksFrom(3);
  expect(await day('agt_1')).toMatchObject({ ...all, 'turns.sum': 3, 'cost.sum': 500_001, 'time.start_warm.own': 1.25 });
  // It doesn't run: its day is there, and no process, memory or CPU now.
  expect((await place.lnk()).stdout).toContain('Not running any more, with the day it was: main.');
});

test("what the harness has said is emptied once it is kept, and a line appended meanwhile isn't lost", async () => {
  addAgent();
  await place.lnk('start');
  const file = join(home, '.lnk', 'measures.jsonl');
  for (let count = 0; count < 300; count++) turn({ 'turns.sum': 1 });
  await until('all of them', async () => (await day('agt_1'))['turns.sum'] === 300);
  await until('it is emptied', () => (statSync(file, { throwIfNoEntry: false })?.size ?? 0) === 0);
  turn({ 'turns.sum': 1 });
  await until('one more', async () => (await day('agt_1'))['turns.sum'] === 301);
});

test("a route's tokens are the agent's, and its harness's count of the same is never added", async () => {
  addAgent();
  const ledger = new TokenLedger(join(place.measure, 'tokens'));
  await place.lnk('start');
  ledger.add('agt_1', { metered: true, input: 1961, output: 1900, cached: 50, cacheWritten: 73 });
  ledger.add('agt_1', { metered: false, input: 0, output: 0, cached: 0, cacheWritten: 0 });
  await ledger.flush();
  const counted = { 'requests.model.sum': 2, 'requests.unmetered.sum': 1, 'tokens.input.sum': 1961, 'tokens.output.sum': 1900, 'tokens.cached.sum': 50, 'tokens.cache_written.sum': 73 };
  await until('the tokens', async () => (await day('agt_1'))['requests.model.sum'] === 2);
  turn({ 'turns.sum': 1, 'tokens.input.sum': 1961, 'tokens.output.sum': 1900, 'cost.sum': 7 });
  await until('the turn', async () => (await day('agt_1'))['turns.sum'] === 1);
  expect(await day('agt_1')).toMatchObject({ ...counted, 'cost.sum': 7 });
  expect(await day('mch_1')).toMatchObject(counted);

  const { pid } = await place.status();
  process.kill(pid, 'SIGKILL');
  await until('its end', () => !runs(pid));
  ledger.add('agt_1', { metered: true, input: 39, output: 0, cached: 0, cacheWritten: 0 });
  await ledger.close();
  await place.lnk('start');
  await until('those meanwhile', async () => (await day('agt_1'))['requests.model.sum'] === 3);
  await looksFrom(2);
  expect(await day('agt_1')).toMatchObject({ ...counted, 'requests.model.sum': 3, 'tokens.input.sum': 2000, 'turns.sum': 1 });
});

test('a proxy counts bytes and tokens on over a restart of the watcher; a turn said after its agent stopped adds no tokens', async () => {
  addAgent(true, [proxy(100)]);
  await place.lnk('start');
  await looksFrom(1);
  addAgent(true, [proxy(130)]);
  await until('its tokens', async () => (await day('agt_1'))['tokens.input.sum'] === 30);
  const { pid } = await place.status();
  process.kill(pid, 'SIGKILL');
  await until('its end', () => !runs(pid));
  addAgent(true, [proxy(150)]);
  await place.lnk('start');
  await until('those meanwhile', async () => (await day('agt_1'))['tokens.input.sum'] === 50);
  // The agent began within the day, and so did all that its proxy carried.
  expect((await day('agt_1'))['network.in.sum']).toBe(1150);
  addAgent(false);
  turn({ 'turns.sum': 1, 'tokens.input.sum': 999 });
  await until('the turn', async () => (await day('agt_1'))['turns.sum'] === 1);
  expect((await day('agt_1'))['tokens.input.sum']).toBe(50);
});

test('tokens of an agent that nobody tells of are an agent, and what is damaged is told once', async () => {
  await place.lnk('start');
  const { id } = JSON.parse(readFileSync(join(place.measure, 'machine.json'), 'utf8')) as { id: string };
  const ledger = new TokenLedger(join(place.measure, 'tokens'));
  ledger.add(`${id}:scripts`, { metered: true, input: 5, output: 6, cached: 0, cacheWritten: 0 });
  await ledger.close();
  await until('the tokens', async () => (await day(`${id}:scripts`))['tokens.output.sum'] === 6);
  expect((await place.lnk()).stdout).toMatch(/scripts .* 11/);
  writeFileSync(join(place.measure, 'tokens', 'agt_9.json'), '{"run":', { mode: 0o600 });
  await until('the line', () => place.readLog().includes("agt_9: its tokens file isn't one"));
  await looksFrom(2);
  expect(place.readLog().match(/agt_9/g)).toHaveLength(1);
  expect((await day(`${id}:scripts`))['tokens.output.sum']).toBe(6);
});
