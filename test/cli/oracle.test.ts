// What the built command says on the real addon, beside what psutil says of the same processes.

import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Unit } from '../../ts/native/look';
import { Place } from './command';
import { Running } from './running';

const cache = join(__dirname, '..', '..', '.cache');
const oracle = join(__dirname, '..', 'oracle');
const python = join(cache, 'oracle', 'bin', 'python');
const has = () => spawnSync(python, ['-c', 'import psutil; assert psutil.__version__ == "7.2.2"'], { stdio: 'ignore' }).status === 0;

/** Why psutil can't be had; undefined once it is there. */
function installPsutil(): string | undefined {
  if (has()) return undefined;
  for (const [command, ...args] of [
    ['python3', '-m', 'venv', '--clear', join(cache, 'oracle')],
    [python, '-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', 'psutil==7.2.2'],
  ] as [string, ...string[]][]) {
    const { status, error, stdout, stderr } = spawnSync(command, args, { encoding: 'utf8', timeout: 300_000 });
    if (status !== 0) return `${command} ${args.join(' ')}: ${error?.message ?? `${stdout}${stderr}`.trim()}`;
  }
  return has() ? undefined : 'it was installed and is not there';
}

interface Said {
  pss: number;
  rss: number;
  cpu: number;
  read: number;
  written: number;
  pids: number[];
  ports: number;
}

const missing = process.platform === 'linux' ? installPsutil() : 'this compares what Linux says';
if (missing !== undefined) process.stderr.write(`NOT TESTED: measures beside psutil's: ${missing}\n`);
const mustRun = process.env['CI'] !== undefined && process.platform === 'linux';

if (missing === undefined) {
  test('memory, CPU time, disk bytes, processes and ports are what psutil says', async () => {
    // Below the checkout: the folder for temporary files is memory on many machines.
    const folder = mkdtempSync(join(cache, 'oracle-'));
    const place = new Place();
    const tree = await Running.start(python, [join(oracle, 'tree.py'), folder]);
    try {
      const askPsutil = () => JSON.parse(execFileSync(python, [join(oracle, 'psutil_look.py'), String(tree.pid)], { encoding: 'utf8' })) as Said;
      place.addLink({ agents: [{ id: 'agt_01', name: 'main', running: true, processes: [tree.pid] }] });
      const before = askPsutil();
      const { status, stdout, stderr } = await place.run(['measure', '--agent', 'main', '--json'], { LNK_MEASURE_NATIVE: undefined });
      const after = askPsutil();
      expect([status, stderr]).toEqual([0, '']);
      const [agent, ...processes] = (JSON.parse(stdout) as { units: Unit[] }).units;
      const value = (name: string) => agent?.measures[`link.${name}`]?.now ?? 0;

      expect(processes.map(({ id }) => Number(id.split('/')[1])).sort((a, b) => a - b)).toEqual(after.pids);
      expect(value('processes.sum')).toBe(2);
      expect(value('ports.sum')).toBe(after.ports);
      expect(after.ports).toBeGreaterThanOrEqual(1);
      // What is shared counts once: the resident bytes count it twice.
      expect(after.rss).toBeGreaterThan(1.7 * after.pss);
      expect(Math.abs(value('memory.used.sum') / after.pss - 1)).toBeLessThan(0.03);
      // Each process's four times are cut to a hundredth, and each is a child's too.
      expect(value('cpu.used.sum')).toBeGreaterThanOrEqual(before.cpu - 0.04);
      expect(value('cpu.used.sum')).toBeLessThanOrEqual(after.cpu + 0.04);
      expect(before.cpu).toBeGreaterThan(0.3);
      expect(value('disk.read.sum')).toBeGreaterThanOrEqual(before.read);
      expect(value('disk.read.sum')).toBeLessThanOrEqual(after.read);
      expect(value('disk.written.sum')).toBeGreaterThanOrEqual(before.written);
      expect(value('disk.written.sum')).toBeLessThanOrEqual(after.written);
      expect(before.written).toBeGreaterThanOrEqual(8 * 1024 * 1024);
    } finally {
      await tree.end();
      place.remove();
      rmSync(folder, { recursive: true });
    }
  });
} else if (mustRun) {
  test('psutil is there to compare with', () => {
    throw new Error(missing);
  });
} else {
  test.skip('measures beside psutil\'s', () => undefined);
}
