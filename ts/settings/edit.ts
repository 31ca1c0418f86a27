// Changing your settings file: the line of one setting, and nothing else of it.

import { closeSync, fsyncSync, openSync, readFileSync, realpathSync, renameSync, rmSync, writeSync } from 'node:fs';
import { parse } from 'smol-toml';
import { codeOf } from '../errors';
import { type Key, parseSettings, SettingsError, settingsPath, type Value } from './settings';

/** A setting's line: what stands before its value, the value, and what follows it. */
const lineFor = (key: Key): RegExp => new RegExp(`^(\\s*(?:${key}|"${key}"|'${key}')\\s*=\\s*)("[^"]*"|'[^']*'|[^\\s#]+)(\\s*(?:#.*)?)$`);

/**
 * A settings file's text with settings changed; `undefined` takes one out. Comments, order and all other lines stay.
 *
 * @param file what the message calls it
 * @throws {SettingsError} the text or a value can't be used, or the file is written so that no line is the setting's own
 */
export function editSettings(text: string, changes: ReadonlyMap<Key, Value | undefined>, file: string): string {
  parseSettings(text, file);
  let edited = text;
  for (const [key, value] of changes) edited = editOne(edited, key, value);
  const values = parseSettings(edited, file);
  const expected: Record<string, unknown> = { ...parse(text) };
  for (const [key, value] of changes) {
    if (value === undefined) delete expected[key];
    else expected[key] = value;
  }
  const sorted = (table: object) => JSON.stringify(Object.entries(table).sort(([a], [b]) => (a < b ? -1 : 1)));
  if (sorted(parse(edited)) !== sorted(expected) || [...changes].some(([key, value]) => values[key] !== value)) {
    throw new SettingsError(`${file} is written in a way that no flag can change. Change it by hand.`);
  }
  return edited;
}

function editOne(text: string, key: Key, value: Value | undefined): string {
  const lines = text === '' ? [] : text.replace(/\n$/, '').split('\n');
  const tables = lines.findIndex((line) => /^\s*\[/.test(line));
  const end = tables === -1 ? lines.length : tables;
  const at = lines.slice(0, end).findIndex((line) => lineFor(key).test(line));
  if (value === undefined) {
    if (at !== -1) lines.splice(at, 1);
  } else if (at !== -1) {
    lines[at] = (lines[at] ?? '').replace(lineFor(key), (_, before: string, __, after: string) => `${before}${JSON.stringify(value)}${after}`);
  } else {
    lines.splice(end, 0, `${key} = ${JSON.stringify(value)}`, ...(end < lines.length ? [''] : []));
  }
  return lines.length === 0 ? '' : `${lines.join('\n')}\n`;
}

/**
 * Changes the settings file of a measure folder, which is there.
 *
 * @throws {SettingsError} see {@link editSettings}
 */
export const changeSettings = (folder: string, changes: ReadonlyMap<Key, Value | undefined>): void =>
  rewriteSettings(folder, (text, path) => editSettings(text, changes, path));

/** Replaces the settings file of a measure folder by what `edit` makes of it, whole, and only this user's. */
export function rewriteSettings(folder: string, edit: (text: string, path: string) => string): void {
  const path = followed(settingsPath(folder));
  const text = readText(path);
  const edited = edit(text, path);
  if (edited === text) return;
  const temporary = `${path}.${process.pid}.tmp`;
  const file = openSync(temporary, 'wx', 0o600);
  try {
    writeSync(file, edited);
    fsyncSync(file);
    renameSync(temporary, path);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  } finally {
    closeSync(file);
  }
}

/** Where a link leads: a file kept elsewhere stays there. */
function followed(path: string): string {
  try {
    return realpathSync(path);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return path;
    throw error;
  }
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return '';
    throw error;
  }
}
