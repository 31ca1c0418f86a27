// A command in a terminal: what is typed, its size, Ctrl-C and Ctrl-Z, and the terminal's settings, as if it were run alone.
// The terminal is tmux's, and the shell in it an interactive one.

import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { until } from '../watch/place';
import { RunPlace, USERS } from './place';

jest.setTimeout(120_000);

const hasTmux = spawnSync('tmux', ['-V']).status === 0;
if (!hasTmux) process.stderr.write('NOT TESTED: a run in a terminal: tmux is not here (Debian: apt-get install tmux)\n');

/** A program that owns the screen: says what it is sent, its size, and what it was signalled. */
const TUI = `
process.stdin.setRawMode?.(true);
process.stdin.on('data', (keys) => {
  for (const key of keys.toString()) {
    if (key === 'q') process.exit(7);
    else if (key === '\\x1a') { process.stdin.setRawMode(false); process.kill(process.pid, 'SIGTSTP'); }
    else process.stdout.write('key ' + JSON.stringify(key) + '\\r\\n');
  }
});
process.on('SIGWINCH', () => undefined);
process.stdout.on('resize', () => process.stdout.write('size ' + process.stdout.columns + 'x' + process.stdout.rows + '\\r\\n'));
process.on('SIGCONT', () => { process.stdin.setRawMode(true); process.stdout.write('went on\\r\\n'); });
process.stdout.write('tui ready\\r\\n');
`;

(hasTmux ? describe : describe.skip).each(USERS)('as %s', (user) => {
  let place: RunPlace;
  let socket = '';
  const tmux = (...args: string[]): string => {
    const { status, stdout, stderr } = spawnSync('tmux', ['-S', socket, ...args], { encoding: 'utf8', env: place.environment });
    if (status !== 0) throw new Error(`tmux ${args.join(' ')}: ${stderr}`);
    return stdout;
  };
  const type = (...keys: string[]): void => void tmux('send-keys', '-t', 'run', ...keys);
  const screen = (): string => tmux('capture-pane', '-p', '-J', '-S', '-200', '-t', 'run');
  const shows = (text: string | RegExp): Promise<unknown> =>
    until(`${text} on the screen`, () => (typeof text === 'string' ? screen().includes(text) : text.test(screen())) || undefined).catch((error: Error) => {
      throw new Error(`${error.message}:\n${screen()}`);
    });
  /** Types a line whose end can be told. */
  const line = (text: string): void => type('-l', `${text}\n`);
  let run = '';

  beforeAll(async () => {
    place = new RunPlace(user);
    socket = join(place.folder, 'tmux');
    writeFileSync(join(place.work, 'tui.cjs'), TUI);
    // The shell is the user's own: a job is only stopped and continued by who may.
    const [name, ...words] = place.words();
    const shell = user === 'another user' ? [name, ...words.slice(0, 5)] : [];
    run = [process.execPath, words.find((word) => word.endsWith('lnk.js')) ?? '', 'measure', 'run', '--quiet'].join(' ');
    tmux('-f', '/dev/null', 'new-session', '-d', '-s', 'run', '-x', '100', '-y', '30', '-c', place.work, ...shell, 'bash', '--norc', '--noprofile', '-i');
    line('unset HISTFILE; PS1="$ "; echo shell-is-$((40+2))');
    await shows('shell-is-42');
  });
  afterAll(() => {
    spawnSync('tmux', ['-S', socket, 'kill-server']);
    place.remove();
  });
  beforeEach(async () => {
    tmux('clear-history', '-t', 'run');
    line('clear');
    await until('an empty screen', () => screen().trim() === '$' || undefined);
  });

  test('keys, a resize, a stop and going on, and the exit code', async () => {
    line(`${run} -- ${process.execPath} tui.cjs`);
    await shows('tui ready');
    type('a', 'C-c');
    await shows('key "a"');
    await shows('key "\\u0003"');
    tmux('resize-window', '-t', 'run', '-x', '90', '-y', '25');
    await shows('size 90x25');
    type('C-z');
    await shows('Stopped');
    line('echo shell-again-$((1+1)); fg; echo code-$?');
    await shows('shell-again-2');
    await shows('went on');
    type('b', 'q');
    await shows('key "b"');
    await shows('code-7');
    tmux('resize-window', '-t', 'run', '-x', '100', '-y', '30');
  });

  test('Ctrl-C ends a command that takes it, once', async () => {
    line(`${run} -- sh -c 'trap "echo got-INT; exit 5" INT; echo wait''ing; while :; do sleep 0.05; done'; echo code-$?`);
    await shows('waiting');
    type('C-c');
    await shows('code-5');
    expect(screen().match(/^.*got-INT$/gm)?.filter((each) => !each.includes('trap'))).toHaveLength(1);
  });

  test('Ctrl-C ends a command that does not, and the shell sees a signal', async () => {
    line(`${run} -- sleep 1000; echo code-$?`);
    await until('its process', () => spawnSync('pgrep', ['-f', 'measure run --quiet -- sleep 1000']).status === 0);
    await until('the signal', () => {
      type('C-c');
      return /\n\$ *$/.test(screen().trimEnd().concat(' ')) || undefined;
    });
    // An interactive bash gives up the whole line when what it waited for ended by SIGINT.
    line('echo code-after-$?');
    await shows('code-after-130');
  });

  test('Ctrl-Z stops a command, bg has it go on, fg ends it', async () => {
    line(`${run} -- sh -c 'echo start''ed; read x; echo read-$x'`);
    await shows('started');
    type('C-z');
    await shows('Stopped');
    line('fg');
    line('word');
    await shows('read-word');
  });

  test('what a command does to the terminal stays', async () => {
    line(`${run} -- stty -echoctl -ixon; stty -a | grep -o -e '-ixon' | sed s/^/now/`);
    await shows('now-ixon');
    line('stty ixon echoctl');
  });
});
