// Servers that misbehave, one by one. No look waits for any of them, and no header leaves for anywhere else.

import type { LookupAddress } from 'node:dns';
import https from 'node:https';
import net from 'node:net';
import tls from 'node:tls';
import { gunzipSync } from 'node:zlib';
import type { Resolve } from '../../ts/export/post';
import { parseRetryAfter } from '../../ts/export/verdict';
import { certificate, SendPlace, unitsOf } from './place';

const OK = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}';

let place: SendPlace;
beforeEach(() => (place = new SendPlace()));
afterEach(() => place.end());

/** Offers a look, waits for what the server does, and lets the ten seconds pass. */
async function timeOut(seen: Promise<unknown>): Promise<void> {
  const { failed } = place.state();
  place.offer();
  await seen;
  // The server's part is done; what it wrote is read here within a few turns of the loop that both share.
  for (let turn = 0; turn < 100; turn++) await new Promise(setImmediate);
  place.clock.advance(9999);
  expect(place.state().failed).toBe(failed);
  place.clock.advance(1);
  await place.sender().idle;
}

/** A promise, and what settles it. */
function signal(): { seen: Promise<void>; see: () => void } {
  let see = () => {};
  return { seen: new Promise<void>((resolve) => (see = resolve)), see: () => see() };
}

test('1: one that refuses, one that takes nothing in and one that never answers are given ten seconds, and the next looks wait', async () => {
  place.target(`http://127.0.0.1:${await place.free()}`);
  expect(await place.look()).toMatchObject({ failed: 1, sent: 0, failure: 'refuses the connection' });
  const { seen, see } = signal();
  await place.raw((socket) => {
    socket.pause();
    see();
  });
  await timeOut(seen);
  expect(place.state()).toMatchObject({ failed: 1, failure: 'gives no answer in 10 s' });
  // Back off: at most 10 s, then 20 s, ...
  place.clock.advance(9000);
  place.offer();
  expect(place.clock.timers).toBe(0);
  expect(place.said.filter((line) => line.includes('gives no answer'))).toHaveLength(1);
});

test.each([
  ['a byte of its head a second', (socket: net.Socket, drip: () => void) => (socket.write('HTTP/1.1 2'), drip())],
  ['1xx answers without end', (socket: net.Socket, drip: () => void) => (socket.write('HTTP/1.1 102 Processing\r\n\r\n'.repeat(50)), drip())],
])('2: %s is ten seconds in all', async (_, begin) => {
  const { seen, see } = signal();
  await place.raw((socket) => socket.once('data', () => begin(socket, see)));
  await timeOut(seen);
  expect(place.state()).toMatchObject({ failed: 1, failure: 'gives no answer in 10 s' });
});

test('2: a body that never ends has been taken: its status was read', async () => {
  const { seen, see } = signal();
  await place.raw((socket) => socket.once('data', () => (socket.write('HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{'), see())));
  await timeOut(seen);
  expect(place.state()).toMatchObject({ failed: 0, sent: 1 });
});

