// A real watcher with three agents, sending to the real receivers: they have what was kept, number by number.

import { appendFileSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { encodeOtlp, measures } from './library';
import { until, WatchPlace } from '../watch/place';
import { type KeptUnit, readKept } from './kept';
import { Collector, decode, type Point, pointsOf, Prometheus, type Request, valueOf } from './receivers';

const AGENTS = ['main', 'night', 'review'];
const rows = measures();
const namesOf = (kind: string) => new Set(rows.filter((row) => row.kind === kind).map(({ name }) => name.replace('link.', '')));
const [totals, turns] = [namesOf('total'), namesOf('turn')];

let place: WatchPlace;
beforeEach(() => {
  place = new WatchPlace();
  const agents = AGENTS.map((name, at) => {
    const home = join(place.folder, name);
    mkdirSync(join(home, '.lnk'), { recursive: true });
    const child = place.spawn(process.execPath, '-e', `const held = Buffer.alloc(${at + 1} << 20, 1); setInterval(() => { for (let i = 0; i < 1e6; i++) held[0] = i; }, 50)`);
    return { id: `agt_${at}`, name, owner: 'usr_1', teams: ['t_1', 't_2'].slice(0, at), running: true, processes: [child.pid], home, folders: [home] };
  });
  place.addLink({ machine: { id: 'mch_1', name: 'studio' }, agents });
});
afterEach(() => place.end());

/** A turn of an agent's harness. */
function turn(at: number, counts: Record<string, number>): void {
  const metrics = Object.entries(counts).map(([name, value]) => ({ name: `link.${name}`, sum: { dataPoints: [{ asDouble: value }] } }));
  appendFileSync(join(place.folder, AGENTS[at] ?? '', '.lnk', 'measures.jsonl'), `${JSON.stringify({ resourceMetrics: [{ scopeMetrics: [{ metrics }] }] })}\n`);
}

const sent = async () => (await place.status() as unknown as { export: { lastSuccess: number | null; lastFailure: number | null } | null }).export;

/** Watches with an endpoint until each agent's turns and some looks after were sent. */
async function watch(url: string, certificate?: string): Promise<Map<number, Map<string, KeptUnit>>> {
  place.writeSettings(`every = "1s"\n\n[export]\nurl = ${JSON.stringify(url)}\n`);
  const env = { LNK_MEASURE_NATIVE: '', ...(certificate !== undefined && { NODE_EXTRA_CA_CERTS: certificate }) };
  expect(await place.run(['measure', 'start'], env)).toMatchObject({ status: 0 });
  const looks = async (count: number) => {
    const before = place.lines().length;
    await until('looks', () => place.lines().length >= before + count);
  };
  await looks(2);
  turn(0, { 'turns.sum': 1, 'tokens.input.sum': 900, 'tokens.output.sum': 50, 'cost.sum': 420_000, 'time.turn.own': 4.25 });
  turn(0, { 'turns.sum': 1, 'tokens.input.sum': 41, 'time.turn.own': 8.5, 'time.first_token.own': 0.75 });
  turn(1, { 'turns.sum': 1, 'tokens.input.sum': 7, 'tool_calls.sum': 3, 'errors.sum': 1, 'cost.sum': 1 });
  await looks(3);
  turn(1, { 'turns.sum': 1, 'tokens.input.sum': 1000, 'tokens.cached.sum': 800, 'time.turn.own': 60 });
  turn(2, { 'turns.sum': 1, 'tokens.input.sum': 52, 'requests.model.sum': 1 });
  await looks(4);
  const told = await sent();
  expect(told?.lastFailure).toBeNull();
  expect(told?.lastSuccess).not.toBeNull();
  await place.lnk('stop');
  return readKept(place.measure, totals);
}

test("the Collector's file is what was kept, number by number", async () => {
  const collector = await Collector.start(place.folder);
  try {
    const kept = await watch(collector.url, collector.certificate);
    const requests = await until('all requests', () => {
      const written = collector.requests();
      return written.length >= kept.size - 2 ? written : undefined;
    });
    expectKept(requests, kept);
    expectDifferences(collector.requests('delta'), kept);
    expect(collector.warnings).toEqual([]);
  } finally {
    await collector.end();
  }
}, 120_000);

/** Every number sent of a unit that is kept is the number kept, and every number kept of a look that was sent was sent. */
function expectKept(requests: Request[], kept: Map<number, Map<string, KeptUnit>>): void {
  const starts = new Map<string, string>();
  let compared = 0;
  for (const request of requests) {
    const units = pointsOf(request);
    const at = Number(BigInt(units.get('mch_1')?.get('memory.used.sum')?.[0]?.timeUnixNano ?? '0') / 1_000_000n);
    const look = kept.get(at);
    if (look === undefined) throw new Error(`no look was kept at ${at}`);
    expect([...look.keys()].filter((id) => !units.has(id))).toEqual([]);
    for (const [id, unit] of look) {
      const points = units.get(id) ?? new Map<string, Point[]>();
      for (const { name: full, kind, rollUp } of rows) {
        const name = full.replace('link.', '');
        const [last, ...before] = [...(points.get(name) ?? [])].reverse();
        const where = `${id} ${name} at ${at}`;
        if (kind === 'level' || kind === 'peak') expect([where, last === undefined ? 0 : valueOf(last)]).toEqual([where, unit.values.get(name) ?? 0]);
        else if (rollUp === 'own') expect([where, [...before.reverse(), ...(last ? [last] : [])].map(valueOf)]).toEqual([where, unit.turns.get(name) ?? []]);
        else if (kind === 'total') {
          expect([where, last && valueOf(last), last?.startTimeUnixNano]).toEqual([where, unit.values.get(name), unit.values.has(name) ? unit.since : undefined]);
        } else expect([where, last === undefined ? 0 : valueOf(last)]).toEqual([where, sumUpTo(kept, at, id, name)]);
        if (last?.startTimeUnixNano !== undefined) {
          expect(starts.get(`${id} ${name}`) ?? last.startTimeUnixNano).toBe(last.startTimeUnixNano);
          starts.set(`${id} ${name}`, last.startTimeUnixNano);
        }
        if (last !== undefined) compared++;
      }
    }
  }
  expect(compared).toBeGreaterThan(200);
}

/** What a measure of turns had added up to by a look. */
const sumUpTo = (kept: Map<number, Map<string, KeptUnit>>, at: number, id: string, name: string): number =>
  [...kept].filter(([time]) => time <= at).reduce((sum, [, look]) => (look.get(id)?.turns.get(name) ?? []).reduce((a, b) => a + b, sum), 0);

/** Made into differences by the Collector, a measure of turns adds up to what was kept: nothing is lost at its beginning. */
function expectDifferences(requests: Request[], kept: Map<number, Map<string, KeptUnit>>): void {
  const sums = new Map<string, number>();
  for (const request of requests) {
    for (const [id, points] of pointsOf(request)) {
      for (const [name, each] of points) if (turns.has(name) && !name.endsWith('.own')) sums.set(`${id} ${name}`, each.reduce((sum, point) => sum + valueOf(point), sums.get(`${id} ${name}`) ?? 0));
    }
  }
  expect(sums.size).toBeGreaterThan(10);
  for (const [key, sum] of sums) {
    const [id = '', name = ''] = key.split(' ');
    expect([key, sum]).toEqual([key, sumUpTo(kept, Infinity, id, name)]);
  }
}

test("the Collector's own decoder understands every request as it was meant", async () => {
  const bodies: string[] = [];
  const server = http.createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk)).on('end', () => (bodies.push(Buffer.concat(chunks).toString()), response.end('{}')));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    await watch(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  } finally {
    server.close();
  }
  bodies.push(encodeOtlp(SECOND, { machine: 'mch_2', atMs: 1_780_000_000_000 }) ?? '');
  expect(bodies.length).toBeGreaterThan(8);
  expect(decode(bodies)).toEqual(bodies.map((body) => JSON.parse(body)));
}, 120_000);

