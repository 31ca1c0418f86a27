// Links between documents lead somewhere: to a file that is there, and to a heading in it.

import { existsSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { documents, read, root } from './texts';

/** The anchor a heading has on GitHub. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .trim()
    .replaceAll(' ', '-');

function anchorsOf(path: string): string[] {
  const text = read(path).replace(/^```[\s\S]*?^```$/gm, '');
  return [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => anchorOf(heading));
}

/** Where a document leads to, in this repository. */
function linksOf(path: string): string[] {
  const text = read(path).replace(/^```[\s\S]*?^```$/gm, '');
  return [...text.matchAll(/\]\(([^)\s]+)\)|(?:src|href)="([^"]+)"/g)].map(([, link, other]) => link ?? other ?? '').filter((link) => !/^https?:/.test(link));
}

test.each(documents)('every link of %s leads somewhere', (path) => {
  const broken = linksOf(path).filter((link) => {
    const [file = '', anchor] = link.split('#');
    const target = file === '' ? path : relative(root, join(root, dirname(path), file));
    if (!existsSync(join(root, target))) return true;
    return anchor !== undefined && !anchorsOf(target).includes(anchor);
  });
  expect(broken).toEqual([]);
});

test('every document is reached from the README', () => {
  const reached = new Set<string>();
  const visit = (path: string): void => {
    if (reached.has(path)) return;
    reached.add(path);
    for (const link of linksOf(path)) {
      const target = relative(root, join(root, dirname(path), link.split('#')[0] ?? ''));
      if (documents.includes(target)) visit(target);
    }
  };
  visit('README.md');
  expect([...reached].sort()).toEqual([...documents].sort());
});
