// The watcher in the background: started so that it outlives its terminal, and asked for by its lock.

import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync, realpathSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { makeMeasureFolder } from '../agents/folder';
import { Failure } from '../errors';
import { type Holder, lockHolder, readLastLook } from '../native/store';
import { readSettings } from '../settings/settings';
import { LOG_FLAGS, logPath, logSize, logTail } from './log';

/** How long a first look may take: Link's list may take 5 s of it. */
const FIRST_LOOK_MS = 20_000;
const ASK_AGAIN_MS = 20;

/** What a program that runs for long is given of the environment: what finding its way takes, and what is Link's; no other program's keys. */
const KEPT = /^(HOME|PATH|USER|LOGNAME|SHELL|LANG|LC_\w+|TZ|TMPDIR|XDG_\w+|DBUS_SESSION_BUS_ADDRESS|LNK_\w+|NODE_EXTRA_CA_CERTS|SSL_CERT_\w+)$/;
/** Those of them that name a file, which may be named from where we are; a command without a slash is one of the PATH. */
const isPath = (name: string, value = ''): boolean => name === 'LNK_HOME' || name === 'LNK_MEASURE_NATIVE' || (name === 'LNK_COMMAND' && value.includes('/'));

/**
 * What its V8 is told: code that runs a few milliseconds in ten seconds is never worth compiling again, and the compiler
 * and the threads that help collecting would take a tenth of all the memory it holds.
 */
const V8_FLAGS = ['--no-opt', '--single-threaded-gc'];

/** A watcher that runs. */
export interface Running {
  holder: Holder;
  /** Whether this call started it. */
  started: boolean;
}

/**
 * Starts a watcher unless one runs, and waits until it has taken its first look.
 *
 * @throws {Failure} it could not, and why, with the end of its log
 */
export async function startWatcher(folder: string, env: NodeJS.ProcessEnv): Promise<Running> {
  // Whatever the terminal's is: what this makes is for nobody else, and not kept from the watcher.
  process.umask(0o077);
  makeMeasureFolder(folder);
  readSettings(folder);
  const before = lockHolder(folder);
  if (before !== undefined) return { holder: isNew(before) ? await firstLook(folder, 0) : before, started: false };
  const logFrom = logSize(folder);
  const child = spawnWatcher(folder, env);
  const holder = await firstLook(folder, logFrom, child);
  child.unref();
  return { holder, started: holder.pid === child.pid };
}

/** Whether a watcher may not have taken its first look yet. One that runs for longer has, whatever the clock was set to since. */
const isNew = ({ isWatcher, since }: Holder): boolean => !isWatcher || since === null || Math.abs(Date.now() / 1000 - since) * 1000 < FIRST_LOOK_MS;

/** Waits for the first look of whoever holds the lock: the child, or the watcher of another start that was quicker. */
async function firstLook(folder: string, logFrom: number, child?: ChildProcess): Promise<Holder> {
  const deadline = performance.now() + FIRST_LOOK_MS;
  for (;;) {
    const holder = lockHolder(folder);
    if (holder !== undefined && hasLooked(folder, holder)) return holder;
    const hasEnded = child !== undefined && (child.exitCode !== null || child.signalCode !== null || child.pid === undefined);
    if (hasEnded && holder === undefined) throw notStarted(folder, logFrom, 'The watcher could not start.');
    if (child === undefined && holder === undefined) throw notStarted(folder, logFrom, 'The watcher that ran has just ended. Start it again.');
    if (performance.now() >= deadline) throw notStarted(folder, logFrom, `A watcher runs, and has taken no look in ${FIRST_LOOK_MS / 1000} s.`);
    await wait(ASK_AGAIN_MS);
  }
}

function hasLooked(folder: string, { since, isWatcher, pid }: Holder): boolean {
  if (!isWatcher) throw new Failure(`watch.lock in ${folder} is held by ${pid === null ? 'a process in another container' : `process ${pid}, which is no watcher`}.`);
  const last = readLastLook(folder);
  return last !== undefined && since !== null && last.at >= since;
}

function notStarted(folder: string, logFrom: number, why: string): Failure {
  const tail = logTail(folder, logFrom);
  const said = tail.length === 0 ? `${logPath(folder)} says nothing of it.` : `${logPath(folder)} ends with:\n${tail.map((line) => `  ${line}`).join('\n')}`;
  return new Failure(`${why} ${said}`);
}

/** Starts `start --foreground` in a session of its own: no terminal's end, and no pipe's, is its end. */
function spawnWatcher(folder: string, env: NodeJS.ProcessEnv): ChildProcess {
  const program = realpathSync(process.argv[1] ?? '');
  const words = basename(program).startsWith('lnk-measure') ? [] : ['measure'];
  const log = openSync(logPath(folder), LOG_FLAGS, 0o600);
  try {
    return spawn(process.execPath, [...V8_FLAGS, program, ...words, 'start', '--foreground'], {
      cwd: '/',
      detached: true,
      env: cleanEnvironment(env),
      // What it says itself goes to the log by name; this is for what ends it.
      stdio: ['ignore', 'ignore', log],
    }).on('error', () => undefined);
  } finally {
    closeSync(log);
  }
}

function cleanEnvironment(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const kept = Object.entries(env).filter(([name]) => KEPT.test(name));
  const absolute = kept.map(([name, value]) => [name, value && isPath(name, value) ? resolve(value) : value]);
  return Object.fromEntries(absolute) as NodeJS.ProcessEnv;
}
