// What every command is made of.

import { type BaseContext, Command } from 'clipanion';
import { paint, type Paint, wantsColor } from '../show/paint';

/** A command of `lnk measure`: one class a file, reached through the route table. */
export abstract class LnkCommand extends Command {
  /** What an option's value is called in its help: `{'--agent': 'NAME'}`. */
  static readonly values: Readonly<Record<string, string>> = {};

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
}

/** The width of a stream, in columns. */
export function widthOf(stream: BaseContext['stdout'], env: BaseContext['env']): number {
  if ('columns' in stream && typeof stream.columns === 'number' && stream.columns > 0) return stream.columns;
  const columns = Number(env['COLUMNS']);
  return Number.isInteger(columns) && columns > 0 ? columns : Infinity;
}
