// The sender: beside the looks, never before one.

import { messageOf } from '../errors';
import { type Exporter, newExporter } from '../native/otlp';
import type { NativeLook } from '../native/store';
import { settingsStamp } from '../settings/settings';
import type { Log } from '../watch/log';
import type { Transport } from './post';
import { readTarget, type Target, TargetError } from './settings';
import { newState, readState, type State, writeState } from './state';
import { judge, type Verdict, wordsOf } from './verdict';

/** For all of a look: names, connecting, TLS, sending, and what comes back. */
const LIMIT_MS = 10_000;
/** For what is under way, and the last look if it wasn't sent, when the watcher ends. */
const LAST_LIMIT_MS = 3000;
/** The longest wait after each failure in a row. Half of it on average, at random, so that a thousand senders don't come back at once. */
const WAITS_MS = [10_000, 20_000, 40_000, 80_000, 160_000, 300_000];
/** Units a request: some 2 MB, where receivers take 4 MB at least. */
const MOST_UNITS = 1000;

/** Time and chance. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
  /** Milliseconds that setting the clock doesn't change. */
  elapsed(): number;
  /** Calls once after a time, unless what it gives back is called before. */
  after(ms: number, call: () => void): () => void;
  /** From 0 to 1. */
  random(): number;
}

const SYSTEM: Clock = {
  now: () => Date.now(),
  elapsed: () => performance.now(),
  after: (ms, call) => {
    const timer = setTimeout(call, ms);
    return () => clearTimeout(timer);
  },
  random: () => Math.random(),
};

/**
 * Sends the last look there is, one at a time; those that come while one is under way, or too soon after a failure, are
 * skipped. Nothing waits in a queue: a later look carries the totals of those before, and receivers refuse old levels.
 */
export class Sender {
  readonly #folder: string;
  readonly #log: Pick<Log, 'say' | 'tell'>;
  readonly #clock: Clock;
  #transport: Transport | undefined;
  #target: Target | undefined;
  #stamp: string | undefined;
  #exporter: Exporter | undefined;
  #state: State | undefined;
  /** A time before all that the next look counts. */
  #beforeMs: number;
  #sending: Promise<void> | undefined;
  #cut: (() => void) | undefined;
  #isUnsent = false;
  #failures = 0;
  #notBefore = -Infinity;
  #mostUnits = MOST_UNITS;

  constructor(folder: string, log: Pick<Log, 'say' | 'tell'>, clock = SYSTEM, transport?: Transport) {
    this.#folder = folder;
    this.#log = log;
    this.#clock = clock;
    this.#transport = transport;
    this.#beforeMs = clock.now();
    this.#readTargetAgain();
  }

