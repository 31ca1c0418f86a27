// A command behind `--meter`: its model's tokens are those its own client was told, its traffic is counted, and nothing of
// it is kept.

import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import { join } from 'node:path';
import { fakeProvider, PHRASE } from '../route/provider';
import { listen, readTokens } from '../route/place';
import { until } from '../watch/place';
import { ended, RunPlace, USERS } from './place';

jest.setTimeout(120_000);

let place: RunPlace;
const servers: http.Server[] = [];
const seen: http.IncomingMessage[] = [];
let provider = '';

/** A server of the test's on this machine. */
async function serve(handler: http.RequestListener): Promise<{ url: string; server: http.Server }> {
  const server = http.createServer(handler);
  servers.push(server);
  return { url: await listen(server), server };
}

beforeAll(async () => {
  place = new RunPlace(USERS[0] ?? 'this user');
  provider = (await serve(fakeProvider(() => 'bursty', seen))).url;
});
afterAll(() => {
  for (const server of servers) {
    server.close();
    server.closeAllConnections();
  }
  place.remove();
});

test("the providers' own clients are told what the receipt says, and reach the user's own base URLs", async () => {
  const env = { ANTHROPIC_BASE_URL: `${provider}/anthropic`, OPENAI_BASE_URL: `${provider}/openai/v1`, OLLAMA_HOST: new URL(provider).host };
  const { status, stdout, stderr, receipt } = await place.receipt([process.execPath, join(__dirname, 'client.cjs')], ['--meter', '--name', 'client'], env);
  expect(stderr).toBe('lnk measure: sets ANTHROPIC_BASE_URL, OPENAI_BASE_URL, OLLAMA_HOST, HTTPS_PROXY, HTTP_PROXY, NO_PROXY for client alone, to count its tokens and bytes; some harnesses behave differently behind another base URL.\n');
  expect(status).toBe(0);
  const told = JSON.parse(stdout) as Record<string, number>;
  const { measures, missing } = receipt;
  const got = { input: measures['link.tokens.input.sum'], output: measures['link.tokens.output.sum'], cached: measures['link.tokens.cached.sum'], cacheWritten: measures['link.tokens.cache_written.sum'] };
  expect(got).toEqual(told);
  expect(told['input']).toBeGreaterThan(0);
  expect([measures['link.requests.model.sum'], measures['link.requests.unmetered.sum']]).toEqual([6, 1]);
  // It says nothing of its turns, and so nobody does.
  expect(new Set(Object.values(missing))).toEqual(new Set(['no harness said any']));
  expect(Object.keys(missing)).toContain('link.cost.sum');
  expect(seen.map(({ url }) => url)).toEqual(['/anthropic/v1/messages', '/anthropic/v1/messages', '/openai/v1/chat/completions', '/openai/v1/responses', '/openai/v1/chat/completions', '/api/chat']);
  // What the watcher reads: the agent's tokens file, and what its proxy carried.
  expect(readTokens(join(place.measure, 'tokens'), receipt.agent.id)).toMatchObject({ requests: 6, unmetered: 1, input: told['input'], output: told['output'] });
  const traffic = JSON.parse(readFileSync(join(place.measure, 'runs', 'client.traffic'), 'utf8')) as Record<string, unknown>;
  expect(traffic).toMatchObject({ agent: receipt.agent.id, in: measures['link.network.in.sum'], out: measures['link.network.out.sum'], model: true });
  expect(measures['link.network.in.sum']).toBeGreaterThan(1000);
  // Neither what was said nor the key is kept.
  const kept = readdirSync(place.home, { recursive: true, encoding: 'utf8' }).map((name) => join(place.home, name)).filter((path) => statSync(path).isFile());
  expect(kept.length).toBeGreaterThan(3);
  for (const path of kept) expect(readFileSync(path, 'utf8')).not.toMatch(new RegExp(`${PHRASE}|sk-secret|client\\.cjs`));
});

