// A route under test: a server of its own before a fake provider, and a ledger in a folder of its own.

import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ModelRoute } from '../../ts/index';
import { modelRoute, TokenLedger } from './library';

export interface Tokens {
  run: string;
  since: number;
  requests: number;
  unmetered: number;
  input: number;
  output: number;
  cached: number;
  cache_written: number;
}

/** What a tokens file holds. */
export const readTokens = (folder: string, agent: string): Tokens =>
  JSON.parse(readFileSync(join(folder, `${encodeURIComponent(agent)}.json`), 'utf8')) as Tokens;

/** Waits until something is so, for as long as a busy machine may take. */
export async function until(isSo: () => boolean): Promise<void> {
  const deadline = Date.now() + 20_000;
  while (!isSo()) {
    if (Date.now() > deadline) throw new Error('it never was so');
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** Starts a server on a free port of this machine. */
export async function listen(server: http.Server): Promise<string> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** A provider (the handler), and a route to it. */
export class RoutePlace {
  static readonly secret = '/s3cr3t-of-this-test';
  readonly folder = mkdtempSync(join(tmpdir(), 'lnk-route-'));
  readonly said: string[] = [];
  readonly ledger = new TokenLedger(this.folder, (problem) => this.said.push(problem));
  readonly provider: http.Server;
  route!: ModelRoute;
  base = '';
  #server!: http.Server;

  constructor(provider: http.RequestListener) {
    this.provider = http.createServer(provider);
  }

  async start(to?: string): Promise<this> {
    const upstream = await listen(this.provider);
    this.route = modelRoute({ to: to ?? upstream, agent: 'agt_01', ledger: this.ledger, prefix: RoutePlace.secret });
    this.#server = http.createServer(this.route).on('checkContinue', this.route.checkContinue).on('upgrade', this.route.upgrade);
    this.base = `${await listen(this.#server)}${RoutePlace.secret}`;
    return this;
  }

  /** What the file holds once so many answers are counted. */
  async tokens(requests: number): Promise<Tokens> {
    await until(() => this.route.counts.requests >= requests);
    await this.ledger.flush();
    return readTokens(this.folder, 'agt_01');
  }

  async stop(): Promise<void> {
    for (const server of [this.#server, this.provider]) {
      server.close();
      server.closeAllConnections();
    }
    await this.route.close();
    await this.ledger.close();
    rmSync(this.folder, { recursive: true, force: true });
  }
}
