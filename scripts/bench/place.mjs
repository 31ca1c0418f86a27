// A home of a bench's own, with agents that do nothing in it and the built command on it.

import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { root } from './table.mjs';

const program = join(root, 'dist/lnk.js');

/** The machine's ID, and an agent's, as `store_bench fill` has them. */
const MACHINE = 'mch_7f3a9c21';
const agentId = (n) => `agt_${n.toString(16).padStart(8, '0')}`;

/** The addon, as it was built. */
export function nativeFile() {
  const built = readdirSync(`${root}/dist`).find((name) => name.endsWith('.node'));
  if (!built) throw new Error('There is no addon in dist/: run `npm install` first.');
  return `${root}/dist/${built}`;
}

/** An agent's processes that do nothing, the main one first. */
export async function startAgent(children) {
  const script = `for i in $(seq ${children}); do sleep 3600 & echo $!; done; echo ready; wait`;
  const main = spawn('sh', ['-c', script], { detached: true, stdio: ['ignore', 'pipe', 'ignore'] });
  let text = '';
  while (!text.includes('ready')) text += String((await once(main.stdout, 'data'))[0]);
  return { main, pids: [main.pid, ...text.split('\n').slice(0, children).map(Number)] };
}

export class Place {
  home = mkdtempSync(join(tmpdir(), 'lnk-bench-'));
  measure = join(this.home, 'measure');
  env = { PATH: process.env.PATH, HOME: this.home, LNK_HOME: this.home, LNK_COMMAND: join(this.home, 'lnk') };
  #mains = [];

  constructor() {
    mkdirSync(this.measure, { mode: 0o700 });
  }

  /** Agents of Link, of `children` processes and a main one each. */
  async startAgents(count, children) {
    const agents = [];
    for (let n = 0; n < count; n++) {
      const { main } = await startAgent(children);
      this.#mains.push(main);
      agents.push({ id: agentId(n), name: `agent-${n}`, running: true, processes: [main.pid] });
    }
    const list = JSON.stringify({ machine: { id: MACHINE, name: 'bench' }, agents });
    writeFileSync(this.env.LNK_COMMAND, `#!/bin/sh\ncase "$1" in agent) echo '${list}' ;; *) echo '{"sandboxes":[]}' ;; esac\n`);
    chmodSync(this.env.LNK_COMMAND, 0o755);
  }

  /** How far apart looks are. */
  every(text) {
    writeFileSync(join(this.measure, 'settings.toml'), `every = "${text}"\n`, { mode: 0o600 });
  }

  /** Starts the watcher, and gives its process. */
  startWatcher() {
    this.lnk('measure', 'start');
    return JSON.parse(this.lnk('measure', 'status', '--json')).pid;
  }

  lnk(...args) {
    return execFileSync(process.execPath, [program, ...args], { env: this.env, cwd: this.home, encoding: 'utf8' });
  }

  /** What running Node so takes in milliseconds, as bash's `time` has it: `ms`, and of that the CPU's, `cpu`. */
  time(...args) {
    const timed = ['-c', 'TIMEFORMAT="%R %U %S"; time "$@" >/dev/null', 'time', process.execPath, ...args];
    const { status, stderr } = spawnSync('bash', timed, { env: this.env, cwd: this.home, encoding: 'utf8' });
    if (status !== 0) throw new Error(`node ${args.join(' ')} ended with ${status}: ${stderr}`);
    const [real, user, system] = stderr.trim().split('\n').at(-1).split(' ').map(Number);
    return { ms: real * 1000, cpu: (user + system) * 1000 };
  }

  /** The same of the command. */
  timeLnk(...args) {
    return this.time(program, ...args);
  }

  end() {
    spawnSync(process.execPath, [program, 'measure', 'stop'], { env: this.env });
    for (const main of this.#mains) process.kill(-main.pid, 'SIGKILL');
    rmSync(this.home, { recursive: true, force: true });
  }
}
