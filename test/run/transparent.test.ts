// A command sees no difference between being run and being run under `lnk measure run`, and neither does who waits for it.

import { spawn, spawnSync } from 'node:child_process';
import { closeSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { until } from '../watch/place';
import { childrenOf, ended, processOf, RunPlace, USERS } from './place';

jest.setTimeout(120_000);

describe.each(USERS)('as %s', (user) => {
  let place: RunPlace;
  beforeAll(() => {
    place = new RunPlace(user);
  });
  afterAll(() => place.remove());

  test.each([[0, ['sh', '-c', 'exit 0']], [3, ['sh', '-c', 'exit 3']], [127, ['no-such-program-here']], [126, ['/etc/passwd']]])('ends with %i as the command does', async (status, words) => {
    expect(await place.measured(['--quiet', '--', ...words])).toMatchObject({ status, signal: null });
  });

  test.each(['SIGKILL', 'SIGTERM', 'SIGSEGV', 'SIGPIPE', 'SIGINT', 'SIGUSR1'] as const)('ends by %s as the command does', async (signal) => {
    const outcome = await place.measured(['--', 'sh', '-c', `kill -${signal.slice(3)} $$`]);
    expect(outcome).toMatchObject({ status: null, signal });
    expect(outcome.stderr).toContain(`ended by ${signal}`);
  });

  test('words come as they were given, whatever they look like', async () => {
    const words = ['--name', '', 'a b', '--', "'$(x)'", '\u00fc\u{1f600}', '-1'];
    expect((await place.measured(['--quiet', '--', 'printf', '%s\\n', ...words])).stdout).toBe(`${words.join('\n')}\n`);
    // Not UTF-8, as a file's name may be.
    const [name, ...rest] = place.words('run', '--quiet', '--', 'printf', '%s');
    const line = `exec ${[name, ...rest].map((word) => `'${word}'`).join(' ')} "$(printf '\\377a')"`;
    expect(spawnSync('sh', ['-c', line], { env: place.environment, cwd: place.work }).stdout).toEqual(Buffer.from([0xff, 0x61]));
  });

  test('without -- the first word that is no option is the command, and all after it its own', async () => {
    const outcome = await place.measured(['--quiet', 'printf', '%s %s', '--quiet', '--help']);
    expect(outcome).toMatchObject({ status: 0, stdout: '--quiet --help', stderr: '' });
  });

  test('what the command inherits is what it would without', async () => {
    const file = join(place.folder, `inherited-${USERS.indexOf(user)}`);
    writeFileSync(file, 'of descriptor 7', { mode: 0o644 });
    // Descriptors, whether they block, limits, ignored and blocked signals, session, process group.
    const script = `cat <&7; for fd in 0 1 2; do readlink /proc/$$/fd/$fd; grep flags /proc/$$/fdinfo/$fd; done; ls /proc/$$/fd; ulimit -n; grep -E '^Sig(Blk|Ign|Cgt)' /proc/self/status; cut -d' ' -f5,6 /proc/$$/stat; pwd; umask; env | grep -v -E '^(LNK_MEASURES|_)=' | sort`;
    const shell = (before: string) => {
      // From a shell that waits, so that the process group and the session are the same for both.
      const line = `ulimit -S -n 1000; ${before} sh -c "$SCRIPT" 7<"$FILE"; ${before} sh -c "$SCRIPT" 7<"$FILE" | cat`;
      return spawn('sh', ['-c', line], { env: { ...place.environment, SCRIPT: script, FILE: file }, cwd: place.work, stdio: ['pipe', 'pipe', 'pipe'] });
    };
    const quoted = (words: string[]) => words.map((word) => `'${word}'`).join(' ');
    const [bare, under] = await Promise.all([place.words('run', '--quiet', '--').slice(0, user === 'another user' ? 6 : 0), place.words('run', '--quiet', '--')].map((words) => ended(shell(quoted(words)))));
    const normal = (text: string) => text.replace(/(pipe|socket):\[\d+\]/g, '$1').replace(/^\d+ (?=\d+$)/gm, 'group ').replace(/^group \d+$/gm, 'group session');
    expect(under?.stderr).toBe('');
    expect(normal(under?.stdout ?? '')).toBe(normal(bare?.stdout ?? ''));
    expect(under?.stdout).toContain('of descriptor 7');
  });

  test('input passes, and its end', async () => {
    const text = 'a line\n'.repeat(100_000);
    expect((await place.measured(['--quiet', '--', 'cat'], text)).stdout).toBe(text);
    expect(await place.measured(['--quiet', '--', 'sh', '-c', 'read line || echo no more'])).toMatchObject({ stdout: 'no more\n' });
  });

  test('a reader that has enough ends the command', () => {
    const [name, ...words] = place.words('run', '--quiet', '--', 'yes');
    const line = `{ ${[name, ...words].map((word) => `'${word}'`).join(' ')}; echo $? >&2; } | head -2`;
    const { stdout, stderr } = spawnSync('sh', ['-c', line], { env: place.environment, cwd: place.work, encoding: 'utf8' });
    // 128 and SIGPIPE.
    expect([stdout, stderr]).toEqual(['y\ny\n', '141\n']);
  });

  test('a gibibyte passes whole', () => {
    const [name, ...words] = place.words('run', '--quiet', '--', 'cat');
    const line = `head -c 1G /dev/zero | ${[name, ...words].map((word) => `'${word}'`).join(' ')} | wc -c`;
    expect(spawnSync('sh', ['-c', line], { env: place.environment, cwd: place.work, encoding: 'utf8' }).stdout.trim()).toBe(String(2 ** 30));
  });

  test("another program's signals are the command's, once each", async () => {
    const script = 'for s in HUP INT QUIT USR1 USR2 ALRM WINCH; do trap "echo $s" $s; done; trap "exit 9" TERM; echo ready; while :; do sleep 0.01; done';
    const child = place.start(['--quiet', '--', 'sh', '-c', script]);
    let said = '';
    child.stdout?.on('data', (text: Buffer) => (said += String(text)));
    await until('its word', () => said === 'ready\n');
    let expected = said;
    for (const signal of ['HUP', 'INT', 'QUIT', 'USR1', 'USR2', 'ALRM', 'WINCH'] as const) {
      process.kill(child.pid, `SIG${signal}` as NodeJS.Signals);
      expected += `${signal}\n`;
      await until(signal, () => said === expected);
    }
    process.kill(child.pid, 'SIGTERM');
    expect(await ended(child)).toMatchObject({ status: 9 });
    expect(said).toBe(expected);
  });

  test('a command that stops stops this too, and goes on with it', async () => {
    const child = place.start(['--quiet', '--', 'sh', '-c', 'kill -STOP $$; echo went on']);
    const outcome = ended(child);
    await until('a stop', () => processOf(child.pid)?.state === 'T');
    process.kill(child.pid, 'SIGCONT');
    expect(await outcome).toMatchObject({ status: 0, stdout: 'went on\n' });
    // One that another program stops and has go on, as a whole process group.
    const other = place.start(['--quiet', '--', 'sleep', '1000']);
    // Stopped before it is its own program, it would leave this waiting for that.
    await until('its command', () => childrenOf(other.pid).map((pid) => readFileSync(`/proc/${pid}/comm`, 'utf8')).join() === 'sleep\n');
    childrenOf(other.pid).forEach((pid) => process.kill(pid, 'SIGSTOP'));
    await until('a stop', () => processOf(other.pid)?.state === 'T');
    process.kill(-other.pid, 'SIGCONT');
    await until('its going on', () => processOf(other.pid)?.state !== 'T' && childrenOf(other.pid).every((pid) => processOf(pid)?.state === 'S'));
    process.kill(other.pid, 'SIGTERM');
    expect(await ended(other)).toMatchObject({ signal: 'SIGTERM' });
  });

  test('those whose parents end are reaped, and leave no zombies', async () => {
    const child = place.start(['--quiet', '--', 'sh', '-c', 'for i in 1 2 3 4 5; do sh -c "sleep 0.05 & sleep 0.01 &"; done; echo ready; exec sleep 1000']);
    let said = '';
    child.stdout?.on('data', (text: Buffer) => (said += String(text)));
    await until('its word', () => said === 'ready\n');
    await until('their end', () => childrenOf(child.pid).length === 1);
    process.kill(child.pid, 'SIGTERM');
    await ended(child);
  });

  test('where nothing can be kept the command runs all the same, and that is said', async () => {
    const outcome = await place.measured(['--', 'sh', '-c', 'echo ran; exit 4'], '', { LNK_HOME: '/proc/nowhere' });
    expect(outcome).toMatchObject({ status: 4, stdout: 'ran\n' });
    expect(outcome.stderr).toContain('nothing can be kept in /proc/nowhere/measure');
  });

  test('a receipt that can\'t be written costs the command nothing', async () => {
    const outcome = await place.measured(['--quiet', '--receipt', '/proc/nowhere/receipt', '--', 'sh', '-c', 'exit 5']);
    expect(outcome.status).toBe(5);
    expect(outcome.stderr).toMatch(/^lnk measure run: \/proc\/nowhere\/receipt can't be written: /);
  });

  test('a closed stderr costs the command nothing', async () => {
    const full = openSync('/dev/full', 'w');
    const child = place.start(['--', 'sh', '-c', 'exit 6'], ['ignore', 'ignore', full]);
    closeSync(full);
    expect(await ended(child)).toMatchObject({ status: 6 });
  });
});

test('wrong words are told of, with what is right', async () => {
  const place = new RunPlace(USERS[0] ?? 'this user');
  const [none, unknown, noValue, badName, hidden, help] = await Promise.all([['--'], ['--nmae', 'x', '--', 'true'], ['--name'], ['--name', 'a b', '--', 'true'], ['--name', '..', '--', 'true'], ['--help']].map((args) => place.lnk('run', ...args)));
  expect(none).toMatchObject({ status: 2, stderr: expect.stringContaining('What is to be run?') });
  expect(unknown).toMatchObject({ status: 2, stderr: expect.stringContaining('There is no option --nmae.') });
  expect(noValue).toMatchObject({ status: 2, stderr: expect.stringContaining('--name needs a value: --name NAME') });
  expect(badName).toMatchObject({ status: 2, stderr: expect.stringContaining('not "a b"') });
  expect(hidden).toMatchObject({ status: 2, stderr: expect.stringContaining('the first no point, not ".."') });
  expect(help).toMatchObject({ status: 0, stdout: expect.stringContaining('--receipt FILE') });
  expect(help?.stdout.replace(/\s+/g, ' ')).toContain('1 to 32 of letters, digits and ._:/@-, the first no point.');
  place.remove();
});
