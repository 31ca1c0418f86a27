// Bundles the TypeScript to dist/: the program (lnk.js), the manual's page of it, the library (index.js) and its types.
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { build } from 'esbuild';
import { isMain, root } from './root.mjs';

export async function bundle() {
  mkdirSync(`${root}/dist`, { recursive: true });
  const common = {
    absWorkingDir: root,
    bundle: true,
    platform: 'node',
    target: 'node20',
    format: 'cjs',
    external: ['*.node'],
    loader: { '.toml': 'text' },
    logLevel: 'warning',
  };
  const [manual] = await Promise.all([
    // Not kept: it is run once, here.
    build({ ...common, entryPoints: ['ts/bin/manual.ts'], write: false }),
    // Minified: every start of the program reads and parses it.
    build({ ...common, entryPoints: ['ts/bin/lnk.ts'], outfile: 'dist/lnk.js', minify: true, banner: { js: '#!/usr/bin/env node' } }),
    build({ ...common, entryPoints: ['ts/index.ts'], outfile: 'dist/index.js' }),
  ]);
  chmodSync(`${root}/dist/lnk.js`, 0o755);
  writeFileSync(`${root}/dist/lnk-measure.1`, execFileSync(process.execPath, ['-'], { input: manual.outputFiles[0].text }));
  execFileSync(process.execPath, [`${root}/node_modules/typescript/bin/tsc`, '-p', 'tsconfig.types.json'], { cwd: root, stdio: 'inherit' });
}

if (isMain(import.meta.url)) await bundle();
