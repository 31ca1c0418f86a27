// Contract 1 and 2: what another program says of its agents, good or bad.

import { spawn } from 'node:child_process';
import { existsSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { ask } from '../../ts/agents/ask';
import { Link, parseAgentList, parseTraffic } from '../../ts/agents/link';
import { Place, program } from '../cli/command';
import { machine, report } from '../cli/looks';

let place: Place;
beforeEach(() => {
  place = new Place();
  place.setLooks([{ look: { at: 1, units: [machine()] }, report: report() }]);
});
afterEach(() => place.remove());

const requestsOf = () => readFileSync(place.requests, 'utf8').trim().split('\n').map((line) => JSON.parse(line));
const flat = (text: string) => text.replaceAll(/\s+/g, ' ');
const parse = (list: unknown) => parseAgentList(JSON.stringify(list), () => 'mch_own');
const isRunning = (pid: number) => {
  try {
    process.kill(pid, 0);
    // A zombie no one has waited for yet runs nothing.
    return process.platform !== 'linux' || !/^\d+ \(.*\) Z/s.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
};

/** Waits until something holds. */
async function until(holds: () => boolean): Promise<void> {
  const deadline = Date.now() + 10_000;
  while (!holds()) {
    if (Date.now() > deadline) throw new Error('it never came to hold');
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

const GOOD = {
  machine: { id: 'mch_7f', name: 'studio' },
  agents: [
    {
      ...{ id: 'agt_01', name: 'main', owner: 'usr_01', teams: ['team_01'], harness: 'openclaw', running: true, started: 1780000000 },
      ...{ processes: [4567], cgroup: '/user.slice/lnk-agent-main.service', unit: 'lnk-agent-main.service', home: '/h' },
    },
    { name: 'bare' },
    { id: 'agt_03', name: 'off', running: false, processes: [99] },
  ],
};
const TRAFFIC = {
  sandboxes: [
    { agent: 'agt_01', proxy: 'p-4f2a', since: 1780000000, in: 1048576, out: 65536, model: true },
    { agent: 'agt_09', proxy: 'p-1', in: 1, out: 1 },
  ],
};

describe('the command', () => {
  test('good: its agents are looked at in its order, with what crossed their proxies at the second look', async () => {
    place.addLink(GOOD, TRAFFIC);
    const { status, stdout, stderr } = await place.run(['measure']);
    expect([status, stderr]).toEqual([0, '']);
    const [first, second] = requestsOf();
    expect(first.machine).toEqual({ id: 'mch_7f', name: 'studio' });
    expect(first.agents).toEqual([
      {
        ...{ id: 'agt_01', name: 'main', owner: 'usr_01', teams: ['team_01'], pids: [4567], started: 1780000000, from: 'link' },
        ...{ cgroup: '/user.slice/lnk-agent-main.service', unit: 'lnk-agent-main.service', running: true, home: '/h' },
      },
      { id: 'mch_7f:bare', name: 'bare', teams: [], pids: [], running: true, from: 'link' },
      { id: 'agt_03', name: 'off', teams: [], pids: [], running: false, from: 'link' },
    ]);
    expect(second.agents[0].traffic).toEqual([{ proxy: 'p-4f2a', since: 1780000000, in: 1048576, out: 65536, model: true }]);
    expect(second.agents[1].traffic).toEqual([]);
    expect(stdout).not.toContain('skipped');
    expect(existsSync(join(place.home, '.lnk'))).toBe(false);
  });

  test('LNK_COMMAND is asked instead of the lnk on the PATH', async () => {
    place.addProgram('lnk', 'exit 1');
    const other = place.addProgram('other-lnk', `echo '${JSON.stringify(GOOD)}'`);
    await place.run(['measure'], { LNK_COMMAND: other });
    expect(requestsOf()[0].agents).toHaveLength(3);
  });

  test('no agent runs: traffic is not asked', async () => {
    place.addProgram('lnk', `echo "$*" >> ${place.folder}/asked; echo '{"agents": [{"name": "off", "running": false}]}'`);
    await place.run(['measure']);
    expect(readFileSync(join(place.folder, 'asked'), 'utf8')).toBe('agent list --json --here\n');
  });

  test.each([
    ['garbage', 'echo "main 4567"', 'is not JSON'],
    ['no list', "echo '{\"agents\": 5}'", 'holds no list of agents'],
    ['not an object', "echo '[]'", 'is not a JSON object'],
    ['failing', 'echo secret words; exit 3', 'failed with exit code 3'],
    ['killed', 'kill -9 $$', 'was ended by SIGKILL'],
    ['huge', 'exec cat /dev/zero', 'answered with more than 4 MiB'],
    ['missing', undefined, 'could not be started'],
  ])('%s: the look goes on without Link, and it is said', async (_name, script, says) => {
    const link = script === undefined ? join(place.bin, 'gone') : place.addProgram('lnk', script);
    const { status, stdout } = await place.run(['measure'], { LNK_COMMAND: link });
    expect(status).toBe(0);
    expect(flat(stdout)).toContain("! Link's agents aren't known:");
    expect(flat(stdout)).toContain(says);
    expect(stdout).not.toContain('secret words');
    expect(requestsOf()[0]).toMatchObject({ agents: [], found: true });
    expect((await place.run(['measure', 'check'], { LNK_COMMAND: link })).status).toBe(1);
  });

  test('slow: it gets five seconds', async () => {
    place.addProgram('lnk', 'sleep 60');
    const { status, stdout } = await place.run(['measure']);
    expect(status).toBe(0);
    expect(flat(stdout)).toContain('took longer than 5 s');
  });

  test('traffic that fails takes no agent away', async () => {
    place.addLink(GOOD, 'nonsense');
    const { stdout } = await place.run(['measure']);
    expect(flat(stdout)).toContain("! What crossed the agents' proxies isn't known:");
    expect(requestsOf()[1].agents).toHaveLength(3);
  });

  test('an entry that lies is skipped, and that is said once', async () => {
    place.addLink({ ...GOOD, agents: [...GOOD.agents, { name: 'two words' }] }, TRAFFIC);
    const { stdout } = await place.run(['measure']);
    expect(flat(stdout).match(/agent 4 was skipped/g)).toHaveLength(1);
    expect(stdout).not.toContain('two words');
    expect(requestsOf()[1].agents).toHaveLength(3);
  });

  test('the lnk on the PATH is this program: without an lnk-agent there is no Link, with one it is asked', async () => {
    symlinkSync(program, join(place.bin, 'lnk'));
    const alone = await place.run(['measure']);
    expect(alone.stdout).not.toContain('!');
    place.addProgram('lnk-agent', `echo '${JSON.stringify(GOOD)}'`);
    await place.run(['measure']);
    expect(requestsOf().at(-1).agents).toHaveLength(3);
  });
});

describe('asking', () => {
  const quick = { ms: 300, bytes: 1000 };

  test('past its time a program is ended with all it started', async () => {
    const slow = place.addProgram('slow', `sleep 300 & echo $! > ${place.folder}/child; sleep 300`);
    await expect(ask(slow, [], quick)).rejects.toThrow('took longer than 0.3 s');
    const child = Number(readFileSync(join(place.folder, 'child'), 'utf8'));
    await until(() => !isRunning(child));
  });

  test('what it leaves running is ended too', async () => {
    const leaving = place.addProgram('leaving', `sleep 300 >/dev/null 2>&1 & echo $!`);
    const child = Number(await ask(leaving, []));
    await until(() => !isRunning(child));
  });

  test('its stderr and its stdin are not ours', async () => {
    const asking = place.addProgram('asking', 'read line; echo "got:$line"; echo noise >&2');
    expect(await ask(asking, [])).toBe('got:\n');
  });

  test('arguments are never read by a shell', async () => {
    const echo = place.addProgram('echo-args', 'printf "%s|" "$@"');
    expect(await ask(echo, ['$(id)', 'a b', ';'])).toBe('$(id)|a b|;|');
  });

  test('ending this program ends what it was asking', async () => {
    place.addProgram('lnk', `echo $$ > ${place.folder}/asked.tmp; mv ${place.folder}/asked.tmp ${place.folder}/asked; sleep 300`);
    const child = spawn(process.execPath, [program, 'measure'], { env: place.env(), stdio: 'ignore' });
    const ended = new Promise((resolve) => child.once('exit', (_code, signal) => resolve(signal)));
    await until(() => existsSync(join(place.folder, 'asked')));
    child.kill('SIGINT');
    expect(await ended).toBe('SIGINT');
    const asked = Number(readFileSync(join(place.folder, 'asked'), 'utf8'));
    await until(() => !isRunning(asked));
  });

  test('the last list that was good is kept', async () => {
    const path = place.addLink(GOOD, TRAFFIC);
    const link = new Link({ LNK_COMMAND: path }, { ms: 5000, bytes: 100_000 });
    const good = await link.list(() => 'mch_own');
    place.addProgram('lnk', 'exit 1');
    const kept = await link.list(() => 'mch_own');
    expect(kept.agents).toEqual(good.agents);
    expect(kept.machine).toEqual({ id: 'mch_7f', name: 'studio' });
    expect(kept.problems).toEqual([expect.stringContaining('failed with exit code 1')]);
  });
});

describe('a list', () => {
  test.each([
    ['no name', { id: 'a' }],
    ['a name of the wrong type', { name: 5 }],
    ['a name with a space', { name: 'two words' }],
    ['a name that colours', { name: '\u001b[31mred' }],
    ['a name that turns the text around', { name: 'a\u202eb' }],
    ['a name too long', { name: 'x'.repeat(65) }],
    ['an empty name', { name: '' }],
    ['an ID that breaks the rule', { name: 'a', id: 'b c' }],
    ['an ID of the wrong type', { name: 'a', id: 5 }],
    ['an ID that reaches a prototype', { name: 'a', id: '__proto__' }],
    ['another such', { name: 'a', id: 'constructor' }],
    ['null', null],
    ['a text', 'main'],
    ['a list', []],
  ])('an entry with %s is skipped, and no other', (_name, entry) => {
    const { agents, problems } = parse({ agents: [{ name: 'before' }, entry, { name: 'after' }] });
    expect(agents.map(({ name }) => name)).toEqual(['before', 'after']);
    expect(problems).toEqual([expect.stringContaining('agent 2 was skipped')]);
  });

  test('an ID that comes twice is the first one', () => {
    const { agents, problems } = parse({ agents: [{ id: 'a', name: 'one' }, { id: 'a', name: 'two' }] });
    expect(agents.map(({ name }) => name)).toEqual(['one']);
    expect(problems).toHaveLength(1);
  });

  test('an ID of null is none', () => {
    expect(parse({ agents: [{ id: null, name: 'a' }] }).agents[0]?.id).toBe('mch_own:a');
  });

  test('what else is not what it should be is left out', () => {
    const entry = {
      ...{ name: 'a', owner: 'who is it', teams: ['ok', 'not ok', 5, null], started: 'yesterday', unit: '../../etc', cgroup: '/a/../..' },
      processes: [1, -1, 0, 1.5, '7', null, 4_000_000_000, 2],
    };
    expect(parse({ agents: [entry] }).agents).toEqual([{ id: 'mch_own:a', name: 'a', teams: ['ok'], pids: [1, 2], running: true }]);
    expect(parse({ agents: [{ name: 'a', teams: 'x', processes: {}, cgroup: 'relative', unit: 5 }] }).agents).toEqual([
      { id: 'mch_own:a', name: 'a', teams: [], pids: [], running: true },
    ]);
  });

  test('keys named after a prototype change nothing', () => {
    const text = '{"__proto__": {"agents": []}, "machine": {"__proto__": {"id": "m"}}, "agents": [{"name": "a", "__proto__": {"id": "evil"}}]}';
    expect(parseAgentList(text, () => 'mch_own')).toMatchObject({ machine: {}, agents: [{ id: 'mch_own:a' }] });
    expect(({} as { id?: string }).id).toBeUndefined();
  });

  test('a machine whose ID or name may not be kept has none', () => {
    expect(parse({ machine: { id: 'a b', name: 'my\nmac' }, agents: [] }).machine).toEqual({});
    expect(parse({ machine: 'studio', agents: [] }).machine).toEqual({});
  });
});

describe('traffic', () => {
  const good = { agent: 'a', proxy: 'p', in: 1, out: 2 };

  test.each([
    [{ ...good, agent: 'a b' }],
    [{ ...good, proxy: undefined }],
    [{ ...good, in: -1 }],
    [{ ...good, out: '5' }],
    [{ ...good, in: 1.5 }],
    [{ ...good, in: 1e300 }],
    [null],
    ['p'],
  ])('%j is left out, and no other', (entry) => {
    expect(parseTraffic(JSON.stringify({ sandboxes: [entry, good] }))).toEqual([{ ...good, model: false }]);
  });

  test('only true is a model', () => {
    const models = [true, 1, 'true', undefined].map((model) => ({ ...good, model }));
    expect(parseTraffic(JSON.stringify({ sandboxes: models })).map(({ model }) => model)).toEqual([true, false, false, false]);
  });

  test('its tokens are all six counts, or none', () => {
    const tokens = { requests: 12, unmetered: 1, input: 90211, output: 4120, cached: 80000, cache_written: 1200 };
    const of = (said: unknown) => parseTraffic(JSON.stringify({ sandboxes: [{ ...good, tokens: said }] }))[0]?.tokens;
    expect(of({ ...tokens, later: 'x' })).toEqual(tokens);
    for (const bad of [null, [], 7, {}, { ...tokens, input: undefined }, { ...tokens, output: -1 }, { ...tokens, cached: '3' }, { ...tokens, requests: 1.5 }]) expect(of(bad)).toBeUndefined();
  });
});
