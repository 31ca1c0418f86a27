// What passes a route passes unchanged, at once and no faster than it is taken; what breaks is said honestly.

import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { RoutePlace, until } from './place';
import { answerTo, PHRASE } from './provider';

let place: RoutePlace | undefined;
afterEach(async () => {
  await place?.stop();
  place = undefined;
});

const provide = async (provider: http.RequestListener): Promise<RoutePlace> => (place = await new RoutePlace(provider).start());
const hash = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

interface Got {
  status: number;
  rawHeaders: string[];
  trailers: NodeJS.Dict<string>;
  body: Buffer;
  cut: boolean;
}

/** Asks with a connection of its own; an answer that is cut is told as such. */
async function ask(url: string, options: http.RequestOptions = {}, body?: Buffer): Promise<Got> {
  const request = http.request(url, { agent: false, ...options });
  request.end(body);
  const [answer] = (await once(request, 'response')) as [http.IncomingMessage];
  const pieces: Buffer[] = [];
  let cut = false;
  answer.on('data', (piece: Buffer) => pieces.push(piece)).on('error', () => (cut = true));
  await new Promise((resolve) => answer.once('close', resolve));
  return { status: answer.statusCode ?? 0, rawHeaders: answer.rawHeaders, trailers: answer.trailers, body: Buffer.concat(pieces), cut };
}

const CHAT = '/v1/chat/completions';
const post = { method: 'POST' };
const STREAM = { 'Content-Type': 'text/event-stream' };
const usageEvent = (input: number): string => `data: {"usage":{"prompt_tokens":${input},"completion_tokens":4}}\n\n`;

test('bytes, status, headers and trailers pass unchanged, both ways', async () => {
  const sent = randomBytes(3_000_000);
  const answered = randomBytes(5_000_000);
  let got: { body: string; request: http.IncomingMessage } | undefined;
  const { base, route } = await provide(async (request, response) => {
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece as Buffer);
    got = { body: hash(Buffer.concat(pieces)), request };
    response.sendDate = false;
    response.writeHead(207, 'Some Of It', ['X-Two', 'a', 'x-two', 'b', 'Content-Type', 'image/png', 'Set-Cookie', 'c=1', 'Trailer', 'X-End', 'Connection', 'X-Hop', 'X-Hop', 'gone']);
    response.addTrailers({ 'X-End': 'yes' });
    response.end(answered);
  });
  const headers = { 'X-Mixed-Case': ['1', '2'], 'Accept-Encoding': 'br', 'Transfer-Encoding': 'chunked', Connection: 'X-Mine', 'X-Mine': 'gone' };
  const answer = await ask(`${base}/v1/files/%2F?a=b&a=%20`, { ...post, headers }, sent);
  expect([answer.status, hash(answer.body), answer.cut]).toEqual([207, hash(answered), false]);
  expect(answer.rawHeaders.slice(0, 10)).toEqual(['X-Two', 'a', 'x-two', 'b', 'Content-Type', 'image/png', 'Set-Cookie', 'c=1', 'Trailer', 'X-End']);
  expect(answer.rawHeaders).not.toContain('X-Hop');
  expect(answer.trailers).toEqual({ 'x-end': 'yes' });
  expect(got?.body).toBe(hash(sent));
  expect(got?.request.url).toBe('/v1/files/%2F?a=b&a=%20');
  expect(got?.request.headers).toMatchObject({ 'x-mixed-case': '1, 2', 'accept-encoding': 'br', host: expect.stringMatching(/^127\.0\.0\.1:\d+$/) });
  expect(got?.request.headers).not.toHaveProperty('x-mine');
  expect([route.counts.bytesOut, route.counts.bytesIn, route.counts.requests]).toEqual([sent.length, answered.length, 0]);
});

test('answers without a body have none', async () => {
  const { base } = await provide((request, response) => {
    request.resume();
    response.writeHead(Number(request.url?.slice(1)), request.method === 'HEAD' ? { 'Content-Length': '99' } : {}).end();
  });
  expect(await ask(`${base}/200`, { method: 'HEAD' })).toMatchObject({ status: 200, body: Buffer.alloc(0), cut: false });
  expect(await ask(`${base}/204`)).toMatchObject({ status: 204, cut: false });
  expect(await ask(`${base}/304`)).toMatchObject({ status: 304, cut: false });
});

