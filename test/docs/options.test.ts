// Each option of a command's help is in docs/commands.md, and no document names one that isn't there.

import { Cli } from 'clipanion';
import { routes } from '../../ts/bin/routes';
import { documents, fencesOf, read } from './texts';

/** A command's word with its options, by their longest names and their values, as its help has them. */
async function optionsOf(word: string): Promise<string[]> {
  const command = await routes.get(word)?.();
  if (command === undefined) throw new Error(`no command ${word}`);
  const cli = new Cli();
  cli.register(command);
  return (cli.definition(command)?.options ?? []).map(({ preferredName }) => `${preferredName} ${command.values[preferredName] ?? ''}`.trim());
}

const titleOf = (word: string): string => `## lnk measure ${word}`.trim();

/** The rows of a command in docs/commands.md. */
function documented(word: string): string[] {
  const sections = read('docs/commands.md').split(/^(?=## )/m);
  const section = sections.find((each) => each.startsWith(`${titleOf(word)}\n`)) ?? '';
  return [...section.matchAll(/^\| `(--[^`]*)`/gm)].map(([, option = '']) => option.replace('\\|', '|'));
}

test.each([...routes.keys()])('the options of `lnk measure %s` are those in docs/commands.md, in its order', async (word) => {
  expect(documented(word)).toEqual(await optionsOf(word));
});

test('docs/commands.md has a section for each command and no other', () => {
  const titles = [...read('docs/commands.md').matchAll(/^## lnk measure.*$/gm)].map(([title]) => title);
  expect(titles.sort()).toEqual([...routes.keys()].map(titleOf).sort());
});

/** Everything in a document that is written as this program's command line. */
function commandLines(text: string): string[] {
  const fenced = fencesOf(text).flatMap(({ text: body }) => body.replaceAll('\\\n', ' ').split('\n'));
  const inline = [...text.replace(/^```[\s\S]*?^```$/gm, '').matchAll(/`([^`]+)`/g)].map(([, code = '']) => code);
  return [...fenced, ...inline].map((line) => line.replace(/ #.*$/, '')).filter((line) => /\blnk measure\b|(?<!npm install )\blnk-measure\b/.test(line));
}

test('the documents name only commands and options there are', async () => {
  const unknown: string[] = [];
  for (const path of documents) {
    for (const line of commandLines(read(path))) {
      const words = (/\blnk(?: |-)measure\b(.*)$/.exec(line)?.[1] ?? '').split(' -- ', 1)[0]?.trim().split(/\s+/) ?? [];
      const word = routes.has(words[0] ?? '') ? (words[0] ?? '') : '';
      const known = [...(await optionsOf(word)).map((option) => option.split(' ', 1)[0]), '--help', '--version', '--'];
      const bad = words.map((each) => /^--[a-z-]*/.exec(each)?.[0]).filter((each) => each !== undefined && !known.includes(each));
      if (bad.length > 0) unknown.push(`${path}: ${line}: ${bad.join(' ')}`);
    }
  }
  expect(unknown).toEqual([]);
});
