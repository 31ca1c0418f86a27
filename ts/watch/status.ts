// How the watcher is: what its lock and its last look say.

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Failure } from '../errors';
import { type LastLook, lockHolder, readLastLook } from '../native/store';

/** What `status --json` prints beside how sending went (times in seconds since 1970, `every` in seconds). */
export interface Status {
  running: boolean;
  pid: number | null;
  since: number | null;
  every: number | null;
  lastLook: number | null;
  /** The watcher's own: core-seconds since it started, and bytes. */
  cost: { cpu: number; memory: number } | null;
}

/**
 * The state of a measure folder's watcher.
 *
 * @throws {Failure} the lock is held by something else
 */
export function readStatus(folder: string): Status {
  const holder = existsSync(folder) ? lockHolder(folder) : undefined;
  if (holder !== undefined && !holder.isWatcher) {
    throw new Failure(`${join(folder, 'watch.lock')} is held by ${holder.pid === null ? 'a process in another container' : `process ${holder.pid}, which is no watcher`}.`);
  }
  const last = existsSync(folder) ? readLastLook(folder) : undefined;
  const running = holder !== undefined;
  return {
    running,
    pid: holder?.pid ?? null,
    since: holder?.since ?? null,
    every: running ? (last?.every ?? null) : null,
    lastLook: last?.at ?? null,
    cost: running ? (last?.cost ?? null) : null,
  };
}

/** CPU that the programs a process asked have used, in core-seconds; undefined where the system doesn't say. */
export function childrenCpu(pid: number): number | undefined {
  try {
    // Fields 16 and 17 of proc_pid_stat(5), in hundredths of a second on every kernel Node runs on; the name before them may hold anything.
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return (Number(fields[13]) + Number(fields[14])) / 100;
  } catch {
    return undefined;
  }
}

/** Looks may be this many times `every` old before they are no longer the last: one that is late isn't one that is missing. */
const FRESH_LOOKS = 2.5;

/** The last look of a watcher that runs and keeps up; undefined where none does. */
export function readWatched(folder: string): LastLook | undefined {
  const last = readLastLook(folder);
  if (last === undefined || Date.now() / 1000 - last.at >= FRESH_LOOKS * last.every) return undefined;
  return lockHolder(folder) === undefined ? undefined : last;
}