/** What a client says to the proxy that its environment names, written as a program for `node -e`. */
const PROXY_CLIENT = `
  const http = require('node:http');
  const proxy = new URL(process.env.HTTPS_PROXY);
  const authorization = 'Basic ' + Buffer.from(proxy.username + ':' + proxy.password).toString('base64');
  const said = (headers) => new Promise((resolve) => {
    http.request({ host: proxy.hostname, port: proxy.port, method: 'CONNECT', path: process.env.TARGET, headers })
      .on('connect', (answer, socket) => {
        if (answer.statusCode !== 200) return socket.destroy(), resolve(answer.statusCode);
        let got = 0;
        socket.on('data', (chunk) => (got += chunk.length)).on('end', () => resolve(got));
        socket.end(Buffer.alloc(100000));
      }).end();
  });
  const plain = (url, headers) => new Promise((resolve) => {
    http.get({ host: proxy.hostname, port: proxy.port, path: url, headers }, (answer) => {
      let text = '';
      answer.on('data', (chunk) => (text += chunk)).on('end', () => resolve(answer.statusCode + ' ' + text));
    });
  });
`;

test('a tunnel carries all bytes both ways, ends as its ends do, and its bytes are counted', async () => {
  // Gives back twice what it got, once it has got all.
  const echo = net.createServer({ allowHalfOpen: true }, (socket) => {
    let got = 0;
    socket.on('data', (chunk) => (got += chunk.length)).on('end', () => socket.end(Buffer.alloc(2 * got)));
  });
  await new Promise<void>((resolve) => echo.listen(0, '127.0.0.1', resolve));
  const target = `127.0.0.1:${(echo.address() as net.AddressInfo).port}`;
  const script = `${PROXY_CLIENT} (async () => console.log(await said({}), await said({ 'Proxy-Authorization': authorization })))();`;
  const { stdout, receipt } = await place.receipt([process.execPath, '-e', script], ['--meter'], { TARGET: target });
  echo.close();
  // Without the secret: nothing.
  expect(stdout).toBe('407 200000\n');
  expect([receipt.measures['link.network.out.sum'], receipt.measures['link.network.in.sum']]).toEqual([100_000, 200_000]);
});

test('a plain request passes as it is, without what was for the proxy alone', async () => {
  const got: http.IncomingMessage[] = [];
  const { url } = await serve((request, response) => {
    got.push(request);
    response.end('an answer');
  });
  const script = `${PROXY_CLIENT} (async () => console.log(await plain('${url}/a%20b?c', { 'Proxy-Authorization': authorization, 'X-Own': '1' }), await plain('/not-whole', { 'Proxy-Authorization': authorization })))();`;
  const { stdout } = await place.receipt([process.execPath, '-e', script], ['--meter']);
  expect(stdout).toBe('200 an answer 400 lnk measure run: a request to a proxy names its whole URL\n\n');
  expect(got.map(({ url: path, headers }) => [path, headers['x-own'], headers['proxy-authorization'], headers.host])).toEqual([['/a%20b?c', '1', undefined, new URL(url).host]]);
});

test("the user's own proxy is gone through, by the route too", async () => {
  // Leads every name to the provider, as a proxy of a closed network might.
  const through: string[] = [];
  const { url, server } = await serve((request, response) => {
    through.push(`${request.method} ${request.url} ${request.headers['proxy-authorization']}`);
    response.end('by the proxy');
  });
  server.on('connect', (request: http.IncomingMessage, socket: net.Socket) => {
    through.push(`CONNECT ${request.url} ${request.headers['proxy-authorization']}`);
    const other = net.connect(Number(new URL(provider).port), '127.0.0.1', () => socket.write('HTTP/1.1 200 OK\r\n\r\n'));
    socket.on('error', () => other.destroy()).pipe(other).on('error', () => socket.destroy()).pipe(socket);
  });
  const users = `http://user:pa%20ss@${new URL(url).host}`;
  const script = `${PROXY_CLIENT} (async () => {
    const base = process.env.ANTHROPIC_BASE_URL;
    const answer = await fetch(base + '/v1/messages', { method: 'POST', body: '{}' });
    console.log((await answer.json()).usage.output_tokens, await plain('http://plain.test/x', { 'Proxy-Authorization': authorization }));
  })();`;
  const env = { HTTPS_PROXY: users, http_proxy: users, ANTHROPIC_BASE_URL: 'http://anthropic.test' };
  const { stdout, receipt } = await place.receipt([process.execPath, '-e', script], ['--meter'], env);
  expect(stdout).toBe('5 200 by the proxy\n');
  const authorization = `Basic ${Buffer.from('user:pa ss').toString('base64')}`;
  expect(through).toEqual([`CONNECT anthropic.test:80 ${authorization}`, `GET http://plain.test/x ${authorization}`]);
  expect(receipt.measures['link.requests.model.sum']).toBe(1);
});

