// What a run took is in its day as its receipt has it: whether a look saw it or not, and with its last moments.

import { copyFileSync, existsSync, readdirSync, readFileSync } from 'node:fs';
import http from 'node:http';
import { join } from 'node:path';
import type { Look } from '../../ts/native';
import type { Receipt } from '../../ts/run/receipt';
import { listen } from '../route/place';
import { fakeProvider } from '../route/provider';
import { until } from '../watch/place';
import { ended, RunPlace, USERS } from './place';

jest.setTimeout(120_000);

/** What is added up over a day, and so is the sum of the receipts'. */
const ADDED = [
  ...['cpu.used.sum', 'disk.read.sum', 'disk.written.sum', 'network.in.sum', 'network.out.sum', 'turns.sum', 'tool_calls.sum', 'cost.sum'],
  ...['requests.model.sum', 'tokens.input.sum', 'tokens.output.sum'],
].map((name) => `link.${name}`);

const sumOf = (receipts: Receipt[], name: string): number => receipts.reduce((sum, { measures }) => sum + (measures[name] ?? 0), 0);

let provider: http.Server;
let url = '';
beforeAll(async () => {
  provider = http.createServer(fakeProvider(() => 'at once', []));
  url = await listen(provider);
});
afterAll(() => {
  provider.close();
  provider.closeAllConnections();
});

describe.each(USERS)('as %s', (user) => {
  let place: RunPlace;
  beforeEach(async () => {
    place = new RunPlace(user);
    copyFileSync(join(__dirname, 'harness.cjs'), join(place.folder, 'harness.cjs'));
    await place.lnk('settings', '--every', '2s');
    expect(await place.lnk('start')).toMatchObject({ status: 0 });
  });
  afterEach(async () => {
    await place.lnk('stop');
    place.remove();
  });

  const harness = (turns: number): string[] => [process.execPath, join(place.folder, 'harness.cjs'), place.library, String(turns)];

  /** The days of the runs of a name, by measure. */
  async function day(name: string): Promise<Record<string, number>> {
    const { units } = JSON.parse((await place.lnk('--json')).stdout) as Look;
    const unit = units.find(({ id }) => id.endsWith(`:run:${name}`));
    return Object.fromEntries(Object.entries(unit?.measures ?? {}).map(([measure, { day }]) => [measure, day ?? 0]));
  }

  async function expectDay(name: string, receipts: Receipt[], turns: number): Promise<void> {
    // The watcher has taken it up.
    await until('its end in a look', () => !readdirSync(join(place.measure, 'runs')).some((file) => file.endsWith('.ended')));
    await until('its turns', async () => (await day(name))['link.turns.sum'] === turns);
    const of = await day(name);
    for (const measure of ADDED) expect([measure, of[measure] ?? 0]).toEqual([measure, expect.closeTo(sumOf(receipts, measure), 6)]);
    expect(of['link.memory.peak.max'] ?? 0).toBeGreaterThanOrEqual(Math.max(...receipts.map(({ measures }) => measures['link.memory.peak.max'] ?? 0)));
    expect(of['link.cpu.used.sum']).toBeGreaterThan(0.04 * turns);
  }

  test('runs of one name between two looks are all in its day, each with its own', async () => {
    const receipts: Receipt[] = [];
    const run = async (...options: string[]): Promise<void> => {
      const { receipt, stderr } = await place.receipt(harness(2), ['--name', 'short', ...options], { ANTHROPIC_BASE_URL: options.length > 0 ? url : '' });
      expect(receipt).toMatchObject({ exit: { code: 0 }, measures: { 'link.turns.sum': 2, 'link.tool_calls.sum': 4, 'link.errors.sum': 0, 'link.cost.sum': 3000 } });
      expect(stderr).not.toContain('may not');
      receipts.push(receipt);
    };
    for (let runs = 0; runs < 3; runs++) await run('--meter');
    await expectDay('short', receipts, 6);
    // Where no route counts its tokens any more, its harness's own count is what there is.
    await run();
    expect(receipts.map(({ measures }) => measures['link.requests.model.sum'])).toEqual([2, 2, 2, undefined]);
    expect(receipts[3]?.measures).toMatchObject({ 'link.tokens.input.sum': 14, 'link.tokens.output.sum': 6 });
    await expectDay('short', receipts, 8);
  });

  test('a run over several looks has its last moments in its day, and its turns once though the watcher empties their file', async () => {
    const { receipt } = await place.receipt(harness(90), ['--meter', '--name', 'long'], { ANTHROPIC_BASE_URL: url });
    expect(receipt.wall).toBeGreaterThan(4);
    expect(receipt.measures).toMatchObject({ 'link.turns.sum': 90, 'link.tool_calls.sum': 180, 'link.cost.sum': 135_000, 'link.requests.model.sum': 90 });
    await expectDay('long', [receipt], 90);
    // Nobody has the file open any more, so it is emptied.
    const file = join(place.measure, 'runs', 'long.home', '.lnk', 'measures.jsonl');
    await until('it is emptied', () => !existsSync(file) || readFileSync(file, 'utf8') === '');
    expect((await place.lnk()).stdout).toContain('Not running any more, with the day it was: long.');
  });

  test('while it runs it is in the looks that are sent', async () => {
    let sent = '';
    const receiver = http.createServer((request, response) => {
      request.setEncoding('utf8').on('data', (text: string) => (sent += text)).on('end', () => response.end('{}'));
    });
    expect(await place.lnk('export', '--url', await listen(receiver))).toMatchObject({ status: 0 });
    const child = place.start(['--quiet', '--name', 'sent', '--', 'sleep', '1000']);
    const outcome = ended(child);
    await until('it in a look that is sent', () => /"link\.unit\.id","value":\{"stringValue":"[^"]+:run:sent"/.test(sent));
    process.kill(child.pid, 'SIGTERM');
    expect(await outcome).toMatchObject({ signal: 'SIGTERM' });
    receiver.close();
    receiver.closeAllConnections();
  });

  test('without a watcher nothing waits for one', async () => {
    await place.lnk('stop');
    const child = place.start(['--quiet', '--name', 'alone', '--', 'true']);
    expect(await ended(child)).toMatchObject({ status: 0 });
    expect(readdirSync(join(place.measure, 'runs')).filter((file) => file.startsWith('alone'))).toEqual(['alone.home', 'alone.json']);
  });
});
