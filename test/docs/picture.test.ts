// The picture in the README is made of a terminal's text by scripts/svg.mjs.

import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { read, root } from './texts';

function svgOf(text: string, columns: number): string {
  const code = `import { svgOf } from ${JSON.stringify(join(root, 'scripts', 'svg.mjs'))}; process.stdout.write(svgOf(process.argv[1], ${columns}));`;
  return execFileSync(process.execPath, ['--input-type=module', '-e', code, text], { encoding: 'utf8' });
}

test('a picture has each line in its place, and what was coloured in its colour', () => {
  const svg = svgOf('\x1b[1mvm\x1b[22m  \x1b[36m<a>\x1b[39m\n\n\x1b[2mnote\x1b[22m\n', 20);
  expect(svg).toContain('font-weight="bold">vm</tspan>');
  expect(svg).toContain('fill="#76e3ea">&lt;a&gt;</tspan>');
  expect(svg).toContain('fill-opacity="0.6">note</tspan>');
  expect([...svg.matchAll(/<text y="([\d.]+)"/g)].map(([, y]) => Number(y))).toEqual([31.2, 50.2, 69.2]);
  // Column 4: after two letters and two blanks.
  expect(svg).toContain(`<tspan x="${(16 + 4 * 8.43).toFixed(1)}"`);
});

test("the README's picture shows agents with tokens, turns and spend", () => {
  const words = read('docs/picture.svg').replace(/<[^>]*>/g, ' ');
  for (const word of ['lnk measure', 'memory', 'tokens', 'claude', 'opencode', '$']) expect(words).toContain(word);
});