describe('3: of what is too much, at most 64 KiB is read', () => {
  test.each([
    ['an endless body', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n', `1000\r\n${'x'.repeat(4096)}\r\n`],
    ['10 GB', 'HTTP/1.1 200 OK\r\nContent-Length: 10000000000\r\n\r\n', 'x'.repeat(4096)],
    ['what would have to be unpacked', 'HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 10000000000\r\n\r\n', 'x'.repeat(4096)],
  ])('%s', async (_, head, part) => {
    let written = 0;
    const { seen, see } = signal();
    await place.raw((socket) => {
      socket.once('close', see);
      socket.once('data', () => {
        socket.write(head);
        const more = () => {
          while (!socket.destroyed && socket.write(part)) written += part.length;
          if (!socket.destroyed) socket.once('drain', more);
        };
        more();
      });
    });
    expect(await place.look()).toMatchObject({ sent: 1, failed: 0 });
    await seen;
    // What was on its way in both systems' buffers, and no more.
    expect(written).toBeLessThan(32 * 1024 * 1024);
  });

  test('a head of 1 MB', async () => {
    await place.raw((socket) => socket.once('data', () => socket.write(`HTTP/1.1 200 OK\r\nX: ${'x'.repeat(1_000_000)}\r\n\r\n`)));
    expect(await place.look()).toMatchObject({ failed: 1, failure: 'answers with more headers than are read' });
  });
});

test.each([
  ['before an answer', '', { failed: 1, failure: 'ends the connection without an answer' }],
  ['within the head', 'HTTP/1.1 200 OK\r\nContent-', { failed: 1, failure: 'ends the connection without an answer' }],
  ['within the body, after its status', 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{', { sent: 1, failed: 0 }],
])('4: a reset %s', async (_, text, expected) => {
  await place.raw((socket) =>
    socket.once('data', () => {
      if (text === '') socket.resetAndDestroy();
      else socket.write(text, () => setImmediate(() => socket.end()));
    }),
  );
  expect(await place.look()).toMatchObject(expected);
});

describe('5, 6: any 200 is an acceptance, and what comes with it can do nothing', () => {
  const answered = async (body: string, rejected: number) => {
    let requests = 0;
    await place.http((_, response) => {
      requests++;
      response.writeHead(200, { 'content-type': 'application/json' }).end(body);
    }, ['x-key: s3cret']);
    expect(await place.look()).toMatchObject({ sent: 1, failed: 0, rejected });
    expect(requests).toBe(1);
    expect(place.said.join('\n')).not.toMatch(/s3cret|\x1b/);
    expect(place.said.filter((line) => line.includes('not all of their numbers'))).toHaveLength(rejected > 0 ? 1 : 0);
  };

  test('JSON as deep as it can be', () => answered('['.repeat(30_000), 0));

  test.each([
    ['', 0],
    ['<html>\x1b[2J</html>', 0],
    ['null', 0],
    ['[]', 0],
    ['{"partialSuccess":7}', 0],
    ['{"partialSuccess":{"rejectedDataPoints":"5"}}', 5],
    ['{"partialSuccess":{"rejectedDataPoints":5}}', 5],
    ['{"partialSuccess":{"rejectedDataPoints":-1}}', 0],
    ['{"partialSuccess":{"rejectedDataPoints":1e99}}', 0],
    ['{"partialSuccess":{"rejectedDataPoints":"5e3","errorMessage":[]}}', 0],
    ['{"partialSuccess":{"rejectedDataPoints":2.5}}', 0],
    ['{"partialSuccess":{"rejectedDataPoints":"3","errorMessage":"\\u001b[31m s3cret"}}', 3],
  ])('%j', answered);
});

test.each([200, 202, 204, 206])('7: %i is an acceptance', async (status) => {
  await place.http((_, response) => response.writeHead(status).end());
  expect(await place.look()).toMatchObject({ sent: 1, failed: 0 });
});

describe('8: nothing is followed, and no header leaves', () => {
  test.each([301, 302, 303, 307, 308])('%i', async (status) => {
    const asked: string[] = [];
    const other = await place.http((request, response) => (asked.push(`other ${request.url}`), response.end()));
    for (const location of ['/v1/metrics', `http://127.0.0.1:${other}/`, 'http://evil.example/', undefined, `/${'x'.repeat(15_000)}`]) {
      await place.http((request, response) => {
        asked.push(request.url ?? '');
        response.writeHead(status, location === undefined ? {} : { location }).end();
      }, ['x-key: s3cret']);
      const { failure } = await place.look();
      expect(failure).toBe(`answers ${status}: it points elsewhere, which is not followed. Name that endpoint itself`);
    }
    expect(asked).toEqual(Array.from({ length: 5 }, () => '/v1/metrics'));
    expect(place.said.join('\n')).not.toContain('evil');
  });

  test('a target with a line break in it is no answer', async () => {
    await place.raw((socket) => socket.once('data', () => socket.end('HTTP/1.1 302 Found\r\nLocation: /a\rb\r\n\r\n')));
    expect(await place.look()).toMatchObject({ failed: 1, sent: 0 });
  });
});

test.each([400, 401, 404, 408, 500, 501])('9: after %i nothing is sent again, and the next looks wait as for any failure', async (status) => {
  const bodies: string[] = [];
  await place.http((_, response, body) => (bodies.push(body), response.writeHead(status).end()));
  const { failure } = await place.look();
  expect(failure).toMatch(new RegExp(`^answers ${status}`));
  for (let at = 0; at < 100; at++) await place.look();
  expect(new Set(bodies).size).toBe(bodies.length);
  // 10, 20, 40, 80, 160 s, then each 300 s of the 1,000 s.
  expect(bodies.length).toBe(8);
  expect(place.said.filter((line) => line.startsWith('export: 127'))).toHaveLength(1);
  // Other settings: asked at once.
  place.target((await place.http((_, response) => response.end()), `http://127.0.0.1:${await place.http((_, response) => response.end())}`));
  expect(await place.look()).toMatchObject({ sent: 1 });
});

describe('10: what is asked for by Retry-After is done, within an hour', () => {
  const now = Date.parse('2026-12-01T00:00:00Z');
  test.each([
    ['0', 0],
    ['120', 120_000],
    [' 7 ', 7000],
    ['1000000000', 3_600_000],
    ['-5', undefined],
    ['1e9', undefined],
    ['soon', undefined],
    ['', undefined],
    ['2099', 2_099_000],
    ['Tue, 01 Dec 2026 00:01:00 GMT', 60_000],
    ['Mon, 30 Nov 2026 00:00:00 GMT', 0],
    ['Thu, 01 Jan 2099 00:00:00 GMT', 3_600_000],
    ['Thu, 99 Jan 2099 00:00:00 GMT', undefined],
    ['2099-01-01', undefined],
  ])('%j', (text, ms) => expect(parseRetryAfter(text, now)).toBe(ms));

  test.each([429, 503])('%i', async (status) => {
    let requests = 0;
    await place.http((_, response) => {
      requests++;
      response.setHeader('retry-after', ['60', '1']);
      response.writeHead(status).end();
    });
    await place.look();
    for (let at = 0; at < 5; at++) await place.look();
    expect(requests).toBe(1);
    await place.look();
    expect(requests).toBe(2);
  });
});

test('11: what is too large goes in smaller requests, down to what a server takes; a unit too large alone is left out', async () => {
  place.addAgents(4);
  let most = Infinity;
  let bodies: string[] = [];
  const tooLarge = new Set(['agt_2']);
  await place.http((_, response, body) => {
    const units = unitsOf(body);
    const isTaken = units.length <= most && !(most === 1 && tooLarge.has(units[0] ?? ''));
    if (isTaken) bodies.push(body);
    response.writeHead(isTaken ? 200 : 413).end();
  });
  const sent = () => bodies.splice(0).flatMap(unitsOf).sort();
  await place.look();
  const all = sent();
  // The machine, four agents, and a process of each.
  expect(all).toHaveLength(9);
  most = 2;
  // 9, then 4: the third look goes through in parts of 2.
  await place.look();
  expect(place.state().failure).toContain('smaller');
  await place.look();
  sent();
  expect(await place.look()).toMatchObject({ failed: 2 });
  expect(sent()).toEqual(all);
  most = 1;
  await place.look();
  sent();
  await place.look();
  expect(sent()).toEqual(all.filter((id) => !tooLarge.has(id)));
  expect(place.said.at(-2)).toContain('agt_2 alone, so it is left out.');
  await place.look();
  expect(sent()).toEqual(all.filter((id) => !tooLarge.has(id)));
  expect(place.said.filter((line) => line.includes('left out'))).toHaveLength(1);
});

describe('12: TLS', () => {
  /** Every name is this machine's. */
  const here = ((_: string, { all }: { all?: boolean }, callback: (error: null, address: string | LookupAddress[], family?: number) => void) => {
    if (all === true) callback(null, [{ address: '127.0.0.1', family: 4 }]);
    else callback(null, '127.0.0.1', 4);
  }) as unknown as Resolve;
  const answering = async (options: tls.TlsOptions, heard: string[] = []) =>
    place.listen(
      tls.createServer(options, (socket) => {
        socket.on('error', () => undefined);
        socket.once('data', (data) => (heard.push(String(data)), socket.end(OK)));
      }),
    );

  test('a good certificate is taken; an expired, another name\'s, and one that nobody vouches for are not, whatever the environment says', async () => {
    const before = process.env['NODE_TLS_REJECT_UNAUTHORIZED'];
    process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0';
    try {
      const [good, expired, other] = [certificate(place.folder, 'good.test', 2), certificate(place.folder, 'old.test', -1), certificate(place.folder, 'other.test', 2)];
      const stranger = certificate(place.folder, 'stranger.test', 2);
      place.sender(here, [good, expired, other].map(({ cert }) => cert).join('\n'));
      const heard: string[] = [];
      const failureAt = async (name: string, pair: { key: string; cert: string }) => {
        place.target(`https://${name}:${await answering(pair, heard)}`, ['x-key: s3cret']);
        return (await place.look()).failure;
      };
      expect(await failureAt('old.test', expired)).toBe('has a certificate that is not trusted (CERT_HAS_EXPIRED)');
      expect(await failureAt('good.test', other)).toBe('has a certificate that is not trusted (ERR_TLS_CERT_ALTNAME_INVALID)');
      expect(await failureAt('stranger.test', stranger)).toMatch(/^has a certificate that is not trusted \(.*SELF_SIGNED.*\)$/);
      expect(heard).toEqual([]);
      expect(await failureAt('good.test', good)).toBeNull();
      expect(heard).toHaveLength(1);
      // A good one before doesn't make up for a bad one now.
      expect(await failureAt('good.test', other)).toContain('ALTNAME');
      expect(heard).toHaveLength(1);
    } finally {
      if (before === undefined) delete process.env['NODE_TLS_REJECT_UNAUTHORIZED'];
      else process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = before;
    }
  });

  test('over TLS a look goes packed, and is the same', async () => {
    const pair = certificate(place.folder, 'good.test', 2);
    place.sender(here, pair.cert);
    let got: [string | undefined, string[]] = [undefined, []];
    const port = await place.listen(
      https.createServer(pair, (request, response) => {
        const chunks: Buffer[] = [];
        request.on('data', (chunk: Buffer) => chunks.push(chunk));
        request.on('end', () => {
          const body = Buffer.concat(chunks);
          expect(request.headers['content-length']).toBe(String(body.length));
          got = [request.headers['content-encoding'], unitsOf(gunzipSync(body).toString())];
          response.end();
        });
      }),
    );
    place.target(`https://good.test:${port}`);
    expect(await place.look()).toMatchObject({ sent: 1 });
    expect(got).toEqual(['gzip', ['mch_t']]);
  });

  test('an old version, plain text, an end within the handshake and one that stops in it: never sent in the clear', async () => {
    const pair = certificate(place.folder, 'good.test', 2);
    place.sender(here, pair.cert);
    const heard: string[] = [];
    const old = await answering({ ...pair, minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' }, heard);
    place.target(`https://good.test:${old}`, ['x-key: s3cret']);
    expect((await place.look()).failure).toBe('speaks no TLS that is taken');
    const plain = await place.raw((socket) => socket.once('data', (data) => (heard.push(String(data)), socket.write(OK))));
    place.target(`https://good.test:${plain}`, ['x-key: s3cret']);
    expect((await place.look()).failure).toBe('speaks no TLS that is taken');
    const cut = await place.raw((socket) => socket.once('data', (data) => (heard.push(String(data)), socket.destroy())));
    place.target(`https://good.test:${cut}`, ['x-key: s3cret']);
    expect((await place.look()).failure).toBe('ends the connection without an answer');
    const { seen, see } = signal();
    const half = await place.raw((socket) => socket.once('data', see));
    place.target(`https://good.test:${half}`);
    place.offer();
    await seen;
    place.clock.advance(10_000);
    await place.sender().idle;
    expect(place.state().failure).toBe('gives no answer in 10 s');
    expect(heard.join('')).not.toContain('s3cret');
  });
});

test('13: a connection closed after each answer, with or without saying so, loses no look', async () => {
  const bodies: string[] = [];
  await place.http((request, response, body) => {
    bodies.push(body);
    response.setHeader('connection', 'keep-alive');
    response.end('{}');
    setImmediate(() => request.socket.destroy());
  });
  for (let at = 0; at < 5; at++) await place.look();
  expect(place.state()).toMatchObject({ sent: 5, failed: 0 });
  expect(bodies).toHaveLength(5);
});

test('14: an answer before the body was read counts; a second one that came along is never the next request\'s', async () => {
  await place.raw((socket) => {
    socket.write(OK.repeat(2));
    socket.resume();
  });
  expect(await place.look()).toMatchObject({ sent: 1, failed: 0 });
  let requests = 0;
  await place.http((_, response) => (requests++, response.writeHead(500).end()));
  expect(await place.look()).toMatchObject({ failed: 1 });
  expect(requests).toBe(1);
});

describe('15: names', () => {
  type Answer = (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void;
  const resolver = (ask: (answer: Answer) => void) => ((_: string, __: object, callback: Answer) => ask(callback)) as unknown as Resolve;

  test.each([
    ['no such name', 'ENOTFOUND', 'has no address: its name is not known'],
    ['a name server that fails', 'EAI_AGAIN', 'has no address: no name server answers'],
  ])('%s', async (_, code, why) => {
    place.target('http://localhost:1');
    place.sender(resolver((answer) => setImmediate(() => answer(Object.assign(new Error('x'), { code }), []))));
    expect((await place.look()).failure).toBe(why);
  });

  test('a name server that takes forever is part of the ten seconds', async () => {
    place.target('http://localhost:1');
    const { seen, see } = signal();
    place.sender(resolver(see));
    await timeOut(seen);
    expect(place.state().failure).toBe('gives no answer in 10 s');
  });

  test('a localhost that is elsewhere is sent nothing; of several addresses, this machine\'s', async () => {
    const port = await place.http((_, response) => response.end());
    place.target(`http://localhost:${port}`);
    let addresses: LookupAddress[] = [{ address: '203.0.113.7', family: 4 }, { address: '::ffff:203.0.113.7', family: 6 }, { address: '127.0.0.1.evil', family: 4 }];
    place.sender(resolver((answer) => setImmediate(() => answer(null, addresses))));
    expect((await place.look()).failure).toContain('is not this machine by its address');
    addresses = [...addresses, { address: '127.0.0.1', family: 4 }];
    place.clock.advance(300_000);
    expect(await place.look()).toMatchObject({ sent: 1 });
  });
});

test('16: down for an hour, then up for one request in three: no storm, every look newer than the last, and totals whole', async () => {
  const bodies: string[] = [];
  let requests = 0;
  let isDown = true;
  await place.http((_, response, body) => {
    requests++;
    if (isDown || requests % 3 !== 0) return void response.writeHead(503).end();
    bodies.push(body);
    return void response.end();
  });
  place.clock.chance = 0.5;
  for (let at = 0; at < 360; at++) await place.look();
  // 5 waits up to 160 s, then one each 150 s.
  expect(requests).toBeLessThan(35);
  expect(requests).toBeGreaterThan(20);
  isDown = false;
  requests = 0;
  for (let at = 0; at < 360; at++) await place.look();
  expect(bodies.length).toBeGreaterThan(50);
  const totals = bodies.map((body) => {
    const [sum] = JSON.stringify(JSON.parse(body)).match(/"link\.cpu\.used\.sum".*?"asDouble":[\d.]+/) ?? [''];
    return [/"startTimeUnixNano":"(\d+)"/.exec(sum)?.[1], Number(/"asDouble":([\d.]+)/.exec(sum)?.[1])] as const;
  });
  expect(new Set(totals.map(([start]) => start)).size).toBe(1);
  for (const [at, [, total]] of totals.entries()) expect(total).toBeGreaterThanOrEqual(totals[at - 1]?.[1] ?? 0);
  const { skipped, sent, failed } = place.state();
  expect(sent).toBe(bodies.length);
  expect(skipped + sent + failed).toBeLessThanOrEqual(720);
  // Down, up, down, up, ...: a line a change, none a look.
  expect(place.said.length).toBeLessThan(2 * sent + 5);
}, 60_000);

test('a look under way is not overtaken, and the last is sent at the end', async () => {
  const { seen, see } = signal();
  const open: net.Socket[] = [];
  let requests = 0;
  await place.http((request, response) => {
    requests++;
    if (requests > 1) return void response.end();
    open.push(request.socket);
    return see();
  });
  place.offer();
  await seen;
  place.offer();
  place.offer();
  place.clock.chance = 0;
  const ended = place.sender().end();
  place.clock.advance(3000);
  await ended;
  expect([requests, open.length]).toEqual([2, 1]);
  expect(place.state()).toMatchObject({ sent: 1, failed: 1, skipped: 2 });
});

test('what is sent has our headers, the length, the exact type and no wish for packed answers', async () => {
  let head: Record<string, unknown> = {};
  let raw: string[] = [];
  await place.http((request, response, body) => {
    head = { ...request.headers, length: Buffer.byteLength(body), method: request.method, url: request.url };
    raw = request.rawHeaders;
    response.end();
  }, ['X-Honeycomb-Team: k', '__proto__: x']);
  await place.look();
  expect(head).toMatchObject({ method: 'POST', url: '/v1/metrics', 'content-type': 'application/json', 'x-honeycomb-team': 'k' });
  expect(head['content-length']).toBe(String(head['length']));
  expect(head['accept-encoding']).toBeUndefined();
  expect(raw).toContain('__proto__');
});

test('turned off, nothing more is sent; settings that can not be used change nothing and are told once', async () => {
  let requests = 0;
  await place.http((_, response) => (requests++, response.end()));
  await place.look();
  place.target('http://evil.example');
  await place.look();
  await place.look();
  expect(requests).toBe(3);
  expect(place.said.filter((line) => line.startsWith('export settings:'))).toHaveLength(1);
  const { writeFileSync } = await import('node:fs');
  writeFileSync(`${place.folder}/settings.toml`, '');
  await place.look();
  expect(requests).toBe(3);
  expect(place.said.at(-1)).toBe('export: to nowhere any more');
});

