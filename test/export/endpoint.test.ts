// Where measures may be sent, and with what headers: every odd spelling is refused or is what it looks like.

import { chmodSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseEndpoint } from '../../ts/export/endpoint';
import { holdSecret, parseHeader, parseHeaders, readHeaderFile } from '../../ts/export/headers';

test.each([
  ['https://api.honeycomb.io', 'https://api.honeycomb.io/v1/metrics', 'https://api.honeycomb.io'],
  ['https://api.honeycomb.io/', 'https://api.honeycomb.io/v1/metrics', 'https://api.honeycomb.io'],
  ['https://otlp.example.com:8443/otlp//', 'https://otlp.example.com:8443/otlp/v1/metrics', 'https://otlp.example.com:8443/otlp'],
  ['https://example.com/in?key=s3cret', 'https://example.com/in/v1/metrics?key=s3cret', 'https://example.com/in'],
  ['https://10.0.0.7', 'https://10.0.0.7/v1/metrics', 'https://10.0.0.7'],
  ['https://[2001:db8::1]:4318', 'https://[2001:db8::1]:4318/v1/metrics', 'https://[2001:db8::1]:4318'],
  ['https://xn--bcher-kva.example', 'https://xn--bcher-kva.example/v1/metrics', 'https://xn--bcher-kva.example'],
  ['https://example.com:443', 'https://example.com/v1/metrics', 'https://example.com'],
  ['http://localhost:4318', 'http://localhost:4318/v1/metrics', 'http://localhost:4318'],
  ['http://localhost', 'http://localhost/v1/metrics', 'http://localhost'],
  ['http://127.0.0.1:9090/api/v1/otlp', 'http://127.0.0.1:9090/api/v1/otlp/v1/metrics', 'http://127.0.0.1:9090/api/v1/otlp'],
  ['http://[::1]:4318', 'http://[::1]:4318/v1/metrics', 'http://[::1]:4318'],
])('%s is posted to at %s and shown as %s', (text, url, shown) => {
  const endpoint = parseEndpoint(text);
  expect([endpoint.url.href, endpoint.shown]).toEqual([url, shown]);
  expect(endpoint.host).toBe(new URL(text).host);
});

test.each([
  // Plain HTTP anywhere else, however this machine's names are imitated.
  ['http://otel-collector:4318', 'would send your headers to otel-collector in the clear'],
  ['http://192.168.1.7:4318', 'in the clear'],
  ['http://localhost.evil.com', 'in the clear'],
  ['http://127.0.0.1.nip.io', 'in the clear'],
  ['http://localhost.', 'in the clear'],
  ['http://xn--localhost-', 'in the clear'],
  ['http://[::ffff:127.0.0.1]', 'oddly'],
  ['http://[::ffff:7f00:1]', 'in the clear'],
  ['http://127.0.0.2', 'in the clear'],
  ['http://0.0.0.0', 'in the clear'],
  ['http://[::]', 'in the clear'],
  // Spellings that are understood as another text than they are.
  ['http://LOCALHOST', 'write localhost'],
  ['https://Api.Honeycomb.io', 'write api.honeycomb.io'],
  ['http://local%68ost', 'write localhost'],
  ['http://127.1', 'write 127.0.0.1'],
  ['http://0x7f.1', 'write 127.0.0.1'],
  ['http://0177.0.0.1', 'write 127.0.0.1'],
  ['http://2130706433', 'write 127.0.0.1'],
  ['http://127.0.0.1.', 'write 127.0.0.1'],
  ['http://[0:0:0:0:0:0:0:1]', 'write [::1]'],
  ['http://ⓛocalhost', 'not ASCII'],
  ['http://localhoſt', 'not ASCII'],
  ['http://127。0。0。1', 'not ASCII'],
  ['http://loc\talhost', 'blank'],
  ['http://local\nhost', 'blank'],
  [' http://localhost', 'blank'],
  ['http://localhost\0.evil.com', 'blank'],
  ['http:localhost', 'neither'],
  ['http:/localhost', 'neither'],
  ['http:///localhost', 'spells its host oddly'],
  ['HTTPS://example.com', 'neither'],
  ['http://localhost\\@evil.com', 'has a \\'],
  ['https:\\\\example.com', 'neither'],
  // A user or a password, of whatever kind.
  ['https://user:key@example.com', '--header-file'],
  ['https://user@example.com', '--header-file'],
  ['https://@example.com', '--header-file'],
  ['http://localhost@evil.com', '--header-file'],
  ['http://localhost:80@evil.com', '--header-file'],
  ['https://example.com:0', 'no port'],
  ['https://example.com:', 'no port'],
  ['https://example.com:0443', 'no port'],
  ['https://example.com:65536', 'is no URL'],
  ['https://', 'is no URL'],
  ['https://?x', 'is no URL'],
  [`https://${'a.'.repeat(127)}example`, 'no host that DNS could know'],
  [`https://example.com/${'a'.repeat(2048)}`, 'longer than'],
  ['https://example.com/#top', 'fragment'],
  ['https://example.com/v1/metrics', 'leave that off'],
  ['https://example.com/v1/metrics/', 'leave that off'],
  ['ftp://example.com', 'neither'],
  ['file:///etc/passwd', 'neither'],
  ['localhost:4318', 'neither'],
  ['', 'neither'],
])('%j is refused: %s', (text, why) => {
  expect(() => parseEndpoint(text)).toThrow(why);
  expect(() => parseEndpoint(text)).not.toThrow(/key@|passwd/);
});

