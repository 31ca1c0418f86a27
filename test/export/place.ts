// A sender under test: the real one, with looks of this machine, a clock that only the test moves, and a server of the
// test's own that behaves as badly as it likes.

import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import net, { type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Resolve, Transport } from '../../ts/export/post';
import { type Clock, Sender } from '../../ts/export/send';
import { newState, type State } from '../../ts/export/state';
import { Sampler } from '../../ts/native';

// The sources ask for the addon beside them; it is built beside the bundle.
const dist = join(__dirname, '..', '..', 'dist');
process.env['LNK_MEASURE_NATIVE'] = join(dist, readdirSync(dist).find((name) => name.endsWith('.node')) ?? '');

/** A clock that stands until it is moved. */
export class FakeClock implements Clock {
  #elapsed = 0;
  /** Later than any look of this machine's before it: the looks have their own time. */
  readonly #start = Date.now() - 1000;
  #timers: { at: number; call: () => void }[] = [];
  chance = 1;

  now = () => this.#start + this.#elapsed;
  elapsed = () => this.#elapsed;
  random = () => this.chance;

  after(ms: number, call: () => void): () => void {
    const timer = { at: this.#elapsed + ms, call };
    this.#timers.push(timer);
    return () => (this.#timers = this.#timers.filter((each) => each !== timer));
  }

  advance(ms: number): void {
    this.#elapsed += ms;
    const due = this.#timers.filter(({ at }) => at <= this.#elapsed);
    this.#timers = this.#timers.filter(({ at }) => at > this.#elapsed);
    for (const { call } of due) call();
  }

  get timers(): number {
    return this.#timers.length;
  }
}

/** An OTLP request, as far as tests read it. */
export interface Body {
  resourceMetrics: { resource: { attributes: { key: string; value: { stringValue: string } }[] }; scopeMetrics: { metrics: { name: string }[] }[] }[];
}

/** The IDs of a body's units. */
export const unitsOf = (body: string): string[] =>
  (JSON.parse(body) as Body).resourceMetrics.map(({ resource }) => resource.attributes.find(({ key }) => key === 'link.unit.id')?.value.stringValue ?? '');

/** One for all tests: each keeps descriptors open until it is collected, which may be long after its test. */
let sampler: Sampler | undefined;

export class SendPlace {
  readonly folder = mkdtempSync(join(tmpdir(), 'lnk-send-'));
  readonly clock = new FakeClock();
  readonly said: string[] = [];
  readonly #problems = new Map<string, readonly string[]>();
  readonly #servers: net.Server[] = [];
  readonly #sockets = new Set<net.Socket>();
  readonly #children: ChildProcess[] = [];
  #sender: Sender | undefined;

  /** As the watcher's log has them. */
  readonly log = {
    say: (text: string) => void this.said.push(text),
    tell: (subject: string, problems: readonly string[]) => {
      const before = this.#problems.get(subject) ?? [];
      for (const each of problems) if (!before.includes(each)) this.said.push(`${subject}: ${each}`);
      if (before.length > 0 && problems.length === 0) this.said.push(`${subject}: well again.`);
      this.#problems.set(subject, problems);
    },
  };

  /** Where looks are to be sent. */
  target(url: string, headers: string[] = []): void {
    writeFileSync(join(this.folder, 'settings.toml'), `[export]\nurl = ${JSON.stringify(url)}\nheaders = ${JSON.stringify(headers)}\n`);
  }

  sender(resolve?: Resolve, ca?: string): Sender {
    return (this.#sender ??= new Sender(this.folder, this.log, this.clock, new Transport(resolve, ca)));
  }

  /** Takes a look and hands it to the sender. */
  offer(): void {
    this.sender().offer((sampler ??= new Sampler()).take(JSON.stringify({ machine: { id: 'mch_t' }, agents: this.#agents(), found: false })));
  }

  /** A look ten seconds later, sent to its end. */
  async look(): Promise<State> {
    this.clock.advance(10_000);
    this.offer();
    await this.sender().idle;
    return this.state();
  }

  /** Programs that looks see as agents. */
  addAgents(count: number): void {
    for (let at = 0; at < count; at++) this.#children.push(spawn('sleep', ['1000'], { stdio: 'ignore' }));
  }

  #agents() {
    return this.#children.map(({ pid = 0 }, at) => ({ id: `agt_${at}`, name: `agent-${at}`, teams: [], from: 'link' as const, running: true, pids: [pid] }));
  }

  state(): State {
    try {
      return JSON.parse(readFileSync(join(this.folder, 'export.json'), 'utf8')) as State;
    } catch {
      return newState('');
    }
  }

  /** Listens on a free port of this machine, and is ended with the place. */
  async listen(server: net.Server): Promise<number> {
    this.#servers.push(server);
    server.on('connection', (socket) => {
      this.#sockets.add(socket);
      socket.on('error', () => undefined).once('close', () => this.#sockets.delete(socket));
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return (server.address() as AddressInfo).port;
  }

  /** A server that answers by hand; its base URL becomes the target. */
  async raw(answer: (socket: net.Socket) => void): Promise<number> {
    const port = await this.listen(net.createServer(answer));
    this.target(`http://127.0.0.1:${port}`);
    return port;
  }

  /** A server that has read each request whole before it answers; its base URL becomes the target. */
  async http(answer: (request: http.IncomingMessage, response: http.ServerResponse, body: string) => void, headers: string[] = []): Promise<number> {
    const port = await this.listen(
      http.createServer((request, response) => {
        const chunks: Buffer[] = [];
        request.on('data', (chunk: Buffer) => chunks.push(chunk));
        request.on('end', () => answer(request, response, Buffer.concat(chunks).toString()));
      }),
    );
    this.target(`http://127.0.0.1:${port}`, headers);
    return port;
  }

  /** A free port that nobody listens on. */
  async free(): Promise<number> {
    const server = net.createServer();
    const port = await this.listen(server);
    server.close();
    return port;
  }

  async end(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    for (const server of this.#servers) server.close();
    for (const child of this.#children) child.kill('SIGKILL');
    await Promise.all(this.#children.map((child) => child.exitCode ?? child.signalCode ?? once(child, 'exit')));
    await this.sender().idle;
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** A key and a certificate of a name, made now; valid for so many days. */
export function certificate(folder: string, name: string, days: number): { key: string; cert: string } {
  const [key, request, cert, names] = ['key', 'csr', 'crt', 'names'].map((each) => join(folder, `${name}.${each}`)) as [string, string, string, string];
  const openssl = (...args: string[]) => execFileSync('openssl', args, { stdio: 'pipe' });
  writeFileSync(names, `subjectAltName=DNS:${name}\n`);
  openssl('req', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-subj', `/CN=${name}`, '-keyout', key, '-out', request);
  openssl('x509', '-req', '-in', request, '-signkey', key, '-days', String(days), '-extfile', names, '-out', cert);
  return { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') };
}
