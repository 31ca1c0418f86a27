// The headers sent along: an endpoint's key, mostly. No message here holds a header's name or value.

import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs';
import { codeOf, Failure, messageOf } from '../errors';

const { O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants;

/** A header's name, in lower case, and its value. */
export type Header = readonly [name: string, value: string];

/** A token of RFC 9110, section 5.6.2. */
const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,256}$/;
/** Visible ASCII with blanks within: no CR, LF or NUL, which would begin a header or a request of their own (CVE-2022-31150). */
const VALUE = /^[\x21-\x7e](?:[\x20-\x7e\t]{0,8190}[\x21-\x7e])?$/;
/** The sender's own, and those that change how a request or its answer is read. */
const OURS = new Set(['host', 'content-length', 'content-type', 'content-encoding', 'transfer-encoding', 'connection', 'accept-encoding', 'expect', 'keep-alive', 'proxy-connection', 'te', 'trailer', 'upgrade']);
const MOST = 32;
const LARGEST_FILE = 16 * 1024;

/** Names whose value is likely a secret. */
const SECRET = /auth|key|token|secret|passw|cookie|cred|team/i;

/**
 * A header by its text, `name: value`.
 *
 * @throws {Failure} it can't be sent; the message begins with a verb
 */
export function parseHeader(text: string): Header {
  const colon = text.indexOf(':');
  const name = text.slice(0, Math.max(colon, 0));
  if (!NAME.test(name)) throw new Failure("is not `name: value`, or its name has a character that a header's name can't have");
  if (OURS.has(name.toLowerCase())) throw new Failure('is one that lnk measure sets itself');
  const value = text.slice(colon + 1).replace(/^[ \t]+|[ \t]+$/g, '');
  if (!VALUE.test(value)) throw new Failure('has no value, or one with a character that is not visible ASCII, a blank or a tab');
  return [name.toLowerCase(), value];
}

/**
 * Headers by their texts, each name once.
 *
 * @throws {Failure} one can't be sent, or there are too many; the message begins with which
 */
export function parseHeaders(texts: readonly string[]): Header[] {
  if (texts.length > MOST) throw new Failure(`there are more than ${MOST} headers`);
  const headers = texts.map((text, at) => {
    try {
      return parseHeader(text);
    } catch (error) {
      throw new Failure(`header ${at + 1} ${messageOf(error)}`);
    }
  });
  const twice = headers.findIndex(([name], at) => headers.findIndex(([other]) => other === name) !== at);
  if (twice !== -1) throw new Failure(`header ${twice + 1} has the name of one before it`);
  return headers;
}

/** Whether one of the headers likely holds a secret, by its name. */
export const holdSecret = (headers: readonly Header[]): boolean => headers.some(([name]) => SECRET.test(name));

/**
 * The headers of a file that only its owner reads: one a line, blank lines and lines that begin with # left out.
 *
 * @returns their texts
 * @throws {Failure} the file can't be read or isn't private, and what to do
 */
export function readHeaderFile(path: string): string[] {
  const lines = readPrivate(path).replace(/\n$/, '').split('\n');
  return lines.filter((line) => line !== '' && !line.startsWith('#'));
}

/** What a file holds, if only its owner may read it and that is this user or root: as ssh asks of a key. */
function readPrivate(path: string): string {
  let file: number;
  try {
    file = openSync(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  } catch (error) {
    const why = codeOf(error) === 'ELOOP' ? 'it is a link: name the file itself' : (codeOf(error) ?? messageOf(error));
    throw new Failure(`${path} can't be read: ${why}.`);
  }
  try {
    const stat = fstatSync(file);
    if (!stat.isFile()) throw new Failure(`${path} is no plain file.`);
    if (stat.uid !== 0 && stat.uid !== process.getuid?.()) throw new Failure(`${path} belongs to another user.`);
    if ((stat.mode & 0o077) !== 0) throw new Failure(`${path} can be read or changed by others. \`chmod 600 ${path}\` keeps it yours.`);
    if (stat.size > LARGEST_FILE) throw new Failure(`${path} is larger than ${LARGEST_FILE / 1024} KiB.`);
    return readFileSync(file, 'latin1');
  } finally {
    closeSync(file);
  }
}
