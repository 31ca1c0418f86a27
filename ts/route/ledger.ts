// What each agent's routes have counted, in files that the watcher reads: added to from memory a moment after an answer
// ends, so that a burst of answers is one write, and a route that is killed loses no more than that moment.

import { randomBytes } from 'node:crypto';
import { Failure, messageOf } from '../errors';
import { isName } from '../names';
import type { Usage } from '../native';
import { loadNative } from '../native/load';

/** An answer that ended a second ago is in the file: half of it to wait here, half to be written. */
const FLUSH_MS = 500;
/** After an addition that failed, such as on a full disk. */
const RETRY_MS = 2000;

/** requests, unmetered, input, output, cached, cache written: as the addon takes them. */
type Counts = Float64Array;

/** The name of an agent's tokens file without its `.json`: its ID, with `/`, `:` and `@` percent-encoded. */
export const tokensFileName = (agentId: string): string => encodeURIComponent(agentId);

/** The totals of agents' tokens, in `<folder>/<agent ID>.json` each. */
export class TokenLedger {
  readonly #folder: string;
  readonly #say: (problem: string) => void;
  readonly #pending = new Map<string, Counts>();
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> | undefined;
  #closed = false;
  #failed = false;

  /**
   * @param folder where the files are: the measure folder's `tokens`. Made, for this user alone, when it is needed
   * @param say is told what went wrong, once until it is right again
   */
  constructor(folder: string, say: (problem: string) => void = (problem) => process.emitWarning(problem)) {
    this.#folder = folder;
    this.#say = say;
    process.on('exit', this.#atExit);
  }

  /**
   * Adds an answer's usage to its agent's; null, as a scanner gives for what was no model's answer, adds nothing.
   *
   * After `close` it adds nothing and says so: in a proxy, an answer may well end later, and that must not end the proxy.
   *
   * @throws {Failure} the ID is none
   */
  add(agentId: string, usage: Usage | null): void {
    if (!isName(agentId)) throw new Failure(`${JSON.stringify(agentId)} is no agent's ID: 1 to 64 of letters, digits and ._:/@-`);
    if (usage === null) return;
    if (this.#closed) return this.#say(`an answer of ${agentId}'s ended after its ledger was closed, and is not counted`);
    const { metered, input, output, cached, cacheWritten } = usage;
    this.#keep(agentId, metered ? [1, 0, input, output, cached, cacheWritten] : [1, 1, 0, 0, 0, 0]);
    this.#schedule(FLUSH_MS);
  }

  /**
   * Writes what was added so far.
   *
   * @throws {Failure} some of it can't be written now: it is kept, and tried again
   */
  async flush(): Promise<void> {
    await this.#writing;
    this.#writing = this.#write().finally(() => (this.#writing = undefined));
    await this.#writing;
    if (this.#failed) throw new Failure(`tokens could not be written to ${this.#folder}`);
  }

  /**
   * Writes what was added, and takes no more.
   *
   * @throws {Failure} some of it can't be written, and is lost
   */
  async close(): Promise<void> {
    this.#closed = true;
    try {
      await this.flush();
    } finally {
      clearTimeout(this.#timer);
      process.off('exit', this.#atExit);
    }
  }

  #schedule(afterMs: number): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      // Said already.
      this.flush().catch(() => undefined);
    }, afterMs).unref();
  }

  async #write(): Promise<void> {
    const batch = [...this.#pending];
    this.#pending.clear();
    const outcomes = await Promise.all(
      batch.map(async ([agentId, counts]) => {
        try {
          this.#added(await loadNative().addTokens(...this.#addition(agentId, counts)));
          return true;
        } catch (error) {
          this.#keep(agentId, counts);
          this.#fail(error);
          return false;
        }
      }),
    );
    this.#failed = outcomes.includes(false);
    if (this.#failed && !this.#closed) this.#schedule(RETRY_MS);
  }

  /** The process ends without having closed this: what isn't being written already is written now. */
  readonly #atExit = (): void => {
    for (const [agentId, counts] of this.#pending) {
      try {
        this.#added(loadNative().addTokensNow(...this.#addition(agentId, counts)));
      } catch (error) {
        this.#fail(error);
      }
    }
  };

  /** The run and its time are for totals that begin with this addition: each their own, since a file may be deleted or damaged, and what begins anew and catches up would be taken for what stood still. */
  #addition(agentId: string, counts: Counts): [string, string, Counts, string, number] {
    return [this.#folder, tokensFileName(agentId), counts, `r-${randomBytes(8).toString('hex')}`, Date.now() / 1000];
  }

  #keep(agentId: string, more: ArrayLike<number>): void {
    const counts = this.#pending.get(agentId) ?? new Float64Array(6);
    counts.forEach((count, at) => (counts[at] = count + (more[at] ?? 0)));
    this.#pending.set(agentId, counts);
  }

  #added(setAside: string | null | undefined): void {
    if (setAside) this.#say(`a tokens file was damaged: it is ${setAside} now, and its agent's totals begin anew`);
  }

  #fail(error: unknown): void {
    if (!this.#failed) this.#say(`tokens can't be written, and are kept in memory: ${messageOf(error)}`);
    this.#failed = true;
  }
}
