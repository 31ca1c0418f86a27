// Asks another program for JSON. It may be slow, endless or absent; it gets a time and a size, and then its end.

import { spawn } from 'node:child_process';
import { Failure } from '../errors';

/** How much a program may take before it is stopped. */
export interface AskLimits {
  ms: number;
  bytes: number;
}

/** The limits of contract 1 and 2. */
export const ASK_LIMITS: AskLimits = { ms: 5000, bytes: 4 * 1024 * 1024 };

const ENDINGS: NodeJS.Signals[] = ['SIGINT', 'SIGTERM', 'SIGHUP'];

/**
 * What a program writes to stdout. It runs in a process group of its own, which is killed whole when a limit is passed,
 * or when this program is ended meanwhile; so is what it left running when it answered.
 *
 * @throws {Failure} it can't be started, failed, or passed a limit
 */
export async function ask(program: string, args: readonly string[], limits: AskLimits = ASK_LIMITS): Promise<string> {
  const child = spawn(program, args, { detached: true, stdio: ['ignore', 'pipe', 'ignore'] });
  const killGroup = () => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
    } catch {
      // All of it has ended.
    }
  };
  const onEnding = (signal: NodeJS.Signals) => {
    killGroup();
    // Our listener is gone by now, so this ends us as it would have.
    process.kill(process.pid, signal);
  };
  for (const signal of ENDINGS) process.once(signal, onEnding);
  let timer: NodeJS.Timeout | undefined;
  try {
    return await new Promise<string>((resolve, reject) => {
      const fail = (why: string) => reject(new Failure(`\`${[program, ...args].join(' ')}\` ${why}`));
      timer = setTimeout(() => fail(`took longer than ${limits.ms / 1000} s`), limits.ms);
      const chunks: Buffer[] = [];
      let size = 0;
      child.stdout.on('data', (chunk: Buffer) => {
        size += chunk.length;
        if (size > limits.bytes) fail(`answered with more than ${limits.bytes / 1024 / 1024} MiB`);
        else chunks.push(chunk);
      });
      child.once('error', (error) => fail(`could not be started: ${error.message}`));
      child.once('close', (code, signal) => {
        if (code === 0) resolve(Buffer.concat(chunks).toString('utf8'));
        else fail(signal === null ? `failed with exit code ${code}` : `was ended by ${signal}`);
      });
    });
  } finally {
    clearTimeout(timer);
    for (const signal of ENDINGS) process.off(signal, onEnding);
    killGroup();
    child.stdout.destroy();
    child.unref();
  }
}