test('the head arrives before the first event, and that while the answer goes on', async () => {
  let answering: http.ServerResponse | undefined;
  const { base } = await provide((request, response) => {
    request.resume();
    answering = response.writeHead(200, STREAM);
    response.flushHeaders();
  });
  const request = http.request(`${base}${CHAT}`, { ...post, agent: false }).end();
  const [answer] = (await once(request, 'response')) as [http.IncomingMessage];
  answering?.write('data: {"a":1}\n\n');
  expect(String(await once(answer, 'data'))).toContain('"a":1');
  answering?.end(usageEvent(3));
  await once(answer.resume(), 'end');
  expect(await place?.tokens(1)).toMatchObject({ requests: 1, input: 3, output: 4 });
});

test('what is behind no secret is not there, and reaches no provider', async () => {
  let reached = 0;
  const { base } = await provide((_request, response) => void response.end(String(++reached)));
  const { origin } = new URL(base);
  const wrong = ['/', CHAT, `${RoutePlace.secret}x${CHAT}`, `/${CHAT}`, RoutePlace.secret.slice(0, -1)];
  for (const path of wrong) expect((await ask(`${origin}${path}`, post)).status).toBe(404);
  expect(reached).toBe(0);
  expect((await ask(base)).status).toBe(200);
});

test('a provider that is not there is a 502 that says so', async () => {
  const { provider, base, route } = await provide(() => undefined);
  provider.close();
  await once(provider, 'close');
  const answer = await ask(`${base}${CHAT}`, post, Buffer.from(PHRASE));
  expect(answer.status).toBe(502);
  expect(JSON.parse(answer.body.toString())).toMatchObject({ type: 'error', error: { type: 'upstream_failed', message: expect.stringContaining('ECONNREFUSED') } });
  expect(answer.body.toString()).not.toContain(PHRASE);
  expect(route.counts).toMatchObject({ requests: 0, failed: 1 });
});

test.each(['cut', 'reset'])('an answer that is %s in an event is cut for the client too, and counts what it said', async (how) => {
  const { base } = await provide((request, response) => {
    request.resume();
    response.writeHead(200, STREAM);
    response.write(`${usageEvent(30)}data: {"usage":{"prompt_tok`, () => (how === 'cut' ? response.socket?.destroy() : response.socket?.resetAndDestroy()));
  });
  expect((await ask(`${base}${CHAT}`, post)).cut).toBe(true);
  const { requests, unmetered } = (await place?.tokens(1)) ?? {};
  // A reset may overtake what was sent before it.
  expect([requests, how === 'cut' ? unmetered : 0]).toEqual([1, 0]);
});

test('a client that goes away ends the request, and what was said is counted', async () => {
  let isGone = false;
  const { base } = await provide((request, response) => {
    request.resume();
    response.writeHead(200, STREAM).write(usageEvent(30));
    response.on('close', () => (isGone = true));
  });
  const request = http.request(`${base}${CHAT}`, { ...post, agent: false }).end();
  const [answer] = (await once(request, 'response')) as [http.IncomingMessage];
  await once(answer, 'data');
  answer.on('error', () => undefined);
  request.destroy();
  await until(() => isGone);
  expect(await place?.tokens(1)).toMatchObject({ requests: 1, input: 30 });
});

test('compressed though asked not to: passed as it is, counted as without usage', async () => {
  const zipped = gzipSync(answerTo(CHAT, {}).body);
  const { base } = await provide((request, response) => {
    request.resume();
    response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Encoding': 'gzip' }).end(zipped);
  });
  expect((await ask(`${base}${CHAT}`, post)).body.equals(zipped)).toBe(true);
  expect(await place?.tokens(1)).toMatchObject({ requests: 1, unmetered: 1, input: 0 });
});

