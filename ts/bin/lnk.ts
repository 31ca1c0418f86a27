// The entry of `lnk` and of `lnk-measure`, which is the same without the group's word. It stays small: whatever a command
// needs is loaded by that command alone.

import { basename } from 'node:path';
import { codeOf, Failure, messageOf, Misuse } from '../errors';
import { version } from '../version';
import { routes } from './routes';
import { nearest } from '../suggest';

const HELP = new Set(['--help', '-h']);

const isMeasureAlone = basename(process.argv[1] ?? '').startsWith('lnk-measure');
const program = isMeasureAlone ? 'lnk-measure' : 'lnk measure';

async function main(args: string[]): Promise<number> {
  const [word, ...rest] = args;
  if (word === '--version') return print(`${version}\n`);
  if (isMeasureAlone) return measure(args);
  if (word === 'measure') return measure(rest);
  if (word === undefined || word === 'help' || HELP.has(word)) return lnkHelp();
  if (word.startsWith('-')) throw new Misuse(`There is no option ${word}.`);
  const { runGroup } = await import('./group');
  return runGroup(word, rest, process.env);
}

async function measure(args: string[]): Promise<number> {
  if (args[0] === '--version') return print(`${version}\n`);
  if (args[0] === 'run') return runOrHelp(args.slice(1));
  const asksHelp = args[0] === 'help' || args.slice(0, endOfOptions(args)).some((arg) => HELP.has(arg));
  const words = args[0] === 'help' ? args.slice(1) : args;
  const word = words[0] === undefined || words[0].startsWith('-') ? '' : words[0];
  const load = routes.get(word);
  if (load === undefined) throw new Misuse(unknownWord(word));
  const { runCommand, printHelp } = await import('./run');
  const command = await load();
  if (!asksHelp) return runCommand(command, program, args);
  const others = word === '' ? await Promise.all([...routes].filter(([other]) => other !== '').map(([, other]) => other())) : [];
  printHelp(command, program, others);
  return 0;
}

/** `run`, by a way of its own: the standard streams are the command's, and stay as they are. */
async function runOrHelp(args: string[]): Promise<number> {
  const { parseRunOptions } = await import('../run/options');
  const options = parseRunOptions(args);
  if (options === 'help') return measure(['help', 'run']);
  const { run } = await import('../run');
  return run(options);
}

/** Where options end: at `--`, or with the last word. */
const endOfOptions = (args: string[]): number => (args.includes('--') ? args.indexOf('--') : args.length);

function unknownWord(word: string): string {
  const words = [...routes.keys()].filter((known) => known !== '');
  const meant = nearest(word, words);
  const hint = meant === undefined ? `For an agent of that name: ${program} --agent ${word}` : `Did you mean \`${program} ${meant}\`?`;
  return `${program} has no command ${JSON.stringify(word)}. ${hint}`;
}

async function lnkHelp(): Promise<number> {
  const { otherGroups } = await import('./group');
  const { showHelp } = await import('../show/help');
  const { paint, wantsColor } = await import('../show/paint');
  const help = {
    usage: 'lnk GROUP …',
    summary: 'Runs a group of commands: `lnk GROUP …` runs `lnk-GROUP …` from the PATH, and `lnk measure` is built in.',
    commands: [
      ['lnk measure', 'What every AI agent on this machine costs. `lnk measure --help` says more.'],
      ...otherGroups(process.env).map((group) => [`lnk ${group}`, `From lnk-${group}.`]),
    ] as [string, string][],
    options: [
      ['--help', 'Show this.'],
      ['--version', 'Show the version.'],
    ] as [string, string][],
  };
  return print(showHelp(help, paint(wantsColor(process.stdout, process.env)), process.stdout.columns ?? 80));
}

function print(text: string): number {
  process.stdout.write(text);
  return 0;
}

/** Says what went wrong, on stderr, and gives the exit code it has. */
function fail(error: unknown): number {
  const name = process.argv[2] === 'measure' || isMeasureAlone ? program : 'lnk';
  if (error instanceof Misuse) {
    process.stderr.write(`${name}: ${error.message}\nSee \`${name} --help\`.\n`);
    return 2;
  }
  const text = error instanceof Failure || !(error instanceof Error) ? messageOf(error) : `this is a fault in lnk-measure ${version}: ${error.stack}`;
  process.stderr.write(`${name}: ${text}\n`);
  return 1;
}

/** A reader that has seen enough (`| head -1`) is no error. */
function forgiveReaders(): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error) => {
      if (codeOf(error) !== 'EPIPE') throw error;
    });
  }
}

// Not for a command that is run: even to listen for an error opens the streams it is to have.
const isRun = process.argv[isMeasureAlone ? 2 : 3] === 'run';
if (!isRun) forgiveReaders();

// Until a command has said how it ended, ending is a failure.
process.exitCode = 1;
void main(process.argv.slice(2))
  .catch(fail)
  .then((code) => {
    process.exitCode = code;
  });
