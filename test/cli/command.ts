// Runs the built command as a person would, in a home of its own, with a `lnk` that is the test's.

import { spawn } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export const program = join(__dirname, '..', '..', 'dist', 'lnk.js');
const fakeAddon = join(__dirname, 'fake-addon.cjs');

export interface Outcome {
  status: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
}

/** A folder for one test: a home, and a folder on the PATH. */
export class Place {
  readonly folder = mkdtempSync(join(tmpdir(), 'lnk-cli-'));
  readonly bin = join(this.folder, 'bin');
  readonly home = join(this.folder, 'home');
  readonly requests = join(this.folder, 'requests');
  readonly #looks = join(this.folder, 'looks.json');

  constructor() {
    mkdirSync(this.bin);
    mkdirSync(this.home);
  }

  /** A program on the PATH, written in sh. */
  addProgram(name: string, script: string): string {
    const path = join(this.bin, name);
    writeFileSync(path, `#!/bin/sh\n${script}\n`);
    chmodSync(path, 0o755);
    return path;
  }

  /** A `lnk` that answers `agent list` and `sandbox traffic` with these texts. */
  addLink(list: unknown, traffic: unknown = { sandboxes: [] }): string {
    const texts = [list, traffic].map((each, at) => {
      const path = join(this.folder, `answer-${at}.json`);
      writeFileSync(path, typeof each === 'string' ? each : JSON.stringify(each));
      return path;
    });
    return this.addProgram('lnk', `case "$*" in\n"agent list --json --here") cat ${texts[0]};;\n"sandbox traffic --json") cat ${texts[1]};;\n*) exit 9;;\nesac`);
  }

  /** What the fake addon sees from now on. */
  setLooks(looks: unknown): void {
    writeFileSync(this.#looks, JSON.stringify(looks));
  }

  /** The environment the command runs in; with looks set, on the fake addon. */
  env(more: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv {
    const base = { PATH: `${this.bin}:${process.env['PATH']}`, HOME: this.home, FAKE_REQUESTS: this.requests, FAKE_LOOKS: this.#looks };
    return { ...base, LNK_MEASURE_NATIVE: fakeAddon, ...more };
  }

  /** Runs the command; `as` is the name it is called by. */
  async run(args: string[], more: NodeJS.ProcessEnv = {}, as = program): Promise<Outcome> {
    const child = spawn(process.execPath, [as, ...args], { env: this.env(more), stdio: ['ignore', 'pipe', 'pipe'], timeout: 20_000, killSignal: 'SIGKILL' });
    const texts = { stdout: '', stderr: '' };
    for (const name of ['stdout', 'stderr'] as const) child[name].setEncoding('utf8').on('data', (text: string) => (texts[name] += text));
    return new Promise((resolve) => child.once('close', (status, signal) => resolve({ status, signal, ...texts })));
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}
