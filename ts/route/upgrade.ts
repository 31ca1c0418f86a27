// Upgrades, which are WebSockets: the bytes pass both ways, and are never read.

import http from 'node:http';
import type { Duplex } from 'node:stream';
import { countAnswer, UNMETERED } from './count';
import { pairsOf, passedOn, type RawHeaders, withHeader } from './headers';
import type { RouteParts } from './index';
import { pathBehind, reasonOf } from './upstream';

/** Passes an upgrade on. One that is taken counts as a request whose answer gave no usage. */
export function passUpgrade(parts: RouteParts, request: http.IncomingMessage, socket: Duplex, head: Buffer): void {
  const path = pathBehind(parts.prefix, request.url ?? '');
  // A socket that breaks is the end of both, which `close` sees to.
  socket.on('error', () => undefined);
  if (path === undefined) return refuse(socket, 404);
  const headers = withHeader(passedOn(request.rawHeaders), 'Host', parts.upstream.host);
  headers.push('Connection', 'Upgrade', 'Upgrade', request.headers.upgrade ?? '');
  let upstream: http.ClientRequest;
  try {
    upstream = parts.upstream.request(request.method ?? 'GET', path, headers, true);
  } catch {
    return refuse(socket, 400);
  }
  socket.on('close', () => upstream.destroy());
  upstream.on('error', (error) => {
    const reason = reasonOf(parts.upstream.host, error);
    parts.failed(reason);
    refuse(socket, 502, reason);
  });
  upstream.on('upgrade', (answer, other, otherHead) => {
    socket.write(headOf(answer, [...passedOn(answer.rawHeaders), 'Connection', 'Upgrade', 'Upgrade', answer.headers.upgrade ?? '']));
    parts.answered(101);
    countAnswer(parts, UNMETERED);
    parts.changed();
    join(parts, socket, head, other, otherHead);
  });
  // The provider says no: its answer is the client's.
  upstream.on('response', (answer) => {
    parts.answered(answer.statusCode ?? 502);
    parts.changed();
    socket.write(headOf(answer, [...passedOn(answer.rawHeaders), 'Connection', 'close']));
    answer.on('error', () => socket.destroy());
    answer.pipe(socket);
  });
  upstream.end();
}

function join({ counts }: RouteParts, socket: Duplex, head: Buffer, other: Duplex, otherHead: Buffer): void {
  other.on('error', () => undefined);
  socket.on('close', () => other.destroy());
  other.on('close', () => socket.destroy());
  if (otherHead.length > 0) other.unshift(otherHead);
  if (head.length > 0) socket.unshift(head);
  other.on('data', (chunk: Buffer) => (counts.bytesIn += chunk.length));
  socket.on('data', (chunk: Buffer) => (counts.bytesOut += chunk.length));
  other.pipe(socket);
  socket.pipe(other);
}

function headOf({ statusCode, statusMessage }: http.IncomingMessage, headers: RawHeaders): string {
  const lines = [...pairsOf(headers)].map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${statusCode} ${statusMessage}\r\n${lines.join('')}\r\n`;
}

function refuse(socket: Duplex, status: number, message = ''): void {
  const text = message === '' ? '' : `lnk measure route: ${message}\n`;
  socket.end(`HTTP/1.1 ${status} ${http.STATUS_CODES[status]}\r\nConnection: close\r\nContent-Type: text/plain\r\nContent-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`);
}
