// Runs one command class: its help, its arguments, its errors and its exit code. clipanion would write errors to stdout,
// always end with 1, and colour what isn't a terminal.

import { Cli } from 'clipanion';
import { type LnkCommandClass, widthOf } from '../cli/command';
import { Misuse } from '../errors';
import { showHelp } from '../show/help';
import { paint, wantsColor } from '../show/paint';
import { nearest } from '../suggest';

/** Option names by the text clipanion puts for a value. */
const VALUE_PLACEHOLDER = / #\d+/;

/**
 * Runs a command.
 *
 * @param program what the group is called here: `lnk measure` or `lnk-measure`
 * @param args with the command's own words first
 * @throws {Misuse} the arguments aren't the command's
 */
export async function runCommand(commandClass: LnkCommandClass, program: string, args: string[]): Promise<number> {
  const cli = cliOf(commandClass, program);
  let command;
  try {
    command = cli.process(args, Cli.defaultContext);
  } catch (error) {
    throw asMisuse(error, optionsOf(commandClass, program).map(([names]) => names));
  }
  return (await command.validateAndExecute()) ?? 0;
}

/** Writes a command's help to stdout; the group's own lists the commands too. */
export function printHelp(commandClass: LnkCommandClass, program: string, commands: LnkCommandClass[]): void {
  const usage = commandClass.usage ?? {};
  const full = (path: string[] | undefined) => [program, ...(path ?? [])].join(' ');
  const { stdout, env } = process;
  const help = {
    usage: full(commandClass.paths?.[0]),
    summary: usage.description ?? '',
    details: usage.details ?? '',
    commands: commands.map((each): [string, string] => [full(each.paths?.[0]), each.usage?.description ?? '']),
    options: [...optionsOf(commandClass, program), ['--help', 'Show this.'] as [string, string]],
    examples: (usage.examples ?? []).map(([what, line]): [string, string] => [what, line.replaceAll('$0', program)]),
  };
  stdout.write(showHelp(help, paint(wantsColor(stdout, env)), widthOf(stdout, env)));
}

function cliOf(commandClass: LnkCommandClass, program: string): Cli {
  const cli = new Cli({ binaryName: program, enableColors: false });
  cli.register(commandClass);
  return cli;
}

/** A command's options: their names with their value's, and what they do. */
function optionsOf(commandClass: LnkCommandClass, program: string): [string, string][] {
  const options = cliOf(commandClass, program).definition(commandClass)?.options ?? [];
  return options.map(({ definition, preferredName, description }) => {
    const value = commandClass.values[preferredName] ?? 'VALUE';
    return [definition.replace(VALUE_PLACEHOLDER, ` ${value}`).replace(',', ', '), description ?? ''];
  });
}

/** What clipanion found wrong, in our words: its own end in usage lines with `#0`. */
function asMisuse(error: unknown, options: string[]): unknown {
  if (!(error instanceof Error) || !('clipanion' in error)) return error;
  const reason = error.message.split('\n', 1)[0] ?? '';
  const quoted = /"([^"]*)"/.exec(reason)?.[1] ?? '';
  if (/option name/.test(reason)) {
    const name = quoted.split('=', 1)[0] ?? '';
    const names = [...options.flatMap((option) => option.split(/,? /).filter((word) => word.startsWith('-'))), '--help'];
    if (names.includes(name)) return new Misuse(`${name} takes no value.`);
    const meant = nearest(name, names);
    return new Misuse(`There is no option ${quoted}.${meant === undefined ? '' : ` Did you mean ${meant}?`}`);
  }
  const missing = /Not enough arguments to option ([^\s.]+)/.exec(reason)?.[1];
  if (missing !== undefined) {
    const value = options.find((option) => option.includes(missing))?.split(' ').at(-1) ?? 'value';
    return new Misuse(`${missing} needs a value: ${missing} ${value}`);
  }
  if (/positional/.test(reason)) return new Misuse(`${JSON.stringify(quoted)} is one word too many.`);
  return new Misuse(reason);
}
