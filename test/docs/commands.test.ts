// Every command in the documents does what it is there for: the fences marked `sh`, run in order in a home of their own.

import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { Place, program } from '../cli/command';
import { Running } from '../cli/running';
import { documents, fencesOf, read } from './texts';

/** What isn't run here, and why. */
const NOT_RUN: readonly [RegExp, string][] = [
  [/^(npm|npx|cargo|bash scripts|node scripts) ?/, 'a checkout\'s own: `.ci/run` runs what the README says, and this test is within it'],
  [/ measure route /, 'runs until it is stopped: test/route starts and stops it'],
  [/^(systemctl|loginctl|launchctl) /, "changes this user's services"],
  [/ --meter .* codex /, 'needs Codex and a key'],
];

/** What a document writes for what is different everywhere. */
const place = new Place();
const bin = join(place.folder, 'installed');
let receiver: http.Server;
let agent: Running;

/** A document's line, with what is here put in for what it stands for. */
function here(line: string): string {
  const { port } = receiver.address() as AddressInfo;
  return line
    .replace(/https?:\/\/(localhost:(4318|9090)|api\.honeycomb\.io)/g, `http://localhost:${port}`)
    .replace(/\b4567\b/, String(agent.pid))
    .replace(/ CMD\b.*/, ' true')
    .replace(/ URL\b/, ` http://localhost:${port}`)
    .replace(/ -- (npm test|make.*|claude)$/, ' -- true')
    .replace(/ measure delete$/, ' measure delete --yes');
}

/** Exit codes that are answers. */
const mayEnd = (line: string): number[] => (/ measure (check|status)\b/.test(line) ? [0, 1] : [0]);

const commandsOf = (text: string): string[] =>
  text
    .replaceAll('\\\n', ' ')
    .split('\n')
    .map((line) => line.replace(/\s+#.*$/, '').trim())
    .filter((line) => line !== '' && !line.startsWith('#'));

const env = (): NodeJS.ProcessEnv => ({
  PATH: `${bin}:${process.env['PATH']}`,
  HOME: place.home,
  LNK_COMMAND: join(place.bin, 'lnk'),
});

beforeAll(async () => {
  receiver = http.createServer((request, response) => request.resume().on('end', () => response.end('{}')));
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
  agent = await Running.start(process.execPath, ['-e', 'console.log("ready"); process.stdin.resume()']);
  place.addLink({ machine: { id: 'mch_docs', name: 'studio' }, agents: [{ id: 'agt_main', name: 'main', processes: [agent.pid] }] });
  mkdirSync(bin);
  for (const name of ['lnk', 'lnk-measure']) symlinkSync(program, join(bin, name));
  writeFileSync(join(place.home, 'honeycomb.headers'), 'x-honeycomb-team: none\n', { mode: 0o600 });
});
afterAll(async () => {
  execFileSync(join(bin, 'lnk'), ['measure', 'delete', '--yes'], { env: env() });
  await agent.end();
  receiver.close();
  place.remove();
});

const withCommands = documents.filter((path) => fencesOf(read(path)).some(({ language }) => language === 'sh'));

test.each(withCommands)('the commands of %s work', async (path) => {
  const failed: string[] = [];
  for (const { text, line: at } of fencesOf(read(path)).filter(({ language }) => language === 'sh')) {
    for (const line of commandsOf(text)) {
      if (NOT_RUN.some(([what]) => what.test(line))) continue;
      const { status, stderr } = await inShell(here(line));
      if (!mayEnd(line).includes(status ?? -1)) failed.push(`${path}:${at}: ${line} ended with ${status}: ${stderr}`);
    }
  }
  expect(failed).toEqual([]);
});

test('each reason not to run a command is a command\'s', () => {
  const lines = withCommands.flatMap((path) => fencesOf(read(path)).filter(({ language }) => language === 'sh').flatMap(({ text }) => commandsOf(text)));
  expect(NOT_RUN.filter(([what]) => !lines.some((line) => what.test(line))).map(([what]) => what.source)).toEqual([]);
});

function inShell(line: string): Promise<{ status: number | null; stderr: string }> {
  const child = spawn('bash', ['-c', line], { cwd: place.home, env: env(), stdio: ['ignore', 'ignore', 'pipe'], timeout: 25_000, killSignal: 'SIGKILL' });
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  return new Promise((resolve) => child.once('exit', (status) => resolve({ status, stderr })));
}
