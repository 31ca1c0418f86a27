// What every command is made of.

import { type BaseContext, Command } from 'clipanion';
import type { CommandRow, ValueSource } from '../show/commands';
import { paint, type Paint, wantsColor } from '../show/paint';

/** What a command runs in. */
export interface LnkContext extends BaseContext {
  /** Every command there is. */
  table: () => Promise<CommandRow[]>;
}

/** A command of `lnk measure`: one class a file, reached through the route table. */
export abstract class LnkCommand extends Command<LnkContext> {
  /** What an option's value is called in its help: `{'--agent': 'NAME'}`. */
  static readonly values: Readonly<Record<string, string>> = {};

  /** What an option's value may be, for a shell to complete. */
  static readonly choices: Readonly<Record<string, ValueSource>> = {};

  /** What a word of its that is no option may be. */
  static readonly words: readonly string[] = [];

  /** What to paint its output with. */
  protected get paint(): Paint {
    return paint(wantsColor(this.context.stdout, this.context.env));
  }

  /** How wide its output may be, in columns: the terminal's width, `COLUMNS`, or no limit where neither says. */
  protected get width(): number {
    return widthOf(this.context.stdout, this.context.env);
  }
}

/** A command's class, as the route table hands it over. */
export interface LnkCommandClass {
  new (): LnkCommand;
  paths?: string[][];
  usage?: { description?: string; details?: string; examples?: [string, string][] };
  readonly values: Readonly<Record<string, string>>;
  readonly choices: Readonly<Record<string, ValueSource>>;
  readonly words: readonly string[];
}

/** The width of a stream, in columns. */
export function widthOf(stream: BaseContext['stdout'], env: BaseContext['env']): number {
  if ('columns' in stream && typeof stream.columns === 'number' && stream.columns > 0) return stream.columns;
  const columns = Number(env['COLUMNS']);
  return Number.isInteger(columns) && columns > 0 ? columns : Infinity;
}