test('a 16 MB event in 1 KiB pieces passes; it is not read, and the one after it is', async () => {
  const big = Buffer.from(`data: {"choices":[{"delta":{"content":"${'x'.repeat(16_000_000)}"}}]}\n\n`);
  const { base } = await provide(async (request, response) => {
    request.resume();
    response.writeHead(200, STREAM);
    for (let at = 0; at < big.length; at += 1024) if (!response.write(big.subarray(at, at + 1024))) await once(response, 'drain');
    response.end(usageEvent(3));
  });
  expect(hash((await ask(`${base}${CHAT}`, post)).body)).toBe(hash(Buffer.concat([big, Buffer.from(usageEvent(3))])));
  expect(await place?.tokens(1)).toMatchObject({ requests: 1, unmetered: 0, input: 3 });
});

test("a client that doesn't read stops the provider, and nothing piles up in between", async () => {
  const piece = Buffer.alloc(65_536, 0x20);
  let written = 0;
  const { base } = await provide((request, response) => {
    request.resume();
    response.writeHead(200, STREAM);
    const fill = (): void => {
      while (written < 200_000_000) {
        written += piece.length;
        if (!response.write(piece)) return;
      }
    };
    response.on('drain', fill);
    fill();
  });
  const client = net.connect(Number(new URL(base).port), '127.0.0.1');
  client.pause();
  client.write(`POST ${RoutePlace.secret}${CHAT} HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n`);
  let [before, still] = [0, 0];
  // It stands still: nothing more was written in a great many turns.
  await until(() => {
    still = written === before && written > 0 ? still + 1 : 0;
    before = written;
    return still > 50;
  });
  // What the kernel's buffers take on the way: megabytes, of 200.
  expect(written).toBeLessThan(50_000_000);
  client.destroy();
});

test('a body is sent on once the provider wants it', async () => {
  const { base, provider } = await provide(() => undefined);
  provider.on('checkContinue', (request: http.IncomingMessage, response: http.ServerResponse) => {
    response.writeContinue();
    request.pipe(response);
  });
  const request = http.request(`${base}/echo`, { ...post, agent: false, headers: { Expect: '100-continue', 'Content-Length': '5' } });
  request.flushHeaders();
  await once(request, 'continue');
  request.end('hello');
  const [answer] = (await once(request, 'response')) as [http.IncomingMessage];
  expect(String(await once(answer, 'data'))).toBe('hello');
});

test('an upgrade passes both ways and counts as a request without usage', async () => {
  const { base, provider } = await provide(() => undefined);
  provider.on('upgrade', (request: http.IncomingMessage, socket: net.Socket) => {
    socket.on('error', () => undefined);
    socket.write(`HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nX-Path: ${request.url}\r\n\r\n`);
    socket.pipe(socket);
  });
  const options = { agent: false, headers: { Connection: 'Upgrade', Upgrade: 'websocket' } } as const;
  const request = http.request(`${base}/v1/realtime`, options).end();
  const [answer, socket] = (await once(request, 'upgrade')) as [http.IncomingMessage, net.Socket];
  expect(answer.headers).toMatchObject({ upgrade: 'websocket', 'x-path': '/v1/realtime' });
  socket.write('ping');
  expect(String(await once(socket, 'data'))).toBe('ping');
  socket.destroy();
  expect(await place?.tokens(1)).toMatchObject({ requests: 1, unmetered: 1 });
  const other = http.request(`${new URL(base).origin}/v1/realtime`, options).end();
  expect(((await once(other, 'response')) as [http.IncomingMessage])[0].statusCode).toBe(404);
});

test('nothing of what passed is in any file, nor in what was said', async () => {
  const { base, folder, said } = await provide((request, response) => {
    request.resume();
    const { type, body } = answerTo(CHAT, {});
    response.writeHead(request.url?.includes('bad') ? 500 : 200, { 'Content-Type': type, [`X-${PHRASE}`]: PHRASE }).end(body);
  });
  for (const path of [CHAT, `/bad${CHAT}`]) {
    const answer = await ask(`${base}${path}?key=${PHRASE}`, { ...post, headers: { Authorization: PHRASE } }, Buffer.from(PHRASE));
    expect(answer.body.toString()).toContain(PHRASE);
  }
  await place?.tokens(1);
  for (const name of readdirSync(folder)) expect(name + readFileSync(join(folder, name), 'utf8')).not.toContain(PHRASE);
  expect(said).toEqual([]);
});
