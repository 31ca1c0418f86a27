// Every message there is, is in docs/troubleshooting.md: what it means, and what to do.

import { coreTexts, plain, read, shellTexts, type Text } from './texts';

/** What is no message to a person. Whoever adds one here says why. */
const NOT_MESSAGES: ReadonlyMap<string, string> = new Map([
  ['HTTP/1.1 … Connection: close Content-Type: text/plain Content-Length: …', "an answer's head"],
  ['… of … parent and …: ….', 'put together of parts that are there'],
  ['Proxy-Authenticate: Basic realm="lnk measure run"', "an answer's head"],
  ['Basic realm="lnk measure run"', "an answer's head"],
  ['What every AI agent on this machine costs. lnk measure --help says more.', 'a help'],
  ['Runs a group of commands: lnk GROUP … runs lnk-GROUP … from the PATH, and lnk measure is built in.', 'a help'],
  ['Show the version.', 'a help'],
  ['it its folder:', 'two names of lines, of which one is printed'],
  ['not a count', "a parser's, for a line that is stepped over"],
  ['an object by measures', "a parser's, for a line that is stepped over"],
  ['\\0AUTH EXTERNAL …\\r\\nBEGIN\\r\\n', 'what is said to a manager'],
  ['What lnk measure run measures', "a scope's description"],
  ['Max open files', 'a line of /proc/self/limits'],
]);

/** What is for a shell or the manual, and says nothing to a person. */
const SCRIPTS: ReadonlySet<string> = new Set(['ts/show/completions.ts', 'ts/show/manual.ts']);

/** What of a text must be there: its first sentence, where that says enough, without what joins it to another. */
function gist(text: string): string {
  const [first = ''] = plain(text).split(/(?<=[a-z…)][.:]) (?=[A-Z])/, 1);
  return (first.length >= 20 ? first : plain(text)).replace(/^(lnk measure( run)?: )/, '').replace(/^[\s;:,.…]+|[\s;:,.…]+$/g, '');
}

test('every message of the program is in docs/troubleshooting.md', () => {
  const told = plain(read('docs/troubleshooting.md'));
  const missing = [...shellTexts().filter(({ where }) => !SCRIPTS.has(where)), ...coreTexts()].filter(({ text }) => !NOT_MESSAGES.has(plain(text)) && !told.includes(gist(text)));
  // One that is new: give it a row there, with what to do about it.
  expect(missing.map(({ where, text }: Text) => `${where}: ${gist(text)}`)).toEqual([]);
});

test('the sources are read for messages', () => {
  expect(shellTexts().length).toBeGreaterThan(200);
  expect(coreTexts().length).toBeGreaterThan(40);
  expect(gist('lnk measure: … is no folder. Move it out of the way.')).toBe('is no folder');
});
