// Finds the addon. Forty lines of our own: a generated loader asks `ldd` or a report which libc this is (3 to 25 ms) and
// can't say how to mend what it didn't find.

import { closeSync, existsSync, openSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { Failure } from '../errors';
import { version } from '../version';

/** What the addon exports. */
export type Binding = typeof import('./binding');

/** A place the addon may be in, and what came of it. */
interface Attempt {
  where: string;
  why: string;
}

/** No addon was found that fits. The message lists what was tried and how to mend it. */
export class NativeError extends Failure {
  override readonly name = 'NativeError';
}

let loaded: Binding | undefined;

/**
 * The addon, loaded once: from the file `LNK_MEASURE_NATIVE` names (and then from nowhere else), from beside this
 * program, or from the package made for this platform.
 *
 * @throws {NativeError} none of them is there, or what is there doesn't load or is another version
 */
export function loadNative(): Binding {
  loaded ??= firstThatFits();
  return loaded;
}

function firstThatFits(): Binding {
  const target = nativeTarget(process.platform, process.arch, () => isMusl(readStart(process.execPath)));
  const named = process.env['LNK_MEASURE_NATIVE'];
  const beside = join(__dirname, `lnk-measure.${target}.node`);
  const places = named ? [named] : [...(existsSync(beside) ? [beside] : []), `lnk-measure-${target}`];
  const attempts: Attempt[] = [];
  if (!named && places[0] !== beside) attempts.push({ where: beside, why: 'is not there' });
  for (const where of places) {
    try {
      const binding = require(where) as Binding;
      const found = binding.version();
      if (found === version) return binding;
      attempts.push({ where, why: `is version ${found}, and this program is ${version}` });
    } catch (error) {
      attempts.push({ where, why: firstLine(error) });
    }
  }
  throw new NativeError(explain(target, attempts, named !== undefined && named !== ''));
}

/**
 * The name of a platform, as the addon's file and package have it: `linux-x64-gnu`, `darwin-arm64`.
 *
 * @param musl asked on Linux alone
 */
export function nativeTarget(platform: string, arch: string, musl: () => boolean): string {
  if (platform !== 'linux') return `${platform}-${arch}`;
  return `${platform}-${arch}-${musl() ? 'musl' : 'gnu'}`;
}

/**
 * Whether a program was linked for musl, by the dynamic linker its first page names (ELF's PT_INTERP). Whether that
 * linker's file exists would not say: a glibc system may have musl's too, and Alpine may have glibc's.
 */
export function isMusl(start: Buffer): boolean {
  return start.includes('/ld-musl-');
}

function readStart(path: string): Buffer {
  const start = Buffer.alloc(4096);
  const file = openSync(path, 'r');
  try {
    return start.subarray(0, readSync(file, start, 0, start.length, 0));
  } finally {
    closeSync(file);
  }
}

function firstLine(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.split('\n', 1)[0] ?? text;
}

function explain(target: string, attempts: Attempt[], named: boolean): string {
  const tried = attempts.map(({ where, why }) => `  ${where}: ${why}`).join('\n');
  const mend = named
    ? 'LNK_MEASURE_NATIVE names that file: name another, or unset it.'
    : 'In a checkout, `npm run build` makes it (it needs Rust, https://rustup.rs). Installed from npm, ' +
      '`npm install lnk-measure` again without `--omit=optional` brings it.';
  return `lnk-measure has no native part for ${target} that fits. Tried:\n${tried}\n${mend}`;
}
