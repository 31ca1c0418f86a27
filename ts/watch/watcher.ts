// The watcher: a look every `every`, whatever the disk or another program does meanwhile.

import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { messageOf } from '../errors';
import { Sender } from '../export/send';
import { parseObject } from '../json';
import { Sampler } from '../native';
import { type Gatherer, type NativeLook, openGatherer, openStore, resumedOf, type Store } from '../native/store';
import { readSettings, type Settings, settingsOf, settingsStamp } from '../settings/settings';
import { version } from '../version';
import { Lists } from './lists';
import type { Log } from './log';

/** Looks that may wait for a slow disk; past that the newest is dropped, and the log says so. */
const MOST_WAITING = 60;
/** How long the end may take: what is under way is then left to itself. */
const END_MS = 4000;

/** A look that waits to be kept, and what others said until it was taken, where that was asked. */
interface Waiting {
  look: NativeLook;
  /** Files of runs that are over, which it has the last of. */
  over: string[];
  said?: Promise<string[]>;
}

/** Watches until it is told to end. Whoever runs it holds the folder's lock. */
export class Watcher {
  readonly #folder: string;
  readonly #log: Log;
  readonly #lists: Lists;
  readonly #sampler = new Sampler();
  readonly #store: Store;
  readonly #gatherer: Gatherer;
  readonly #sender: Sender;
  #settings: Settings;
  #settingsStamp: string;
  #waiting: Waiting[] = [];
  #keeping: Promise<void> | undefined;
  #tidying: Promise<void> | undefined;
  #minute = -1;

