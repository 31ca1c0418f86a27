// What goes wrong between a client and a provider, for each API: the bytes that came pass, and what they said is counted.

import { once } from 'node:events';
import http from 'node:http';
import net from 'node:net';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { RoutePlace, until } from './place';
import { answerTo } from './provider';

let place: RoutePlace | undefined;
afterEach(async () => {
  await place?.stop();
  place = undefined;
});

interface Api {
  api: string;
  path: string;
  asked: object;
  /** What a stream has said that breaks off in its last event, and one that does in the middle of it. */
  atEnd: object;
  inMiddle: object;
}

const nothing = { unmetered: 1, input: 0, output: 0, cached: 0, cache_written: 0 };
const apis: Api[] = [
  {
    api: 'Messages', path: '/v1/messages', asked: { stream: true },
    atEnd: { unmetered: 0, input: 2255, output: 5, cached: 512, cache_written: 1733 },
    inMiddle: { unmetered: 0, input: 2255, output: 1, cached: 512, cache_written: 1733 },
  },
  { api: 'Chat Completions', path: '/v1/chat/completions', asked: { stream: true, stream_options: { include_usage: true } }, atEnd: { ...nothing, unmetered: 0, input: 2100, output: 40, cached: 1536 }, inMiddle: nothing },
  { api: 'Responses', path: '/v1/responses', asked: { stream: true }, atEnd: nothing, inMiddle: nothing },
  { api: "Ollama's", path: '/api/chat', asked: {}, atEnd: nothing, inMiddle: nothing },
  { api: "Gemini's", path: '/v1beta/models/gemini:streamGenerateContent?alt=sse', asked: {}, atEnd: { ...nothing, unmetered: 0, input: 40, cached: 30, output: 12 }, inMiddle: { ...nothing, unmetered: 0, input: 40 } },
];

const answerOf = ({ path, asked }: Api) => {
  const { type, body } = answerTo(path.split('?')[0] ?? '', asked);
  return { type, body: Buffer.from(body) };
};

/** Asks for an answer and gives the bytes that came, with whether it came to its end. */
async function bytesOf(path: string): Promise<{ body: Buffer; cut: boolean }> {
  const request = http.request(`${place?.base}${path}`, { method: 'POST', agent: false }).end('{}');
  const [answer] = (await once(request, 'response')) as [http.IncomingMessage];
  const pieces: Buffer[] = [];
  let cut = false;
  answer.on('data', (piece: Buffer) => pieces.push(piece)).on('error', () => (cut = true));
  await new Promise((resolve) => answer.once('close', resolve));
  return { body: Buffer.concat(pieces), cut };
}

const start = async (provider: http.RequestListener): Promise<RoutePlace> => (place = await new RoutePlace(provider).start());

describe.each(apis)("$api API", (api) => {
  const { type, body } = answerOf(api);

  test.each([
    { where: 'in its last event', length: body.length - 9, said: api.atEnd },
    { where: 'in the middle', length: Math.floor(body.length / 2), said: api.inMiddle },
  ])('a stream cut $where is cut for the client, and counts what it had said', async ({ length, said }) => {
    await start((request, response) => {
      request.resume();
      response.writeHead(200, { 'Content-Type': type });
      response.write(body.subarray(0, length), () => response.socket?.destroy());
    });
    const got = await bytesOf(api.path);
    expect([got.cut, got.body.equals(body.subarray(0, length))]).toEqual([true, true]);
    expect(await place?.tokens(1)).toMatchObject({ requests: 1, ...said });
  });

  test('a stream reset in an event is counted once', async () => {
    await start((request, response) => {
      request.resume();
      response.writeHead(200, { 'Content-Type': type });
      response.write(body.subarray(0, body.length / 2), () => response.socket?.resetAndDestroy());
    });
    const { cut } = await bytesOf(api.path);
    expect(cut).toBe(true);
    expect(await place?.tokens(1)).toMatchObject({ requests: 1 });
  });

  test.each([
    ['gzip', gzipSync(body)],
    ['br', brotliCompressSync(body)],
  ])('a stream in %s, though asked not to, passes as it is and counts as without usage', async (coding, packed) => {
    await start((request, response) => {
      request.resume();
      response.writeHead(200, { 'Content-Type': type, 'Content-Encoding': coding }).end(packed);
    });
    expect((await bytesOf(api.path)).body.equals(packed)).toBe(true);
    expect(await place?.tokens(1)).toMatchObject({ requests: 1, ...nothing });
  });
});

test("a provider that doesn't read stops the client, nothing piles up in between, and all of it arrives once it reads", async () => {
  let arrived = 0;
  let asked: http.IncomingMessage | undefined;
  const { base } = await start((request) => {
    asked = request.pause();
  });
  const client = net.connect(Number(new URL(base).port), '127.0.0.1');
  client.on('error', () => undefined);
  const piece = Buffer.alloc(65_536, 0x20);
  const pieces = 1000;
  client.write(`POST ${RoutePlace.secret}/v1/messages HTTP/1.1\r\nHost: x\r\nContent-Length: ${pieces * piece.length}\r\n\r\n`);
  let written = 0;
  const fill = (): void => {
    while (written < pieces && client.write(piece)) written++;
  };
  client.on('drain', () => {
    written++;
    fill();
  });
  fill();
  let [before, still] = [0, 0];
  await until(() => {
    still = written === before && asked !== undefined ? still + 1 : 0;
    before = written;
    return still > 50;
  });
  // What the kernel's buffers take on the way: megabytes, of 65.
  expect(written * piece.length).toBeLessThan(32_000_000);
  asked?.on('data', (chunk: Buffer) => (arrived += chunk.length)).resume();
  await until(() => arrived === pieces * piece.length);
  client.destroy();
});

test('an upgrade that the provider refuses is answered with what it says', async () => {
  const { base, provider } = await start(() => undefined);
  provider.on('upgrade', (_request: http.IncomingMessage, socket: net.Socket) => socket.end('HTTP/1.1 426 Upgrade Required\r\nContent-Length: 5\r\nX-Why: old\r\n\r\nnever'));
  const request = http.request(`${base}/v1/realtime`, { agent: false, headers: { Connection: 'Upgrade', Upgrade: 'websocket' } }).end();
  const [answer] = (await once(request, 'response')) as [http.IncomingMessage];
  expect([answer.statusCode, answer.headers['x-why'], String(await once(answer, 'data'))]).toEqual([426, 'old', 'never']);
  expect(place?.route.counts.requests).toBe(0);
});

test('what stops an upgrade is said', async () => {
  const { base, provider } = await start(() => undefined);
  provider.close();
  await once(provider, 'close');
  const request = http.request(`${base}/v1/realtime`, { agent: false, headers: { Connection: 'Upgrade', Upgrade: 'websocket' } }).end();
  const [answer] = (await once(request, 'response')) as [http.IncomingMessage];
  expect([answer.statusCode, String(await once(answer, 'data'))]).toEqual([502, expect.stringContaining('ECONNREFUSED')]);
});
