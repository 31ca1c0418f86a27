// Runs commands under `lnk measure run` as a person would: the built command on the real addon, with streams, a process
// group and a user of the test's choice.

import { type ChildProcess, spawn, type StdioOptions } from 'node:child_process';
import { chmodSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Receipt } from '../../ts/run/receipt';
import { type Outcome, Place, program } from '../cli/command';

/** The users a test can be: this one, and where that is root one who isn't. */
export const USERS: readonly ('root' | 'another user' | 'this user')[] = process.getuid?.() === 0 ? ['root', 'another user'] : ['this user'];
export type User = (typeof USERS)[number];

const NOBODY = 65_534;

export class RunPlace extends Place {
  readonly measure = join(this.home, '.lnk', 'measure');
  /** Where commands run: a folder of its own, so that what it grows by is theirs. */
  readonly work = join(this.folder, 'work');
  readonly #user: User;
  readonly #program: string = program;
  #receipts = 0;

  constructor(user: User) {
    super();
    this.#user = user;
    mkdirSync(this.work);
    if (user !== 'another user') return;
    // Where that user may read it, and write.
    cpSync(dirname(program), join(this.folder, 'dist'), { recursive: true });
    this.#program = join(this.folder, 'dist', 'lnk.js');
    for (const folder of [this.folder, this.home, this.work]) chmodSync(folder, 0o777);
  }

  /** What other programs import, as built. */
  get library(): string {
    return join(dirname(this.#program), 'index.js');
  }

  /** The words that run `lnk measure …` as the place's user. */
  words(...args: string[]): [program: string, ...args: string[]] {
    const words = [process.execPath, this.#program, 'measure', ...args];
    return this.#user === 'another user' ? ['setpriv', '--reuid', String(NOBODY), '--regid', String(NOBODY), '--clear-groups', ...words] : (words as [string]);
  }

  get environment(): NodeJS.ProcessEnv {
    return this.env({ LNK_MEASURE_NATIVE: '', NODE_EXTRA_CA_CERTS: undefined });
  }

  /** Starts `lnk measure run …`. */
  start(args: string[], stdio: StdioOptions = ['ignore', 'pipe', 'pipe'], env: NodeJS.ProcessEnv = {}): ChildProcess & { pid: number } {
    const [name, ...words] = this.words('run', ...args);
    const child = spawn(name, words, { stdio, cwd: this.work, env: { ...this.environment, ...env }, detached: true });
    if (child.pid === undefined) throw new Error(`${name} could not be started`);
    return Object.assign(child, { pid: child.pid });
  }

  /** Runs a command to its end; `input` is its stdin. */
  async measured(args: string[], input = '', env: NodeJS.ProcessEnv = {}): Promise<Outcome> {
    const child = this.start(args, ['pipe', 'pipe', 'pipe'], env);
    child.stdin?.on('error', () => undefined).end(input);
    return ended(child);
  }

  /** Runs a command to its end, and gives its receipt too. */
  async receipt(words: string[], options: string[] = [], env: NodeJS.ProcessEnv = {}): Promise<Outcome & { receipt: Receipt }> {
    const path = join(this.work, '..', 'home', `receipt-${this.#receipts++}.json`);
    const outcome = await this.measured(['--quiet', '--receipt', path, ...options, '--', ...words], '', env);
    return { ...outcome, receipt: JSON.parse(readFileSync(path, 'utf8')) as Receipt };
  }

  /** `lnk measure …` itself. */
  async lnk(...args: string[]): Promise<Outcome> {
    const [name, ...words] = this.words(...args);
    return ended(spawn(name, words, { stdio: ['ignore', 'pipe', 'pipe'], cwd: this.work, env: this.environment }));
  }

  /** The runs that are told of, by the names of their files. */
  runs(): string[] {
    const folder = join(this.measure, 'runs');
    return existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith('.json')) : [];
  }
}

/** What a child came to. */
export function ended(child: ChildProcess): Promise<Outcome> {
  const texts = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) child[name]?.setEncoding('utf8').on('data', (text: string) => (texts[name] += text));
  return new Promise((resolve, reject) => child.once('error', reject).once('close', (status, signal) => resolve({ status, signal, ...texts })));
}

/** A process's state and parent, or nothing if there is none. */
export function processOf(pid: number): { state: string; parent: number } | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return { state: fields[0] ?? '', parent: Number(fields[1]) };
  } catch {
    return undefined;
  }
}

/** Whether a process has ended, reaped or not: whoever inherited it may take its time. */
export const isGone = (pid: number): boolean => (processOf(pid)?.state ?? 'Z') === 'Z';

/** All processes with this parent. */
export const childrenOf = (parent: number): number[] =>
  readdirSync('/proc').filter((name) => /^\d+$/.test(name)).map(Number).filter((pid) => processOf(pid)?.parent === parent);
