// Programs that tests start, for the command to look at.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';

/** A program that prints `ready`, and ends at the end of its input. */
export class Running {
  readonly #child: ChildProcess;
  readonly #lines: string[] = [];

  private constructor(command: string, args: string[]) {
    this.#child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  }

  /** Starts it, and waits until it is ready. */
  static async start(command: string, args: string[]): Promise<Running> {
    const running = new Running(command, args);
    await new Promise<void>((resolve, reject) => {
      let text = '';
      running.#child.once('error', reject).once('exit', () => reject(new Error(`${command} ended before it was ready`)));
      running.#child.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
        if (!text.endsWith('ready\n')) return;
        running.#lines.push(...text.trim().split('\n'));
        resolve();
      });
    });
    return running;
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** What it printed before it was ready. */
  get said(): string[] {
    return this.#lines.slice(0, -1);
  }

  async end(): Promise<void> {
    const ended = once(this.#child, 'exit');
    this.#child.stdin?.end();
    await ended;
  }
}
