// Where measures may be sent: one parser, whose result both the check and the sender use. Two parsers that read a
// spelling differently are how a checked host becomes another one (CVE-2024-12224, CVE-2026-39821).

import { Failure } from '../errors';

/** What OTLP over HTTP adds to an endpoint's URL. */
const METRICS_PATH = '/v1/metrics';
/** The only hosts that headers may go to in the clear: they never leave this machine. */
const HERE: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);
const LONGEST = 2048;
/** A host's longest name in DNS; some resolvers cut a longer one short (CVE-2024-24806). */
const LONGEST_HOST = 253;

/** An endpoint that may be sent to. */
export interface Endpoint {
  /** What is posted to. */
  url: URL;
  /** The endpoint as it may be shown: without its query, which may hold a key. */
  shown: string;
  /** Its host and port: all that the log says of it. */
  host: string;
  /** Its scheme, host and port. */
  origin: string;
}

/**
 * An endpoint by its URL: `https://` anywhere, `http://` only to this machine.
 *
 * @throws {Failure} it may not be sent to; the message begins with a verb, holds nothing of the text but what is its host,
 * and says what to do instead
 */
export function parseEndpoint(text: string): Endpoint {
  if (text.length > LONGEST) throw new Failure(`is longer than ${LONGEST} characters`);
  if (!/^[\x21-\x7e]*$/.test(text)) throw new Failure('has a blank or a character that is not ASCII in it: write the host as DNS has it');
  const [, scheme, authority = '', rest = ''] = /^(https?):\/\/([^/?#]*)(.*)$/.exec(text) ?? [];
  if (scheme === undefined) throw new Failure('begins with neither https:// nor http://');
  // Other parsers take `\` for `/`, or what stands before `@` for the host.
  if (text.includes('\\')) throw new Failure('has a \\ in it');
  if (authority.includes('@')) throw new Failure("holds a user or a password. Take it out, and give the endpoint's key with --header-file FILE");
  if (rest.includes('#')) throw new Failure('has a fragment (#…), which is never sent');
  const url = parseUrl(text);
  checkHost(url, authority);
  if (scheme === 'http' && !HERE.has(url.hostname)) {
    throw new Failure(
      `would send your headers to ${url.hostname} in the clear: http:// is only for localhost, 127.0.0.1 and [::1]. Give that receiver TLS and use https://, or send to a collector on this machine that forwards`,
    );
  }
  const path = url.pathname.replace(/\/+$/, '');
  if (path.endsWith(METRICS_PATH)) throw new Failure(`ends in ${METRICS_PATH}, which is added to it: leave that off`);
  const shown = `${url.origin}${path}`;
  url.pathname = `${path}${METRICS_PATH}`;
  return { url, shown, host: url.host, origin: url.origin };
}

function parseUrl(text: string): URL {
  try {
    return new URL(text);
  } catch {
    throw new Failure('is no URL');
  }
}

/** Refuses a host that is spelled otherwise than it is understood: `127.1`, `0x7f.1`, `LOCALHOST`, `local%68ost`. */
function checkHost({ hostname }: URL, authority: string): void {
  const [, host = '', port] = /^(.*?)(?::([^:\]]*))?$/.exec(authority) ?? [];
  if (port !== undefined && !/^[1-9]\d{0,4}$/.test(port)) throw new Failure('has no port from 1 to 65535 after its colon');
  if (hostname === '' || hostname.length > LONGEST_HOST) throw new Failure('has no host that DNS could know');
  if (host !== hostname) throw new Failure(`spells its host oddly: write ${hostname}`);
}
