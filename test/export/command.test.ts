// `lnk measure export`, and what it leaves in settings.toml.

import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { editTarget, parseTarget } from '../../ts/export/settings';
import { Place } from '../cli/command';

const MINE = `# mine
every = "30s" # slow

[export] # where
# the collector of the rack
url = "http://localhost:4318" # "not this"
headers = ["a: 1", 'b: "2" ]'] # two

# the end
`;

test('a change of the target is its lines; comments, blanks and all other lines stay', () => {
  const other = { url: 'https://example.com', headers: ['c: "3" # \\'] };
  const changed = MINE.replace('"http://localhost:4318"', '"https://example.com"').replace(`["a: 1", 'b: "2" ]']`, '["c: \\"3\\" # \\\\"]');
  expect(editTarget(MINE, other, 'f')).toBe(changed);
  expect(parseTarget(changed, 'f')?.headers).toEqual([['c', '"3" # \\']]);
  expect(editTarget(MINE, { url: 'https://example.com', headers: [] }, 'f')).not.toContain('headers');
  expect(editTarget(MINE, undefined, 'f')).toBe(MINE.replace(/url = .*\n/, '').replace(/headers = .*\n/, ''));
  expect(editTarget('', other, 'f')).toBe('[export]\nurl = "https://example.com"\nheaders = ["c: \\"3\\" # \\\\"]\n');
});

test.each(['', 'every = "30s"\n', '# mine\n', 'every = "30s"\n\n# the end\n'])('set and turned off again, %j is as it was', (text) => {
  expect(editTarget(editTarget(text, { url: 'https://example.com', headers: ['a: 1'] }, 'f'), undefined, 'f')).toBe(text);
});

test.each([
  ['export = 1', 'must be a table'],
  ['[export]\nurl = 1', 'url must be a text'],
  ['[export]\nheaders = ["a: 1"]', 'url must be a text'],
  ['[export]\nurl = "http://evil.com"', 'url would send your headers to evil.com in the clear'],
  ['[export]\nurl = "https://u:s3cret@example.com"', 'url holds a user or a password'],
  ['[export]\nurl = "https://example.com"\nheaders = "s3cret: 1"', 'headers must be a list'],
  ['[export]\nurl = "https://example.com"\nheaders = ["a: 1", "s3cret"]', 'header 2 is not'],
  ['[export]\nurl = "https://example.com"\nkey = "s3cret"', 'there are only url and headers'],
])('%j is refused, and nothing of it repeated', (text, why) => {
  expect(() => parseTarget(text, 'f')).toThrow(why);
  expect(() => parseTarget(text, 'f')).not.toThrow(/s3cret/);
});

test('a table that no line is the target\'s own of is not touched, and one that can not be used may be replaced', () => {
  const url = 'https://example.com';
  expect(() => editTarget('[export]\nurl = """\nhttp://localhost"""\n', { url, headers: [] }, 'f')).toThrow(/by hand|TOML/);
  expect(() => editTarget('export = { url = "http://localhost" }\n', { url, headers: [] }, 'f')).toThrow(/by hand|TOML/);
  expect(editTarget('[export]\nurl = "http://evil.com"\n', { url, headers: [] }, 'f')).toBe(`[export]\nurl = "${url}"\n`);
});

describe('the command', () => {
  let place: Place;
  let path: string;
  beforeEach(() => {
    place = new Place();
    mkdirSync(join(place.home, '.lnk'), { recursive: true });
    path = join(place.home, '.lnk', 'measure', 'settings.toml');
  });
  afterEach(() => place.remove());
  const run = (...args: string[]) => place.run(['measure', 'export', ...args]);
  const headerFile = (text: string, mode = 0o600) => {
    const file = join(place.folder, 'headers');
    writeFileSync(file, text, { mode });
    return file;
  };

  test('sets, shows without a key, and turns off', async () => {
    expect((await run()).stdout).toContain('Nothing is sent.');
    const set = await run('https://example.com/otlp?token=s3cret', '--header-file', headerFile('x-team: s3cret\n'), '--header', 'x-dataset: agents');
    expect(set).toMatchObject({ status: 0, stderr: '' });
    expect(readFileSync(path, 'utf8')).toBe('[export]\nurl = "https://example.com/otlp?token=s3cret"\nheaders = ["x-team: s3cret","x-dataset: agents"]\n');
    expect(statSync(path).mode & 0o777).toBe(0o600);
    const { stdout } = await run();
    expect(stdout).toMatch(/^endpoint +https:\/\/example.com\/otlp\nheaders +2\nlast success +none yet\n/);
    expect(set.stdout).toBe(stdout);
    expect(stdout).not.toContain('s3cret');
    expect(await run('--off')).toMatchObject({ status: 0, stdout: 'Nothing is sent.\n' });
    expect(readFileSync(path, 'utf8')).toBe('');
  });

  test('--url and the URL alone are the same; headers stay with their origin and go to no other', async () => {
    await run('--url', 'https://example.com', '--header', 'x-tenant: a');
    await run('https://example.com/otlp');
    expect(readFileSync(path, 'utf8')).toContain('headers = ["x-tenant: a"]');
    const moved = await run('https://example.org');
    expect(moved.stderr).toContain('the headers were for example.com');
    expect(readFileSync(path, 'utf8')).toBe('[export]\nurl = "https://example.org"\n');
    await run('--header', 'x-tenant: b');
    expect(readFileSync(path, 'utf8')).toBe('[export]\nurl = "https://example.org"\nheaders = ["x-tenant: b"]\n');
    const { stderr } = await run('--header', 'authorization: Bearer s3cret');
    expect(stderr).toContain('every program here could read that header');
    expect(stderr).not.toContain('s3cret');
  });

  test.each([
    [['http://otel-collector:4318'], 'The endpoint would send your headers to otel-collector in the clear'],
    [['https://u:s3cret@example.com'], '--header-file'],
    [['https://example.com', '--url', 'https://example.com'], 'given twice'],
    [['--header', 'a: 1'], 'Which endpoint'],
    [['https://example.com', '--header', 's3cret'], 'header 1 is not'],
    [['--off', '--test'], '--off is said alone'],
    [['--off', 'https://example.com'], '--off is said alone'],
  ])('%j is wrong usage and changes nothing', async (args, why) => {
    const { status, stderr } = await run(...args);
    expect([status, stderr]).toEqual([2, expect.stringContaining(why)]);
    expect(stderr).not.toContain('s3cret');
    expect(() => statSync(path)).toThrow('ENOENT');
  });

  test('a header file that others read changes nothing, and --test needs an endpoint', async () => {
    const { status, stderr } = await run('https://example.com', '--header-file', headerFile('x-team: s3cret\n', 0o644));
    expect([status, stderr]).toEqual([1, expect.stringContaining('chmod 600')]);
    expect(await run('--test')).toMatchObject({ status: 1, stderr: expect.stringContaining('There is nothing to test') });
  });

  test('settings and the target share a file, and each lets the other be', async () => {
    await run('https://example.com');
    await place.run(['measure', 'settings', '--every', '30s']);
    await run('--header', 'x-tenant: a');
    await place.run(['measure', 'settings', '--keep-fine', '6h', '--reset', 'every']);
    expect(readFileSync(path, 'utf8')).toMatch(/^\s*keep_fine = "6h"\n\n\[export\]\nurl = "https:\/\/example.com"\nheaders = \["x-tenant: a"\]\n$/);
  });
});
