// The workflows: what they may do, what they run, and that what is published is for its platform.

import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { root } from '../docs/texts';

const folder = join(root, '.github', 'workflows');
const names = readdirSync(folder);
const textOf = (name: string): string => readFileSync(join(folder, name), 'utf8');

test.each(names)('%s may only read, but where it publishes', (name) => {
  const text = textOf(name);
  expect(text).toMatch(/^permissions:\n {2}contents: read$/m);
  const writes = [...text.matchAll(/^ *(\S+): write$/gm)].map(([, what]) => what);
  expect(writes).toEqual(name === 'release.yml' ? ['id-token'] : []);
  expect(text).not.toMatch(/pull_request_target|secrets\./);
});

test.each(names)('every action of %s is one commit, with its version beside it', (name) => {
  const uses = textOf(name).split('\n').filter((line) => /^\s*(- )?uses: /.test(line));
  for (const line of uses) expect(line).toMatch(/uses: (\.\/\.github\/workflows\/[a-z]+\.yml|[\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+)$/);
});

test('an action is the same commit everywhere', () => {
  const commits = new Map<string, Set<string>>();
  for (const [, action = '', commit = ''] of names.flatMap((name) => [...textOf(name).matchAll(/uses: ([\w-]+\/[\w-]+)@(\S+)/g)])) {
    commits.set(action, (commits.get(action) ?? new Set()).add(commit));
  }
  expect([...commits].filter(([, all]) => all.size > 1)).toEqual([]);
});

test('every script that a workflow runs is there', () => {
  const scripts = (JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { scripts: Record<string, string> }).scripts;
  const text = names.map(textOf).join('\n');
  for (const [, name = ''] of text.matchAll(/npm run ([\w:]+)/g)) expect(scripts).toHaveProperty([name]);
  for (const [, path = ''] of text.matchAll(/(?:node|bash) (scripts\/\S+|\.ci\/\S+)/g)) expect(existsSync(join(root, path))).toBe(true);
});

test('the workflows build each platform there is a package for', () => {
  const { napi } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { napi: { targets: string[] } };
  const built = [...textOf('build.yml').matchAll(/target: ([\w-]+) }/g)].map(([, target]) => target);
  expect(built).toHaveLength(napi.targets.length);
  expect(new Set(built).size).toBe(built.length);
});

test('actionlint finds no fault', () => {
  const PATH = [process.env['PATH'], join(homedir(), 'go', 'bin')].join(delimiter);
  const lint = spawnSync('actionlint', names.map((name) => join(folder, name)), { encoding: 'utf8', env: { ...process.env, PATH } });
  if (lint.error !== undefined) {
    process.stderr.write('NOT TESTED: the workflows by actionlint: `go install github.com/rhysd/actionlint/cmd/actionlint@v1.7.7` brings it\n');
    return;
  }
  expect(lint.stdout).toBe('');
  expect(lint.status).toBe(0);
});

describe('an artifact', () => {
  const place = mkdtempSync(join(tmpdir(), 'lnk-artifacts-'));
  afterAll(() => rmSync(place, { recursive: true, force: true }));

  const elf = (machine: number): Buffer => {
    const file = Buffer.alloc(64);
    file.write('\x7fELF');
    file.writeUInt16LE(machine, 18);
    return file;
  };
  const mach = (cpu: number): Buffer => {
    const file = Buffer.alloc(64);
    file.writeUInt32LE(0xfeed_facf, 0);
    file.writeUInt32LE(cpu, 4);
    return file;
  };
  const put = (target: string, file: Buffer): void => {
    mkdirSync(join(place, target), { recursive: true });
    writeFileSync(join(place, target, `lnk-measure.${target}.node`), file);
  };
  const faults = (targets: string[]): string[] => {
    const code = `import { faultsOf } from ${JSON.stringify(join(root, 'scripts', 'check-artifacts.mjs'))}; console.log(JSON.stringify(faultsOf(process.argv[1], process.argv.slice(2))));`;
    return JSON.parse(execFileSync(process.execPath, ['--input-type=module', '-e', code, place, ...targets], { encoding: 'utf8' })) as string[];
  };

  test('is for the platform of its package, or said not to be', () => {
    put('linux-x64-gnu', elf(62));
    put('linux-arm64-musl', elf(183));
    put('darwin-arm64', mach(0x0100_000c));
    expect(faults(['linux-x64-gnu', 'linux-arm64-musl', 'darwin-arm64'])).toEqual([]);
    put('linux-x64-gnu', elf(183));
    put('darwin-arm64', Buffer.from('not a program, whatever its name may be'));
    const found = faults(['linux-x64-gnu', 'darwin-arm64', 'darwin-x64']);
    expect(found.map((fault) => fault.replace(place, ''))).toEqual([
      '/linux-x64-gnu/lnk-measure.linux-x64-gnu.node is for linux-arm64',
      '/darwin-arm64/lnk-measure.darwin-arm64.node is for no platform',
      '/darwin-x64/lnk-measure.darwin-x64.node is not there',
    ]);
  });
});
