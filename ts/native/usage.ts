// The usage scanner as a proxy uses it: nothing that passes makes it throw.

import { types } from 'node:util';
import { type Binding, loadNative } from './load';

/** What is known of an answer before its first byte. */
export interface AnswerHead {
  /** The request's method; POST where it isn't said. */
  method?: string;
  /** The request's path, with or without its query. */
  path: string;
  /** The answer's status. */
  status: number;
  /** The answer's `Content-Type` and `Content-Encoding`; what isn't text is taken for absent. */
  contentType?: string | null | undefined;
  contentEncoding?: string | null | undefined;
  /** A stream's event with more bytes than this is not read; 4 MiB where it isn't said. */
  maxEventBytes?: number;
}

/** What an answer said it took, in tokens. */
export interface Usage {
  /** Whether it gave usage. If not, the counts are 0 and mean nothing. */
  metered: boolean;
  /** The whole prompt, cached or not. */
  input: number;
  output: number;
  /** Of the prompt, what was read from the provider's cache. */
  cached: number;
  /** Of the prompt, what was written to it. */
  cacheWritten: number;
}

/** A chunk of fewer bytes than this waits for the next ones: a call of the addon costs more than reading an event does. */
const SMALL_BYTES = 512;
const GATHERED_BYTES = 2048;

/** A scanner of the addon, and what it was told of its answer. */
interface Begun {
  scanner: InstanceType<Binding['UsageScanner']>;
  head: readonly unknown[];
}

/** Those whose answer is over, for the next ones: most answers of a proxy's are like the one before. */
const idle: Begun[] = [];
const MOST_IDLE = 64;

/** A scanner that begins an answer. */
function begin(...head: [string, string, number, string | undefined, string | undefined, number | undefined]): Begun {
  const last = idle.pop();
  const scanner = last?.scanner ?? new (loadNative().UsageScanner)();
  if (last?.head.every((value, at) => value === head[at])) scanner.again();
  else scanner.begin(...head);
  return { scanner, head };
}

const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

/** Counts one answer's tokens as its bytes pass. */
export class UsageScanner {
  #begun: Begun | undefined;
  #isRead = true;
  #usage: Usage | null = null;
  /** Small chunks, copied one after another, and how many bytes they are. */
  #gathered: Buffer | undefined;
  #length = 0;

  /** @throws {NativeError} there is no addon that fits; nothing else throws, and `push` and `end` never do */
  constructor(answer: AnswerHead) {
    const { method, path, status, contentType, contentEncoding, maxEventBytes } = answer;
    this.#begun = begin(
      textOf(method) ?? 'POST',
      textOf(path) ?? '',
      typeof status === 'number' ? status : 0,
      textOf(contentType),
      textOf(contentEncoding),
      typeof maxEventBytes === 'number' ? maxEventBytes : undefined,
    );
  }

  /** Reads the answer's next bytes, cut anywhere. They are not kept, and may be changed after. */
  push(chunk: Uint8Array): void {
    try {
      // Bytes that were handed on to another thread are none.
      if (this.#begun === undefined || !this.#isRead || chunk.length === 0) return;
      if (chunk.length < SMALL_BYTES && types.isUint8Array(chunk)) this.#gather(chunk);
      else {
        this.#readGathered();
        this.#begun.scanner.push(chunk);
      }
    } catch {
      // What isn't bytes, or a fault of the scanner's own: an answer without usage, and the proxy goes on.
      this.#isRead = false;
    }
  }

  #gather(chunk: Uint8Array): void {
    const gathered = (this.#gathered ??= Buffer.allocUnsafe(GATHERED_BYTES));
    if (this.#length + chunk.length > GATHERED_BYTES) this.#readGathered();
    gathered.set(chunk, this.#length);
    this.#length += chunk.length;
  }

  #readGathered(): void {
    if (this.#gathered === undefined || this.#length === 0) return;
    this.#begun?.scanner.push(this.#gathered.subarray(0, this.#length));
    this.#length = 0;
  }

  /** The answer is over, wherever it stopped: what it took, or null where it was not a model's. */
  end(): Usage | null {
    const begun = this.#begun;
    if (begun === undefined) return this.#usage;
    let counts: number[] | null = [];
    try {
      this.#readGathered();
      counts = begun.scanner.end();
    } catch {
      this.#isRead = false;
    }
    this.#begun = this.#gathered = undefined;
    if (idle.length < MOST_IDLE) idle.push(begun);
    if (counts === null) return null;
    const [metered = 0, input = 0, output = 0, cached = 0, cacheWritten = 0] = this.#isRead ? counts : [];
    return (this.#usage = { metered: metered === 1, input, output, cached, cacheWritten });
  }
}

/** Whether a request is for a model's answer: a POST on a path that one answers. */
export const isAnswer = (method: string, path: string): boolean => loadNative().isAnswer(method, path);
