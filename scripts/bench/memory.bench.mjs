// What reading memory costs a look when nothing much changes, beside reading all of it: an agent of three processes that
// share 1 GiB, and one of 1 GiB of its own.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { buildExamples, run, table } from './table.mjs';

const HOLD = 'import os,sys,time\nb=bytearray(1<<30)\nfor i in range(0,1<<30,4096): b[i]=1\n';
const SITUATIONS = {
  '1 GiB of its own': `${HOLD}print("ready",flush=True)\ntime.sleep(600)`,
  '1 GiB shared by three': `${HOLD}[os.fork() or time.sleep(600) for _ in range(2)]\nprint("ready",flush=True)\ntime.sleep(600)`,
};

export default async function memory() {
  const examples = buildExamples('lnk-sample');
  const rows = [['', 'all of it, ms', 'a look, ms', 'off by']];
  for (const [name, script] of Object.entries(SITUATIONS)) {
    const main = spawn('python3', ['-c', script], { detached: true, stdio: ['ignore', 'pipe', 'inherit'] });
    try {
      await once(main.stdout, 'data');
      const { full_usec, look_usec, full_bytes, look_bytes } = JSON.parse(run(`${examples}/memory_bench`, [], String(main.pid)));
      const off = `${((Math.abs(look_bytes - full_bytes) / full_bytes) * 100).toFixed(2)} %`;
      rows.push([name, (full_usec / 1000).toFixed(1), (look_usec / 1000).toFixed(2), off]);
    } finally {
      process.kill(-main.pid, 'SIGKILL');
    }
  }
  table(rows);
}