  /** @throws the settings, the store or the system can't be read */
  constructor(folder: string, env: NodeJS.ProcessEnv, log: Log) {
    this.#folder = folder;
    this.#log = log;
    this.#settingsStamp = settingsStamp(folder);
    this.#settings = settingsOf(readSettings(folder));
    this.#store = openStore(folder, this.#settings);
    const { counted, notes } = resumedOf(this.#store);
    const boot = bootId();
    this.#gatherer = openGatherer(join(folder, 'tokens'), this.#store, boot);
    this.#sampler.resume(this.#store, boot !== undefined && bootOf(counted) === boot);
    this.#lists = new Lists(env, log);
    log.say(`started: version ${version}, process ${process.pid}, ${this.#told()}`);
    for (const note of notes) log.say(`kept before: ${note}`);
    this.#sender = new Sender(folder, log);
  }

  /** Looks until the signal, then ends in order. */
  async run(signal: AbortSignal): Promise<void> {
    await this.#lists.current();
    // The grid is the monotonic clock's: setting the clock moves no look.
    let origin = performance.now();
    let at = 0;
    while (!signal.aborted) {
      const { everyMs } = this.#settings;
      await this.#look();
      this.#readSettingsAgain();
      if (this.#settings.everyMs !== everyMs) [origin, at] = [performance.now(), 0];
      // A look that overran leaves its places in the grid empty; a timer that fires early doesn't take one twice.
      at = Math.max(at + 1, Math.ceil((performance.now() - origin) / this.#settings.everyMs));
      await wait(origin + at * this.#settings.everyMs - performance.now(), undefined, { signal }).catch(() => undefined);
    }
    await this.#end();
  }

  async #look(): Promise<void> {
    const { request: asked, over } = await this.#lists.current();
    const request = JSON.stringify(asked);
    let look: NativeLook;
    try {
      look = this.#sampler.take(request);
      this.#log.tell('looking', []);
    } catch (error) {
      this.#log.tell('looking', [messageOf(error)]);
      return;
    }
    const room = this.#waiting.length < MOST_WAITING;
    if (room) this.#waiting.push({ look, over, ...this.#ask(request) });
    this.#log.tell('disk', room ? [] : [`${MOST_WAITING} looks wait to be kept; newer ones are dropped`]);
    this.#keeping ??= this.#keepAll().finally(() => (this.#keeping = undefined));
    this.#lists.refresh();
  }

  /**
   * Begins to ask what others say of the agents. Only while no look before this one waits: what is found is of one look
   * until it is kept, and what isn't asked now comes with a later look.
   */
  #ask(request: string): Pick<Waiting, 'said'> {
    if (this.#keeping !== undefined || this.#waiting.length > 0) return {};
    return { said: this.#gatherer.gather(request, Date.now() / 1000).catch((error: unknown) => [messageOf(error)]) };
  }

  async #keepAll(): Promise<void> {
    for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) await this.#keep(next);
  }

  /** Keeps a look with what was said, in one write. */
  async #append({ look, over, said }: Waiting): Promise<NativeLook> {
    if (said !== undefined) this.#log.tell('reports', await said);
    const whole = said === undefined ? look : this.#gatherer.join(look);
    try {
      const aside = await this.#store.append(whole, this.#gatherer.counted());
      this.#gatherer.kept();
      for (const path of over) rmSync(path, { force: true });
      this.#log.tell('minutes', aside === null ? [] : [aside]);
      return whole;
    } catch (error) {
      this.#gatherer.goBack();
      throw error;
    }
  }

  /** Keeps a look, and the copies made for speed. */
  async #keep(waiting: Waiting): Promise<void> {
    let look: NativeLook;
    try {
      look = await this.#append(waiting);
      this.#sender.offer(look);
      this.#log.tell('keeping', []);
    } catch (error) {
      this.#log.tell('keeping', [messageOf(error)]);
      // What can't be kept can be sent: without what others said, which a later look has.
      this.#sender.offer(waiting.look);
      return;
    }
    // A subject of its own: on a full disk a short line may still fit where no copy does, and the one's trouble would end the other's.
    try {
      const { user, system } = process.cpuUsage();
      await this.#store.writeNow(look, this.#settings.everyMs, (user + system) / 1e6, process.memoryUsage.rss());
      const minute = Math.floor(performance.now() / 60_000);
      if (minute !== this.#minute) {
        await this.#store.writeDay();
        this.#minute = minute;
        this.#tidy();
      }
      this.#log.tell('copies', []);
    } catch (error) {
      this.#log.tell('copies', [messageOf(error)]);
    }
  }

  #tidy(): void {
    this.#tidying ??= this.#store
      .tidy(Date.now())
      .then((problems) => this.#log.tell('tidying', problems))
      .catch((error: unknown) => this.#log.tell('tidying', [messageOf(error)]))
      .finally(() => (this.#tidying = undefined));
  }

  /** Takes settings that changed since they were read; bad ones change nothing. */
  #readSettingsAgain(): void {
    const stamp = settingsStamp(this.#folder);
    if (stamp === this.#settingsStamp) return;
    this.#settingsStamp = stamp;
    try {
      const settings = settingsOf(readSettings(this.#folder));
      this.#log.tell('settings', []);
      if (JSON.stringify(settings) === JSON.stringify(this.#settings)) return;
      this.#settings = settings;
      this.#store.set(JSON.stringify(settings));
      this.#log.say(`settings: ${this.#told()}`);
    } catch (error) {
      this.#log.tell('settings', [`${messageOf(error)} The last good ones hold.`]);
    }
  }

  #told(): string {
    const { everyMs, keepFineMs, keepMinutesMs, processes } = this.#settings;
    const hours = (ms: number) => `${ms / 3_600_000} h`;
    return `a look every ${everyMs / 1000} s, kept ${hours(keepFineMs)}, minutes ${hours(keepMinutesMs)}, processes ${processes ? 'too' : 'not'}`;
  }

  async #end(): Promise<void> {
    const finish = async () => {
      await this.#keeping;
      const sent = this.#sender.end();
      await this.#store.writeDay();
      await this.#tidying;
      await sent;
    };
    const late = new AbortController();
    const ended = await Promise.race([
      finish().then(() => 'ended', (error: unknown) => `ended: ${messageOf(error)}`),
      wait(END_MS, 'ended: what was under way on the disk took too long', { signal: late.signal }),
    ]);
    late.abort();
    this.#log.say(ended);
  }
}

/** Which start of the machine this is; undefined where the system doesn't say. The clock can't tell: setting it moves when the machine is said to have started. */
function bootId(): string | undefined {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return undefined;
  }
}

const bootOf = (counted: string | null): unknown => (counted === null ? undefined : parseObject(counted)['boot']);
