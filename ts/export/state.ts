// How sending went, in `export.json` of the measure folder: what the watcher's sender leaves for `export`, `status` and
// `check`, which are other processes.

import { rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isObject, parseObject } from '../json';
import { readPlain } from '../plain';

/** How sending to one endpoint went. Times are in seconds since 1970. */
export interface State {
  /** The endpoint's host and port. */
  host: string;
  lastSuccess: number | null;
  lastFailure: number | null;
  /** What went wrong last, in words of this program: never the endpoint's own. */
  failure: string | null;
  /** Looks that were taken, and that were not. */
  sent: number;
  failed: number;
  /** Looks that were not sent: one was under way, or it was too soon after a failure. A later one carried their totals. */
  skipped: number;
  /** Numbers that the endpoint refused of looks that it took. */
  rejected: number;
}

/** Nothing was sent yet. */
export const newState = (host: string): State => ({ host, lastSuccess: null, lastFailure: null, failure: null, sent: 0, failed: 0, skipped: 0, rejected: 0 });

const statePath = (folder: string): string => join(folder, 'export.json');

/** How sending to an endpoint went; nothing where another was sent to, or the file can't be believed. */
export function readState(folder: string, host: string): State {
  const state = newState(host);
  let said: Record<string, unknown>;
  try {
    said = parseObject(readPlain(statePath(folder)));
  } catch {
    return state;
  }
  if (!isObject(said) || said['host'] !== host) return state;
  const number = (value: unknown) => (typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : undefined);
  for (const key of ['lastSuccess', 'lastFailure', 'sent', 'failed', 'skipped', 'rejected'] as const) state[key] = number(said[key]) ?? (state[key] as number);
  const { failure } = said;
  state.failure = typeof failure === 'string' && /^[\x20-\x7e]{1,200}$/.test(failure) ? failure : null;
  return state;
}

/** Replaces the file, whole and only this user's. What can't be written isn't: sending goes on. */
export async function writeState(folder: string, state: State): Promise<void> {
  const temporary = `${statePath(folder)}.${process.pid}.tmp`;
  try {
    await writeFile(temporary, `${JSON.stringify(state)}\n`, { mode: 0o600, flag: 'wx' });
    await rename(temporary, statePath(folder));
  } catch {
    await rm(temporary, { force: true }).catch(() => undefined);
  }
}

/** Whether the last that was heard of an endpoint was a failure. */
export const hasFailed = ({ lastSuccess, lastFailure }: Pick<State, 'lastSuccess' | 'lastFailure'>): boolean => lastFailure !== null && lastFailure > (lastSuccess ?? -1);
