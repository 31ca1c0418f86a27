// `lnk measure export`, and what it leaves in settings.toml.

import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
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

  describe('--test', () => {
    let bodies: string[];
    let server: http.Server;
    let url: string;
    let answer: (response: http.ServerResponse) => void;
    beforeEach(async () => {
      bodies = [];
      answer = (response) => void response.end('{}');
      server = http.createServer((request, response) => {
        const chunks: Buffer[] = [];
        request.on('data', (chunk: Buffer) => chunks.push(chunk));
        request.on('end', () => (bodies.push(Buffer.concat(chunks).toString()), answer(response)));
      });
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    });
    afterEach(() => server.close());
    const test = (...args: string[]) => place.run(['measure', 'export', url, '--test', ...args], { LNK_MEASURE_NATIVE: '' });

    it('sends the levels of a look, and no total beside the watcher\'s', async () => {
      const { status, stdout } = await test();
      expect([status, stdout]).toEqual([0, expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+ took a look of \d+ bytes, all of it \(200\)\.\n$/)]);
      expect(bodies[0]).toContain('link.memory.used.sum');
      expect(bodies[0]).not.toContain('"sum":');
    });

    it('says what came back, as plain text and without a key that was sent back', async () => {
      answer = (response) => void response.writeHead(401).end('\x1b[31mno such key: s3cret\n');
      const { status, stdout } = await test('--header', 'x-tenant: s3cret');
      expect([status, stdout]).toEqual([1, expect.stringMatching(/^127\.0\.0\.1:\d+ answers 401: its headers are missing or wrong\.\n  \[31mno such key: …\n$/)]);
      answer = (response) => void response.writeHead(307, { location: 'https://other.example/path?s3cret' }).end();
      expect((await test()).stdout).toContain('It points to https://other.example.\n');
      answer = (response) => void response.end('{"partialSuccess":{"rejectedDataPoints":"2","errorMessage":"too old"}}');
      expect(await test()).toMatchObject({ status: 0, stdout: expect.stringContaining('but refused 2 of its numbers (200).') });
    });

    it('says of nobody there what is wrong', async () => {
      server.close();
      expect(await test()).toMatchObject({ status: 1, stdout: expect.stringMatching(/^127\.0\.0\.1:\d+ refuses the connection\.\n$/) });
    });
  });

  test('how sending went is in export, status and check, of this endpoint alone', async () => {
    await run('http://localhost:4318');
    const said = (host: string, success: number, failure: number) => {
      const state = { host, lastSuccess: Date.now() / 1000 - success, lastFailure: Date.now() / 1000 - failure, failure: 'answers 503', sent: 12, failed: 3, skipped: 4, rejected: 5 };
      writeFileSync(join(path, '..', 'export.json'), JSON.stringify(state));
    };
    const check = async () => (await place.run(['measure', 'check'], { LNK_MEASURE_NATIVE: '' })).stdout.split('\n').filter((line) => /Export|export/.test(line));
    expect(await check()).toEqual([expect.stringContaining('✓ Export: localhost:4318: nothing was sent yet')]);
    said('localhost:4318', 5, 60);
    expect((await run()).stdout).toMatch(/last success +5\.\ds ago\nlast failure +1m 00s ago: answers 503\nlooks +12 taken, 3 not, 4 not sent\nrefused +5 numbers\n$/);
    expect(await check()).toEqual(['✓ Export: localhost:4318: takes what is sent']);
    said('localhost:4318', 60, 5);
    expect(await check()).toEqual(['✗ Export: localhost:4318 took no look lately', expect.stringContaining('It answers 503. `lnk measure export --test` tries it now.')]);
    const { export: sent } = JSON.parse((await place.run(['measure', 'status', '--json'], { LNK_MEASURE_NATIVE: '' })).stdout);
    expect(sent).toEqual({ host: 'localhost:4318', lastSuccess: expect.any(Number), lastFailure: expect.any(Number) });
    said('other:4318', 60, 5);
    expect((await run()).stdout).toContain('last failure  none yet');
    writeFileSync(join(path, '..', 'export.json'), '{"host":"localhost:4318","failure":"\\u001b[2J","sent":-1,"lastSuccess":"x"}');
    expect((await run()).stdout).toContain('last failure  none yet\nlooks         0 taken');
  });

  test('settings and the target share a file, and each lets the other be', async () => {
    await run('https://example.com');
    await place.run(['measure', 'settings', '--every', '30s']);
    await run('--header', 'x-tenant: a');
    await place.run(['measure', 'settings', '--keep-fine', '6h', '--reset', 'every']);
    expect(readFileSync(path, 'utf8')).toMatch(/^\s*keep_fine = "6h"\n\n\[export\]\nurl = "https:\/\/example.com"\nheaders = \["x-tenant: a"\]\n$/);
  });
});
