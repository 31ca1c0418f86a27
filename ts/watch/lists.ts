// What to look at, asked of other programs sparingly, beside the looks and never before one.

import { statSync } from 'node:fs';
import { join } from 'node:path';
import { Agents, type Gathered } from '../agents';
import { linkHome, measureFolder } from '../agents/folder';
import { codeOf, messageOf } from '../errors';
import type { Log } from './log';

/** How old a list may get where nothing says that it has changed. */
const OLDEST_MS = 60_000;
/** The same after a program that was asked failed. */
const OLDEST_FAILED_MS = 10_000;

/** The agents to look at, as they were told last. */
export class Lists {
  readonly #agents: Agents;
  readonly #log: Log;
  readonly #folders: string[];
  /** The agents, and the same with what crossed their proxies. */
  #list: Gathered | undefined;
  #now: Gathered | undefined;
  #asking: Promise<void> | undefined;
  #askedMs = -Infinity;
  #stamp = '';
  #gone: ReadonlySet<number> = new Set();

  constructor(env: NodeJS.ProcessEnv, log: Log) {
    this.#agents = new Agents(env);
    this.#log = log;
    this.#folders = [join(linkHome(env), 'agents'), join(measureFolder(env), 'runs')];
  }

  /** The last good list, with the runs of now. Asks for it where there is none yet, which takes no longer than a program may. */
  async current(): Promise<Gathered> {
    if (this.#now === undefined) await this.#ask(true);
    if (this.#now === undefined) throw new Error('there is no list of agents');
    try {
      return this.#agents.withRuns(this.#now);
    } catch (error) {
      this.#log.tell('agents', [messageOf(error)]);
      return this.#now;
    }
  }

  /** Begins to ask what is due to be asked, if nothing is being asked; the next look has the answer. */
  refresh(): void {
    if (this.#asking !== undefined) return;
    this.#asking = this.#ask(this.#isDue())
      .catch((error: unknown) => this.#log.tell('agents', [messageOf(error)]))
      .finally(() => (this.#asking = undefined));
  }

  #isDue(): boolean {
    const goneNow = this.#mainProcesses().filter((pid) => !isRunning(pid));
    return performance.now() - this.#askedMs >= (this.#list?.isWhole === false ? OLDEST_FAILED_MS : OLDEST_MS) || this.#stampOf() !== this.#stamp || goneNow.some((pid) => !this.#gone.has(pid));
  }

  async #ask(anew: boolean): Promise<void> {
    if (anew) {
      this.#askedMs = performance.now();
      this.#stamp = this.#stampOf();
      // A list may name one that is gone for a while longer: that is no reason to ask again at each look. One that goes
      // while Link is asked is: the list may be from before.
      const gone = new Set(this.#mainProcesses().filter((pid) => !isRunning(pid)));
      this.#list = await this.#agents.gather();
      this.#gone = gone;
    }
    if (this.#list === undefined) return;
    this.#now ??= this.#list;
    this.#now = await this.#agents.withTraffic(this.#list);
    this.#log.tell('agents', this.#now.problems);
  }

  #mainProcesses(): number[] {
    return this.#list?.request.agents.flatMap(({ pids }) => pids) ?? [];
  }

  #stampOf(): string {
    return this.#folders.map((folder) => statSync(folder, { throwIfNoEntry: false })?.mtimeMs ?? '').join(' ');
  }
}

/** Whether a process is there; another user's is. */
function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return codeOf(error) === 'EPERM';
  }
}
