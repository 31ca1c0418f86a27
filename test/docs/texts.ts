// What the tests of the documentation read: the documents, and the texts that the program can print.

import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import ts from 'typescript';

export const root = join(__dirname, '..', '..');

/** Every document there is, by its path from the top. */
export const documents: readonly string[] = ['README.md', 'CHANGELOG.md', 'SECURITY.md', ...filesIn(join(root, 'docs'), '.md')];

export const read = (path: string): string => readFileSync(join(root, path), 'utf8');

/** A code fence: its language, its text, and the line it begins at. */
export interface Fence {
  language: string;
  text: string;
  line: number;
}

/** The code fences of a document, in order. */
export function fencesOf(text: string): Fence[] {
  return [...text.matchAll(/^```(\S*)\n([\s\S]*?)^```$/gm)].map(({ 1: language = '', 2: body = '', index }) => ({
    language,
    text: body,
    line: text.slice(0, index).split('\n').length,
  }));
}

function filesIn(folder: string, ending: string): string[] {
  return readdirSync(folder, { withFileTypes: true })
    .flatMap((entry) => (entry.isDirectory() ? filesIn(join(folder, entry.name), ending) : entry.name.endsWith(ending) ? [relative(root, join(folder, entry.name))] : []))
    .sort();
}

/** A text of the source: where it is, and its words with `…` for what is put in. */
export interface Text {
  where: string;
  text: string;
}

/** What is words for a person: three of them at least. */
const isSaid = (text: string): boolean => (text.match(/[A-Za-z][a-z']*(?=[ .,:;)]|$)/g) ?? []).length >= 3 && / /.test(text);

/** The texts in the shell's sources, but for what a help says. */
export function shellTexts(): Text[] {
  return filesIn(join(root, 'ts'), '.ts')
    .filter((path) => !path.endsWith('.d.ts'))
    .flatMap((path) => {
      const source = ts.createSourceFile(path, read(path), ts.ScriptTarget.Latest, true);
      const found: Text[] = [];
      const visit = (node: ts.Node): void => {
        const isHelp = ts.isCallExpression(node) && /^(Command\.Usage|Option\.)/.test(node.expression.getText(source));
        if (isHelp || ts.isImportDeclaration(node)) return;
        const text = textOf(node);
        if (text !== undefined && isSaid(text)) found.push({ where: path, text });
        ts.forEachChild(node, visit);
      };
      visit(source);
      return found;
    });
}

function textOf(node: ts.Node): string | undefined {
  if (ts.isStringLiteral(node) || ts.isNoSubstitutionTemplateLiteral(node)) return node.text;
  if (!ts.isTemplateExpression(node)) return undefined;
  return [node.head.text, ...node.templateSpans.map(({ literal }) => literal.text)].join('…');
}

/** Crates whose texts reach a person: the others speak to their caller alone. */
const SPEAKING = ['ledger', 'report', 'run', 'sample', 'store'];

/** The texts in the core's sources, but for tests, comments and the reasons of lints. */
export function coreTexts(): Text[] {
  return SPEAKING.flatMap((crate) => filesIn(join(root, 'crates', crate, 'src'), '.rs'))
    .filter((path) => !/\b(tests|hostile)\b/.test(path))
    .flatMap((path) => {
      const source = (read(path).split(/^#\[cfg\(test\)\]/m, 1)[0] ?? '')
        .replace(/^\s*\/\/.*$/gm, '')
        .replace(/b?'\\?"'/g, "' '")
        .replace(/\breason = "[^"]*"|\bassert!\(.*\)/g, '');
      return [...source.matchAll(/"((?:[^"\\]|\\.)*)"/g)]
        .map(([, text = '']) => ({ where: path, text: text.replace(/\\\n\s*/g, '').replace(/\{[^}]*\}/g, '…').replaceAll('\\"', '"') }))
        .filter(({ text }) => isSaid(text));
    });
}

/** A text without what only its setting in a document changes: code marks, line breaks, the ends of a cell. */
export const plain = (text: string): string => text.replace(/\\\|/g, '|').replaceAll('`', '').replace(/\s+/g, ' ').replace(/(… ?)+…/g, '…').trim();
