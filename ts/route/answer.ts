// One request through the route, and its answer back.

import type http from 'node:http';
import { isAnswer, UsageScanner } from '../native';
import { countAnswer } from './count';
import { pairsOf, passedOn, withHeader } from './headers';
import type { RouteParts } from './index';
import { pathBehind, reasonOf } from './upstream';

/**
 * Passes a request on and its answer back.
 *
 * @param continues whether the client waits for a 100 that nobody has given yet
 */
export function answerRequest(parts: RouteParts, request: http.IncomingMessage, response: http.ServerResponse, continues: boolean): void {
  const path = pathBehind(parts.prefix, request.url ?? '');
  if (path === undefined) {
    request.resume();
    refuse(response, 404, 'not_found', 'no route is here');
    return;
  }
  const method = request.method ?? 'GET';
  const isModels = isAnswer(method, path);
  const upstream = begin(parts, method, path, isModels, request, response);
  if (upstream === undefined) return;
  if (continues) upstream.on('continue', () => response.writeContinue());
  upstream.on('information', ({ statusCode, rawHeaders }) => passInformation(response, statusCode, rawHeaders));
  upstream.on('response', (answer) => passAnswer(parts, isModels ? { method, path } : undefined, answer, response));
  upstream.on('error', (error) => {
    if (response.destroyed) return;
    const reason = reasonOf(parts.upstream.host, error);
    parts.failed(reason);
    // An answer that has begun can't become another: it is cut, as the provider's was.
    if (response.headersSent) response.destroy();
    else refuse(response, 502, 'upstream_failed', reason);
  });
  // Also after an answer that came before the request's end: then there is nobody to send the rest to.
  response.on('close', () => {
    if (!response.writableFinished || !request.complete) upstream.destroy();
  });
  passBody(parts, request, upstream);
}

/** Begins the request upstream; what can't even be begun is answered here. */
function begin(parts: RouteParts, method: string, path: string, isModels: boolean, request: http.IncomingMessage, response: http.ServerResponse) {
  let headers = withHeader(passedOn(request.rawHeaders), 'Host', parts.upstream.host);
  if (isModels) headers = withHeader(headers, 'Accept-Encoding', 'identity');
  // A body of a length that isn't known goes on as one.
  if (request.headers['transfer-encoding'] !== undefined) headers.push('Transfer-Encoding', 'chunked');
  try {
    return parts.upstream.request(method, path, headers);
  } catch {
    // A character Node's client refuses where its server doesn't. The error would name it.
    request.resume();
    refuse(response, 400, 'bad_request', 'this request has a path or a header that may not be sent');
    return undefined;
  }
}

/** The request's body as it comes, no faster than it is taken, and its trailers. */
function passBody({ counts }: RouteParts, request: http.IncomingMessage, upstream: http.ClientRequest): void {
  upstream.flushHeaders();
  request.on('data', (chunk: Buffer) => {
    counts.bytesOut += chunk.length;
    if (!upstream.write(chunk)) request.pause();
  });
  upstream.on('drain', () => request.resume());
  request.on('end', () => {
    if (request.rawTrailers.length > 0) upstream.addTrailers([...pairsOf(request.rawTrailers)]);
    upstream.end();
  });
}

/**
 * The answer as it comes, no faster than it is taken. Each piece is handed on first, and then read.
 *
 * @param asked what a model's answer is one to; undefined where it is none
 */
function passAnswer(parts: RouteParts, asked: { method: string; path: string } | undefined, answer: http.IncomingMessage, response: http.ServerResponse): void {
  const { answers, counts } = parts;
  answers.add(answer);
  const status = answer.statusCode ?? 502;
  parts.answered(status);
  const { 'content-type': contentType, 'content-encoding': contentEncoding } = answer.headers;
  const scanner = asked && new UsageScanner({ ...asked, status, contentType, contentEncoding });
  response.sendDate = false;
  response.writeHead(status, answer.statusMessage, passedOn(answer.rawHeaders));
  answer.on('data', (chunk: Buffer) => {
    if (!response.write(chunk)) answer.pause();
    scanner?.push(chunk);
    counts.bytesIn += chunk.length;
  });
  response.on('drain', () => answer.resume());
  // The head alone may be all there is for long.
  setImmediate(() => {
    if (!response.writableEnded && !response.destroyed) response.flushHeaders();
  });
  answer.on('end', () => {
    if (answer.rawTrailers.length > 0) response.addTrailers([...pairsOf(answer.rawTrailers)]);
    response.end();
  });
  answer.on('error', (error) => {
    if (response.destroyed) return;
    parts.failed(reasonOf(parts.upstream.host, error));
    response.destroy();
  });
  // However it ended: what it said so far is counted, once.
  answer.on('close', () => {
    answers.delete(answer);
    countAnswer(parts, scanner?.end() ?? null);
    parts.changed();
  });
}

function passInformation(response: http.ServerResponse, status: number, rawHeaders: readonly string[]): void {
  if (response.headersSent || response.destroyed) return;
  if (status === 102) response.writeProcessing();
  if (status !== 103) return;
  const hints: Record<string, string | string[]> = {};
  for (const [name, value] of pairsOf(rawHeaders)) hints[name.toLowerCase()] = [hints[name.toLowerCase()] ?? [], value].flat();
  // Node sends them only where a link is among them.
  if (hints['link'] !== undefined) response.writeEarlyHints(hints);
}

/** An answer of the route's own, in the shape providers give theirs, so that clients show what it says. */
function refuse(response: http.ServerResponse, status: number, type: string, message: string): void {
  const body = JSON.stringify({ type: 'error', error: { type, message: `lnk measure route: ${message}` } });
  response.writeHead(status, { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) });
  response.end(body);
}
