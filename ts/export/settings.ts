// Where to send, in your settings.toml: its table [export], with `url` and `headers`.

import { parse } from 'smol-toml';
import { codeOf, messageOf } from '../errors';
import { readPlain } from '../plain';
import { isObject } from '../json';
import { rewriteSettings } from '../settings/edit';
import { parseSettings, SettingsError, settingsPath } from '../settings/settings';
import { type Endpoint, parseEndpoint } from './endpoint';
import { type Header, parseHeaders } from './headers';

/** Where to send, and with what. */
export interface Target {
  endpoint: Endpoint;
  headers: readonly Header[];
}

/** A target as the file has it. Headers are `name: value`. */
export interface TargetText {
  url: string;
  headers: readonly string[];
}

/** The table [export] can't be used; the message holds nothing of it but its endpoint's host. */
export class TargetError extends SettingsError {}

const STRING = String.raw`"(?:[^"\\]|\\.)*"|'[^']*'`;
/** A line of the table: what stands before its value, the value, and what follows it. */
const lineFor = (key: string): RegExp => new RegExp(String.raw`^(\s*${key}\s*=\s*)(${STRING}|\[(?:[\s,]|${STRING})*\])(\s*(?:#.*)?)$`);

/**
 * The target in a settings file's text; undefined where nothing is to be sent.
 *
 * @param file what the message calls it
 * @throws {SettingsError} the file can't be used; {TargetError} the target can't
 */
export function parseTarget(text: string, file: string): (Target & { text: TargetText }) | undefined {
  parseSettings(text, file);
  const { export: table } = parse(text);
  if (table === undefined) return undefined;
  const bad = (why: string) => new TargetError(`${file}: [export]: ${why}.`);
  if (!isObject(table)) throw bad('it must be a table');
  const { url, headers = [], ...rest } = table;
  if (Object.keys(rest).length > 0) throw bad('there are only url and headers');
  if (url === undefined && table['headers'] === undefined) return undefined;
  if (typeof url !== 'string') throw bad('url must be a text, such as "https://api.honeycomb.io"');
  if (!Array.isArray(headers) || !headers.every((each): each is string => typeof each === 'string')) {
    throw bad('headers must be a list of texts, such as ["name: value"]');
  }
  try {
    return { endpoint: parseEndpoint(url), headers: parseHeaders(headers), text: { url, headers } };
  } catch (error) {
    const why = messageOf(error);
    throw bad(why.startsWith('header') || why.startsWith('there') ? why : `url ${why}`);
  }
}

/**
 * The target in a measure folder's settings; undefined where nothing is to be sent.
 *
 * @throws {SettingsError} the file can't be read or used
 */
export function readTarget(folder: string): (Target & { text: TargetText }) | undefined {
  const path = settingsPath(folder);
  let text: string;
  try {
    text = readPlain(path);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw new SettingsError(`${path} can't be read: ${codeOf(error) ?? `it ${messageOf(error)}`}.`);
  }
  return parseTarget(text, path);
}

/** Sets the target of a measure folder, which is there; undefined sends nothing from then on. @throws {SettingsError} see {@link editTarget} */
export const changeTarget = (folder: string, target: TargetText | undefined): void =>
  rewriteSettings(folder, (text, path) => editTarget(text, target, path));

/**
 * A settings file's text with another target. Comments and all other lines stay; the table goes with its last line.
 *
 * @param file what the message calls it
 * @throws {SettingsError} the text or the target can't be used, or the file is written so that no line is the setting's own
 */
export function editTarget(text: string, target: TargetText | undefined, file: string): string {
  const lines = text === '' ? [] : text.replace(/\n$/, '').split('\n');
  let at = lines.findIndex((line) => /^\s*\[\s*export\s*\]/.test(line));
  if (at === -1 && target !== undefined) {
    if (lines.length > 0) lines.push('');
    at = lines.push('[export]') - 1;
  }
  if (at !== -1) editTable(lines, at, target);
  const edited = lines.length === 0 ? '' : `${lines.join('\n')}\n`;
  const [before, after] = [parsed(text, file), parsed(edited, file)];
  const now = parseTarget(edited, file)?.text;
  if (before !== after || JSON.stringify(now) !== JSON.stringify(target && { url: target.url, headers: target.headers })) {
    throw new SettingsError(`${file} is written in a way that no flag can change. Change its table [export] by hand.`);
  }
  return edited;
}

function editTable(lines: string[], at: number, target: TargetText | undefined): void {
  const next = lines.findIndex((line, index) => index > at && /^\s*\[/.test(line));
  const table = lines.slice(at + 1, next === -1 ? lines.length : next);
  const length = table.length;
  setLine(table, 'url', target?.url, 0);
  const afterUrl = table.findIndex((line) => lineFor('url').test(line)) + 1;
  setLine(table, 'headers', target === undefined || target.headers.length === 0 ? undefined : target.headers, afterUrl);
  const isEmpty = target === undefined && table.every((line) => line.trim() === '');
  lines.splice(at, 1 + length, ...(isEmpty ? [] : [lines[at] ?? '', ...table]));
  // The blank line that was made with the table goes with it.
  if (isEmpty && at === lines.length && lines[at - 1] === '') lines.pop();
}

/** Changes a key's line, takes it out, or puts a new one in its place. */
function setLine(table: string[], key: string, value: unknown, place: number): void {
  const at = table.findIndex((line) => lineFor(key).test(line));
  if (value === undefined) {
    if (at !== -1) table.splice(at, 1);
  } else if (at === -1) {
    table.splice(place, 0, `${key} = ${JSON.stringify(value)}`);
  } else {
    table[at] = (table[at] ?? '').replace(lineFor(key), (_, before: string, __, after: string) => `${before}${JSON.stringify(value)}${after}`);
  }
}

/** What a text says beside its target, in an order that lines don't change. */
function parsed(text: string, file: string): string {
  parseSettings(text, file);
  const { export: _, ...rest } = parse(text);
  return JSON.stringify(Object.entries(rest).sort(([a], [b]) => (a < b ? -1 : 1)));
}
