// The model route: passes requests on to a provider and its answers back, and counts the usage the answers give.

import type http from 'node:http';
import type { Duplex } from 'node:stream';
import { Failure } from '../errors';
import { isName } from '../names';
import { answerRequest } from './answer';
import type { TokenLedger } from './ledger';
import { passUpgrade } from './upgrade';
import { type AgentMaker, Upstream } from './upstream';

/** What a route is made with. */
export interface ModelRouteOptions {
  /** Where requests go: `https://api.anthropic.com`, `http://127.0.0.1:11434`. Its path, if any, goes before each request's. */
  to: string | URL;
  /** Whose tokens they are, by the agent's ID. */
  agent: string;
  /** Where they are added up. The route doesn't close it. */
  ledger: TokenLedger;
  /** What each request's path must begin with, such as `/` and a secret; all else is a 404. Nothing where it isn't said. */
  prefix?: string;
  /** Makes the connections to the provider, where that is not this machine's own way. */
  agents?: AgentMaker;
  /** Called when the counts have changed. */
  onChange?: (counts: Readonly<RouteCounts>) => void;
  /** Is told why the upstream gave no answer, once for a reason until it is another one or the upstream answers. Never of what passed. */
  say?: (problem: string) => void;
}

/** What passed a route since it was made. */
export interface RouteCounts {
  /** Requests for a model's answer, and upgrades. */
  requests: number;
  /** Of them, those whose answer gave no usage. */
  unmetered: number;
  input: number;
  output: number;
  cached: number;
  cacheWritten: number;
  /** Requests of any kind that the upstream did not answer, or not to the end. */
  failed: number;
  /** The last answer's status; 0 before there is one. */
  lastStatus: number;
  /** Bytes of bodies: of answers, and of requests. */
  bytesIn: number;
  bytesOut: number;
}

/** A `node:http` request handler, with what a server needs besides. */
export interface ModelRoute {
  (request: http.IncomingMessage, response: http.ServerResponse): void;
  /** For the server's `checkContinue`: then the provider itself says whether it wants a body. */
  checkContinue(request: http.IncomingMessage, response: http.ServerResponse): void;
  /** For the server's `upgrade`: WebSockets. */
  upgrade(request: http.IncomingMessage, socket: Duplex, head: Buffer): void;
  readonly counts: Readonly<RouteCounts>;
  /** Closes the connections to the provider. Answers under way are cut, and counted once this is over. */
  close(): Promise<void>;
}

/** What the parts of a route share. */
export interface RouteParts {
  readonly upstream: Upstream;
  readonly prefix: string;
  readonly agent: string;
  readonly ledger: TokenLedger;
  readonly counts: RouteCounts;
  /** Answers under way. */
  readonly answers: Set<http.IncomingMessage>;
  changed(): void;
  /** A request got no answer, or not to its end. */
  failed(reason: string): void;
  /** The upstream began an answer. */
  answered(status: number): void;
}

/**
 * Makes a route.
 *
 * @throws {Failure} the URL or the agent's ID is none
 */
export function modelRoute(options: ModelRouteOptions): ModelRoute {
  const { to, agent, ledger, prefix = '', agents, onChange, say } = options;
  if (!isName(agent)) throw new Failure(`${JSON.stringify(agent)} is no agent's ID: 1 to 64 of letters, digits and ._:/@-`);
  const counts: RouteCounts = {
    requests: 0, unmetered: 0, input: 0, output: 0, cached: 0, cacheWritten: 0, failed: 0, lastStatus: 0, bytesIn: 0, bytesOut: 0,
  };
  const upstream = new Upstream(to, agents);
  let said: string | undefined;
  const changed = (): void => onChange?.(counts);
  const parts: RouteParts = {
    upstream, prefix, agent, ledger, counts, changed, answers: new Set(),
    failed: (reason) => {
      counts.failed++;
      changed();
      if (reason !== said) say?.((said = reason));
    },
    answered: (status) => {
      counts.lastStatus = status;
      said = undefined;
    },
  };
  return Object.assign((request: http.IncomingMessage, response: http.ServerResponse) => answerRequest(parts, request, response, false), {
    checkContinue: (request: http.IncomingMessage, response: http.ServerResponse) => answerRequest(parts, request, response, true),
    upgrade: (request: http.IncomingMessage, socket: Duplex, head: Buffer) => passUpgrade(parts, request, socket, head),
    counts,
    close: () => closeRoute(parts),
  });
}

async function closeRoute({ upstream, answers }: RouteParts): Promise<void> {
  const ends = [...answers].map((answer) => new Promise((resolve) => answer.once('close', resolve)));
  upstream.close();
  answers.forEach((answer) => answer.destroy());
  await Promise.all(ends);
}
