// A home with a watcher in it: the real one, as a process of its own.

import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { type Outcome, Place } from '../cli/command';

/** A line of a fine file, as far as tests read it. */
export interface Line {
  t: number;
  units: { id: string; kind?: string; s?: string; v?: (number | null)[] }[];
}

export class WatchPlace extends Place {
  readonly measure = join(this.home, '.lnk', 'measure');
  readonly #children: ChildProcess[] = [];

  constructor() {
    super();
    mkdirSync(this.measure, { recursive: true, mode: 0o700 });
    this.writeSettings('every = "1s"\n');
  }

  /** `lnk measure …` on the real addon. */
  lnk(...args: string[]): Promise<Outcome> {
    return this.run(['measure', ...args], { LNK_MEASURE_NATIVE: '' });
  }

  writeSettings(text: string): void {
    writeFileSync(join(this.measure, 'settings.toml'), text, { mode: 0o600 });
  }

  readLog(): string {
    return readFileSync(join(this.measure, 'watch.log'), 'utf8');
  }

  async status(): Promise<{ running: boolean; pid: number; every: number; lastLook: number }> {
    return JSON.parse((await this.lnk('status', '--json')).stdout);
  }

  /** Every whole line of the fine files, the oldest first. */
  lines(): Line[] {
    const fine = join(this.measure, 'fine');
    const texts = readdirSync(fine).sort().map((name) => readFileSync(join(fine, name), 'utf8'));
    return texts.flatMap((text) => text.split('\n').slice(0, -1)).map((line) => JSON.parse(line)).filter((line) => 'units' in line);
  }

  /** A program of this test, ended with it. */
  spawn(command: string, ...args: string[]): ChildProcess & { pid: number } {
    const child = spawn(command, args, { stdio: 'ignore', env: this.env({ LNK_MEASURE_NATIVE: '' }) });
    this.#children.push(child);
    if (child.pid === undefined) throw new Error(`${command} could not be started`);
    return Object.assign(child, { pid: child.pid });
  }

  async end(): Promise<void> {
    await this.lnk('stop');
    const ended = this.#children.map((child) => (child.exitCode ?? child.signalCode) !== null || new Promise((resolve) => child.once('exit', resolve)));
    for (const child of this.#children) child.kill('SIGKILL');
    await Promise.all(ended);
    this.remove();
  }
}

/** Asks again and again until there is something to give back. */
export async function until<T>(what: string, ask: () => T | Promise<T>): Promise<NonNullable<T>> {
  const deadline = Date.now() + 20_000;
  for (;;) {
    const found = await ask();
    if (found) return found;
    if (Date.now() > deadline) throw new Error(`it never came: ${what}`);
    await wait(30);
  }
}

/** Whether a process runs. */
export function runs(pid: number): boolean {
  try {
    return !/^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}
