// watch.log: a line per change of state, at most 1 MiB and one older.

import { appendFileSync, closeSync, constants, openSync, readSync, renameSync, statSync } from 'node:fs';
import { join } from 'node:path';

const MOST_BYTES = 1024 * 1024;
const LONGEST_LINE = 500;
const { O_APPEND, O_CREAT, O_NOFOLLOW, O_WRONLY } = constants;

/** How a log file is opened: only this user's from its creation, and never through a link. */
export const LOG_FLAGS = O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW;

/** The log's path in a measure folder. */
export const logPath = (folder: string): string => join(folder, 'watch.log');

/** The watcher's log. What can't be written is dropped: a full disk must not end the watcher. */
export class Log {
  readonly #path: string;
  readonly #said = new Map<string, ReadonlySet<string>>();

  constructor(folder: string) {
    this.#path = logPath(folder);
  }

  /** Writes a line, with the time. */
  say(text: string): void {
    // Nothing but plain text: what is shown on a terminal later must not move its cursor.
    const plain = text.replace(/[^\x20-\x7e]+/g, ' ').slice(0, LONGEST_LINE);
    try {
      this.#turn();
      const file = openSync(this.#path, LOG_FLAGS, 0o600);
      try {
        appendFileSync(file, `${new Date().toISOString().slice(0, 19)}Z ${plain}\n`);
      } finally {
        closeSync(file);
      }
    } catch {
      // Told by `status`, which shows when the last look was.
    }
  }

  /** Writes what of a subject went wrong now and didn't before, and once that nothing does any more. */
  tell(subject: string, problems: readonly string[]): void {
    const before = this.#said.get(subject) ?? new Set();
    const now = new Set(problems);
    for (const problem of now) if (!before.has(problem)) this.say(`${subject}: ${problem}`);
    if (before.size > 0 && now.size === 0) this.say(`${subject}: well again.`);
    this.#said.set(subject, now);
  }

  #turn(): void {
    if ((statSync(this.#path, { throwIfNoEntry: false })?.size ?? 0) >= MOST_BYTES) renameSync(this.#path, `${this.#path}.1`);
  }
}

/** The last lines of a log, from a place in it on; none where there is no log. */
export function logTail(folder: string, from: number, most = 10): string[] {
  try {
    const size = statSync(logPath(folder)).size;
    // Turned meanwhile: all of the new one is since then.
    const start = Math.max(from <= size ? from : 0, size - 64 * 1024);
    const bytes = Buffer.alloc(size - start);
    const file = openSync(logPath(folder), 'r');
    try {
      return bytes.subarray(0, readSync(file, bytes, 0, bytes.length, start)).toString('utf8').split('\n').filter((line) => line !== '').slice(-most);
    } finally {
      closeSync(file);
    }
  } catch {
    return [];
  }
}

/** How much the log holds now, in bytes. */
export const logSize = (folder: string): number => statSync(logPath(folder), { throwIfNoEntry: false })?.size ?? 0;
