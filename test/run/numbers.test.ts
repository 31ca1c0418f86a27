// What a run is said to have taken is what the kernel says, and what its programs did.

import { readFileSync, readlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { spawnSync } from 'node:child_process';
import { until } from '../watch/place';
import { ended, RunPlace, USERS } from './place';

jest.setTimeout(120_000);

const hasTime = spawnSync('/usr/bin/time', ['true']).status === 0;
if (!hasTime) process.stderr.write('NOT TESTED: the CPU time of a run beside that of time(1): /usr/bin/time is not here (Debian: apt-get install time)\n');

const hasCompiler = spawnSync('make', ['--version']).status === 0 && spawnSync('cc', ['--version']).status === 0;
if (!hasCompiler) process.stderr.write('NOT TESTED: a build that is run: make or cc is not here (Debian: apt-get install make gcc)\n');

/** Whether the processes here are others than the kernel's own first name space has: nothing of it is told here. */
const isContained = readlinkSync('/proc/self/ns/pid') !== 'pid:[4026531836]';

describe.each(USERS)('as %s', (user) => {
  let place: RunPlace;
  beforeAll(() => {
    place = new RunPlace(user);
  });
  afterAll(() => place.remove());

  /** CPU seconds by `/usr/bin/time`, which gives hundredths, and by the receipt. */
  async function both(script: string): Promise<{ time: number; run: number; started: number | null }> {
    const { stderr, receipt } = await place.receipt(['/usr/bin/time', '-f', '%U %S', 'sh', '-c', script]);
    const [user = 0, system = 0] = stderr.trim().split(' ').map(Number);
    return { time: user + system, run: receipt.measures['link.cpu.used.sum'] ?? 0, started: receipt.processes.started };
  }

  (hasTime ? test : test.skip)('2,000 children of a millisecond take what time(1) says, and are counted', async () => {
    const { time, run, started } = await both('i=0; while [ $i -lt 2000 ]; do /bin/true; i=$((i+1)); done');
    expect(time).toBeGreaterThan(0.3);
    // Its two numbers are cut to hundredths, and it takes some itself.
    expect(Math.abs(run - time)).toBeLessThan(0.01 * time + 0.03);
    // The shell, time(1) and its shell; told to root alone before Linux 6.6, and in no container.
    if (started !== null) expect(started).toBe(2002);
    else expect(user === 'root' && !isContained).toBe(false);
  });

  (hasTime ? test : test.skip)('a tree that computes at once takes what time(1) says', async () => {
    const { time, run } = await both('for n in 1 2 3; do sh -c "i=0; while [ \\$i -lt 200000 ]; do i=\\$((i+1)); done" & done; wait');
    expect(Math.abs(run - time)).toBeLessThan(0.01 * time + 0.03);
  });

  test('an orphan that ended before the command counts too', async () => {
    // Its parent is gone before it computes: nobody but its reaper has its time.
    const spin = 'i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; echo spun >&2';
    const { receipt } = await place.receipt(['sh', '-c', `(setsid sh -c '${spin}' 2>done &) ; while ! grep -q spun done 2>/dev/null; do sleep 0.05; done`]);
    // The same work takes more or less where others compute too; lost, it would be a tenth.
    const alone = await place.receipt(['sh', '-c', spin]);
    expect(receipt.measures['link.cpu.used.sum']).toBeGreaterThan(0.5 * (alone.receipt.measures['link.cpu.used.sum'] ?? Infinity));
  });

  test('the most memory is what was held at once, by two processes', async () => {
    const hold = `const held = Buffer.alloc(60 << 20, 1); setTimeout(() => console.log(held.length), 1500)`;
    const { receipt } = await place.receipt(['sh', '-c', `'${process.execPath}' -e '${hold}' & '${process.execPath}' -e '${hold}'; wait`]);
    const peak = receipt.measures['link.memory.peak.max'] ?? 0;
    expect(peak).toBeGreaterThan(120 << 20);
    // And not their shared pages twice.
    expect(peak).toBeLessThan(2 * (receipt.kernel.largestProcess ?? 0));
    expect(receipt.kernel.largestProcess).toBeGreaterThan(60 << 20);
    expect(receipt.processes.most).toBe(3);
    if (user === 'root') expect(receipt.kernel.groupPeak).toBeGreaterThan(120 << 20);
  });

  test('what is written to a disk is counted, and what its folder grew by', async () => {
    writeFileSync(join(place.work, 'goes'), 'x'.repeat(1000));
    const { receipt } = await place.receipt(['sh', '-c', 'rm -f goes; mkdir -p new; dd if=/dev/zero of=new/a bs=1M count=8 conv=fsync 2>/dev/null; printf abc > new/b']);
    expect(receipt.folder).toEqual({ files: 1, bytes: (8 << 20) + 3 - 1000, about: false });
    const onDisk = spawnSync('stat', ['-f', '-c', '%T', place.work], { encoding: 'utf8' }).stdout.trim() !== 'tmpfs';
    if (onDisk) expect(receipt.measures['link.disk.written.sum']).toBeGreaterThanOrEqual(8 << 20);
    expect(receipt.missing).not.toHaveProperty('link.disk.written.sum');
  });

  test('what is kept of a run is not what its folder grew by', () => {
    const path = join(place.work, 'kept.json');
    const [program, ...words] = place.words('run', '--quiet', '--receipt', path, '--', 'true');
    expect(spawnSync(program, words, { cwd: place.home, env: place.environment })).toMatchObject({ status: 0 });
    const { folder } = JSON.parse(readFileSync(path, 'utf8')) as { folder: object };
    expect(folder).toMatchObject({ files: 0, bytes: 0 });
  });

  (hasCompiler ? test : test.skip)('a build: what it starts, what it makes, and how it fails', async () => {
    const makefile = ['all: a.o b.o', '%.o: %.c', '\tcc -O2 -c -o $@ $<', 'bad:', '\tfalse', ''].join('\n');
    for (const [name, text] of [['Makefile', makefile], ['a.c', 'int a(int n) { return n; }\n'], ['b.c', 'int b(int n) { return n; }\n']]) writeFileSync(join(place.work, name ?? ''), text ?? '');
    const { receipt, stdout, status } = await place.receipt(['make', '-j2', 'all']);
    expect([status, stdout]).toEqual([0, 'cc -O2 -c -o a.o a.c\ncc -O2 -c -o b.o b.c\n']);
    expect(receipt.folder).toMatchObject({ files: 2, about: false });
    // make, and two compilers with an assembler each.
    expect(receipt.processes.started ?? 5).toBeGreaterThanOrEqual(5);
    expect(receipt.processes.most).toBeGreaterThanOrEqual(3);
    expect(receipt.measures['link.cpu.used.sum']).toBeGreaterThan(0.005);
    expect(receipt.left).toEqual([]);
    expect((await place.receipt(['make', 'bad'])).receipt.exit).toEqual({ code: 2, signal: null });
  });

  test('a server with workers: its port, its processes, its start and its stop', async () => {
    const server = `
      const cluster = require('node:cluster');
      if (cluster.isPrimary) {
        process.on('SIGTERM', () => process.exit(0));
        for (let n = 0; n < 3; n++) cluster.fork();
        cluster.on('listening', (_, { port }) => console.log(port));
      } else require('node:http').createServer((_, response) => response.end()).listen(0, '127.0.0.1');`;
    const path = join(place.folder, `server-${user.length}.cjs`);
    writeFileSync(path, server);
    const receiptPath = join(place.home, 'server.json');
    const child = place.start(['--quiet', '--name', 'server', '--receipt', receiptPath, '--', process.execPath, path]);
    let said = '';
    child.stdout?.on('data', (text: Buffer) => (said += String(text)));
    await until('its workers', () => said.trim().split('\n').length === 3);
    const home = join(place.measure, 'runs', 'server.home');
    // It has come to rest, and that is written down while it runs.
    await until('its start', () => {
      try {
        return /^\{"t":[\d.]+,"start_cold":[\d.]+\}\n$/.test(readFileSync(join(home, 'times.jsonl'), 'utf8'));
      } catch {
        return false;
      }
    });
    process.kill(child.pid, 'SIGTERM');
    await ended(child);
    const receipt = JSON.parse(readFileSync(receiptPath, 'utf8')) as Awaited<ReturnType<RunPlace['receipt']>>['receipt'];
    expect(receipt.ports).toEqual([Number(said.split('\n')[0])]);
    expect(receipt.processes.most).toBe(4);
    expect(receipt.measures['link.ports.sum']).toBe(1);
    expect(receipt.measures['link.time.start_cold.own']).toBeGreaterThan(0.01);
    expect(receipt.measures['link.time.stop.own']).toBeLessThan(10);
    expect(readFileSync(join(home, 'times.jsonl'), 'utf8').trim().split('\n').map((line) => Object.keys(JSON.parse(line) as object)[1])).toEqual(['start_cold', 'stop']);
  });

  test('the receipt is lines a person can read, and what is missing is said to be', async () => {
    const { stderr } = await place.measured(['--name', 'reading', '--', 'sh', '-c', 'sleep 0.6; exit 2']);
    const lines = stderr.trimEnd().split('\n');
    expect(lines[0]).toMatch(/^reading · 0\.\d\ds · exit 2$/);
    const labels = lines.slice(1).map((line) => line.slice(0, 11).trimEnd());
    expect(labels).toEqual(['cpu', 'memory', 'processes', 'disk', 'its folder', 'network', 'turns', 'times']);
    expect(stderr).toMatch(/\nnetwork +not counted, nor tokens: --meter counts them\n/);
    expect(stderr).toMatch(/\nturns +not known, nor spend: no harness said any\n/);
    expect(stderr).not.toContain('undefined');
  });
});
