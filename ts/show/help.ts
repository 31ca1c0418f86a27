// A command's help. clipanion's own names no option's value (`#0`) and takes no notice of a terminal's width.

import type { Paint } from './paint';
import { wrap } from './wrap';

/** What a help is made of. */
export interface Help {
  /** `lnk measure check` */
  usage: string;
  summary: string;
  details?: string;
  /** Each with what it is for. */
  commands?: [string, string][];
  options: [string, string][];
  /** What each does, and the command. */
  examples?: [string, string][];
}

/** The help as text, its lines no wider than asked where words allow. */
export function showHelp(help: Help, paint: Paint, width: number): string {
  const wide = Math.min(width, 100);
  const parts = [`${paint.bold(help.usage)}\n${wrap(help.summary, wide, 2)}`];
  if (help.details) parts.push(wrap(help.details, wide, 2));
  if (help.commands?.length) parts.push(`${paint.bold('Commands')}\n${list(help.commands, paint, wide)}`);
  parts.push(`${paint.bold('Options')}\n${list(help.options, paint, wide)}`);
  if (help.examples?.length) {
    const examples = help.examples.map(([what, command]) => `${paint.dim(wrap(`# ${what}`, wide, 2))}\n  ${command}`);
    parts.push(`${paint.bold('Examples')}\n${examples.join('\n')}`);
  }
  return `${parts.join('\n\n')}\n`;
}

function list(rows: [string, string][], paint: Paint, width: number): string {
  const left = Math.max(...rows.map(([name]) => name.length)) + 2;
  // Beside each other where the text keeps a readable width, else below.
  const beside = width - left - 2 >= 30;
  return rows
    .map(([name, text]) =>
      beside
        ? `  ${paint.name(name)}${' '.repeat(left - name.length)}${wrap(text, width, left + 2).trimStart()}`
        : `  ${paint.name(name)}\n${wrap(text, width, 6)}`,
    )
    .join('\n');
}
