// Connections out: counted byte by byte, and through the proxy that the user has, if any.

import http from 'node:http';
import https from 'node:https';
import net from 'node:net';
import tls from 'node:tls';
import { Failure } from '../errors';

/** What a proxy's answer to CONNECT may be long. */
const LONGEST_HEAD = 16_384;

/** The proxies of an environment, as curl and most others read it. */
export interface Proxies {
  /** For `https://` and whatever else is tunnelled. */
  https?: URL;
  /** For plain `http://`. */
  http?: URL;
  /** Hosts that are reached without either. */
  none: string[];
}

/**
 * The proxies the user has.
 *
 * @throws {Failure} one of them is of a kind that can't be chained
 */
export function proxiesOf(env: NodeJS.ProcessEnv): Proxies {
  const first = (...names: string[]): URL | undefined => {
    const name = names.find((each) => env[each]);
    return name === undefined ? undefined : parseProxy(name, env[name] ?? '');
  };
  const [secure, plain] = [first('https_proxy', 'HTTPS_PROXY', 'all_proxy', 'ALL_PROXY'), first('http_proxy', 'HTTP_PROXY', 'all_proxy', 'ALL_PROXY')];
  const none = (env['no_proxy'] || env['NO_PROXY'] || '').split(/[\s,]+/).filter((host) => host !== '');
  return { ...(secure && { https: secure }), ...(plain && { http: plain }), none };
}

function parseProxy(name: string, text: string): URL {
  const url = URL.canParse(text) && text.includes('://') ? new URL(text) : URL.canParse(`http://${text}`) ? new URL(`http://${text}`) : undefined;
  if (url?.protocol === 'http:' || url?.protocol === 'https:') return url;
  // Not the URL itself: it may hold a password.
  throw new Failure(`--meter can't go through the proxy that ${name} names: it is ${url === undefined ? 'no URL' : `of the kind ${url.protocol}//, and only http:// and https:// are`}. Run without --meter, or unset ${name}.`);
}

/** Whether a host is reached without a proxy: this machine always is. */
export function isDirect(host: string, none: readonly string[]): boolean {
  const bare = host.replace(/^\[(.*)\]$/, '$1').toLowerCase();
  if (bare === 'localhost' || bare === '::1' || /^127(\.\d{1,3}){3}$/.test(bare)) return true;
  return none.some((entry) => {
    const domain = entry.toLowerCase().replace(/:\d+$/, '').replace(/^\*?\./, '');
    return entry === '*' || bare === domain || bare.endsWith(`.${domain}`);
  });
}

const basic = (proxy: URL): string | undefined =>
  proxy.username === '' ? undefined : `Basic ${Buffer.from(`${decodeURIComponent(proxy.username)}:${decodeURIComponent(proxy.password)}`).toString('base64')}`;

/** Connects, and counts what crosses every connection it made. */
export class Dialer {
  readonly #proxies: Proxies;
  readonly #open = new Set<net.Socket>();
  #closed = { in: 0, out: 0 };

  constructor(proxies: Proxies) {
    this.#proxies = proxies;
  }

  /** Bytes so far, of the connections themselves: heads and encryption included. */
  get bytes(): { in: number; out: number } {
    const sum = { ...this.#closed };
    for (const socket of this.#open) {
      sum.in += socket.bytesRead;
      sum.out += socket.bytesWritten;
    }
    return sum;
  }

  /** The proxy that plain requests to a host go through. */
  plainProxy(host: string): URL | undefined {
    return isDirect(host, this.#proxies.none) ? undefined : this.#proxies.http;
  }

  /** A connection to a host, tunnelled where there is a proxy for it. */
  async tunnel(host: string, port: number): Promise<net.Socket> {
    const proxy = isDirect(host, this.#proxies.none) ? undefined : this.#proxies.https;
    if (proxy === undefined) return this.connect(host, port);
    const socket = await this.toProxy(proxy);
    const authority = `${net.isIPv6(host) ? `[${host}]` : host}:${port}`;
    const authorization = basic(proxy);
    socket.write(`CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n${authorization === undefined ? '' : `Proxy-Authorization: ${authorization}\r\n`}\r\n`);
    try {
      await tunnelled(socket);
    } catch (error) {
      socket.destroy();
      throw error;
    }
    return socket;
  }

  /** A connection to a proxy itself. */
  async toProxy(proxy: URL): Promise<net.Socket> {
    const host = proxy.hostname.replace(/^\[(.*)\]$/, '$1');
    const isTls = proxy.protocol === 'https:';
    const raw = await this.connect(host, Number(proxy.port || (isTls ? 443 : 80)));
    return isTls ? tls.connect({ socket: raw, host, ...(net.isIP(host) === 0 && { servername: host }) }) : raw;
  }

  connect(host: string, port: number): Promise<net.Socket> {
    return new Promise((resolve, reject) => {
      const socket = net.connect({ host: host.replace(/^\[(.*)\]$/, '$1'), port, allowHalfOpen: true, noDelay: true });
      this.#open.add(socket);
      socket.once('close', () => {
        this.#open.delete(socket);
        this.#closed.in += socket.bytesRead;
        this.#closed.out += socket.bytesWritten;
      });
      socket.once('error', reject).once('connect', () => {
        socket.off('error', reject);
        resolve(socket);
      });
    });
  }

  /** Cuts every connection. */
  close(): void {
    for (const socket of this.#open) socket.destroy();
  }
}

/** Waits for a proxy's yes to CONNECT. What follows it is left in the socket. */
function tunnelled(socket: net.Socket): Promise<void> {
  return new Promise((resolve, reject) => {
    let head = Buffer.alloc(0);
    const end = (error?: Error): void => {
      socket.off('data', read).off('error', end).off('close', cut);
      socket.pause();
      if (error) reject(error);
      else resolve();
    };
    const cut = (): void => end(new Failure('the proxy broke off'));
    const read = (chunk: Buffer): void => {
      head = Buffer.concat([head, chunk]);
      const at = head.indexOf('\r\n\r\n');
      if (at < 0) return head.length > LONGEST_HEAD ? end(new Failure('the proxy sent what is no HTTP')) : undefined;
      const status = /^HTTP\/1\.\d (\d{3})/.exec(head.toString('latin1', 0, 20))?.[1];
      const rest = head.subarray(at + 4);
      end(status?.startsWith('2') ? undefined : new Failure(`the proxy answered ${status ?? 'what is no HTTP'}`));
      if (rest.length > 0) socket.unshift(rest);
    };
    socket.on('data', read).on('error', end).on('close', cut);
  });
}

/** What an agent of Node's is made with; its types know no connection that comes later. */
type Connected = (error: Error | null, socket?: net.Socket) => void;

/** Makes agents whose connections a dialer makes: for a model route's way out. */
export const agentsOf =
  (dialer: Dialer) =>
  (isTls: boolean, options: http.AgentOptions): http.Agent => {
    const agent = isTls ? new https.Agent(options) : new http.Agent(options);
    const connect = ({ host, port, servername }: { host: string; port: number; servername?: string }, done: Connected): void => {
      const opening = dialer.tunnel(host, Number(port));
      opening.then((socket) => {
        // A stream of Node's HTTP closes with its peer.
        socket.allowHalfOpen = false;
        const name = servername || host;
        // What reads it is there by then.
        if (!isTls) setImmediate(() => socket.resume());
        done(null, isTls ? tls.connect({ socket, ...(net.isIP(name) === 0 && { servername: name }), ALPNProtocols: ['http/1.1'] }) : socket);
      }, (error: Error) => done(error));
    };
    return Object.assign(agent, { createConnection: connect });
  };
