// `lnk measure route` as a person runs it: a URL, answers counted in a file, an end in order.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { Place, program } from './command';

const PHRASE = 'zebra-umbrella-7731';
let place: Place;
let provider: http.Server;
beforeEach(async () => {
  place = new Place();
  place.addLink({ machine: { id: 'mch_7f' }, agents: [{ id: 'agt_01', name: 'main' }] });
  provider = http.createServer((request, response) => {
    request.resume();
    response.writeHead(200, { 'Content-Type': 'text/event-stream' });
    response.write(`data: {"choices":[{"delta":{"content":"${PHRASE}"}}]}\n\ndata: {"usage":{"prompt_tokens":12,"completion_tokens":3}}\n\n`);
    // One that goes on is still open when the route is stopped.
    if (request.url?.startsWith('/open') !== true) response.end();
  });
  provider.listen(0, '127.0.0.1');
  await once(provider, 'listening');
});
afterEach(() => {
  provider.close();
  provider.closeAllConnections();
  place.remove();
});

test.each(['SIGINT', 'SIGTERM'] as const)('%s ends it in order, and every answer is in the file', async (signal) => {
  const to = `http://127.0.0.1:${(provider.address() as AddressInfo).port}`;
  const env = { ...place.env(), LNK_MEASURE_NATIVE: '' };
  const child = spawn(process.execPath, [program, 'measure', 'route', '--agent', 'main', '--to', to], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  const url = String((await once(child.stdout, 'data'))[0]).trim();
  expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/[0-9a-f]{32}$/);
  const answer = await fetch(`${url}/v1/chat/completions`, { method: 'POST', body: PHRASE });
  expect(await answer.text()).toContain(PHRASE);
  const open = await fetch(`${url}/open/v1/chat/completions`, { method: 'POST', body: PHRASE });
  child.kill(signal);
  expect(await once(child, 'close')).toEqual([0, null]);
  await expect(open.text()).rejects.toThrow();
  const tokens = join(place.home, '.lnk', 'measure', 'tokens');
  expect(JSON.parse(readFileSync(join(tokens, 'agt_01.json'), 'utf8'))).toMatchObject({ requests: 2, unmetered: 0, input: 24, output: 6 });
  expect(stderr).toContain('2 requests · 24 tokens in, 6 out');
  for (const said of [stderr, ...readdirSync(tokens).map((name) => readFileSync(join(tokens, name), 'utf8'))]) {
    expect(said).not.toContain(PHRASE);
    expect(said).not.toContain(url.slice(-32));
  }
});

test.each([
  [['--to', 'http://x'], '--agent NAME'],
  [['--agent', 'main'], '--to URL'],
  [['--agent', 'main', '--to', 'ftp://x'], 'https:// or http://'],
  [['--agent', 'main', '--to', 'https://user:hunter2@x'], 'no user or password'],
  [['--agent', 'main', '--to', 'http://x', '--port', '99999'], '--port takes'],
])('%j is wrong usage, and says what is right', async (args, said) => {
  const { status, stdout, stderr } = await place.run(['measure', 'route', ...args]);
  expect([status, stdout]).toEqual([2, '']);
  expect(stderr).toContain(said);
  expect(stderr).not.toContain('hunter2');
});

test('a port that is taken is said', async () => {
  const { port } = provider.address() as AddressInfo;
  const { status, stderr } = await place.run(['measure', 'route', '--agent', 'main', '--to', 'http://x', '--port', String(port)], { LNK_MEASURE_NATIVE: '' });
  expect(status).toBe(1);
  expect(stderr).toContain(`port ${port} is taken`);
});
