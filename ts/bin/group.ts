// Any group of commands that isn't ours: `lnk GROUP …` runs `lnk-GROUP …` from the PATH, as git does.

import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { isatty } from 'node:tty';
import { Failure } from '../errors';
import { findProgram, programsNamed } from '../path';
import { nearest } from '../suggest';

const GROUP = /^[a-z0-9][a-z0-9_-]*$/i;

/** The groups there are besides ours. */
export const otherGroups = (env: NodeJS.ProcessEnv): string[] =>
  programsNamed('lnk-', env)
    .map((name) => name.slice('lnk-'.length))
    .filter((group) => group !== 'measure');

/**
 * Runs another group's program with this one's streams, and ends as it ends: with its exit code, or by its signal.
 *
 * @throws {Failure} there is no such program
 */
export async function runGroup(group: string, args: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  const program = GROUP.test(group) ? findProgram(`lnk-${group}`, env) : undefined;
  if (program === undefined) throw new Failure(noSuchGroup(group, env));
  const child = spawn(program, args, { stdio: 'inherit' });
  const stopForwarding = forwardSignals((signal) => child.kill(signal));
  const { code, signal } = await new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve, reject) => {
    child.once('error', (error) => reject(new Failure(`${program} could not be started: ${error.message}`)));
    child.once('exit', (code, signal) => resolve({ code, signal }));
  }).finally(stopForwarding);
  if (signal === null) return code ?? 1;
  process.kill(process.pid, signal);
  // A signal whose default is not to end a process: the code a shell would give it.
  return 128 + (constants.signals[signal] ?? 0);
}

/** Hands signals on; answers what stops it. */
function forwardSignals(send: (signal: NodeJS.Signals) => void): () => void {
  // A terminal sends these two to every process of its foreground group, so the child has them already.
  const fromTerminal: NodeJS.Signals[] = ['SIGINT', 'SIGQUIT'];
  const onTerminal = isatty(0);
  const listeners = ([...fromTerminal, 'SIGTERM', 'SIGHUP', 'SIGUSR2'] as NodeJS.Signals[]).map((signal) => {
    const listener = () => {
      if (!(onTerminal && fromTerminal.includes(signal))) send(signal);
    };
    process.on(signal, listener);
    return () => process.off(signal, listener);
  });
  return () => listeners.forEach((stop) => stop());
}

function noSuchGroup(group: string, env: NodeJS.ProcessEnv): string {
  const meant = nearest(group, ['measure', ...otherGroups(env)]);
  const hint = meant === undefined ? '`lnk --help` lists the groups there are.' : `Did you mean \`lnk ${meant}\`?`;
  const missing = GROUP.test(group) ? `no lnk-${group} is on the PATH` : 'no group has such a name';
  return `${JSON.stringify(group)} is no group of commands here: ${missing}.\n${hint}`;
}
