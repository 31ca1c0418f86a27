// A known phrase to a model through the route and back, everywhere one can stand: nothing the route keeps or says has it.

import { once } from 'node:events';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import { join, relative } from 'node:path';
import { RouteProcess } from '../route/command';
import { listen, readTokens } from '../route/place';
import { answerTo, PHRASE } from '../route/provider';

/** Parts that are left of the phrase however it is cut, quoted or escaped; no hexadecimal number is one. */
const PARTS = ['zebra', 'umbre', 'rella'];
/** The phrase as base64 has it, wherever it begins in it. */
const ENCODED = [0, 1, 2].map((lead) => Buffer.from('x'.repeat(lead) + PHRASE).toString('base64').slice(4, -4));
const HEX = ['hex', 'latin1'].map((how) => Buffer.from('mbrel').toString(how as BufferEncoding));

/** What of the phrase is in a text. */
const found = (text: string): string[] => [...PARTS, ...ENCODED, ...HEX].filter((part) => text.toLowerCase().includes(part.toLowerCase()));

/** Every file below a folder, its name before what is in it. */
function textsBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => {
    const path = join(folder, name);
    return `${relative(folder, path)}\n${statSync(path).isFile() ? readFileSync(path, 'latin1') : ''}`;
  });
}

test.each([
  ['plain', PHRASE],
  ['in JSON', JSON.stringify({ text: `"${PHRASE}"` })],
  ['in a URL', encodeURIComponent(`?q=${PHRASE}`)],
  ['in upper case', PHRASE.toUpperCase()],
  ['cut short', PHRASE.slice(0, 12)],
  ['without its start', PHRASE.slice(8)],
  ['in base64', Buffer.from(`..${PHRASE}..`).toString('base64')],
  ['in hexadecimal', Buffer.from(PHRASE).toString('hex')],
])('the phrase is found %s', (_how, text) => {
  expect(found(text)).not.toEqual([]);
  expect(found('{"run":"r-91c3","requests":12}')).toEqual([]);
});

const apis = [
  '/v1/messages', '/v1/chat/completions', '/v1/responses', '/api/chat',
  '/v1beta/models/gemini:generateContent', '/v1beta/models/gemini:streamGenerateContent',
];

/** A provider that says the phrase wherever it may say anything; how it does is in the request's query. */
function provide(request: http.IncomingMessage, response: http.ServerResponse): void {
  let text = '';
  request.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
  request.on('end', () => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://x');
    const { type, body } = answerTo(pathname, JSON.parse(text || '{}') as object);
    const headers = { 'Content-Type': `${type}; x=${PHRASE}`, [`X-${PHRASE}`]: PHRASE, 'Set-Cookie': PHRASE, Trailer: 'X-End' };
    response.addTrailers({ 'X-End': PHRASE });
    switch (searchParams.get('how')) {
      case 'error':
        return void response.writeHead(529, PHRASE, headers).end(JSON.stringify({ type: 'error', error: { type: PHRASE, message: PHRASE } }));
      case 'coded':
        return void response.writeHead(200, { ...headers, 'Content-Encoding': PHRASE }).end(body);
      case 'hints':
        response.writeEarlyHints({ link: `<${PHRASE}>; rel=preload`, [`x-${PHRASE}`]: PHRASE });
        return void response.writeHead(200, headers).end(body);
      case 'cut':
        response.writeHead(200, headers).write(body.slice(0, body.length / 2), () => response.socket?.destroy());
        return;
      case 'no HTTP':
        return void response.socket?.end(`${PHRASE}\r\n\r\n`);
      case 'late no HTTP':
        return void response.socket?.end(`HTTP/1.1 200 ${PHRASE}\r\nTransfer-Encoding: chunked\r\n\r\n${PHRASE}\r\n`);
      default:
        return void response.writeHead(200, headers).end(body);
    }
  });
}

/** What bytes of one's own are answered with. */
async function raw(port: number, bytes: string): Promise<string> {
  const socket = net.connect(port, '127.0.0.1').setEncoding('latin1');
  let text = '';
  socket.on('data', (piece: string) => (text += piece)).on('error', () => undefined);
  socket.end(bytes, 'latin1');
  await new Promise((resolve) => socket.once('close', resolve));
  return text;
}

test('never content: a phrase to a model through the route and back is in no file, no output and no log', async () => {
  const provider = http.createServer(provide);
  provider.on('upgrade', (_request: http.IncomingMessage, socket: net.Socket) => {
    socket.on('error', () => undefined);
    socket.end(`HTTP/1.1 101 ${PHRASE}\r\nConnection: Upgrade\r\nUpgrade: ${PHRASE}\r\n\r\n${PHRASE}`);
  });
  const route = await new RouteProcess(await listen(provider)).start();
  const { port, pathname } = new URL(route.url);
  try {
    const came: string[] = [];
    const ask = async (path: string, how: string, asked: object): Promise<void> => {
      const headers = { Authorization: `Bearer ${PHRASE}`, 'X-Api-Key': PHRASE, [`X-${PHRASE}`]: PHRASE };
      const body = JSON.stringify({ model: PHRASE, messages: [{ role: 'user', content: PHRASE }], ...asked });
      const answer = fetch(`${route.url}${path}?how=${how}&key=${PHRASE}`, { method: 'POST', headers, body });
      came.push(await answer.then((said) => said.text()).catch(String));
    };
    for (const path of apis) {
      for (const stream of [true, false]) for (const tools of [[], [{ name: PHRASE }]]) await ask(path, '', { stream, tools });
      for (const how of ['error', 'coded', 'hints', 'cut', 'no HTTP', 'late no HTTP']) await ask(path, encodeURIComponent(how), { stream: true });
    }
    await ask(`/${PHRASE}/v1/messages`, '', {});
    // It did pass, or nothing is shown by what follows.
    expect(came.filter((text) => text.includes(PHRASE)).length).toBeGreaterThan(apis.length * 6);
    const start = `POST ${pathname}/v1/messages?${PHRASE} HTTP/1.1\r\nHost: x\r\n`;
    const odd = [
      `${PHRASE}\r\n\r\n`,
      `GET /${PHRASE} HTTP/1.1\r\nHost: ${PHRASE}\r\n\r\n`,
      `${start}X-Odd: ${PHRASE}\xff\x01\r\nContent-Length: 0\r\n\r\n`,
      `${start}Transfer-Encoding: chunked\r\n\r\n${PHRASE}\r\n`,
      `${start}Content-Length: 99999\r\n\r\n${PHRASE}`,
      `${start}Expect: ${PHRASE}\r\nContent-Length: 0\r\n\r\n`,
      `GET ${pathname}/v1/responses?${PHRASE} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: ${PHRASE}\r\n\r\n${PHRASE}`,
    ];
    for (const bytes of odd) await raw(Number(port), bytes);
    const closed = once(provider, 'close');
    provider.close();
    provider.closeAllConnections();
    await closed;
    await ask('/v1/messages', '', {});
    expect(came.at(-1)).toContain('ECONNREFUSED');
    await route.stop();
    expect(readTokens(join(route.measureFolder, 'tokens'), 'agt_01').requests).toBeGreaterThan(apis.length * 6);
    expect(route.stderr).toContain('ECONNREFUSED');
    for (const text of [route.stdout, route.stderr, ...textsBelow(route.place.home)]) expect([text, found(text)]).toEqual([text, []]);
  } finally {
    provider.close();
    await route.remove();
  }
});