test.each([
  [{ HTTPS_PROXY: 'socks5://user:secret@10.0.0.1' }, /can't go through the proxy that HTTPS_PROXY names: it is of the kind socks5:/],
  [{ OPENAI_BASE_URL: 'https://key:secret@api.test/v1' }, /can't go where OPENAI_BASE_URL leads: /],
  [{ ANTHROPIC_BASE_URL: 'nowhere' }, /can't go where ANTHROPIC_BASE_URL leads: it is no URL/],
])('what can\'t be gone through is said before anything runs: %j', async (env, message) => {
  const outcome = await place.measured(['--meter', '--', 'echo', 'ran'], '', env);
  expect(outcome).toMatchObject({ status: 1, stdout: '', stderr: expect.stringMatching(message) });
  expect(outcome.stderr).not.toContain('secret');
});

test('a large answer passes the route whole, and one that is cut is cut', async () => {
  const part = Buffer.alloc(1 << 20, 'x');
  const { url } = await serve((request, response) => {
    response.write(part);
    if (request.url === '/cut') setTimeout(() => response.destroy(), 20);
    else for (let at = 1; at < 50; at++) response.write(part);
    if (request.url !== '/cut') response.end();
  });
  const script = `(async () => {
    const all = Buffer.from(await (await fetch(process.env.OPENAI_BASE_URL + '/all')).arrayBuffer());
    console.log(all.length, require('node:crypto').createHash('sha256').update(all).digest('hex'));
    console.log(await fetch(process.env.OPENAI_BASE_URL + '/cut').then((answer) => answer.arrayBuffer()).then(() => 'whole', () => 'cut'));
  })();`;
  const { stdout } = await place.receipt([process.execPath, '-e', script], ['--meter'], { OPENAI_BASE_URL: url });
  const hash = createHash('sha256').update(Buffer.alloc(50 << 20, 'x')).digest('hex');
  expect(stdout).toBe(`${50 << 20} ${hash}\ncut\n`);
});

test('the command has no descriptor of the meter', async () => {
  const words = ['ls', '-l', '/proc/self/fd'];
  const [bare, metered] = [await place.receipt(words), await place.receipt(words, ['--meter'])];
  const sockets = (text: string) => text.match(/ -> socket:/g)?.length ?? 0;
  expect(sockets(metered.stdout)).toBe(sockets(bare.stdout));
  expect(metered.receipt.ports).toEqual([]);
});

test('while it runs what it carried is told about once a second', async () => {
  const script = `(async () => { await fetch(process.env.ANTHROPIC_BASE_URL + '/v1/messages', { method: 'POST', body: '{}' }).then((answer) => answer.text()); console.log('asked'); setInterval(() => undefined, 1000); })();`;
  const child = place.start(['--quiet', '--meter', '--name', 'telling', '--', process.execPath, '-e', script], undefined, { ANTHROPIC_BASE_URL: provider });
  const outcome = ended(child);
  const traffic = join(place.measure, 'runs', 'telling.traffic');
  await until('its traffic', () => {
    try {
      return (JSON.parse(readFileSync(traffic, 'utf8')) as { model: boolean }).model;
    } catch {
      return false;
    }
  });
  expect(JSON.parse(readFileSync(traffic, 'utf8'))).toMatchObject({ in: expect.any(Number), out: expect.any(Number), since: expect.any(Number), proxy: expect.stringMatching(/^p-/) });
  process.kill(child.pid, 'SIGTERM');
  expect(await outcome).toMatchObject({ signal: 'SIGTERM' });
});
