// What standing around a command costs it: its start and end, a gibibyte through its streams, and thousands of short
// children, each beside the same without. Interleaved, the least of each: a busy machine only ever adds.

import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { root, table } from './table.mjs';

const ROUNDS = 9;
const CHILDREN = 'i=0; while [ $i -lt 2000 ]; do /bin/true; i=$((i+1)); done';

export default function bench() {
  const folder = mkdtempSync(join(tmpdir(), 'lnk-bench-'));
  const env = { ...process.env, LNK_HOME: join(folder, 'home') };
  const under = `${process.execPath} ${join(root, 'dist/lnk.js')} measure run --quiet --`;
  const time = (line) => {
    const began = performance.now();
    const { status, stderr } = spawnSync('sh', ['-c', line], { cwd: folder, env, encoding: 'utf8' });
    if (status !== 0) throw new Error(`${line}: ${stderr}`);
    return performance.now() - began;
  };
  const least = (lines, rounds) => {
    const found = lines.map(() => Infinity);
    for (let round = 0; round < rounds; round++) lines.forEach((line, at) => (found[at] = Math.min(found[at], time(line))));
    return found;
  };
  const rows = [['', 'bare', 'under run', 'ratio']];
  const row = (name, [bare, run], show = (ms) => `${ms.toFixed(0)} ms`) => rows.push([name, show(bare), show(run), (run / bare).toFixed(2)]);
  const speed = (ms) => `${(1024 / (ms / 1000)).toFixed(0)} MiB/s`;

  const [bare, node, run] = least(['true', `${process.execPath} -e 0`, `${under} true`], ROUNDS);
  row('start and end of `true`', [bare, run]);
  row('the same beside a bare `node -e 0`', [node, run]);
  row('2,000 short children', least([`sh -c '${CHILDREN}'`, `${under} sh -c '${CHILDREN}'`], 3));
  // The start is not the stream's: what is left is the bytes' own time.
  const [through, throughRun] = least(['head -c 4G /dev/zero | cat | cat >/dev/null', `head -c 4G /dev/zero | ${under} cat | cat >/dev/null`], 3);
  row('4 GiB through its stdin and stdout', [through / 4, Math.max(1, throughRun - (run - bare)) / 4], speed);
  table(rows);
  rmSync(folder, { recursive: true, force: true });
}
