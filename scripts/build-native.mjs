// Builds the addon for this machine: dist/lnk-measure.<platform>.node, and the types of what it exports.
//
//   node scripts/build-native.mjs               builds, and takes the types over into ts/native/binding.d.ts
//   node scripts/build-native.mjs --keep-types  builds only, so that a check can compare them
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { isMain, root } from './root.mjs';

const SOURCES = ['Cargo.toml', 'Cargo.lock', 'crates'];
const STAMP = `${root}/dist/native.sha256`;

/** What the addon is made of, as one hash. */
function sourcesHash() {
  const hash = createHash('sha256');
  const add = (path) => {
    if (statSync(`${root}/${path}`).isDirectory()) readdirSync(`${root}/${path}`).sort().forEach((name) => add(`${path}/${name}`));
    else hash.update(`${path}\0`).update(readFileSync(`${root}/${path}`));
  };
  SOURCES.forEach(add);
  return hash.digest('hex');
}

const builtFiles = () => readdirSync(`${root}/dist`).filter((name) => name.endsWith('.node'));

/** Whether the addon in dist/ was built from the sources as they are. */
export function isNativeCurrent() {
  try {
    return builtFiles().length > 0 && readFileSync(STAMP, 'utf8') === sourcesHash();
  } catch {
    return false;
  }
}

/** Whether Rust is here to build with. */
export const hasCargo = () => spawnSync('cargo', ['--version']).status === 0;

export const INSTALL_RUST =
  'Rust is not installed, and lnk-measure is built with it here.\n' +
  'Install it from https://rustup.rs (or your system\'s rustup package), open a new terminal, and run `npm install` again.';

/** Builds the addon; answers whether it could. What fails has said so on stderr. */
export function buildNative({ keepTypes }) {
  if (!hasCargo()) {
    console.error(INSTALL_RUST);
    return false;
  }
  mkdirSync(`${root}/dist`, { recursive: true });
  const hash = sourcesHash();
  // A new file each time: a running program may have the old one mapped.
  for (const name of builtFiles()) rmSync(`${root}/dist/${name}`);
  const napi = [
    `${root}/node_modules/@napi-rs/cli/dist/cli.js`,
    ...['build', '--platform', '--release', '--no-js', '--manifest-path', 'crates/node/Cargo.toml'],
    ...['--package-json-path', 'package.json', '--output-dir', 'dist', '--dts', 'binding.d.ts', '--', '--locked'],
  ];
  const built = spawnSync(process.execPath, napi, { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] });
  if (built.status !== 0) return false;
  writeFileSync(STAMP, hash);
  if (!keepTypes) copyFileSync(`${root}/dist/binding.d.ts`, `${root}/ts/native/binding.d.ts`);
  return true;
}

if (isMain(import.meta.url) && !buildNative({ keepTypes: process.argv.includes('--keep-types') })) process.exitCode = 1;
