// What `--meter` puts around a command: a route for each kind of model API, and a proxy for everything else, both on this
// machine alone and with secrets that only the command is told.

import { randomBytes } from 'node:crypto';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { Failure, messageOf } from '../errors';
import { modelRoute, type ModelRoute } from '../route';
import type { TokenLedger } from '../route/ledger';
import { agentsOf, Dialer, proxiesOf } from './dial';
import { forwardProxy } from './proxy';
import type { Metered } from './receipt';

const SECRET_BYTES = 16;

/** The base URLs a command reads, and where they lead where the user has set none. */
const BASES = [
  { variable: 'ANTHROPIC_BASE_URL', to: 'https://api.anthropic.com' },
  { variable: 'OPENAI_BASE_URL', to: 'https://api.openai.com/v1' },
  { variable: 'OLLAMA_HOST', to: 'http://127.0.0.1:11434' },
] as const;

export interface Meter {
  /** What the command's environment has more, or otherwise. */
  variables: [name: string, value: string][];
  /** Tells this proxy's counts from another's. */
  proxy: string;
  /** When it began to count, in seconds since 1970. */
  since: number;
  counts(): Metered;
  close(): Promise<void>;
}

/**
 * Starts a route and a proxy for a command.
 *
 * @throws {Failure} a base URL or a proxy of the user's can't be gone through
 */
export async function startMeter(agent: string, env: NodeJS.ProcessEnv, ledger: TokenLedger, onRequest: () => void): Promise<Meter> {
  const dialer = new Dialer(proxiesOf(env));
  const secret = (): string => randomBytes(SECRET_BYTES).toString('hex');
  const since = Date.now() / 1000;
  const routes = BASES.map(({ variable, to }, at) => {
    const url = upstreamOf(variable, env[variable] || to);
    const prefix = `/${at}${secret()}`;
    const path = url.pathname.replace(/\/+$/, '');
    url.pathname = '/';
    // Its path stays in sight, so that a request's says what it is.
    return { variable, path, prefix, route: routeTo(variable, { to: url, agent, ledger, prefix, agents: agentsOf(dialer), onChange: onRequest }) };
  });
  const byPrefix = (url = ''): ModelRoute | undefined => (routes.find(({ prefix }) => url.startsWith(prefix.slice(0, 2))) ?? routes[0])?.route;
  const server = http.createServer({ requestTimeout: 0 }, (request, response) => byPrefix(request.url)?.(request, response));
  server.on('checkContinue', (request, response) => byPrefix(request.url)?.checkContinue(request, response));
  server.on('upgrade', (request, socket, head) => byPrefix(request.url)?.upgrade(request, socket, head));
  const password = secret();
  const proxy = forwardProxy(dialer, password);
  const [routePort, proxyPort] = await Promise.all([listen(server), listen(proxy)]);
  const bases = routes.map(({ variable, prefix, path }): [string, string] => [variable, `http://127.0.0.1:${routePort}${prefix}${path}`]);
  return {
    variables: [...bases, ...proxyVariables(`http://lnk:${password}@127.0.0.1:${proxyPort}`, env)],
    proxy: `p-${randomBytes(8).toString('hex')}`,
    since,
    counts: () => sumOf(routes.map(({ route }) => route), dialer),
    close: async () => {
      for (const each of [server, proxy]) {
        each.close();
        each.closeAllConnections();
      }
      dialer.close();
      routes.forEach(({ route }) => route.close());
      // What was cut is counted in the events that come with it.
      await new Promise(setImmediate);
      await new Promise(setImmediate);
    },
  };
}

function routeTo(variable: string, options: Parameters<typeof modelRoute>[0]): ModelRoute {
  try {
    return modelRoute(options);
  } catch (error) {
    throw new Failure(`--meter can't go where ${variable} leads: ${messageOf(error)}. Run without --meter, or unset ${variable}.`);
  }
}

/** Where a variable of the user's leads. Ollama's may be a host alone, a port alone, or where its server listens. */
function upstreamOf(variable: string, said: string): URL {
  const isHost = variable === 'OLLAMA_HOST' && !said.includes('://');
  const text = isHost ? `http://${said.startsWith(':') ? `127.0.0.1${said}` : said}` : said;
  if (!URL.canParse(text)) throw new Failure(`--meter can't go where ${variable} leads: it is no URL. Run without --meter, or unset ${variable}.`);
  const url = new URL(text);
  if (isHost && url.port === '') url.port = '11434';
  if (url.hostname === '0.0.0.0') url.hostname = '127.0.0.1';
  return url;
}

/** In both spellings: some programs read only the one, some only the other, and curl `http_proxy` alone in small letters. */
function proxyVariables(url: string, env: NodeJS.ProcessEnv): [string, string][] {
  const none = (env['no_proxy'] || env['NO_PROXY'] || '').split(',').map((host) => host.trim()).filter((host) => host !== '');
  const direct = [...new Set([...none, 'localhost', '127.0.0.1', '::1'])].join(',');
  const both = (name: string, value: string): [string, string][] => [[name, value], [name.toLowerCase(), value]];
  return [...both('HTTPS_PROXY', url), ...both('HTTP_PROXY', url), ...both('NO_PROXY', direct)];
}

function sumOf(routes: ModelRoute[], dialer: Dialer): Metered {
  const sum: Metered = { ...dialer.bytes, requests: 0, unmetered: 0, input: 0, output: 0, cached: 0, cacheWritten: 0, failed: 0 };
  for (const { counts } of routes) {
    for (const key of ['requests', 'unmetered', 'input', 'output', 'cached', 'cacheWritten', 'failed'] as const) sum[key] += counts[key];
  }
  return sum;
}

function listen(server: http.Server): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject).listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port));
  });
}
