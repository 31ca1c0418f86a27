// A real Collector and a real Prometheus on free ports of this machine, and what they say.

import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import net, { type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { Transport } from '../../ts/export/post';
import { parseTarget } from '../../ts/export/settings';
import { certificate } from '../export/place';
import { until } from '../watch/place';

const bin = join(__dirname, '..', '..', 'target', 'otel', 'bin');

/** A port that is free now. */
export async function freePort(): Promise<number> {
  const server = net.createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

/** A program that runs until it is ended, and everything that it said. */
class Receiver {
  log = '';
  readonly child: ChildProcess;

  constructor(program: string, args: string[], env: NodeJS.ProcessEnv = {}) {
    this.child = spawn(join(bin, program), args, { stdio: ['ignore', 'pipe', 'pipe'], env: { PATH: process.env['PATH'], HOME: '/nonexistent', ...env } });
    for (const stream of [this.child.stdout, this.child.stderr]) stream?.setEncoding('utf8').on('data', (text: string) => (this.log += text));
  }

  /** The lines of its log that are more than information. */
  get warnings(): string[] {
    return this.log.split('\n').filter((line) => /\b(warn|error|fatal|panic)\b|level=(WARN|ERROR)/i.test(line));
  }

  /** Waits until it is ready by its own word. */
  async ready(isReady: () => boolean | Promise<boolean>): Promise<void> {
    await until('a receiver', () => {
      if (this.child.exitCode !== null) throw new Error(`it has ended:\n${this.log}`);
      return isReady();
    });
  }

  async end(): Promise<void> {
    if (this.child.exitCode === null && this.child.signalCode === null) {
      const ended = once(this.child, 'exit');
      this.child.kill('SIGTERM');
      await ended;
    }
  }
}

/** A Collector. */
export class Collector extends Receiver {
  private constructor(
    readonly url: string,
    /** Its certificate's file. */
    readonly certificate: string,
    config: string,
    readonly files: { asSent: string; delta: string },
    env: NodeJS.ProcessEnv,
  ) {
    super('collector', ['--config', config], env);
  }

  /** One whose metrics go to files. */
  static async start(folder: string): Promise<Collector> {
    return Collector.startWith(TO_FILES, folder);
  }

  /** One of a configuration; its address, its certificate and its files are the test's own. */
  static async startWith(text: string, folder: string, env: NodeJS.ProcessEnv = {}): Promise<Collector> {
    const port = await freePort();
    certificate(folder, 'localhost', 2);
    const file = (name: string) => join(folder, name);
    const files = { asSent: file('as-sent.jsonl'), delta: file('delta.jsonl') };
    const config = file(`collector-${port}.yaml`);
    const filled = text
      .replace(/(127\.0\.0\.1|0\.0\.0\.0):4318/, `127.0.0.1:${port}`)
      .replace('/etc/otelcol/server.crt', file('localhost.crt'))
      .replace('/etc/otelcol/server.key', file('localhost.key'))
      .replace('AS_SENT', files.asSent)
      .replace('DELTA', files.delta);
    // Its own metrics would want a port of their own.
    writeFileSync(config, filled.replace(/^service:\n/m, 'service:\n  telemetry: {metrics: {level: none}}\n'));
    const url = text.includes('tls:') ? `https://localhost:${port}` : `http://127.0.0.1:${port}`;
    const collector = new Collector(url, file('localhost.crt'), config, files, env);
    await collector.ready(() => collector.log.includes('Everything is ready'));
    return collector;
  }

  /** Posts a request; it must be taken. */
  async post(body: string): Promise<void> {
    const target = parseTarget(`[export]\nurl = ${JSON.stringify(this.url)}\n`, 'test');
    if (target === undefined) throw new Error('no target');
    const { status } = await new Transport(undefined, readFileSync(this.certificate, 'utf8')).post(target, Buffer.from(body), AbortSignal.timeout(20_000));
    if (status !== 200) throw new Error(`it answered ${status}`);
  }

  /** The requests that it wrote, as sent or with what each sum grew by. */
  requests(which: 'asSent' | 'delta' = 'asSent'): Request[] {
    return readFileSync(this.files[which], 'utf8').split('\n').slice(0, -1).map((line) => JSON.parse(line) as Request);
  }
}

const TO_FILES = `
receivers:
  otlp:
    protocols:
      http:
        endpoint: 127.0.0.1:4318
        tls: {cert_file: /etc/otelcol/server.crt, key_file: /etc/otelcol/server.key}
processors:
  # As docs/export.md has it, for what takes only differences.
  cumulative_to_delta: {}
exporters:
  file/as-sent: {path: "AS_SENT", flush_interval: 100ms}
  file/delta: {path: "DELTA", flush_interval: 100ms}
service:
  pipelines:
    metrics: {receivers: [otlp], exporters: [file/as-sent]}
    metrics/delta: {receivers: [otlp], processors: [cumulative_to_delta], exporters: [file/delta]}
`;

/** A Prometheus that takes OTLP. */
export class Prometheus extends Receiver {
  private constructor(
    readonly base: string,
    args: string[],
  ) {
    super('prometheus', args);
  }

  /** Where looks are to be sent. */
  get url(): string {
    return `${this.base}/api/v1/otlp`;
  }

  static async start(folder: string): Promise<Prometheus> {
    const base = `127.0.0.1:${await freePort()}`;
    const config = join(folder, 'prometheus.yaml');
    writeFileSync(config, 'global: {}\n');
    mkdirSync(join(folder, 'tsdb'));
    const args = [`--config.file=${config}`, `--storage.tsdb.path=${join(folder, 'tsdb')}`, `--web.listen-address=${base}`, '--web.enable-otlp-receiver'];
    const prometheus = new Prometheus(`http://${base}`, args);
    await prometheus.ready(() => fetch(`${prometheus.base}/-/ready`).then(({ ok }) => ok, () => false));
    return prometheus;
  }

  /** What a query gives at a time: labels and value of each series. */
  async query(query: string, at: number): Promise<{ labels: Record<string, string>; value: number }[]> {
    const response = await fetch(`${this.base}/api/v1/query?${new URLSearchParams({ query, time: String(at) })}`);
    const { data, error } = (await response.json()) as { data?: { result: { metric: Record<string, string>; value: [number, string] }[] }; error?: string };
    if (data === undefined) throw new Error(`${query}: ${error}`);
    return data.result.map(({ metric, value }) => ({ labels: metric, value: Number(value[1]) }));
  }
}

/** What the Collector's own decoder understands of requests. */
export function decode(bodies: readonly string[]): Request[] {
  const said = execFileSync(join(bin, 'oracle'), { input: `${bodies.join('\n')}\n`, encoding: 'utf8', maxBuffer: 1 << 28 });
  return said.split('\n').slice(0, -1).map((line) => JSON.parse(line) as Request);
}

/** A point as OTLP's JSON has it. */
export interface Point {
  startTimeUnixNano?: string;
  timeUnixNano: string;
  asInt?: string;
  asDouble?: number;
}

interface Data {
  dataPoints: Point[];
}

/** An OTLP request, as far as tests read it. */
export interface Request {
  resourceMetrics: {
    resource: { attributes: { key: string; value: { stringValue?: string } }[] };
    scopeMetrics: { metrics: { name: string; gauge?: Data; sum?: Data }[] }[];
  }[];
}

/** A request's points by unit and measure without `link.`. */
export function pointsOf(request: Request): Map<string, Map<string, Point[]>> {
  const units = new Map<string, Map<string, Point[]>>();
  for (const { resource, scopeMetrics } of request.resourceMetrics) {
    const id = resource.attributes.find(({ key }) => key === 'link.unit.id')?.value.stringValue ?? '';
    const measures = units.get(id) ?? new Map<string, Point[]>();
    units.set(id, measures);
    for (const { name, gauge, sum } of scopeMetrics.flatMap(({ metrics }) => metrics)) measures.set(name.replace('link.', ''), (gauge ?? sum)?.dataPoints ?? []);
  }
  return units;
}

/** A point's number. */
export const valueOf = ({ asInt, asDouble }: Point): number => (asInt === undefined ? (asDouble ?? NaN) : Number(asInt));
