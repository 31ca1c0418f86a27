// The providers, merged: the order is the order of claim.

import { execFileSync } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Agents } from '../../ts/agents';
import { readRunTraffic } from '../../ts/agents/runs';
import { place as here, startOf } from '../../ts/run/home';
import { Place } from '../cli/command';

let place: Place;
beforeEach(() => {
  place = new Place();
});
afterEach(() => place.remove());

function addRun(file: string, text: string): void {
  const runs = join(place.home, '.lnk', 'measure', 'runs');
  mkdirSync(runs, { recursive: true });
  writeFileSync(join(runs, file), text);
}
/** A run that runs, as its file says it: `who` is a process's number, and when it started where that isn't the truth. */
const run = (entry: object, pid = process.pid, start = startOf(pid)): string =>
  JSON.stringify({ ...entry, processes: [pid], run: { ...here(), by: { pid: process.pid, start: startOf(process.pid) }, who: [{ pid, start }] } });
const gather = () => new Agents({ LNK_HOME: join(place.home, '.lnk'), LNK_COMMAND: join(place.bin, 'lnk') }).gather();

test("Link's come first, then runs; an ID of Link's is never a run's", async () => {
  place.addLink({ machine: { id: 'm' }, agents: [{ id: 'b', name: 'b', processes: [2] }, { id: 'a', name: 'a', processes: [1] }] });
  addRun('1.json', run({ id: 'r', name: 'run' }));
  addRun('2.json', run({ id: 'a', name: 'claims' }, process.ppid));
  const { request } = await gather();
  expect(request.agents.map(({ id, from, pids }) => [id, from, pids])).toEqual([
    ['b', 'link', [2]],
    ['a', 'link', [1]],
    ['r', 'run', [process.pid]],
  ]);
});

test('a run that is no run is skipped and said, without a word of it', async () => {
  place.addLink({ machine: { id: 'm' }, agents: [] });
  addRun('1.json', 'a secret');
  addRun('2.json', '{"name": "two words"}');
  addRun('3.json', run({ name: 'good' }));
  addRun('4.txt', '{"name": "other"}');
  const { request, problems } = await gather();
  expect(request.agents.map(({ id }) => id)).toEqual(['m:good']);
  expect(problems).toHaveLength(2);
  expect(problems[0]).toMatch(/1\.json was skipped: it is not JSON\.$/);
});

test("a number that is another process's by now, or of which nothing tells whose it was, is no run's", async () => {
  place.addLink({ machine: { id: 'm' }, agents: [] });
  addRun('1.json', run({ name: 'other' }, process.pid, 1));
  addRun('2.json', `{"name": "unsaid", "processes": [${process.pid}]}`);
  const { request, problems } = await gather();
  expect(request.agents.map(({ id, pids }) => [id, pids])).toEqual([['m:other', []]]);
  expect(problems).toEqual([expect.stringMatching(/2\.json was skipped: it doesn't say when its processes started\.$/)]);
});

test('what is no plain file is neither waited for nor read', async () => {
  place.addLink({ machine: { id: 'm' }, agents: [] });
  addRun('good.json', run({ name: 'good' }));
  const runs = join(place.home, '.lnk', 'measure', 'runs');
  execFileSync('mkfifo', [join(runs, 'fifo.json'), join(runs, 'good.traffic')]);
  symlinkSync('/dev/zero', join(runs, 'zero.json'));
  const gathered = await gather();
  expect(gathered.request.agents.map(({ id }) => id)).toEqual(['m:good']);
  expect(gathered.problems.map((problem) => problem.replace(/^.*\/runs\//, ''))).toEqual(['fifo.json was skipped: it is no plain file.', 'zero.json was skipped: it is no plain file.']);
  expect(readRunTraffic(join(place.home, '.lnk', 'measure'))).toEqual([]);
});

test('a machine without an ID of Link has one of its own, for its agents too', async () => {
  place.addLink({ agents: [{ name: 'main' }] });
  const [first, second] = [await gather(), await gather()];
  expect(first.request.machine.id).toMatch(/^mch_[0-9a-f]{16}$/);
  expect(first.request.agents[0]?.id).toBe(`${first.request.machine.id}:main`);
  expect(second.request.machine.id).toBe(first.request.machine.id);
});
