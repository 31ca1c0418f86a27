// Runs one command class: its help, its arguments, its errors and its exit code. clipanion would write errors to stdout,
// always end with 1, and colour what isn't a terminal.

import { Cli } from 'clipanion';
import { type LnkCommandClass, type LnkContext, widthOf } from '../cli/command';
import { Misuse } from '../errors';
import { type CommandRow, type OptionRow, shownOption } from '../show/commands';
import { showHelp } from '../show/help';
import { paint, wantsColor } from '../show/paint';
import { nearest } from '../suggest';
import { routes } from './routes';

/** The text clipanion puts for a value. */
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
    command = cli.process(args, { ...Cli.defaultContext, table: commandTable });
  } catch (error) {
    throw asMisuse(error, optionsOf(commandClass));
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
    options: [...optionsOf(commandClass).map((row): [string, string] => [shownOption(row), row.description]), ['--help', 'Show this.'] as [string, string]],
    examples: (usage.examples ?? []).map(([what, line]): [string, string] => [what, line.replaceAll('$0', program)]),
  };
  stdout.write(showHelp(help, paint(wantsColor(stdout, env)), widthOf(stdout, env)));
}

/** Every command there is, in the order of the routes. */
export function commandTable(): Promise<CommandRow[]> {
  return Promise.all([...routes].map(async ([word, load]) => rowOf(word, await load())));
}

function rowOf(word: string, commandClass: LnkCommandClass): CommandRow {
  const { description: summary = '', details = '', examples = [] } = commandClass.usage ?? {};
  return { word, summary, details, options: optionsOf(commandClass), examples, words: commandClass.words };
}

function cliOf(commandClass: LnkCommandClass, program: string): Cli<LnkContext> {
  const cli = new Cli<LnkContext>({ binaryName: program, enableColors: false });
  cli.register(commandClass);
  return cli;
}

function optionsOf(commandClass: LnkCommandClass): OptionRow[] {
  const options = cliOf(commandClass, '').definition(commandClass)?.options ?? [];
  return options.map(({ definition, nameSet, preferredName, description = '' }) => {
    const named = commandClass.values[preferredName];
    const value = named ?? (VALUE_PLACEHOLDER.test(definition) ? 'VALUE' : undefined);
    return { names: [...nameSet], value, description, values: commandClass.choices[preferredName] };
  });
}

/** What clipanion found wrong, in our words: its own end in usage lines with `#0`. */
function asMisuse(error: unknown, options: OptionRow[]): unknown {
  if (!(error instanceof Error) || !('clipanion' in error)) return error;
  const reason = error.message.split('\n', 1)[0] ?? '';
  const quoted = /"([^"]*)"/.exec(reason)?.[1] ?? '';
  if (/option name/.test(reason)) {
    const name = quoted.split('=', 1)[0] ?? '';
    const names = [...options.flatMap((option) => option.names), '--help'];
    if (names.includes(name)) return new Misuse(`${name} takes no value.`);
    const meant = nearest(name, names);
    return new Misuse(`There is no option ${quoted}.${meant === undefined ? '' : ` Did you mean ${meant}?`}`);
  }
  const missing = /Not enough arguments to option ([^\s.]+)/.exec(reason)?.[1];
  if (missing !== undefined) {
    const value = options.find(({ names }) => names.includes(missing))?.value ?? 'value';
    return new Misuse(`${missing} needs a value: ${missing} ${value}`);
  }
  if (/positional/.test(reason)) return new Misuse(`${JSON.stringify(quoted)} is one word too many.`);
  return new Misuse(reason);
}
