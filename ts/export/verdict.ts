// What an answer means, by OTLP's rules (opentelemetry-proto, docs/specification.md): in words of this program, since an
// endpoint's own may hold anything, our key too.

import { codeOf } from '../errors';
import { isObject } from '../json';
import type { Answer } from './post';

/** The longest that an endpoint may ask us to wait. */
const LONGEST_WAIT_MS = 3_600_000;

/** What became of a request. */
export type Verdict =
  | { kind: 'taken'; rejected: number; isPartial: boolean }
  /** The body was too large. */
  | { kind: 'too-large' }
  /** `why` is a verb and what follows; `waitMs` is what the endpoint asked for. */
  | { kind: 'refused'; why: string; waitMs: number | undefined };

/** What an answer means. `nowMs` is what a date in it is measured from. */
export function judge({ status, retryAfter, body }: Answer, nowMs: number): Verdict {
  // Any 2xx is an acceptance whatever comes with it: the Collector once sent twice what was answered with JSON.
  if (status >= 200 && status < 300) return { kind: 'taken', ...partialOf(body) };
  if (status === 413) return { kind: 'too-large' };
  return { kind: 'refused', why: `answers ${status}${hintOf(status)}`, waitMs: status === 429 || status === 503 ? parseRetryAfter(retryAfter, nowMs) : undefined };
}

function hintOf(status: number): string {
  if (status >= 300 && status < 400) return ': it points elsewhere, which is not followed. Name that endpoint itself';
  if (status === 401 || status === 403) return ': its headers are missing or wrong';
  if (status === 404 || status === 405) return ': it takes no metrics at this path';
  if (status === 415) return ': it takes no JSON, or none that is packed';
  return '';
}

/** How many numbers an accepting answer says were refused. It may say anything. */
function partialOf(body: Buffer): { rejected: number; isPartial: boolean } {
  const none = { rejected: 0, isPartial: false };
  let said: unknown;
  try {
    said = JSON.parse(body.toString('utf8'));
  } catch {
    return none;
  }
  const partial = isObject(said) ? said['partialSuccess'] : undefined;
  if (!isObject(partial)) return none;
  const { rejectedDataPoints: points, errorMessage: message } = partial;
  const rejected = typeof points === 'number' || (typeof points === 'string' && /^\d{1,10}$/.test(points)) ? Number(points) : 0;
  const isCount = Number.isSafeInteger(rejected) && rejected >= 0 && rejected < 1e10;
  return { rejected: isCount ? rejected : 0, isPartial: (isCount && rejected > 0) || (typeof message === 'string' && message !== '') };
}

/** `Retry-After`, seconds or a date, in milliseconds from now and at most an hour; undefined where it is neither. */
export function parseRetryAfter(text: string | undefined, nowMs: number): number | undefined {
  const trimmed = text?.trim() ?? '';
  if (/^\d{1,15}$/.test(trimmed)) return Math.min(Number(trimmed) * 1000, LONGEST_WAIT_MS);
  // RFC 9110's dates only: `Date.parse` takes almost anything.
  if (!/^(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/.test(trimmed)) return undefined;
  const ms = Date.parse(trimmed) - nowMs;
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(ms, 0), LONGEST_WAIT_MS);
}

const WORDS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'refuses the connection',
  ECONNRESET: 'ends the connection without an answer',
  EPIPE: 'ends the connection without an answer',
  ENOTFOUND: 'has no address: its name is not known',
  EAI_AGAIN: 'has no address: no name server answers',
  ELSEWHERE: 'is not this machine by its address, and http:// is only for this machine',
  EHOSTUNREACH: 'can not be reached',
  ENETUNREACH: 'can not be reached',
  HPE_HEADER_OVERFLOW: 'answers with more headers than are read',
};

/** Why no answer came. */
export function wordsOf(error: unknown): string {
  const code = codeOf(error) ?? '';
  const known = WORDS[code];
  if (known !== undefined) return known;
  if (/CERT|SELF_SIGNED|ISSUER/.test(code)) return `has a certificate that is not trusted (${code})`;
  if (/^ERR_SSL|EPROTO/.test(code)) return 'speaks no TLS that is taken';
  if (code.startsWith('HPE_')) return 'answers with what is no HTTP';
  return /^[A-Z0-9_]{1,40}$/.test(code) ? `can not be sent to (${code})` : 'can not be sent to';
}
