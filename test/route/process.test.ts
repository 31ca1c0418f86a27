// What the command does as a process: whom it trusts, whom it listens to, what it holds.

import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import net, { type AddressInfo } from 'node:net';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { RouteProcess } from './command';
import { listen, readTokens, until } from './place';

let route: RouteProcess | undefined;
let provider: http.Server | https.Server | undefined;
afterEach(async () => {
  provider?.close();
  provider?.closeAllConnections();
  await route?.remove();
});

const usage = 'data: {"usage":{"prompt_tokens":12,"completion_tokens":3}}\n\n';

describe('a provider by HTTPS', () => {
  let folder: string;
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'lnk-tls-'));
    const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
    execFileSync('openssl', ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2', '-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost', '-keyout', key, '-out', cert], { stdio: 'ignore' });
    provider = https.createServer({ key: readFileSync(key), cert: readFileSync(cert) }, (request, response) => {
      request.resume();
      response.writeHead(200, { 'Content-Type': 'text/event-stream' }).end(usage);
    });
    await listen(provider);
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  const ask = (): Promise<Response> => fetch(`${route?.url}/v1/messages`, { method: 'POST', body: '{}' });
  const port = (): number => (provider?.address() as AddressInfo).port;

  test('whose certificate nobody vouches for is refused: a 502, and a line on stderr that says so once', async () => {
    let connected = 0;
    provider?.on('request', () => connected++);
    route = await new RouteProcess(`https://localhost:${port()}`, { NODE_EXTRA_CA_CERTS: '' }).start();
    for (let round = 0; round < 2; round++) {
      const answer = await ask();
      expect([answer.status, await answer.json()]).toEqual([502, { type: 'error', error: { type: 'upstream_failed', message: expect.stringMatching(/certificate could not be verified \(\w+\)/) } }]);
    }
    expect(connected).toBe(0);
    await route.stop();
    expect(route.stderr.split('\n').filter((line) => line.includes('certificate could not be verified'))).toHaveLength(1);
    expect(route.stderr).toContain('2 failed');
  });

  test('that an authority of the user vouches for is answered from, by its own name alone', async () => {
    route = await new RouteProcess(`https://localhost:${port()}`, { NODE_EXTRA_CA_CERTS: join(folder, 'cert.pem') }).start();
    expect(await (await ask()).text()).toBe(usage);
    await route.remove();
    route = await new RouteProcess(`https://127.0.0.1:${port()}`, { NODE_EXTRA_CA_CERTS: join(folder, 'cert.pem') }).start();
    expect((await ask()).status).toBe(502);
    await route.stop();
    expect(route.stderr).toContain('ERR_TLS_CERT_ALTNAME_INVALID');
  });
});

test('it listens to 127.0.0.1 alone, and to nobody without the secret', async () => {
  provider = http.createServer((_request, response) => void response.end('reached'));
  route = await new RouteProcess(await listen(provider)).start();
  const { port, origin } = new URL(route.url);
  const others = Object.values(networkInterfaces()).flat().map((each) => each?.address ?? '').filter((address) => address !== '127.0.0.1' && !address.startsWith('fe80'));
  if (process.platform === 'linux') others.push('127.0.0.2');
  expect(others).not.toHaveLength(0);
  for (const address of others) {
    const socket = net.connect(Number(port), address);
    const outcome = await new Promise((resolve) => socket.once('connect', () => resolve('connected')).once('error', () => resolve('refused')));
    socket.destroy();
    expect([address, outcome]).toEqual([address, 'refused']);
  }
  expect((await fetch(`${origin}/v1/messages`)).status).toBe(404);
  expect((await fetch(`${origin}/${'0'.repeat(32)}/v1/messages`)).status).toBe(404);
  expect(await (await fetch(`${route.url}/v1/models`)).text()).toBe('reached');
});

const peakBytes = (pid: number): number => Number(/VmHWM:\s*(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024;

test('events of 16 MB in 1 KiB pieces: counted as without usage, unchanged, and not held', async () => {
  const head = 'data: {"usage":{"prompt_tokens":12,"completion_tokens":3},"b64":"';
  const event = Buffer.from(`${head}${'x'.repeat((16 << 20) - head.length - 4)}"}\n\n`);
  const answers = 3;
  provider = http.createServer(async (request, response) => {
    request.resume();
    response.writeHead(200, { 'Content-Type': 'text/event-stream' });
    for (let at = 0; at < event.length; at += 1024) if (!response.write(event.subarray(at, at + 1024))) await once(response, 'drain');
    response.end();
  });
  route = await new RouteProcess(await listen(provider)).start();
  const pass = async (): Promise<string> => {
    const hash = createHash('sha256');
    const answer = await fetch(`${route?.url}/v1/chat/completions`, { method: 'POST', body: '{}' });
    for await (const piece of answer.body ?? []) hash.update(piece as Uint8Array);
    return hash.digest('hex');
  };
  const right = createHash('sha256').update(event).digest('hex');
  expect(await pass()).toBe(right);
  const before = process.platform === 'linux' ? peakBytes(route.pid) : 0;
  for (let round = 1; round < answers; round++) expect(await pass()).toBe(right);
  // Two more events are 32 MB.
  if (process.platform === 'linux') expect(peakBytes(route.pid) - before).toBeLessThan(24 << 20);
  const folder = join(route.measureFolder, 'tokens');
  await route.stop();
  await until(() => readTokens(folder, 'agt_01').requests === answers);
  expect(readTokens(folder, 'agt_01')).toMatchObject({ unmetered: answers, input: 0, output: 0 });
});
