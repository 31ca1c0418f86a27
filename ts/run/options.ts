// The words after `lnk measure run`. Read here and not by clipanion: loading that opens the standard streams, which makes
// pipes and sockets the command shares with this process non-blocking for the command too.

import { basename } from 'node:path';
import { Misuse } from '../errors';
import { isName } from '../names';

export interface RunOptions {
  /** What the agent is called; after its program where nobody says. */
  name: string;
  meter: boolean;
  quiet: boolean;
  /** Where the receipt goes as JSON. */
  receipt?: string;
  /** The command and its arguments. */
  words: string[];
}

/** A run's ID is `<machine id>:run:<name>`, and an ID is at most 64 long. */
export const LONGEST_NAME = 32;
/** What a name may be, in words. A point first would hide the run's files. */
export const NAME_RULE = `1 to ${LONGEST_NAME} of letters, digits and ._:/@-, the first no point`;

/**
 * The options, up to `--` or the first word that is none.
 *
 * @throws {Misuse} an option isn't there, or there is no command
 */
export function parseRunOptions(args: readonly string[]): RunOptions | 'help' {
  const options: { name?: string; meter: boolean; quiet: boolean; receipt?: string } = { meter: false, quiet: false };
  let at = 0;
  for (; at < args.length; at++) {
    const arg = args[at] ?? '';
    if (arg === '--' || !arg.startsWith('-')) break;
    const [option = '', joined] = splitOnce(arg);
    const value = (): string => {
      const found = joined ?? args[++at];
      if (found === undefined || (joined === undefined && found === '--')) throw new Misuse(`${option} needs a value: ${option} ${option === '--name' ? 'NAME' : 'FILE'}`);
      return found;
    };
    if (option === '--help' || option === '-h') return 'help';
    if (option === '--name') options.name = value();
    else if (option === '--receipt') options.receipt = value();
    else if (joined !== undefined && (option === '--meter' || option === '--quiet')) throw new Misuse(`${option} takes no value.`);
    else if (option === '--meter') options.meter = true;
    else if (option === '--quiet') options.quiet = true;
    else throw new Misuse(`There is no option ${option}. What is the command's goes after --: lnk measure run -- CMD ${arg}`);
  }
  const words = args.slice(args[at] === '--' ? at + 1 : at);
  if (words[0] === undefined) throw new Misuse('What is to be run? Say with -- CMD, such as lnk measure run -- npm test.');
  return { ...options, name: nameOf(options.name, words[0]), words };
}

const splitOnce = (arg: string): string[] => {
  const equals = arg.indexOf('=');
  return equals < 0 ? [arg] : [arg.slice(0, equals), arg.slice(equals + 1)];
};

function nameOf(asked: string | undefined, program: string): string {
  if (asked !== undefined) {
    if (isName(asked) && asked.length <= LONGEST_NAME && !asked.startsWith('.')) return asked;
    throw new Misuse(`--name takes ${NAME_RULE}, not ${JSON.stringify(asked)}.`);
  }
  // Nothing else of the command is kept anywhere: its arguments may be a prompt.
  const name = basename(program).replace(/^\.+/, '').replace(/[^A-Za-z0-9._@-]/g, '-').slice(0, LONGEST_NAME);
  return isName(name) ? name : 'command';
}
