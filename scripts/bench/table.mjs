// A table of aligned columns, and the two commands benches are made of.

import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

export const root = join(import.meta.dirname, '../..');

/** Prints rows of cells, the first column to the left and the others to the right. */
export function table(rows) {
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => String(row[column]).length)));
  for (const row of rows) {
    const cells = row.map((cell, column) => (column ? String(cell).padStart(widths[column]) : String(cell).padEnd(widths[0])));
    console.log(cells.join('  '));
  }
}

/** Runs a program with text on its standard input, and gives what it prints. */
export function run(program, args, input = '') {
  const done = spawnSync(program, args, { cwd: root, input, encoding: 'utf8', stdio: ['pipe', 'pipe', 'inherit'] });
  if (done.status !== 0) throw new Error(`${program} ${args.join(' ')} ended with ${done.status ?? done.error ?? done.signal}`);
  return done.stdout;
}

/** Builds the examples of a crate, optimized, and gives the folder they are in. */
export function buildExamples(crate) {
  run('cargo', ['build', '--quiet', '--release', '--locked', '-p', crate, '--examples']);
  return join(process.env.CARGO_TARGET_DIR ?? join(root, 'target'), 'release/examples');
}
