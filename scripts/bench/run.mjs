// Every bench there is, or those named: `npm run bench`, `npm run bench -- look`. Each prints one table of one run, as
// ratios: the machine may be slow or busy, and is so for every row alike.

import { readdirSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { join } from 'node:path';

// Costs every start of Node the reading of a file, and is set on some machines only.
delete process.env.NODE_EXTRA_CA_CERTS;

const all = readdirSync(join(import.meta.dirname))
  .filter((name) => name.endsWith('.bench.mjs'))
  .map((name) => name.replace('.bench.mjs', ''));
const asked = process.argv.slice(2);
const unknown = asked.filter((name) => !all.includes(name));
if (unknown.length) {
  console.error(`There is no bench ${unknown.join(', ')}. There are: ${all.join(', ')}.`);
  process.exit(2);
}
for (const name of asked.length ? asked : all) {
  const { default: run } = await import(pathToFileURL(join(import.meta.dirname, `${name}.bench.mjs`)).href);
  console.log(`\n== ${name}`);
  await run();
}