test('a path or a query, however odd, changes no host', () => {
  for (const rest of ['/@evil.com', '/..//evil.com', '/%2e%2e/%5cevil.com', '?@evil.com', '?//evil.com', '/:80@evil.com', '//evil.com']) {
    expect(parseEndpoint(`http://localhost:4318${rest}`).url.host).toBe('localhost:4318');
  }
});

test('headers are taken as they are, or refused', () => {
  expect(parseHeader('X-Honeycomb-Team: k e\ty ')).toEqual(['x-honeycomb-team', 'k e\ty']);
  expect(parseHeader('authorization:Basic Zm9v')).toEqual(['authorization', 'Basic Zm9v']);
  for (const bad of ['x', ': v', 'x:', 'x: ', 'x y: v', 'x : v', 'x: a\r\nhost: b', 'x: a\n', 'x: a\0b', 'x: é', 'é: x', 'x: a\x7f', 'x\r: b', `x: ${'a'.repeat(9000)}`]) {
    expect(() => parseHeader(bad)).toThrow(/^(is not|has no value)/);
  }
  for (const ours of ['Host', 'Content-Length', 'Transfer-Encoding', 'Connection', 'Content-Type', 'Content-Encoding', 'Accept-Encoding', 'Expect']) {
    expect(() => parseHeader(`${ours}: x`)).toThrow('sets itself');
  }
  expect(() => parseHeaders(['a: 1', 'A: 2'])).toThrow('header 2 has the name of one before it');
  expect(() => parseHeaders(Array.from({ length: 33 }, (_, at) => `h${at}: 1`))).toThrow('more than 32');
  expect(() => parseHeaders(['a: 1', 's3cret-key'])).toThrow(/^header 2 is not/);
  expect(() => parseHeaders(['s3cret: s3cret\n'])).not.toThrow(/s3cret/);
  expect(['authorization', 'x-honeycomb-team', 'dd-api-key', 'x-tenant'].map((name) => holdSecret([[name, 'x']]))).toEqual([true, true, true, false]);
});

describe('a file of headers', () => {
  let folder: string;
  let path: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'lnk-headers-'));
    path = join(folder, 'headers');
    writeFileSync(path, '# of the test\nx-team: k\n\nx-dataset: agents\n', { mode: 0o600 });
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  test('is read a line each', () => expect(readHeaderFile(path)).toEqual(['x-team: k', 'x-dataset: agents']));

  test.each([0o640, 0o604, 0o620, 0o602])('that others may read or change (%i) is refused, with what mends it', (mode) => {
    chmodSync(path, mode);
    expect(() => readHeaderFile(path)).toThrow(`chmod 600 ${path}`);
  });

  test('a link, a folder, nothing and one that is too large are refused', () => {
    symlinkSync(path, join(folder, 'link'));
    expect(() => readHeaderFile(join(folder, 'link'))).toThrow('it is a link');
    expect(() => readHeaderFile(folder)).toThrow('no plain file');
    expect(() => readHeaderFile(join(folder, 'none'))).toThrow('ENOENT');
    writeFileSync(path, 'x'.repeat(17_000));
    expect(() => readHeaderFile(path)).toThrow('larger than 16 KiB');
  });

  test('of another system\'s line ends is refused where a header would hold them', () => {
    writeFileSync(path, 'x-team: k\r\n');
    expect(() => parseHeaders(readHeaderFile(path))).toThrow('header 1 has no value, or one with a character');
  });
});