/** A machine with what this one hasn't, as another program would send it. */
const SECOND = (() => {
  const since = '1779990000000000123';
  const all = (factor: number) => Object.fromEntries(rows.map(({ name }, at) => [name, (at + 1) * factor]));
  return [
    { id: 'mch_2', kind: 'machine', name: 'rack-2', since, measures: all(1000) },
    { id: 'agt_9', kind: 'agent', parent: 'mch_2', name: 'second', since, measures: all(10) },
    { id: 'agt_9/77', kind: 'process', parent: 'agt_9', name: 'node', since, measures: { 'link.memory.used.sum': 5 } },
    { id: 'rly_1', kind: 'relay', parent: 'mch_2', since: BigInt(since), measures: { 'link.relay.bytes.sum': 12 } },
  ] as const;
})();

test('Prometheus gives each agent\'s memory and the sum of tokens, and the dashboard\'s queries data', async () => {
  const prometheus = await Prometheus.start(place.folder);
  try {
    const kept = await watch(prometheus.url);
    const [at, last] = [...kept].at(-1) ?? [0, new Map<string, KeptUnit>()];
    const agents = '* on (job, instance) group_left (link_unit_name) target_info{link_unit_kind="agent", link_owner_id="usr_1"}';
    const memory = await prometheus.query(`link_memory_used_sum_bytes ${agents}`, at / 1000);
    expect(new Map(memory.map(({ labels, value }) => [labels['link_unit_name'], value]))).toEqual(
      new Map(AGENTS.map((name, nth) => [name, last.get(`agt_${nth}`)?.values.get('memory.used.sum')])),
    );
    const [tokens] = await prometheus.query(`sum(link_tokens_input_sum_total ${agents})`, at / 1000);
    expect(tokens?.value).toBe(2000);
    const [machine] = await prometheus.query('link_tokens_input_sum_total{instance="mch_1"}', at / 1000);
    expect(machine?.value).toBe(2000);
    // What Prometheus alone can tell of the growth: each sum began with its zero.
    const [grown] = await prometheus.query(`sum((max_over_time(link_tokens_input_sum_total[5m]) - min_over_time(link_tokens_input_sum_total[5m])) ${agents})`, at / 1000);
    expect(grown?.value).toBe(2000);
    await expectDashboards(prometheus, at);
    expect(prometheus.warnings).toEqual([]);
  } finally {
    await prometheus.end();
  }
}, 120_000);

