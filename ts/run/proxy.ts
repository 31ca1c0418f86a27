// A forward proxy for one command: tunnels (CONNECT) and plain HTTP, passed on as they come.

import { timingSafeEqual } from 'node:crypto';
import http from 'node:http';
import type { Duplex } from 'node:stream';
import { messageOf } from '../errors';
import { passedOn, withHeader } from '../route/headers';
import type { Dialer } from './dial';

/** Said by every client whose proxy's URL holds a user and a password. */
const authorizationOf = (secret: string): Buffer => Buffer.from(`Basic ${Buffer.from(`lnk:${secret}`).toString('base64')}`);

/** A server that passes on what comes with its secret, by a dialer. */
export function forwardProxy(dialer: Dialer, secret: string): http.Server {
  const wanted = authorizationOf(secret);
  const isAllowed = (request: http.IncomingMessage): boolean => {
    const given = Buffer.from(request.headers['proxy-authorization'] ?? '');
    return given.length === wanted.length && timingSafeEqual(given, wanted);
  };
  const server = http.createServer({ requestTimeout: 0, keepAliveTimeout: 60_000 }, (request, response) => {
    if (!isAllowed(request)) return answer(response, 407, 'this proxy is one command\'s own', { 'Proxy-Authenticate': 'Basic realm="lnk measure run"' });
    passRequest(dialer, request, response);
  });
  return server.on('connect', (request: http.IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.on('error', () => undefined);
    if (!isAllowed(request)) return refuse(socket, 407, 'Proxy-Authenticate: Basic realm="lnk measure run"\r\n');
    void tunnel(dialer, request.url ?? '', socket, head);
  });
}

async function tunnel(dialer: Dialer, authority: string, socket: Duplex, head: Buffer): Promise<void> {
  const [, host, port] = /^(\[[0-9a-fA-F:.]+\]|[^:/?#@\s]+):(\d{1,5})$/.exec(authority) ?? [];
  if (host === undefined || Number(port) > 65_535) return refuse(socket, 400);
  let other;
  try {
    other = await dialer.tunnel(host.replace(/^\[(.*)\]$/, '$1'), Number(port));
  } catch {
    return refuse(socket, 502);
  }
  other.on('error', () => socket.destroy());
  socket.on('close', () => other.destroy());
  other.on('close', () => socket.destroy());
  socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
  if (head.length > 0) other.write(head);
  // Either may end before the other does.
  socket.pipe(other);
  other.pipe(socket);
}

function passRequest(dialer: Dialer, request: http.IncomingMessage, response: http.ServerResponse): void {
  const target = request.url ?? '';
  const url = /^http:\/\//i.test(target) && URL.canParse(target) ? new URL(target) : undefined;
  if (url === undefined) return answer(response, 400, 'a request to a proxy names its whole URL');
  const proxy = dialer.plainProxy(url.hostname);
  const headers = withHeader(without(passedOn(request.rawHeaders), 'proxy-authorization'), 'Host', url.host);
  if (request.headers['transfer-encoding'] !== undefined) headers.push('Transfer-Encoding', 'chunked');
  if (proxy !== undefined && proxy.username !== '') {
    headers.push('Proxy-Authorization', `Basic ${Buffer.from(`${decodeURIComponent(proxy.username)}:${decodeURIComponent(proxy.password)}`).toString('base64')}`);
  }
  const connecting = proxy === undefined ? dialer.connect(url.hostname, Number(url.port || 80)) : dialer.toProxy(proxy);
  connecting.then(
    (socket) => {
      // Without an agent, which would make a connection of its own.
      const onward = http.request({
        method: request.method ?? 'GET',
        // As it came: parsing it would spell it anew.
        path: proxy === undefined ? target.replace(/^http:\/\/[^/?#]*/i, '').replace(/^(?!\/)/, '/') : target,
        headers: headers as unknown as http.OutgoingHttpHeaders,
        setHost: false,
        createConnection: () => socket,
      });
      onward.on('response', (given) => {
        response.sendDate = false;
        response.writeHead(given.statusCode ?? 502, given.statusMessage, passedOn(given.rawHeaders));
        given.on('error', () => response.destroy());
        given.pipe(response);
      });
      onward.on('error', () => {
        if (response.headersSent) response.destroy();
        else answer(response, 502, 'the host broke off');
      });
      response.on('close', () => onward.destroy());
      request.pipe(onward);
    },
    (error: unknown) => answer(response, 502, messageOf(error)),
  );
}

const without = (headers: string[], name: string): string[] => headers.filter((_, at) => headers[at - (at % 2)]?.toLowerCase() !== name);

function answer(response: http.ServerResponse, status: number, message: string, headers: http.OutgoingHttpHeaders = {}): void {
  const text = `lnk measure run: ${message}\n`;
  response.writeHead(status, { 'Content-Type': 'text/plain', 'Content-Length': Buffer.byteLength(text), Connection: 'close', ...headers });
  response.end(text);
}

function refuse(socket: Duplex, status: number, headers = ''): void {
  socket.end(`HTTP/1.1 ${status} ${http.STATUS_CODES[status]}\r\n${headers}Connection: close\r\nContent-Length: 0\r\n\r\n`);
}
