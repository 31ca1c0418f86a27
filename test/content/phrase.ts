// A phrase that no file, screen or request may ever hold: whole, escaped, encoded, or a piece of it.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Nothing else has it, and the rule for names takes it: only what a name is of keeps it out. */
export const PHRASE = 'Quokka-zither_Vexing.jumbo';

/** How long a piece of it may be at most. */
const LONGEST_PIECE = 7;

/** Every piece of the phrase that is too long, in each spelling that a program might give it. */
const PIECES = Array.from({ length: PHRASE.length - LONGEST_PIECE }, (_, at) => PHRASE.slice(at, at + LONGEST_PIECE + 1)).flatMap((piece) => {
  const units = [...piece].map((char) => char.charCodeAt(0));
  const hex = (unit: number, digits: number) => unit.toString(16).padStart(digits, '0');
  return [
    piece,
    units.map((unit) => `\\u${hex(unit, 4)}`).join(''),
    units.map((unit) => `\\x${hex(unit, 2)}`).join(''),
    units.map((unit) => `%${hex(unit, 2)}`).join(''),
    units.map((unit) => hex(unit, 2)).join(''),
    // Where it stands in other text, two of its first or last characters may be another's.
    Buffer.from(PHRASE).toString('base64').slice(4, 20),
  ].map((spelling) => spelling.toLowerCase());
});

/** Fails if a text holds the phrase in any way. */
export function expectNone(what: string, text: string): void {
  const lower = text.toLowerCase();
  const found = PIECES.find((piece) => lower.includes(piece));
  if (found !== undefined) throw new Error(`${what} holds ${found}: …${lower.slice(Math.max(0, lower.indexOf(found) - 100), lower.indexOf(found) + 100)}…`);
}

/** Every file in a folder and below it, by its path there: its name and its content. */
export function filesIn(folder: string): [string, string][] {
  return readdirSync(folder, { recursive: true, withFileTypes: true }).flatMap((entry): [string, string][] => {
    const path = join(entry.parentPath ?? entry.path, entry.name);
    if (!entry.isFile()) return [[path.slice(folder.length), '']];
    return [[path.slice(folder.length), readFileSync(path, 'latin1')]];
  });
}
