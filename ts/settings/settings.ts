// The watcher's settings: what each may be, Link's and yours. Yours win, key by key.

import { statSync } from 'node:fs';
import { join } from 'node:path';
import { parse, TomlError } from 'smol-toml';
import linkText from '../../settings/link.toml';
import { codeOf, Failure, messageOf } from '../errors';
import { readPlain } from '../plain';

/** The settings' names in the file, in the order they are shown. */
export const KEYS = ['every', 'keep_fine', 'keep_minutes', 'processes'] as const;
export type Key = (typeof KEYS)[number];

/** A setting as a file has it. */
export type Value = string | boolean;
export type Values = Readonly<Partial<Record<Key, Value>>>;

/** What holds. */
export interface Settings {
  everyMs: number;
  keepFineMs: number;
  keepMinutesMs: number;
  processes: boolean;
}

const UNITS: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** A time such as `90s` in milliseconds, if it is one. */
function parseTime(value: unknown): number | undefined {
  const [, digits, unit = ''] = (typeof value === 'string' && /^(\d{1,9})([smhd])$/.exec(value)) || [];
  return digits === undefined ? undefined : Number(digits) * (UNITS[unit] ?? NaN);
}

interface Rule {
  allowed: string;
  fits(value: unknown): boolean;
}

const time = (least: string, most: string, example: string): Rule => ({
  allowed: `a time from ${least} to ${most}, such as "${example}"`,
  fits(value) {
    const ms = parseTime(value);
    return ms !== undefined && ms >= (parseTime(least) ?? 0) && ms <= (parseTime(most) ?? 0);
  },
});

/** What each setting may be. A day is told from looks at most 15 minutes apart, so `every` stays below that. */
export const RULES: Readonly<Record<Key, Rule>> = {
  every: time('1s', '10m', '10s'),
  keep_fine: time('1h', '366d', '6h'),
  keep_minutes: time('1d', '3660d', '7d'),
  processes: { allowed: 'true or false', fits: (value) => typeof value === 'boolean' },
};

/** Tables of the file that are another command's. */
const OTHERS = new Set(['export']);

/** A settings file can't be used; the message says where and what is allowed, and holds nothing of the file. */
export class SettingsError extends Failure {
  override readonly name = 'SettingsError';
}

/** Your settings file's path. */
export const settingsPath = (folder: string): string => join(folder, 'settings.toml');

/** Tells one state of the settings file from another. */
export function settingsStamp(folder: string): string {
  const stat = statSync(settingsPath(folder), { throwIfNoEntry: false });
  return stat === undefined ? '' : `${stat.ino} ${stat.mtimeMs} ${stat.ctimeMs} ${stat.size}`;
}

/**
 * The settings in a file's text.
 *
 * @param file what the message calls it
 * @throws {SettingsError} it isn't TOML, or a value or a name isn't one there is
 */
export function parseSettings(text: string, file: string): Values {
  let table: Record<string, unknown>;
  try {
    table = parse(text);
  } catch (error) {
    const line = error instanceof TomlError ? `:${error.line}` : '';
    throw new SettingsError(`${file}${line}: this isn't TOML: ${reasonOf(error)}`);
  }
  const values: Partial<Record<Key, Value>> = {};
  for (const [name, value] of Object.entries(table)) {
    if (OTHERS.has(name)) continue;
    const key = KEYS.find((each) => each === name);
    const where = `${file}:${lineOf(text, name)}`;
    if (key === undefined) throw new SettingsError(`${where}: there is no such setting. There are: ${KEYS.join(', ')}.`);
    if (!RULES[key].fits(value)) throw new SettingsError(`${where}: ${key} must be ${RULES[key].allowed}.`);
    values[key] = value as Value;
  }
  return values;
}

function reasonOf(error: unknown): string {
  const first = messageOf(error).split('\n', 1)[0] ?? '';
  return `${first.replace(/^Invalid TOML document: /, '')}.`;
}

/** The number of the line that begins with a name; the first, where none does (it is within a table written in one line). */
function lineOf(text: string, name: string): number {
  const at = text.split('\n').findIndex((line) => [name, `"${name}"`, `'${name}'`, `[${name}`].some((start) => line.trim().startsWith(start)));
  return Math.max(at, 0) + 1;
}

/** Link's settings: every key has a value. */
export const linkSettings = (): Values => parseSettings(linkText, "Link's settings");

/**
 * Your settings in a measure folder; none where there is no file.
 *
 * @throws {SettingsError} the file can't be read or used
 */
export function readSettings(folder: string): Values {
  const path = settingsPath(folder);
  let text: string;
  try {
    text = readPlain(path);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return {};
    throw new SettingsError(`${path} can't be read: ${codeOf(error) ?? `it ${messageOf(error)}`}.`);
  }
  return parseSettings(text, path);
}

/** What holds: yours, and Link's where you set none. */
export function settingsOf(yours: Values): Settings {
  const values = { ...linkSettings(), ...yours };
  const ms = (key: Key) => parseTime(values[key]) ?? NaN;
  return { everyMs: ms('every'), keepFineMs: ms('keep_fine'), keepMinutesMs: ms('keep_minutes'), processes: values.processes === true };
}
