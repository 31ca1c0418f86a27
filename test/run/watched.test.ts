// While a command runs it is an agent, and stays one as long as anybody of it runs, whatever becomes of who ran it.

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Look } from '../../ts/native';
import { until } from '../watch/place';
import { childrenOf, ended, isGone, processOf, RunPlace, USERS } from './place';

jest.setTimeout(120_000);

describe.each(USERS)('as %s', (user) => {
  let place: RunPlace;
  beforeAll(() => {
    place = new RunPlace(user);
  });
  afterAll(() => place.remove());

  const agents = async (): Promise<Map<string, number[]>> => {
    const look = JSON.parse((await place.lnk('--json')).stdout) as Look;
    const runs = look.units.filter(({ kind, id }) => kind === 'agent' && id.includes(':run:'));
    return new Map(runs.map(({ id, name }) => [name ?? '', look.units.filter(({ parent }) => parent === id).map((unit) => Number(unit.id.slice(id.length + 1))).sort()]));
  };
  const groupsOf = (name: string): string[] => {
    const text = readFileSync(join(place.measure, 'runs', `${name}.json`), 'utf8');
    return (JSON.parse(text) as { run: { groupDirs: string[] } }).run.groupDirs;
  };

  test('a run is an agent while it runs, under a name of its own, and none after', async () => {
    const [one, other] = [place.start(['--name', 'twice', '--', 'sleep', '1000']), place.start(['--name', 'twice', '--', 'sleep', '1000'])];
    await until('both', () => childrenOf(one.pid).length === 1 && childrenOf(other.pid).length === 1 && place.runs().length === 2);
    await until('both to be told of', async () => [...(await agents()).values()].flat().length === 2);
    expect([...(await agents()).entries()].sort()).toEqual(
      expect.arrayContaining([['twice', expect.any(Array)], ['twice-2', expect.any(Array)]]),
    );
    const dirs = ['twice', 'twice-2'].flatMap(groupsOf);
    if (user === 'root') expect(dirs.length).toBeGreaterThan(0);
    for (const each of [one, other]) process.kill(each.pid, 'SIGTERM');
    await Promise.all([ended(one), ended(other)]);
    expect([...(await agents())]).toEqual([]);
    expect(dirs.filter((dir) => existsSync(dir))).toEqual([]);
    // The name is free again.
    await place.receipt(['true'], ['--name', 'twice']);
    expect(place.runs().sort()).toEqual(['twice-2.json', 'twice.json']);
  });

  test('what a command leaves behind is said, is its agent still, and is forgotten once it ends', async () => {
    const script = 'for n in 1 2; do setsid sh -c "exec sleep 1000" </dev/null >/dev/null 2>&1 & done; sleep 0.2';
    const { receipt, status } = await place.receipt(['sh', '-c', script], ['--name', 'leaver']);
    expect(status).toBe(0);
    expect(receipt.wall).toBeLessThan(100);
    expect(receipt.left).toHaveLength(2);
    for (const { pid, memory } of receipt.left) {
      expect(processOf(pid)?.state).toBe('S');
      expect(memory).toBeGreaterThan(0);
    }
    const pids = receipt.left.map(({ pid }) => pid).sort();
    expect((await agents()).get('leaver')).toEqual(pids);
    const dirs = groupsOf('leaver');
    for (const pid of pids) process.kill(pid, 'SIGKILL');
    await until('their end', () => pids.every(isGone));
    expect((await agents()).has('leaver')).toBe(false);
    expect(place.runs()).not.toContain('leaver.json');
    expect(dirs.filter((dir) => existsSync(dir))).toEqual([]);
  });

  test('the receipt says of what is left how many and what they hold', async () => {
    const { stderr } = await place.measured(['--', 'sh', '-c', 'setsid sleep 1000 </dev/null >/dev/null 2>&1 & echo $!; sleep 0.1']);
    const pid = /left behind +1 process still runs and holds [\d.]+ [KM]?i?B: (\d+)/.exec(stderr)?.[1];
    expect(pid).toBeDefined();
    process.kill(Number(pid), 'SIGKILL');
  });

  test('killed at once it leaves the command running, which is an agent still, and is cleaned up after', async () => {
    const child = place.start(['--name', 'killed', '--', 'sh', '-c', 'sh -c "exec sleep 1000" & sleep 1000']);
    await until('its command', () => childrenOf(child.pid).length === 1);
    const [main = 0] = childrenOf(child.pid);
    await until('its children', () => childrenOf(main).length === 2);
    await until('its file', async () => (await agents()).get('killed')?.length === 3);
    process.kill(child.pid, 'SIGKILL');
    await until('its end', () => isGone(child.pid));
    expect(processOf(main)?.state).toBe('S');
    expect((await agents()).get('killed')).toHaveLength(3);
    const dirs = groupsOf('killed');
    for (const pid of [...childrenOf(main), main]) process.kill(pid, 'SIGKILL');
    await until('nobody of it', () => isGone(main));
    await until('its being forgotten', async () => {
      await agents();
      return !place.runs().includes('killed.json');
    });
    expect(dirs.filter((dir) => existsSync(dir))).toEqual([]);
    expect(readdirSync(join(place.measure, 'runs')).filter((name) => name.endsWith('.claim'))).toEqual([]);
  });

  test('nothing of what the command was given is kept or said', async () => {
    const phrase = 'zebra-umbrella-7731';
    const { stderr } = await place.measured(['--', 'sh', '-c', `: ${phrase}; exit 1`]);
    const { receipt } = await place.receipt(['sh', '-c', `: ${phrase}`]);
    expect(stderr + JSON.stringify(receipt)).not.toContain(phrase);
    for (const name of place.runs()) expect(readFileSync(join(place.measure, 'runs', name), 'utf8')).not.toContain(phrase);
  });
});
