// An agent's home, and its file as the watcher reads it.

import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const root = join(__dirname, '..', '..');

/** What the file says: each turn's values by measure. */
export interface Told {
  turns: [string, number][][];
  passedOver: number;
  notes: string[];
}

/** Builds the reader: for `beforeAll`, with time to spare. */
export function buildReader(): void {
  const built = spawnSync('cargo', ['build', '--quiet', '--locked', '-p', 'lnk-report', '--example', 'read_turns'], { cwd: root, encoding: 'utf8' });
  if (built.status !== 0) throw new Error(built.stderr);
}

export class Home {
  readonly path = mkdtempSync(join(tmpdir(), 'lnk-report-'));
  readonly folder = join(this.path, '.lnk');
  readonly file = join(this.folder, 'measures.jsonl');

  /** All that the watcher would take from the file. */
  told(): Told {
    const program = join(process.env['CARGO_TARGET_DIR'] ?? join(root, 'target'), 'debug', 'examples', 'read_turns');
    const done = spawnSync(program, [this.path, '.lnk/measures.jsonl'], { encoding: 'utf8', maxBuffer: 1 << 26 });
    if (done.status !== 0) throw new Error(done.stderr);
    return JSON.parse(done.stdout) as Told;
  }

  text(): string {
    return readFileSync(this.file, 'utf8');
  }

  remove(): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}
