// `lnk measure route` as a process of its own, for an agent `main` whose ID is `agt_01`.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { Place, program } from '../cli/command';

/** The command while it runs. */
export class RouteProcess {
  readonly place = new Place();
  /** What it said so far. */
  stdout = '';
  stderr = '';
  /** The base URL it gave. */
  url = '';
  readonly #child: ChildProcess;

  constructor(to: string, env: NodeJS.ProcessEnv = {}) {
    this.place.addLink({ machine: { id: 'mch_7f' }, agents: [{ id: 'agt_01', name: 'main' }] });
    const options = { env: { ...this.place.env(), LNK_MEASURE_NATIVE: '', ...env } };
    this.#child = spawn(process.execPath, [program, 'measure', 'route', '--agent', 'main', '--to', to], { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
    this.#child.stdout?.setEncoding('utf8').on('data', (text: string) => (this.stdout += text));
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => (this.stderr += text));
  }

  async start(): Promise<this> {
    while (!this.stdout.includes('\n')) await once(this.#child.stdout as NodeJS.EventEmitter, 'data');
    this.url = this.stdout.trim();
    return this;
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  get measureFolder(): string {
    return join(this.place.home, '.lnk', 'measure');
  }

  /** Stops it in order, with all it had to say. */
  async stop(): Promise<void> {
    if (this.#child.exitCode !== null) return;
    this.#child.kill('SIGTERM');
    await once(this.#child, 'close');
  }

  async remove(): Promise<void> {
    await this.stop();
    this.place.remove();
  }
}
