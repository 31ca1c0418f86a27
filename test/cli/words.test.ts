// The entry: words, help, exit codes, and where each thing is written.

import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { version } from '../../ts/version';
import { busyMachine } from './looks';
import { Place, program } from './command';

let place: Place;
beforeEach(() => {
  place = new Place();
  place.setLooks(busyMachine());
});
afterEach(() => place.remove());

test.each([[['--help']], [['-h']], [['help']], [[]]])('lnk %j says what groups there are', async (args) => {
  place.addProgram('lnk-agent', '');
  const { status, stdout, stderr } = await place.run(args);
  expect([status, stderr]).toEqual([0, '']);
  expect(stdout).toContain('lnk measure');
  expect(stdout).toContain('lnk agent');
});

test.each([
  [['measure', '--help'], 'lnk measure check'],
  [['measure', '-h'], '--agent NAME'],
  [['measure', 'help'], '--pid N'],
  [['measure', 'check', '--help'], "What can and can't be measured here"],
  [['measure', 'help', 'check'], "What can and can't be measured here"],
  [['measure', '--agent', 'main', '--help'], '--json'],
])('lnk %j is a help, on stdout, without a look', async (args, holds) => {
  const { status, stdout, stderr } = await place.run(args, { LNK_MEASURE_NATIVE: '/nonexistent' });
  expect([status, stderr]).toEqual([0, '']);
  expect(stdout).toContain(holds);
  expect(stdout).not.toContain('#0');
  expect(stdout).not.toContain('\x1b');
});

test('every command has a summary, details and an example in its help', async () => {
  const { stdout } = await place.run(['measure', '--help']);
  const commands = [...stdout.matchAll(/^ {2}lnk measure ([a-z]+) {2}/gm)].map(([, word = '']) => word);
  expect(commands).toContain('check');
  for (const word of commands) {
    const help = (await place.run(['measure', word, '--help'])).stdout;
    expect(help).toMatch(new RegExp(`^lnk measure ${word}\n  \\S`));
    expect(help).toContain('Examples\n');
  }
});

test('--version is the version, of lnk and of the group', async () => {
  for (const args of [['--version'], ['measure', '--version']]) {
    expect(await place.run(args)).toEqual({ status: 0, signal: null, stdout: `${version}\n`, stderr: '' });
  }
});

test('lnk-measure is the same without the group word, through a link as npm makes it', async () => {
  const link = join(place.folder, 'lnk-measure');
  symlinkSync(program, link);
  const tree = await place.run([], {}, link);
  expect(tree.stdout).toContain('└─ claude');
  const help = await place.run(['check', '--help'], {}, link);
  expect(help.stdout).toMatch(/^lnk-measure check\n/);
});

test.each([
  [['--agnt', 'x'], 'There is no option --agnt. Did you mean --agent?'],
  [['--jsno'], 'Did you mean --json?'],
  [['--json=5'], '--json takes no value'],
  [['--agent'], '--agent needs a value: --agent NAME'],
  [['--agent', 'main', '--pid', '-3'], '--pid needs a value'],
  [['--agent', 'main', '--pid', 'x'], '--pid takes a process number'],
  [['--agent', 'main', '--pid', '0'], '--pid takes a process number'],
  [['--pid', '4567'], '--agent NAME'],
  [['chekc'], 'Did you mean `lnk measure check`?'],
  [['main'], 'lnk measure --agent main'],
  [['constructor'], 'has no command "constructor"'],
  [['check', 'twice'], '"twice" is one word too many'],
  [['check', '--json'], 'There is no option --json'],
])('lnk measure %j is wrong usage: said on stderr, exit code 2', async (args, says) => {
  const { status, stdout, stderr } = await place.run(['measure', ...args]);
  expect([status, stdout]).toEqual([2, '']);
  expect(stderr).toContain(says);
  expect(stderr).toContain('lnk measure --help');
  expect(stderr).not.toContain('#0');
});

test('an unknown option of lnk itself is wrong usage', async () => {
  const { status, stdout, stderr } = await place.run(['--verbose']);
  expect([status, stdout]).toEqual([2, '']);
  expect(stderr).toContain('--verbose');
});

describe('another group', () => {
  test('runs lnk-GROUP from the PATH with its arguments, streams and exit code', async () => {
    place.addProgram('lnk-agent', 'echo "out:$*"; echo err >&2; exit 7');
    const { status, stdout, stderr } = await place.run(['agent', 'list', '--json', '--help']);
    expect({ status, stdout, stderr }).toEqual({ status: 7, stdout: 'out:list --json --help\n', stderr: 'err\n' });
  });

  test('that ends by a signal ends this by the same', async () => {
    place.addProgram('lnk-agent', 'kill -TERM $$');
    expect(await place.run(['agent'])).toMatchObject({ status: null, signal: 'SIGTERM' });
  });

  test('that is missing is named, with what was meant', async () => {
    place.addProgram('lnk-agent', '');
    const { status, stdout, stderr } = await place.run(['agnet', 'list']);
    expect([status, stdout]).toEqual([1, '']);
    expect(stderr).toContain('no lnk-agnet is on the PATH');
    expect(stderr).toContain('Did you mean `lnk agent`?');
    expect((await place.run(['mesure'])).stderr).toContain('Did you mean `lnk measure`?');
  });

  test('is never a path, a folder, or a file that may not be run', async () => {
    mkdirSync(join(place.bin, 'lnk-folder'));
    place.addProgram('lnk-agent', 'echo ran');
    for (const group of ['../bin/lnk-agent', '/agent', 'folder', '', 'a b']) {
      expect(await place.run([group])).toMatchObject({ status: 1, stdout: '' });
    }
  });
});
