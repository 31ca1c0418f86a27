import { Command, Option } from 'clipanion';
import { makeMeasureFolder, measureFolder } from '../agents/folder';
import { Failure, messageOf, Misuse } from '../errors';
import { type Endpoint, parseEndpoint } from '../export/endpoint';
import { holdSecret, parseHeaders, readHeaderFile } from '../export/headers';
import { changeTarget, readTarget, type Target } from '../export/settings';
import { hasFailed, readState } from '../export/state';
import { count, duration, many } from '../show/numbers';
import { LnkCommand } from './command';

/** `lnk measure export`: where every look is sent. */
export class ExportCommand extends LnkCommand {
  static override paths = [['export']];
  static override usage = Command.Usage({
    description: 'Send every look to your observability tools, or show where it is sent.',
    details: `
      The watcher sends each look as OTLP over HTTP, as JSON, to URL/v1/metrics: an OpenTelemetry Collector, Grafana,
      Honeycomb or anything else that speaks it. URL is https://, or http:// to this machine. A look is never late for
      it, and nothing is sent until you name an endpoint.

      Headers (an endpoint's key) are kept in settings.toml in the measure folder, which only you read, and are never
      shown. A key is better in a file than on the command line, which every program here can read: a line each,
      \`name: value\`, readable by you alone.
    `,
    examples: [
      ['To a collector on this machine', '$0 export http://localhost:4318'],
      ['To a service, with its key', '$0 export https://api.honeycomb.io --header-file honeycomb.headers'],
      ['Where looks are sent, and how that goes', '$0 export'],
      ['Send one look now, and say what came back', '$0 export --test'],
      ['Send nothing any more', '$0 export --off'],
    ],
  });
  static override readonly values = { '--url': 'URL', '--header': "'NAME: VALUE'", '--header-file': 'FILE' };
  static override readonly choices = { '--header-file': 'files' } as const;

  positional = Option.String({ required: false });
  url = Option.String('--url', { description: 'The endpoint; the same as URL alone.' });
  header = Option.Array('--header', { description: 'A header to send along; may be repeated.' });
  headerFile = Option.String('--header-file', { description: 'A file of headers to send along, a line each.' });
  off = Option.Boolean('--off', false, { description: 'Send nothing any more, and forget the endpoint and its headers.' });
  test = Option.Boolean('--test', false, { description: 'Send what this machine holds now, and say what came back.' });

  async execute(): Promise<number> {
    const folder = measureFolder(this.context.env);
    const { stdout } = this.context;
    if (this.off) return this.#turnOff(folder);
    const url = this.#url();
    const texts = this.#headerTexts();
    if (url !== undefined || texts !== undefined) this.#set(folder, url, texts);
    const target = readTarget(folder);
    if (target === undefined) {
      if (this.test) throw new Failure('There is nothing to test: `lnk measure export URL` names an endpoint.');
      stdout.write('Nothing is sent. `lnk measure export URL` names an endpoint.\n');
      return 0;
    }
    if (this.test) return this.#try(target);
    stdout.write(this.#show(folder, target));
    return 0;
  }

  async #try(target: Target): Promise<number> {
    // Loaded only where it is needed: it takes a look of its own.
    const { tryTarget } = await import('../export/try');
    const { isTaken, lines } = await tryTarget(target, this.context.env);
    this.context.stdout.write(lines.map((line) => `${line}\n`).join(''));
    return isTaken ? 0 : 1;
  }

  /** The endpoint asked for, in either way to say it. */
  #url(): string | undefined {
    if (this.positional !== undefined && this.url !== undefined) throw new Misuse('The endpoint is given twice: with --url, and without.');
    return this.positional ?? this.url;
  }

  #headerTexts(): string[] | undefined {
    if (this.header === undefined && this.headerFile === undefined) return undefined;
    const texts = [...(this.headerFile === undefined ? [] : readHeaderFile(this.headerFile)), ...(this.header ?? [])];
    try {
      parseHeaders(texts);
    } catch (error) {
      throw new Misuse(`${this.headerFile === undefined ? '--header' : '--header-file and --header'}: ${messageOf(error)}.`);
    }
    return texts;
  }

  /** Sets the endpoint, the headers or both. What isn't said stays, but that headers are never sent to another origin. */
  #set(folder: string, url: string | undefined, texts: string[] | undefined): void {
    const before = targetBefore(folder, url === undefined);
    const said = url ?? before?.text.url;
    if (said === undefined) throw new Misuse('Which endpoint are the headers for? Name it: lnk measure export URL --header-file FILE');
    const endpoint = endpointOf(said);
    const isSame = before?.endpoint.origin === endpoint.origin;
    const headers = texts ?? (isSame ? before.text.headers : []);
    makeMeasureFolder(folder);
    changeTarget(folder, { url: said, headers });
    const { stderr } = this.context;
    if (texts === undefined && !isSame && before !== undefined && before.headers.length > 0) {
      stderr.write(`lnk measure: the headers were for ${before.endpoint.host}, and are forgotten. Give those of ${endpoint.host} with --header-file FILE.\n`);
    }
    if (this.header !== undefined && holdSecret(parseHeaders(this.header))) {
      stderr.write('lnk measure: while this ran, every program here could read that header. A key is better given with --header-file FILE.\n');
    }
  }

  #turnOff(folder: string): number {
    if (this.test || this.#url() !== undefined || this.header !== undefined || this.headerFile !== undefined) {
      throw new Misuse('--off is said alone.');
    }
    makeMeasureFolder(folder);
    changeTarget(folder, undefined);
    this.context.stdout.write('Nothing is sent.\n');
    return 0;
  }

  #show(folder: string, { endpoint, headers }: Target): string {
    const state = readState(folder, endpoint.host);
    const ago = (at: number | null) => (at === null ? 'none yet' : `${duration(Math.max(0, Date.now() / 1000 - at))} ago`);
    const why = state.failure === null ? '' : `: ${state.failure}`;
    const rows = [
      ['endpoint', endpoint.shown],
      ['headers', headers.length === 0 ? 'none' : String(headers.length)],
      ['last success', ago(state.lastSuccess)],
      ['last failure', `${ago(state.lastFailure)}${why}`],
      ['looks', `${count(state.sent)} taken, ${count(state.failed)} not, ${count(state.skipped)} not sent`],
      ...(state.rejected > 0 ? [['refused', many(state.rejected, 'number')]] : []),
    ];
    const paint = hasFailed(state) ? this.paint.warn : (text: string) => text;
    return rows.map(([name = '', text = '']) => `${this.paint.dim(name.padEnd(14))}${name === 'last failure' ? paint(text) : text}\n`).join('');
  }
}

/** What was set before. One that can't be used may be replaced, but not added to. */
function targetBefore(folder: string, needed: boolean): ReturnType<typeof readTarget> {
  try {
    return readTarget(folder);
  } catch (error) {
    if (needed) throw error;
    return undefined;
  }
}

function endpointOf(url: string): Endpoint {
  try {
    return parseEndpoint(url);
  } catch (error) {
    throw new Misuse(`The endpoint ${messageOf(error)}.`);
  }
}