interface Dashboard {
  panels: { title: string; targets?: { expr: string }[] }[];
  templating: { list: { name: string; regex?: string; query: string | { query: string } }[] };
}

/** What the watched machine need not have, and the one that is made up has. */
const NOT_HERE = /gpu_|unmetered|network_|disk_used|_start_|_stop_|to_model|tool_calls|errors|cached/;

/** The same, its numbers larger. */
const second = (factor: number) => SECOND.map((unit) => ({ ...unit, measures: Object.fromEntries(Object.entries(unit.measures).map(([name, value]) => [name, value * factor])) }));

/** Each query of each dashboard gives data, for what this machine has and for a machine that has everything. */
async function expectDashboards(prometheus: Prometheus, at: number): Promise<void> {
  const post = async (factor: number, atMs: number) => {
    const body = encodeOtlp(second(factor), { machine: 'mch_2', atMs });
    const answer = await fetch(`${prometheus.url}/v1/metrics`, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
    expect(answer.status).toBe(200);
  };
  await post(1, at - 20_000);
  await post(2, at);
  const folder = join(__dirname, '..', '..', 'dashboards');
  let asked = 0;
  for (const name of readdirSync(folder).filter((each) => each.endsWith('.json'))) {
    const { panels, templating } = JSON.parse(readFileSync(join(folder, name), 'utf8')) as Dashboard;
    for (const [machine, agent] of [['mch_1', 'agt_0'], ['mch_2', 'agt_9']] as const) {
      const ask = async (text: string) => {
        const query = text.replaceAll('$machine', machine).replaceAll('$agent', agent).replaceAll('$__rate_interval', '1m').replaceAll('$__range', '5m');
        return prometheus.query(query, at / 1000);
      };
      const empty: string[] = [];
      for (const { expr } of panels.flatMap(({ targets = [] }) => targets)) {
        if ((await ask(expr)).length === 0) empty.push(expr);
        asked++;
      }
      expect([machine, empty.filter((expr) => machine === 'mch_2' || !NOT_HERE.test(expr))]).toEqual([machine, []]);
      for (const { query, regex } of templating.list) {
        if (typeof query === 'string') continue;
        // A series as Grafana's own regular expression sees it.
        const series = (await ask(query.query.replace(/^query_result\((.*)\)$/, '$1'))).map(({ labels }) => `{${Object.entries(labels).sort().map(([key, value]) => `${key}="${value}"`).join(', ')}}`);
        const found = series.map((text) => new RegExp(regex?.slice(1, -1) ?? '').exec(text)?.groups?.['value']);
        expect(found).toContain(query.query.includes('"agent"') ? agent : machine);
      }
    }
  }
  expect(asked).toBeGreaterThan(20);
}

test("what docs/export.md tells a Collector to do it does, and warns of nothing", async () => {
  const blocks = [...readFileSync(join(__dirname, '..', '..', 'docs', 'export.md'), 'utf8').matchAll(/```yaml\n([\s\S]*?)```/g)].map(([, block = '']) => block);
  expect(blocks).toHaveLength(2);
  const got: { type: string | undefined; key: string | undefined; bytes: number }[] = [];
  const backend = http.createServer((request, response) => {
    let bytes = 0;
    request.on('data', (chunk: Buffer) => (bytes += chunk.length));
    request.on('end', () => {
      got.push({ type: request.headers['content-type'], key: request.headers.authorization, bytes });
      response.setHeader('content-type', 'application/x-protobuf').end();
    });
  });
  await new Promise<void>((resolve) => backend.listen(0, '127.0.0.1', resolve));
  const env = { BACKEND_URL: `http://127.0.0.1:${(backend.address() as AddressInfo).port}`, BACKEND_KEY: 'k' };
  try {
    for (const block of blocks) {
      const collector = await Collector.startWith(block, place.folder, env);
      try {
        for (const factor of [1, 2]) await collector.post(encodeOtlp(second(factor), { machine: 'mch_2', atMs: Date.now() + factor }) ?? '');
        got.length = 0;
        await collector.post(encodeOtlp(second(3), { machine: 'mch_2', atMs: Date.now() + 3 }) ?? '');
        const [first] = await until('what it sends on', () => (got.length > 0 ? got : undefined));
        expect(first).toMatchObject({ type: 'application/x-protobuf', ...(block.includes('authorization') && { key: 'k' }), bytes: expect.any(Number) });
        expect(collector.warnings).toEqual([]);
      } finally {
        await collector.end();
      }
    }
  } finally {
    backend.close();
  }
}, 120_000);
