// Where a run's files are: in the measure folder's `runs`, a file a run that says who it is (contract 1's shape and what
// tells its processes from others of the same numbers), and a home each for what it and its harness report.

import { closeSync, constants, existsSync, fstatSync, mkdirSync, openSync, readdirSync, readFileSync, readlinkSync, renameSync, rmSync, rmdirSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { codeOf } from '../errors';
import { isObject, listOf, parseObject } from '../json';
import type { EndedRun } from '../native';
import { readPlain } from '../plain';

/** A group that a run made is called so; nothing else is ever removed. */
export const GROUP_PREFIX = 'lnk-run-';

/** A run that has ended is told of for so long, so that every watcher (it looks at least every 10 minutes) sees its end. */
const TOLD_MS = 15 * 60_000;
/** What of a run that is over waits for the watcher is called after the run and its start, with this at its end. */
export const OVER = /\.(\d+)\.ended$/;
/** A claim takes a moment; one that is this old was left by who was killed meanwhile. */
const CLAIM_MS = 10_000;

/** A process, told from others that have had its number or will. */
export interface Who {
  pid: number;
  /** Clock ticks since boot. */
  start: number;
}

/** What of a run's file isn't contract 1's. */
export interface RunMark {
  /** This start of the machine, and the name space the numbers are of. */
  boot: string;
  pids: string;
  /** The process of `lnk measure run`. */
  by: Who | null;
  /** The run's processes: its main one, or those it left behind. */
  who: Who[];
  groupDirs: string[];
  /** When it ended, in milliseconds since 1970. */
  ended?: number;
}

/** What a run came to, with what its proxy carried (one sandbox of contract 2). */
export interface Over extends EndedRun {
  traffic?: unknown;
}

/** The paths of a run of a name. */
export class RunFiles {
  readonly file: string;
  readonly traffic: string;
  readonly home: string;
  readonly #lock: string;
  readonly #base: string;

  /** @param folder the measure folder */
  constructor(
    readonly folder: string,
    name: string,
  ) {
    const base = join(folder, 'runs', encodeURIComponent(name));
    this.#base = base;
    this.file = `${base}.json`;
    this.traffic = `${base}.traffic`;
    this.home = `${base}.home`;
    this.#lock = `${base}.claim`;
  }

  /** Where the harness reports (contract 5). */
  get measures(): string {
    return join(this.home, '.lnk', 'measures.jsonl');
  }

  get times(): string {
    return join(this.home, 'times.jsonl');
  }

  /** Makes the run's home. Whether it was there before, and last used after the machine started. */
  makeHome(bootMs: number): { usedSinceBoot: boolean } {
    const before = statSync(this.home, { throwIfNoEntry: false });
    mkdirSync(join(this.home, '.lnk'), { recursive: true, mode: 0o700 });
    const mark = join(this.home, 'started');
    const last = before && statSync(mark, { throwIfNoEntry: false })?.mtimeMs;
    replace(mark, '');
    return { usedSinceBoot: last !== undefined && last >= bootMs };
  }

  /** Takes the name, unless a run that isn't over has it. */
  claim(text: string): boolean {
    return this.#locked(() => {
      if (existsSync(this.file) && !isOver(readMark(this.file))) return false;
      rmSync(this.traffic, { force: true });
      replace(this.file, text);
      return true;
    });
  }

  /** Says anew who it is. */
  say(text: string): void {
    replace(this.file, text);
  }

  /** Leaves what a run came to for the watcher, which removes it once it is in a look that was kept. */
  leave(startedMs: number, over: Over): void {
    for (const path of this.#left()) if (isOld(path)) rmSync(path, { force: true });
    replace(`${this.#base}.${startedMs}.ended`, `${JSON.stringify(over)}\n`);
  }

  /** What runs of the name left so. */
  #left(): string[] {
    const folder = dirname(this.#base);
    const paths = readdirSync(folder).map((name) => join(folder, name));
    return paths.filter((path) => path.replace(OVER, '') === this.#base && path !== this.#base);
  }

  /** Removes what is left of a run that is over, with the groups it made. A name that is being claimed is left alone. */
  forget(): void {
    this.#locked(() => {
      const mark = readMark(this.file);
      if (!isForgotten(mark)) return false;
      removeGroups(mark?.groupDirs ?? []);
      for (const path of [this.file, this.traffic, ...this.#left()]) rmSync(path, { force: true });
      return true;
    });
  }

  /** Does something that only one process may at a time; false if another does. */
  #locked(act: () => boolean): boolean {
    try {
      writeFileSync(this.#lock, '', { flag: 'wx', mode: 0o600 });
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') throw error;
      const since = statSync(this.#lock, { throwIfNoEntry: false })?.mtimeMs;
      if (since === undefined || Date.now() - since < CLAIM_MS) return false;
      rmSync(this.#lock, { force: true });
      return this.#locked(act);
    }
    try {
      return act();
    } finally {
      rmSync(this.#lock, { force: true });
    }
  }
}

/** Whether a file was written before anybody needs to be told of it. */
function isOld(path: string): boolean {
  const written = statSync(path, { throwIfNoEntry: false })?.mtimeMs;
  return written === undefined || Math.abs(Date.now() - written) > TOLD_MS;
}

/** Writes a file whole or not at all. */
function replace(path: string, text: string): void {
  const mine = `${path}.${process.pid}`;
  writeFileSync(mine, text, { mode: 0o600 });
  renameSync(mine, path);
}

/** Plain files alone, of any other nothing is waited for: what they are in is the command's to write to. */
const APPEND = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOCTTY;

/**
 * Keeps a harness's file open to write, and makes it where it isn't there: the watcher empties no file that somebody may
 * yet write to, so that whoever else follows it misses nothing.
 */
export class HeldFile {
  readonly #path: string;
  #held: { file: number; inode: bigint } | undefined;

  constructor(path: string) {
    this.#path = path;
    this.renew();
  }

  /** Holds what is of that name by now: its writer moves it aside at times. What can't be held isn't. */
  renew(): void {
    if (this.#held !== undefined && statSync(this.#path, { bigint: true, throwIfNoEntry: false })?.ino === this.#held.inode) return;
    const before = this.#held;
    this.#held = open(this.#path);
    if (before !== undefined) closeSync(before.file);
  }

  close(): void {
    if (this.#held !== undefined) closeSync(this.#held.file);
    this.#held = undefined;
  }
}

function open(path: string): { file: number; inode: bigint } | undefined {
  try {
    const file = openSync(path, APPEND, 0o600);
    const stat = fstatSync(file, { bigint: true });
    if (stat.isFile() && stat.nlink === 1n) return { file, inode: stat.ino };
    closeSync(file);
  } catch {
    // In its place is something else, or it is being asked about just now.
  }
  return undefined;
}

/** Writes beside a run's file what its proxy carried (one sandbox of contract 2). */
export const writeTraffic = (files: RunFiles, entry: unknown): void => replace(files.traffic, `${JSON.stringify(entry)}\n`);

function readMark(path: string): RunMark | undefined {
  try {
    return parseMark(parseObject(readPlain(path))['run']);
  } catch {
    return undefined;
  }
}

/** What a run's file says of its processes, if it is one. */
export function parseMark(said: unknown): RunMark | undefined {
  if (!isObject(said) || typeof said['boot'] !== 'string' || typeof said['pids'] !== 'string') return undefined;
  const who = (value: unknown): Who[] => {
    const { pid, start } = isObject(value) ? value : {};
    return typeof pid === 'number' && typeof start === 'number' ? [{ pid, start }] : [];
  };
  const { boot, pids, ended } = said;
  return {
    boot,
    pids,
    by: who(said['by'])[0] ?? null,
    who: listOf(said['who']).flatMap(who),
    groupDirs: listOf(said['groupDirs']).filter((dir): dir is string => typeof dir === 'string' && basename(dir).startsWith(GROUP_PREFIX)),
    ...(typeof ended === 'number' && { ended }),
  };
}

/** Whether a run's name may be taken: it has ended, or whoever ran it was killed and nobody of it is left. */
function isOver(mark: RunMark | undefined): boolean {
  return mark === undefined || mark.ended !== undefined || !isAlive(mark);
}

/** Whether nobody needs to be told of a run any more. */
export function isForgotten(mark: RunMark | undefined): boolean {
  if (mark?.ended !== undefined) return Date.now() - mark.ended > TOLD_MS || Date.now() < mark.ended - TOLD_MS;
  return mark !== undefined && !isAlive(mark);
}

/** Whether anybody of a run lives: it itself, a process of its, or anybody in its group. Of another name space it can't be told. */
function isAlive({ boot, pids, by, who, groupDirs }: RunMark): boolean {
  const here = place();
  if (boot !== here.boot) return false;
  if (pids !== here.pids) return true;
  return [...(by ? [by] : []), ...who].some(isRunning) || groupDirs.some(isPopulated);
}

/** The processes of a run that still run, by their numbers. */
export const runningOf = ({ boot, pids, who }: RunMark): number[] => {
  const here = place();
  return boot === here.boot && pids === here.pids ? who.filter(isRunning).map(({ pid }) => pid) : [];
};

const isRunning = ({ pid, start }: Who): boolean => startOf(pid) === start;

/** When a process started, in clock ticks since boot; undefined if there is none, or it has ended. */
export function startOf(pid: number): number | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The name before may hold anything, brackets and blanks too.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' || fields[0] === 'X' ? undefined : Number(fields[19]);
  } catch {
    return undefined;
  }
}

function isPopulated(dir: string): boolean {
  try {
    return readFileSync(join(dir, 'cgroup.procs'), 'utf8') !== '';
  } catch {
    return false;
  }
}

/** Removes groups that nobody is in. */
function removeGroups(dirs: readonly string[]): void {
  for (const dir of dirs) {
    try {
      rmdirSync(dir);
    } catch {
      // Gone, or somebody is in it.
    }
  }
}

/** This start of the machine, and the name space of process numbers. */
export function place(): { boot: string; pids: string } {
  const read = (get: () => string): string => {
    try {
      return get().trim();
    } catch {
      return '';
    }
  };
  return { boot: read(() => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8')), pids: read(() => readlinkSync('/proc/self/ns/pid')) };
}

/** When the machine started, in milliseconds since 1970; 0 where it isn't said. */
export function bootMs(): number {
  try {
    return Number(/^btime (\d+)$/m.exec(readFileSync('/proc/stat', 'utf8'))?.[1] ?? 0) * 1000;
  } catch {
    return 0;
  }
}
