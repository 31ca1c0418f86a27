// A real watcher that is told where to send while it runs.

import { once } from 'node:events';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { until, WatchPlace } from '../watch/place';
import { unitsOf } from './place';

let place: WatchPlace;
let server: http.Server;
let bodies: string[];
let keys: (string | undefined)[];
let status: number;
beforeEach(async () => {
  [place, bodies, keys, status] = [new WatchPlace(), [], [], 200];
  server = http.createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      bodies.push(Buffer.concat(chunks).toString());
      keys.push(request.headers['x-team'] as string | undefined);
      response.writeHead(status).end();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterEach(async () => {
  await place.end();
  server.close();
});

test('it sends from the next look on, tells a change once, keeps the key to itself, and ends when told', async () => {
  await place.lnk('start');
  const headers = join(place.folder, 'headers');
  writeFileSync(headers, 'x-team: s3cret\n', { mode: 0o600 });
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  await place.lnk('export', `http://${host}/?token=s3cret`, '--header-file', headers);
  await until('three looks', () => bodies.length >= 3);
  expect(new Set(keys)).toEqual(new Set(['s3cret']));
  for (const body of bodies) expect(unitsOf(body).length).toBeGreaterThan(0);
  const times = bodies.map((body) => /"timeUnixNano":"(\d+)"/.exec(body)?.[1] ?? '');
  expect(times).toEqual([...new Set(times)].sort());

  status = 503;
  const looks = place.lines().length;
  await until('its line', () => place.readLog().includes(`export: ${host} answers 503.`));
  await until('looks meanwhile', () => place.lines().length > looks + 2);
  expect((await place.lnk('status')).stdout).toMatch(/sent to +127\.0\.0\.1:\d+, last taken .* ago, failed .* ago/);
  status = 200;
  // What was waited for after a failure isn't waited for after a change.
  await place.lnk('export', `http://${host}`);
  const before = bodies.length;
  await until('another look', () => bodies.length > before);
  await until('its line', () => place.readLog().includes('export: well again.'));
  expect(place.readLog().match(/answers 503/g)).toHaveLength(1);

  for (const name of readdirSync(place.measure, { recursive: true, encoding: 'utf8' })) {
    const path = join(place.measure, name);
    if (!statSync(path).isFile()) continue;
    expect([name, statSync(path).mode & 0o777]).toEqual([name, 0o600]);
    expect([name, readFileSync(path, 'latin1').includes('s3cret')]).toEqual([name, name === 'settings.toml']);
  }

  await place.lnk('export', '--off');
  await until('its line', () => place.readLog().includes('export: to nowhere any more'));
  const [sent, taken] = [bodies.length, place.lines().length];
  await until('looks after', () => place.lines().length > taken + 1);
  expect(bodies.length).toBe(sent);
}, 60_000);
