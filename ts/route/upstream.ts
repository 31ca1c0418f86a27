// Where a route leads, and the path of a request there.

import { timingSafeEqual } from 'node:crypto';
import http from 'node:http';
import https from 'node:https';
import { codeOf, Failure } from '../errors';

/** A free connection is closed before servers close theirs (Node's own after 5 s), so that no request meets a closed one. */
const FREE_MS = 4000;

/** Makes what holds connections to an upstream. */
export type AgentMaker = (isTls: boolean, options: http.AgentOptions) => http.Agent;

const directly: AgentMaker = (isTls, options) => (isTls ? new https.Agent(options) : new http.Agent(options));

/** Requests to one provider or local runtime. */
export class Upstream {
  /** `host:port`, as it is said in errors. */
  readonly host: string;
  readonly #url: URL;
  readonly #base: string;
  readonly #agent: http.Agent;
  readonly #agents: AgentMaker;

  /** @throws {Failure} the URL is none that a route can lead to; the message holds none of its secrets */
  constructor(to: string | URL, agents: AgentMaker = directly) {
    this.#url = parseUrl(to);
    this.host = this.#url.host;
    this.#base = this.#url.pathname.replace(/\/+$/, '');
    this.#agents = agents;
    this.#agent = agents(this.#isTls, { keepAlive: true, timeout: FREE_MS });
  }

  get #isTls(): boolean {
    return this.#url.protocol === 'https:';
  }

  /** Begins a request. Its headers are sent as they are given; an upgrade has a connection of its own. */
  request(method: string, path: string, headers: string[], upgrade = false): http.ClientRequest {
    const { hostname, port } = this.#url;
    return (this.#isTls ? https : http).request({
      hostname: hostname.replace(/^\[(.*)\]$/, '$1'),
      port,
      method,
      path: this.#base + path,
      // Node's types know the object alone; the array is in its documentation.
      headers: headers as unknown as http.OutgoingHttpHeaders,
      setHost: false,
      agent: upgrade ? this.#agents(this.#isTls, {}) : this.#agent,
    });
  }

  /** Closes the connections there are. */
  close(): void {
    this.#agent.destroy();
  }
}

function parseUrl(to: string | URL): URL {
  let url: URL;
  try {
    url = new URL(to);
  } catch {
    throw new Failure('the URL to route to is none: it looks like https://api.anthropic.com');
  }
  if (url.protocol !== 'https:' && url.protocol !== 'http:') throw new Failure(`a route leads to https:// or http://, not ${url.protocol}//`);
  if (url.username !== '' || url.password !== '') throw new Failure('the URL to route to may hold no user or password: the harness sends its key itself');
  if (url.search !== '' || url.hash !== '') throw new Failure('the URL to route to ends with its path: no ? and no #');
  return url;
}

/**
 * The path of a request behind the route's own prefix, with its query; undefined where it isn't behind it.
 *
 * @param prefix `/` and a secret, or nothing
 */
export function pathBehind(prefix: string, url: string): string | undefined {
  if (!url.startsWith('/')) return undefined;
  const [start, rest] = [Buffer.from(url.slice(0, prefix.length)), url.slice(prefix.length)];
  const wanted = Buffer.from(prefix);
  // In the same time whatever is wrong, so that trying tells nothing of the secret.
  if (start.length !== wanted.length || !timingSafeEqual(start, wanted)) return undefined;
  if (rest === '') return '/';
  if (rest.startsWith('?')) return `/${rest}`;
  return rest.startsWith('/') ? rest : undefined;
}

/** Node's codes of a certificate that can't be verified, as OpenSSL names them (x509_vfy), and its own of a wrong name. */
const UNTRUSTED = /CERT|^(UNABLE_TO_|ERR_TLS_CERT|CRL_|INVALID_CA|PATH_LENGTH_|HOSTNAME_MISMATCH)/;

/** Why an upstream gave no answer, for a person: its code, never its message, which may quote what was sent. */
export function reasonOf(host: string, error: unknown): string {
  const code = codeOf(error);
  if (code === undefined) return `${host} sent what is no HTTP`;
  if (UNTRUSTED.test(code)) {
    return `${host} was sent nothing, since its certificate could not be verified (${code}): for an authority of your own, start this with NODE_EXTRA_CA_CERTS=FILE`;
  }
  return `${host} could not be reached, or broke off: ${code}`;
}
