// Where a run's files are: in the measure folder's `runs`, a file a run that says who it is (contract 1's shape and what
// tells its processes from others of the same numbers), and a home each for what it and its harness report.

import { existsSync, mkdirSync, readFileSync, readlinkSync, renameSync, rmSync, rmdirSync, statSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { codeOf } from '../errors';
import { isObject, listOf, parseObject } from '../json';
import { readPlain } from '../plain';

/** A group that a run made is called so; nothing else is ever removed. */
export const GROUP_PREFIX = 'lnk-run-';

/** A run that has ended is told of for so long, so that every watcher (it looks at least every 10 minutes) sees its end. */
const TOLD_MS = 15 * 60_000;
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

/** The paths of a run of a name. */
export class RunFiles {
  readonly file: string;
  readonly traffic: string;
  readonly home: string;
  readonly #lock: string;

  constructor(folder: string, name: string) {
    const base = join(folder, 'runs', encodeURIComponent(name));
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

  /** Removes what is left of a run that is over, with the groups it made. A name that is being claimed is left alone. */
  forget(): void {
    this.#locked(() => {
      const mark = readMark(this.file);
      if (!isForgotten(mark)) return false;
      removeGroups(mark?.groupDirs ?? []);
      rmSync(this.file, { force: true });
      rmSync(this.traffic, { force: true });
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

/** Writes a file whole or not at all. */
function replace(path: string, text: string): void {
  const mine = `${path}.${process.pid}`;
  writeFileSync(mine, text, { mode: 0o600 });
  renameSync(mine, path);
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
