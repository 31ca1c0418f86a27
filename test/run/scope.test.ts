// A user whose session's control group is root's, and whose own systemd makes a scope: with a real user manager, in a tree
// of control groups that is delegated to it. Where it stands for a whole machine is that nobody but the test made that tree.

import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { chmodSync, chownSync, existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import { join } from 'node:path';
import type { Look } from '../../ts/native';
import { until } from '../watch/place';
import { childrenOf, ended, isGone, processOf, RunPlace } from './place';

jest.setTimeout(120_000);

const SYSTEMD = ['/usr/lib/systemd/systemd', '/lib/systemd/systemd'].find(existsSync);
const HIERARCHY = /^\d+ \d+ \S+ \S+ (\S+) .* - cgroup2 /m.exec(readFileSync('/proc/self/mountinfo', 'utf8'))?.[1];
const isRoot = process.getuid?.() === 0;
const NOBODY = 65_534;

/** Why there can be no manager here, if there can't. */
function whyNone(): string | undefined {
  if (!isRoot) return 'this is not root';
  if (SYSTEMD === undefined) return 'there is no systemd (Debian: apt-get install systemd)';
  if (HIERARCHY === undefined) return 'control groups of version 2 are not mounted';
  return spawnSync('unshare', ['--mount', 'true']).status === 0 ? undefined : 'no name space may be made';
}

const why = whyNone();
if (why !== undefined) process.stderr.write(`NOT TESTED: a command in a scope of a user's systemd: ${why}\n`);

/** An ordinary user in a session whose group is root's, as a login makes it. */
class SessionPlace extends RunPlace {
  readonly tree = join(HIERARCHY ?? '', `lnk-test-${process.pid}`);
  readonly manager = join(this.tree, 'manager');
  readonly runtime = join(this.folder, 'runtime');
  #child: ChildProcess | undefined;

  constructor() {
    super('another user');
    for (const folder of [this.tree, this.manager, join(this.tree, 'session')]) mkdirSync(folder);
    // What a delegation gives: the folder, and in whose subtree processes may be moved.
    for (const path of [this.manager, join(this.tree, 'cgroup.procs'), ...['procs', 'subtree_control'].map((name) => join(this.manager, `cgroup.${name}`))]) chownSync(path, NOBODY, NOBODY);
    mkdirSync(join(this.runtime, 'systemd'), { recursive: true });
    for (const folder of [this.runtime, join(this.runtime, 'systemd')]) chownSync(folder, NOBODY, NOBODY);
    chmodSync(this.runtime, 0o700);
  }

  override words(...args: string[]): [string, ...string[]] {
    return inGroup(join(this.tree, 'session'), super.words(...args));
  }

  override get environment(): NodeJS.ProcessEnv {
    return { ...super.environment, XDG_RUNTIME_DIR: this.runtime };
  }

  /** Starts the user's systemd, and waits until it answers. */
  async startManager(): Promise<void> {
    const units = join(this.folder, 'units');
    mkdirSync(units);
    writeFileSync(join(units, 'default.target'), '[Unit]\nDescription=Nothing\n');
    // It runs only where the machine was started by systemd, which it tells by a folder.
    const script = 'mount -t tmpfs run /run && mkdir -p /run/systemd/system && exec "$@"';
    const user = ['setpriv', '--reuid', String(NOBODY), '--regid', String(NOBODY), '--clear-groups'];
    const env = ['env', '-i', `HOME=${this.runtime}`, `XDG_RUNTIME_DIR=${this.runtime}`, `SYSTEMD_UNIT_PATH=${units}`, 'PATH=/usr/bin:/bin'];
    const [program, ...args] = inGroup(this.manager, ['unshare', '--mount', 'sh', '-c', script, 'sh', ...user, ...env, SYSTEMD ?? '', '--user']);
    this.#child = spawn(program, args, { stdio: 'ignore' });
    await until('the user manager', () => existsSync(join(this.runtime, 'systemd', 'private')));
  }

  /** The groups below the manager that are of runs. */
  groups(): string[] {
    return readdirSync(this.manager, { recursive: true, encoding: 'utf8' }).filter((name) => /lnk-run-[^/]*$/.test(name));
  }

  async end(): Promise<void> {
    this.#child?.kill('SIGKILL');
    await until('the end of all its groups', () => removeTree(this.tree));
    this.remove();
  }
}

const inGroup = (group: string, words: string[]): [string, ...string[]] => ['sh', '-c', `echo $$ >'${group}/cgroup.procs' && exec "$@"`, 'sh', ...words];

/** Removes a tree of groups, once nobody is in it. */
function removeTree(folder: string): boolean {
  try {
    for (const entry of readdirSync(folder, { withFileTypes: true })) if (entry.isDirectory()) removeTree(join(folder, entry.name));
    rmdirSync(folder);
  } catch {
    // Somebody is in it.
  }
  return !existsSync(folder);
}

(why === undefined ? describe : describe.skip)('in a session whose group is root\'s', () => {
  let place: SessionPlace;
  beforeEach(() => {
    place = new SessionPlace();
  });
  afterEach(() => place.end());

  const agents = async (): Promise<string[]> => {
    const { units } = JSON.parse((await place.lnk('--json')).stdout) as Look;
    return units.filter(({ id, kind }) => kind === 'process' && id.includes(':run:held/')).map(({ id }) => id);
  };

  test('a scope of the user\'s manager holds a command together, and is gone after it', async () => {
    await place.startManager();
    const script = '(setsid sh -c "sleep 0.05; exec cat /proc/self/cgroup" &) ; i=0; while [ $i -lt 50000 ]; do i=$((i+1)); done; sleep 0.2; exit 3';
    const { receipt, stdout, status } = await place.receipt(['sh', '-c', script]);
    expect(stdout).toMatch(/^0::\/.*\/(lnk-run-[^/]+)\.scope\/\1$/m);
    expect(status).toBe(3);
    expect(receipt).toMatchObject({ heldBy: 'scope', cpuBy: 'control-group', left: [] });
    expect(receipt.measures['link.cpu.used.sum']).toBeGreaterThan(0.01);
    await until('the end of its scope', () => place.groups().length === 0);
  });

  test('its signals, its leftovers and its own sudden end are as anywhere', async () => {
    await place.startManager();
    const asked = place.start(['--quiet', '--', 'sleep', '1000']);
    const outcome = ended(asked);
    await until('its command', () => childrenOf(asked.pid).length === 1);
    process.kill(asked.pid, 'SIGTERM');
    expect(await outcome).toMatchObject({ status: null, signal: 'SIGTERM' });

    const { receipt } = await place.receipt(['sh', '-c', 'setsid sleep 1000 </dev/null >/dev/null 2>&1 & sleep 0.1'], ['--name', 'held']);
    expect(receipt.left).toHaveLength(1);
    expect(await agents()).toHaveLength(1);
    process.kill(receipt.left[0]?.pid ?? 0, 'SIGKILL');
    await until('the end of its scope', () => place.groups().length === 0);

    const killed = place.start(['--quiet', '--name', 'held', '--', 'sleep', '1000']);
    await until('its command', async () => childrenOf(killed.pid).length === 1 && (await agents()).length === 1);
    const [main = 0] = childrenOf(killed.pid);
    process.kill(killed.pid, 'SIGKILL');
    await until('its end', () => isGone(killed.pid));
    expect(processOf(main)?.state).toBe('S');
    expect(await agents()).toHaveLength(1);
    process.kill(main, 'SIGKILL');
    await until('the end of its scope', () => place.groups().length === 0);
  });

  // Two fakes of a manager's socket: what a real one does when it hangs or refuses can't be had at will.
  test.each([
    ['says nothing', (): void => undefined],
    ['takes nobody', (socket: net.Socket): void => void socket.end('REJECTED EXTERNAL\r\n')],
    ['ends at once', (socket: net.Socket): void => void socket.destroy()],
    ['says what it shouldn\'t', (socket: net.Socket): void => void socket.end(Buffer.concat([Buffer.from('OK 1\r\n'), Buffer.alloc(64, 0xff)]))],
  ])('a manager that %s is done without', async (_, answer) => {
    const server = net.createServer((socket) => answer(socket.on('error', () => undefined)));
    await new Promise<void>((resolve) => server.listen(join(place.runtime, 'systemd', 'private'), resolve));
    chmodSync(join(place.runtime, 'systemd', 'private'), 0o777);
    const { receipt, status } = await place.receipt(['sh', '-c', 'exit 3']);
    server.close();
    expect([status, receipt.heldBy]).toEqual([3, 'reaper']);
  });

  test('where its session\'s group is its own no manager is needed', async () => {
    const session = join(place.tree, 'session');
    for (const path of [session, ...['procs', 'subtree_control'].map((name) => join(session, `cgroup.${name}`))]) chownSync(path, NOBODY, NOBODY);
    const { receipt, stdout } = await place.receipt(['cat', '/proc/self/cgroup']);
    expect(receipt).toMatchObject({ heldBy: 'control-group', cpuBy: 'control-group' });
    expect(stdout).toMatch(/^0::\/.*\/session\/lnk-run-[^/]+$/m);
    expect(readdirSync(session).filter((name) => name.startsWith('lnk-run-'))).toEqual([]);
  });

  test('without a manager its reaper alone holds a command together', async () => {
    const { receipt } = await place.receipt(['true']);
    expect(receipt).toMatchObject({ heldBy: 'reaper', cpuBy: 'processes' });
  });
});