  /** Takes a look, and sends it if it is time. Never throws, and never waits. */
  offer(look: NativeLook): void {
    this.#readTargetAgain();
    const beforeMs = this.#beforeMs;
    this.#beforeMs = this.#clock.now();
    if (this.#target === undefined) return;
    try {
      this.#exporter ??= newExporter(beforeMs);
      this.#exporter.add(look);
    } catch (error) {
      this.#log.tell('export', [messageOf(error)]);
      return;
    }
    this.#isUnsent = true;
    if (this.#sending === undefined && this.#isTime()) this.#begin();
    else if (this.#state !== undefined) this.#state.skipped++;
  }

  /** Settled once what is under way has ended, if anything is. */
  get idle(): Promise<void> {
    return this.#sending ?? Promise.resolve();
  }

  /** Ends: gives what is under way a moment more, and sends the last look if it wasn't yet. */
  async end(): Promise<void> {
    const cancel = this.#clock.after(LAST_LIMIT_MS, () => this.#cut?.());
    await this.#sending;
    if (this.#isUnsent && this.#target !== undefined && this.#isTime()) this.#begin();
    await this.#sending;
    cancel();
    if (this.#state !== undefined) await writeState(this.#folder, this.#state);
  }

  #isTime(): boolean {
    return this.#clock.elapsed() >= this.#notBefore;
  }

  /** Takes up another target; one that can't be used changes nothing. */
  #readTargetAgain(): void {
    const stamp = settingsStamp(this.#folder);
    if (stamp === this.#stamp) return;
    this.#stamp = stamp;
    let target: Target | undefined;
    try {
      target = readTarget(this.#folder);
      this.#log.tell('export settings', []);
    } catch (error) {
      // What is wrong with the rest of the file the watcher tells.
      if (error instanceof TargetError) this.#log.tell('export settings', [`${error.message} The last good ones hold.`]);
      return;
    }
    const told = ({ endpoint, headers }: Target) => JSON.stringify([endpoint.url.href, headers]);
    if ((this.#target && told(this.#target)) === (target && told(target))) return;
    if (target !== undefined) this.#log.say(`export: to ${target.endpoint.host}`);
    else this.#log.say('export: to nowhere any more');
    this.#target = target;
    this.#state = target === undefined ? undefined : readState(this.#folder, target.endpoint.host);
    if (target === undefined) this.#exporter = undefined;
    // What was wrong may be right now.
    [this.#failures, this.#notBefore, this.#mostUnits, this.#isUnsent] = [0, -Infinity, MOST_UNITS, false];
  }

  #begin(): void {
    const { target, exporter, state } = { target: this.#target, exporter: this.#exporter, state: this.#state };
    if (target === undefined || exporter === undefined || state === undefined) return;
    this.#isUnsent = false;
    const ending = new AbortController();
    this.#cut = () => ending.abort();
    const cancel = this.#clock.after(LIMIT_MS, this.#cut);
    this.#sending = this.#send(target, exporter, ending.signal)
      .then((verdict) => this.#settle(target, verdict))
      // A fault of this program's own: it must not end the watcher.
      .catch((error: unknown) => this.#log.tell('export', [messageOf(error)]))
      .finally(() => {
        cancel();
        [this.#cut, this.#sending] = [undefined, undefined];
      });
  }

  /** Sends the last look, in as many requests as it takes, until one isn't taken. */
  async #send(target: Target, exporter: Exporter, signal: AbortSignal): Promise<Verdict> {
    const all: Verdict = { kind: 'taken', rejected: 0, isPartial: false };
    // All are made before the first is sent: the next look may come meanwhile.
    const requests = this.#requests(exporter);
    // Loaded only where something is sent: HTTP and TLS are megabytes that a watcher holds for as long as it runs.
    this.#transport ??= new (await import('./post')).Transport();
    for (const { body, only, units } of requests) {
      let verdict: Verdict;
      try {
        verdict = judge(await this.#transport.post(target, body, signal), this.#clock.now());
      } catch (error) {
        return { kind: 'refused', why: signal.aborted ? `gives no answer in ${LIMIT_MS / 1000} s` : wordsOf(error), waitMs: undefined };
      }
      if (verdict.kind === 'refused') return verdict;
      if (verdict.kind === 'taken') [all.rejected, all.isPartial] = [all.rejected + verdict.rejected, all.isPartial || verdict.isPartial];
      else if (only === null) {
        // The next look goes in requests half as large.
        this.#mostUnits = Math.max(1, Math.floor(units / 2));
        return verdict;
      } else {
        exporter.leaveOut(only);
        this.#log.say(`export: ${target.endpoint.host} takes no request as large as that of ${only} alone, so it is left out.`);
      }
    }
    return all;
  }

  /** The requests of the last look. */
  #requests(exporter: Exporter): { body: Uint8Array; only: string | null; units: number }[] {
    const [all, most] = [exporter.units, this.#mostUnits];
    return Array.from({ length: Math.ceil(all / most) }, (_, at) => at * most).flatMap((from) => {
      const units = Math.min(most, all - from);
      const body = exporter.encode(from, from + units);
      return body === null ? [] : [{ body, only: units === 1 ? exporter.unitId(from) : null, units }];
    });
  }

  async #settle(target: Target, verdict: Verdict): Promise<void> {
    // Another target was set meanwhile: it has nothing to do with this one's answer.
    if (target !== this.#target) return;
    const { host } = target.endpoint;
    const state = (this.#state ??= newState(host));
    const at = this.#clock.now() / 1000;
    if (verdict.kind === 'taken') {
      this.#failures = 0;
      state.lastSuccess = at;
      state.sent++;
      state.rejected += verdict.rejected;
      this.#log.tell('export', verdict.isPartial ? [`${host} takes looks, but not all of their numbers.`] : []);
    } else {
      const why = verdict.kind === 'refused' ? verdict.why : 'takes no request as large as a look: the next goes in smaller ones';
      if (verdict.kind === 'refused') this.#wait(verdict.waitMs);
      state.lastFailure = at;
      state.failed++;
      state.failure = why;
      this.#log.tell('export', [`${host} ${why}.`]);
    }
    await writeState(this.#folder, state);
  }

  #wait(askedMs: number | undefined): void {
    const longest = WAITS_MS[Math.min(this.#failures++, WAITS_MS.length - 1)] ?? 0;
    this.#notBefore = this.#clock.elapsed() + (askedMs ?? this.#clock.random() * longest);
  }
}
