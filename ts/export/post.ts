// One request, and at most 64 KiB of its answer.

import { lookup as dnsLookup } from 'node:dns';
import http from 'node:http';
import https from 'node:https';
import type { LookupFunction } from 'node:net';
import { promisify } from 'node:util';
import { constants, gzip } from 'node:zlib';
import { version } from '../version';
import type { Target } from './settings';

const pack = promisify(gzip);

/** Nothing that an endpoint says is longer; what is more is not read. */
const MOST_ANSWER = 64 * 1024;
/** Past it the answer's head is an error. */
const MOST_HEAD = 16 * 1024;

/** What an endpoint answered. Its texts are its own: hostile, and possibly our key sent back. */
export interface Answer {
  status: number;
  retryAfter: string | undefined;
  location: string | undefined;
  /** The body's first 64 KiB; empty where it would have to be unpacked, which is how 300 KB become 300 MB. */
  body: Buffer;
}

/** How names become addresses. */
export type Resolve = typeof dnsLookup;

/** How requests go out. */
export class Transport {
  // A connection a request: one left open would be closed by what stands between within the ten seconds that it waits,
  // and an answer that came unasked for would be the next request's. TLS sessions are kept, so a new one costs little.
  readonly #http = new http.Agent({ keepAlive: false });
  readonly #https;
  readonly #here: LookupFunction;

  /** @param ca certificates to trust beside the system's, in PEM */
  constructor(resolve: Resolve = dnsLookup, ca?: string) {
    // The environment may say to trust any certificate (NODE_TLS_REJECT_UNAUTHORIZED): not with a key in the request.
    this.#https = new https.Agent({ keepAlive: false, rejectUnauthorized: true, minVersion: 'TLSv1.2', lookup: resolve as LookupFunction, ...(ca !== undefined && { ca }) });
    this.#here = lookupHere(resolve);
  }

  /**
   * Posts a body; over TLS packed, which every receiver of OTLP must take and makes it some seventy times smaller. To
   * this machine it isn't: that costs more than it spares. Nothing is followed, asked again or unpacked.
   *
   * @param signal ends it, answer and all; an answer whose status had come by then is given
   * @throws a system or TLS error where no answer came
   */
  async post({ endpoint, headers }: Target, body: Uint8Array, signal: AbortSignal): Promise<Answer> {
    const isTls = endpoint.url.protocol === 'https:';
    const sent = isTls ? await pack(body, { level: constants.Z_BEST_SPEED }) : body;
    const options: https.RequestOptions = {
      method: 'POST',
      agent: isTls ? this.#https : this.#http,
      maxHeaderSize: MOST_HEAD,
      signal,
      headers: {
        'user-agent': `lnk-measure/${version}`,
        ...Object.fromEntries(headers),
        // Exactly this: Prometheus and Mimir take no parameter after it.
        'content-type': 'application/json',
        ...(isTls && { 'content-encoding': 'gzip' }),
        'content-length': sent.length,
      },
      ...(!isTls && { lookup: this.#here }),
    };
    return new Promise((resolve, reject) => {
      const request = (isTls ? https : http).request(endpoint.url, options);
      // From here on the answer counts, whatever becomes of its rest: what is said below comes too late.
      request.on('response', (response) => resolve(readAnswer(response)));
      request.on('error', reject);
      // All that Node says of a connection that another protocol was asked on.
      request.on('close', () => reject(Object.assign(new Error('closed'), { code: 'ECONNRESET' })));
      request.end(sent);
    });
  }
}

/** An answer, with what of its body is read before it ends, breaks off or becomes too long. */
function readAnswer(response: http.IncomingMessage): Promise<Answer> {
  const { statusCode: status = 0, headers } = response;
  const chunks: Buffer[] = [];
  let length = 0;
  return new Promise((resolve) => {
    const done = () => {
      resolve({ status, retryAfter: headers['retry-after'], location: headers.location, body: Buffer.concat(chunks).subarray(0, MOST_ANSWER) });
      response.destroy();
    };
    if (headers['content-encoding'] !== undefined) return done();
    response.on('data', (chunk: Buffer) => {
      chunks.push(chunk);
      length += chunk.length;
      if (length >= MOST_ANSWER) done();
    });
    for (const end of ['end', 'error', 'close']) response.on(end, done);
    return undefined;
  });
}

const isHere = (address: string): boolean => /^127\.\d+\.\d+\.\d+$/.test(address) || address === '::1';

/** Looks a name up for plain HTTP: `localhost` is only a name, and headers may leave this machine for none. */
function lookupHere(resolve: Resolve): LookupFunction {
  return (host, options, callback) =>
    resolve(host, { ...options, all: true }, (error, addresses) => {
      const here = (addresses ?? []).filter(({ address }) => isHere(address));
      const [first] = here;
      if (error !== null || first === undefined) callback(error ?? Object.assign(new Error('elsewhere'), { code: 'ELSEWHERE' }), '', 0);
      else if (options.all === true) callback(null, here);
      else callback(null, first.address, first.family);
    });
}
