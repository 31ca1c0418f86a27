import { execFileSync, spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isMusl, nativeTarget } from '../ts/native/load';
import { version } from '../ts/version';

const dist = join(__dirname, '..', 'dist');
const askMeasures = (index: string, env: NodeJS.ProcessEnv = {}) =>
  spawnSync(process.execPath, ['-e', `console.log(require(${JSON.stringify(index)}).measures()[0].name)`], {
    encoding: 'utf8',
    env: { ...process.env, ...env },
  });

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'lnk-native-'));
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

/** The library somewhere else, with no addon beside it. */
function libraryAlone(): string {
  const index = join(folder, 'index.js');
  copyFileSync(join(dist, 'index.js'), index);
  return index;
}

test('the addon beside the program is loaded and gives the measures table', () => {
  const { measures } = require(dist) as typeof import('../ts/index');
  expect(measures().map(({ name }) => name)).toContain('link.memory.used.sum');
});

test('no addon: the error says what was tried, and how to mend it', () => {
  const { status, stderr } = askMeasures(libraryAlone());
  expect(status).not.toBe(0);
  const target = nativeTarget(process.platform, process.arch, () => stderr.includes('-musl'));
  expect(stderr).toContain(join(folder, `lnk-measure.${target}.node: is not there`));
  expect(stderr).toContain(`lnk-measure-${target}: Cannot find module`);
  expect(stderr).toContain('npm run build');
});

test('the platform package is used where nothing lies beside the program', () => {
  const index = libraryAlone();
  const target = nativeTarget(process.platform, process.arch, () => false);
  const packageFolder = join(folder, 'node_modules', `lnk-measure-${target}`);
  mkdirSync(packageFolder, { recursive: true });
  writeFileSync(join(packageFolder, 'index.js'), `exports.version = () => '${version}'; exports.measures = () => '[{"name":"packaged"}]'`);
  expect(askMeasures(index).stdout).toBe('packaged\n');
});

test('LNK_MEASURE_NATIVE names the exact file, and nothing else is tried', () => {
  const other = join(folder, 'other.js');
  writeFileSync(other, `exports.version = () => '${version}'; exports.measures = () => '[{"name":"other"}]'`);
  expect(askMeasures(join(dist, 'index.js'), { LNK_MEASURE_NATIVE: other }).stdout).toBe('other\n');
  const { status, stderr } = askMeasures(join(dist, 'index.js'), { LNK_MEASURE_NATIVE: join(folder, 'none.node') });
  expect(status).not.toBe(0);
  expect(stderr).toContain('none.node');
  expect(stderr).toContain('LNK_MEASURE_NATIVE');
});

test('an addon of another version is refused', () => {
  const old = join(folder, 'old.js');
  writeFileSync(old, `exports.version = () => '0.0.9'`);
  const { stderr } = askMeasures(join(dist, 'index.js'), { LNK_MEASURE_NATIVE: old });
  expect(stderr).toContain('is version 0.0.9');
});

test('musl is told by the dynamic linker a program names', () => {
  expect(isMusl(Buffer.from('\x7fELF…/lib/ld-musl-x86_64.so.1\0'))).toBe(true);
  expect(isMusl(Buffer.from('\x7fELF…/lib64/ld-linux-x86-64.so.2\0'))).toBe(false);
  expect(nativeTarget('darwin', 'arm64', () => { throw new Error('not asked'); })).toBe('darwin-arm64');
  expect(nativeTarget('linux', 'x64', () => true)).toBe('linux-x64-musl');
});

test('the built program is one executable file', () => {
  expect(execFileSync(join(dist, 'lnk.js'), ['--version'], { encoding: 'utf8' })).toMatch(/^\d+\.\d+\.\d+\n$/);
});
