// What `npm install` runs in a checkout: leaves it ready, so that `npx lnk measure` and `npm test` work. Bundles always
// (it takes a moment), and builds the addon where the one there is not of these sources.
import { mkdirSync, rmSync, symlinkSync } from 'node:fs';
import { createRequire } from 'node:module';
import { buildNative, hasCargo, INSTALL_RUST, isNativeCurrent } from './build-native.mjs';
import { bundle } from './bundle.mjs';
import { root } from './root.mjs';

await bundle();
linkPrograms();
if (!ensureNative()) process.exitCode = 1;

/** Whether an addon that fits is there now. */
function ensureNative() {
  if (isNativeCurrent()) {
    console.log('lnk-measure: bundled; the addon is up to date.');
    return true;
  }
  if (hasCargo()) {
    console.log('lnk-measure: bundled; building the addon (about a minute, once) …');
    return buildNative({ keepTypes: true });
  }
  if (!loads()) {
    console.error(INSTALL_RUST);
    return false;
  }
  console.log('lnk-measure: bundled; no Rust here, so a prebuilt addon of this version is used.');
  return true;
}

/** Whether the built library finds an addon of its own version. */
function loads() {
  try {
    createRequire(import.meta.url)(`${root}/dist/index.js`).measures();
    return true;
  } catch {
    return false;
  }
}

/**
 * npm links a package's programs where it is installed, never in its own checkout; there `npx lnk` is answered from
 * npm's cache, or by another program of that name, unless the checkout's own is in node_modules/.bin.
 */
function linkPrograms() {
  const bin = `${root}/node_modules/.bin`;
  mkdirSync(bin, { recursive: true });
  for (const name of ['lnk', 'lnk-measure']) {
    rmSync(`${bin}/${name}`, { force: true });
    symlinkSync('../../dist/lnk.js', `${bin}/${name}`);
  }
}
