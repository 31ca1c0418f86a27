import { randomBytes } from 'node:crypto';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { Command, Option } from 'clipanion';
import { Agents } from '../agents';
import { measureFolder } from '../agents/folder';
import { codeOf, Failure, messageOf, Misuse } from '../errors';
import { isName } from '../names';
import { modelRoute, type ModelRoute } from '../route';
import { TokenLedger } from '../route/ledger';
import { Upstream } from '../route/upstream';
import { showRoute } from '../show/route';
import { LnkCommand } from './command';

/** No user of this machine guesses it, and nobody types it. */
const SECRET_BYTES = 16;
/** How often a terminal's line is drawn anew, at most. */
const DRAW_MS = 250;
/** How long answers under way may take to end once the command is to. */
const LINGER_MS = 2000;
/** Erases the line a terminal's cursor is in. */
const ERASE_LINE = '\r\x1b[2K';

/** `lnk measure route`: the model route alone, until it is stopped. */
export class RouteCommand extends LnkCommand {
  static override paths = [['route']];
  static override usage = Command.Usage({
    description: "Passes a harness's model requests on, and counts the tokens of the answers.",
    details: `
      Prints the base URL to give the harness, and passes what comes there on to --to until it is stopped. Requests and
      answers pass as they are; of an answer, only its usage is read. Nothing else of either is kept or logged, and the
      key is the harness's own. It listens on this machine alone, and the URL holds a secret, so that no other user's
      programs spend your money.
    `,
    examples: [
      ['Claude Code: start this, then `ANTHROPIC_BASE_URL=URL claude`', '$0 route --agent main --to https://api.anthropic.com'],
      ['Codex and others of OpenAI: then OPENAI_BASE_URL=URL/v1', '$0 route --agent main --to https://api.openai.com'],
      ['OpenRouter: then its base URL is URL/v1', '$0 route --agent main --to https://openrouter.ai/api'],
      ['Ollama: then OLLAMA_HOST=URL', '$0 route --agent main --to http://127.0.0.1:11434'],
    ],
  });
  static override readonly values = { '--agent': 'NAME', '--to': 'URL', '--port': 'PORT' };
  static override readonly choices = { '--agent': 'agents' } as const;

  agent = Option.String('--agent', { description: 'Whose tokens they are: an agent, by its name or ID.' });
  to = Option.String('--to', { description: "The provider's or the local runtime's URL." });
  port = Option.String('--port', { description: 'Listen on this port; on a free one where it is not said.' });

  async execute(): Promise<number> {
    const { agent: name, to, port } = this.#parse();
    const agent = await agentIdOf(name);
    const { stdout, stderr } = this.context;
    const secret = `/${randomBytes(SECRET_BYTES).toString('hex')}`;
    const say = (problem: string): boolean => stderr.write(`${line === undefined ? '' : ERASE_LINE}lnk measure: ${problem}\n`);
    const ledger = new TokenLedger(join(measureFolder(), 'tokens'), say);
    const line = 'isTTY' in stderr && stderr.isTTY === true ? new StatusLine((text) => stderr.write(text), this.paint.dim) : undefined;
    const route = modelRoute({ to, agent, ledger, prefix: secret, say, onChange: (counts) => line?.draw(() => showRoute(counts)) });
    const stopped = untilSignal();
    const server = serverOf(route);
    stdout.write(`http://127.0.0.1:${await listen(server, port)}${secret}\n`);
    if (line !== undefined) stderr.write(this.paint.dim(`The base URL for ${name}'s harness. Ctrl-C stops this.\n`));
    await stopped;
    await close(server, route);
    line?.end();
    stderr.write(`${showRoute(route.counts)}\n`);
    await ledger.close();
    return 0;
  }

  #parse(): { agent: string; to: string; port: number } {
    if (this.agent === undefined) throw new Misuse('Whose tokens are they? Name the agent with --agent NAME.');
    if (!isName(this.agent)) throw new Misuse(`--agent takes 1 to 64 of letters, digits and ._:/@-, not ${JSON.stringify(this.agent)}.`);
    if (this.to === undefined) throw new Misuse('Where do its requests go? Say with --to URL, such as --to https://api.anthropic.com.');
    try {
      new Upstream(this.to).close();
    } catch (error) {
      throw new Misuse(`--to: ${messageOf(error)}.`);
    }
    const port = Number(this.port ?? 0);
    if (!/^\d{1,5}$/.test(this.port ?? '0') || port > 65_535) throw new Misuse(`--port takes 0 to 65535, not ${JSON.stringify(this.port)}.`);
    return { agent: this.agent, to: this.to, port };
  }
}

/** The ID the watcher knows an agent by: the one there is of that ID or name, else the one it has without an ID of its own. */
async function agentIdOf(wanted: string): Promise<string> {
  const { request } = await new Agents().gather();
  const byId = request.agents.find(({ id }) => id === wanted);
  const [found, another] = byId ? [byId] : request.agents.filter(({ name }) => name === wanted);
  if (another !== undefined) throw new Failure(`several agents are called ${wanted}: say which with --agent ID`);
  const id = found?.id ?? `${request.machine.id}:${wanted}`;
  if (!isName(id)) throw new Failure(`${wanted} is too long a name for an agent's ID here: ${id}`);
  return id;
}

function serverOf(route: ModelRoute): http.Server {
  // A long upload is the client's and the provider's to end.
  const server = http.createServer({ requestTimeout: 0 }, route);
  return server.on('checkContinue', route.checkContinue).on('upgrade', route.upgrade);
}

function listen(server: http.Server, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', (error) => {
      const taken = codeOf(error) === 'EADDRINUSE';
      reject(new Failure(taken ? `port ${port} is taken: choose another with --port, or leave it out` : `can't listen on port ${port}: ${messageOf(error)}`));
    });
    server.listen(port, '127.0.0.1', () => resolve((server.address() as AddressInfo).port));
  });
}

/** Takes no more, gives answers under way a moment to end, and cuts the others. */
async function close(server: http.Server, route: ModelRoute): Promise<void> {
  const closed = new Promise((resolve) => server.close(resolve));
  server.closeIdleConnections();
  const timer = setTimeout(() => server.closeAllConnections(), LINGER_MS);
  await closed;
  clearTimeout(timer);
  await route.close();
}

/** The first of the signals that end a command. A second one ends it at once, as without this. */
function untilSignal(): Promise<void> {
  return new Promise((resolve) => {
    const signals: NodeJS.Signals[] = ['SIGINT', 'SIGTERM', 'SIGHUP'];
    const stop = (): void => {
      signals.forEach((signal) => process.off(signal, stop));
      resolve();
    };
    signals.forEach((signal) => process.on(signal, stop));
  });
}

/** A terminal's last line, drawn over and over. */
class StatusLine {
  readonly #write: (text: string) => void;
  readonly #dim: (text: string) => string;
  #timer: NodeJS.Timeout | undefined;

  constructor(write: (text: string) => void, dim: (text: string) => string) {
    this.#write = write;
    this.#dim = dim;
  }

  /** Draws a text soon; the last one asked for within a moment counts. */
  draw(text: () => string): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#write(`${ERASE_LINE}${this.#dim(text())}`);
    }, DRAW_MS);
  }

  /** Erases it. */
  end(): void {
    clearTimeout(this.#timer);
    this.#write(ERASE_LINE);
  }
}
