// What a harness uses to say what its turns took. It runs inside somebody's agent, so it never throws, waits for nobody and
// writes nothing but numbers; and its file is in a folder that others may write to, so it is opened as theirs would be.

import { chmodSync, closeSync, constants, fchmodSync, fstatSync, lstatSync, mkdirSync, openSync, renameSync, rmSync, writeSync } from 'node:fs';
import { dirname, isAbsolute } from 'node:path';
import { codeOf } from '../errors';
import { turnLine, type TurnReport } from './line';

/** A file this long is moved aside before the next line, so that unread lines never take more than twice that. */
const MOST_BYTES = 1n << 20n;

/** A FIFO without a reader, a terminal or a file under a lease is refused at once, not waited for; a link is not followed. */
const APPEND = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOCTTY;

/**
 * The watcher holds a lease on the file for the length of two system calls, to learn whether anybody writes to it; what
 * opens it in between is told to try again. So many times, a millisecond apart.
 */
const LEASE_TRIES = 20;
/** The file may be moved aside by another process while it is opened, or just now. */
const MOVE_TRIES = 20;
/** Moving takes a moment: a mark of it that is this old was left by who was killed meanwhile. */
const MOVE_MS = 1000;

const nothing = new Int32Array(new SharedArrayBuffer(4));

/** Appends a line a turn to the file that an agent's watcher reads: `new TurnReporter(process.env.LNK_MEASURES)`. */
export class TurnReporter {
  readonly #path: string | undefined;
  /** The file may end within a line: another process's, or ours on a full disk. */
  #torn = true;

  /** @param path the file, absolute; a reporter of anything else (such as an unset variable) does nothing */
  constructor(path: string | undefined) {
    this.#path = typeof path === 'string' && isAbsolute(path) ? path : undefined;
  }

  /**
   * Says what a turn took. Only numbers within bounds are taken, whatever the types say: whole ones from 0 to 1e9, a cost
   * from 0 to 1e9 millionths of a dollar, times from 0 to 86,400 s.
   *
   * Opened and closed each time: a file that somebody has open to write can't be emptied.
   *
   * @returns whether it is written. Never throws: what can't be written is left
   */
  report(turn: TurnReport): boolean {
    if (this.#path === undefined) return false;
    try {
      const line = turnLine(turn, Date.now());
      return line !== undefined && this.#append(this.#path, line);
    } catch {
      return false;
    }
  }

  #append(path: string, line: string): boolean {
    ensureFolder(dirname(path));
    for (let tries = 0; tries < MOVE_TRIES; tries++) {
      const file = openToAppend(path);
      try {
        const stat = fstatSync(file, { bigint: true });
        // Another's file, by a hard link, is not ours to write to; without a name it is nobody's any more.
        if (!stat.isFile() || stat.nlink > 1n) return false;
        if (stat.nlink === 0n) continue;
        if (stat.size < MOST_BYTES) {
          // Created under a umask that took our own permissions, or left to others.
          if ((stat.mode & 0o777n) !== 0o600n) fchmodSync(file, 0o600);
          return this.#write(file, stat.size, line);
        }
        moveAside(path, stat);
      } finally {
        closeSync(file);
      }
    }
    return false;
  }

  #write(file: number, size: bigint, line: string): boolean {
    // What another began and didn't end must not take this line with it; an empty line is none.
    const bytes = Buffer.from(this.#torn && size > 0n ? `\n${line}` : line);
    this.#torn = true;
    const isWhole = writeSync(file, bytes) === bytes.length;
    this.#torn = !isWhole;
    return isWhole;
  }
}

/** Makes the file's folder, for this user alone, if it is missing; not the one around it, which is the agent's home. */
function ensureFolder(folder: string): void {
  try {
    if (lstatSync(folder).isDirectory()) return;
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error;
    mkdirSync(folder, 0o700);
    chmodSync(folder, 0o700);
    return;
  }
  throw new Error('a link or a file is in the place of the folder');
}

/**
 * Moves the file aside, one process at a time: between another's look at whose name it is and its move, a second move
 * would put the new file, which is all but empty, over the full one.
 */
function moveAside(path: string, full: { ino: bigint; dev: bigint }): void {
  const mark = `${path}.moving`;
  try {
    closeSync(openSync(mark, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o600));
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
    const since = lstatSync(mark, { throwIfNoEntry: false })?.mtimeMs;
    if (since !== undefined && Math.abs(Date.now() - since) > MOVE_MS) rmSync(mark, { force: true });
    else Atomics.wait(nothing, 0, 0, 1);
    return;
  }
  try {
    // One that another process has put in its place meanwhile is not full.
    const named = lstatSync(path, { bigint: true, throwIfNoEntry: false });
    if (named?.ino === full.ino && named.dev === full.dev) renameSync(path, `${path}.1`);
  } finally {
    rmSync(mark, { force: true });
  }
}

function openToAppend(path: string): number {
  for (let tries = 1; ; tries++) {
    try {
      return openSync(path, APPEND, 0o600);
    } catch (error) {
      if (codeOf(error) !== 'EAGAIN' || tries === LEASE_TRIES) throw error;
      Atomics.wait(nothing, 0, 0, 1);
    }
  }
}
