// `lnk measure run`: a command as an agent, with this process around it.
//
// Nothing here touches process.stdin, stdout or stderr: opening a pipe or a socket as a stream makes it non-blocking, and
// the command has the very same one. What is said is written straight to descriptor 2, before the command starts and
// after it has ended.

import { randomBytes } from 'node:crypto';
import { appendFileSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { isatty } from 'node:tty';
import { makeMeasureFolder, measureFolder } from '../agents/folder';
import { machineId } from '../agents/machine';
import { codeOf, messageOf } from '../errors';
import { endAs, inheritedDescriptors, NativeRun, NativeTurns, NotStarted, type Outcome } from '../native/run';
import { lockHolder } from '../native/store';
import { paint, wantsColor } from '../show/paint';
import { showReceipt } from '../show/receipt';
import { bootMs, GROUP_PREFIX, HeldFile, place, RunFiles, startOf, type Who, writeTraffic } from './home';
import type { Meter } from './meter';
import type { RunOptions } from './options';
import { receiptOf } from './receipt';

/** How often what is new is written down for the watcher. */
const NOTE_MS = 1000;
/** Of one name, runs at the same time. */
const MOST_OF_A_NAME = 99;

/** Runs a command, and ends this process as it ended. */
export async function run(options: RunOptions): Promise<number> {
  const descriptors = inheritedDescriptors();
  const agent = claim(options.name);
  const metering = options.meter ? await meter(agent) : undefined;
  const startedMs = Date.now();
  let native: NativeRun;
  try {
    native = new NativeRun({
      words: options.words,
      variables: [...(agent.files === undefined ? [] : [['LNK_MEASURES', agent.files.measures] as const]), ...(metering?.meter.variables ?? [])],
      descriptors,
      group: `${GROUP_PREFIX}${process.pid}-${randomBytes(4).toString('hex')}`,
      folder: process.cwd(),
      except: measureFolder(),
    });
  } catch (error) {
    agent.end();
    await metering?.close();
    if (!(error instanceof NotStarted)) throw error;
    say(`lnk measure run: ${error.message}\n`);
    return endAs({ code: error.code, signal: null });
  }
  agent.began(native, startedMs);
  const note = (): void => {
    agent.note(native);
    metering?.note();
  };
  const notes = setInterval(note, NOTE_MS);
  const outcome = await native.wait();
  clearInterval(notes);
  await metering?.close();
  note();
  agent.ended(outcome, metering?.told());
  const facts = { startedMs, endedMs: Date.now(), outcome, startedIn: native.startedIn, cold: agent.cold, metered: metering?.meter.counts(), said: agent.said };
  const receipt = receiptOf({ agent, ...facts });
  if (options.receipt !== undefined) {
    try {
      writeFileSync(options.receipt, `${JSON.stringify(receipt, undefined, 2)}\n`);
    } catch (error) {
      say(`lnk measure run: ${options.receipt} can't be written: ${messageOf(error)}\n`);
    }
  }
  if (!options.quiet) say(`${agent.problem}${showReceipt(receipt, paint(wantsColor({ isTTY: isatty(2) }, process.env)))}`);
  return endAs(outcome);
}

/** The route and the proxy of a run, what they counted told to the watcher. */
async function meter(agent: RunAgent): Promise<{ meter: Meter; note(): void; told(): unknown; close(): Promise<void> }> {
  const { startMeter } = await import('./meter');
  const { TokenLedger } = await import('../route/ledger');
  // Not while it runs: the screen is the command's.
  const ledger = new TokenLedger(join(measureFolder(), 'tokens'), (problem) => (agent.problem ||= `lnk measure: ${problem}\n`));
  let told = '';
  let asked = false;
  const entryNow = (): object => {
    const { in: received, out, requests } = meter.counts();
    return { agent: agent.id, proxy: meter.proxy, since: meter.since, in: received, out, model: requests > 0 };
  };
  const note = (): void => {
    const entry = entryNow();
    const text = JSON.stringify(entry);
    if (agent.files === undefined || text === told) return;
    told = text;
    try {
      writeTraffic(agent.files, entry);
    } catch (error) {
      agent.problem ||= `lnk measure: the watcher may not know this run's traffic: ${messageOf(error)}\n`;
    }
  };
  // That its model passes here is told before its harness can report the same tokens.
  const meter = await startMeter(agent.id, process.env, ledger, () => {
    if (asked || meter.counts().requests === 0) return;
    asked = true;
    note();
  }).catch((error: unknown) => {
    agent.end();
    throw error;
  });
  const names = [...new Set(meter.variables.map(([name]) => name.toUpperCase()))].join(', ');
  say(`lnk measure: sets ${names} for ${agent.name} alone, to count its tokens and bytes; some harnesses behave differently behind another base URL.\n`);
  note();
  return {
    meter,
    note,
    told: entryNow,
    close: async () => {
      await meter.close();
      await ledger.close().catch((error: unknown) => (agent.problem ||= `lnk measure: ${messageOf(error)}\n`));
    },
  };
}

/** Writes to stderr, whatever it is and whoever has made it non-blocking. */
function say(text: string): void {
  let rest = Buffer.from(text);
  while (rest.length > 0) {
    try {
      rest = rest.subarray(writeSync(2, rest));
    } catch (error) {
      if (codeOf(error) !== 'EAGAIN') return;
    }
  }
}

/** A run as the watcher sees it. Where nothing can be kept the command runs all the same, and the receipt says so. */
interface RunAgent {
  id: string;
  name: string;
  files: RunFiles | undefined;
  /** Whether this is its first run since the machine started. */
  cold: boolean;
  /** What couldn't be kept, as a line; else nothing. */
  problem: string;
  /** What its harness said of its turns, by measure without `link.`; undefined where it could say nothing. */
  readonly said: Record<string, number> | undefined;
  began(native: NativeRun, startedMs: number): void;
  note(native: NativeRun): void;
  /** It is over; what its proxy carried, where it had one. */
  ended(outcome: Outcome, traffic: unknown): void;
  /** It never began. */
  end(): void;
}

function claim(wanted: string): RunAgent {
  const folder = measureFolder();
  let machine = '';
  try {
    makeMeasureFolder(folder);
    makeMeasureFolder(`${folder}/runs`);
    machine = machineId(folder).id;
    for (let at = 1; at <= MOST_OF_A_NAME; at++) {
      const name = at === 1 ? wanted : `${wanted}-${at}`;
      const agent = new KeptAgent(folder, machine, name);
      if (agent.claim()) return agent;
    }
    throw new Error(`${MOST_OF_A_NAME} of that name run`);
  } catch (error) {
    const nothing = (): void => undefined;
    const problem = `lnk measure: this run is in no other screen, since nothing can be kept in ${folder}: ${messageOf(error)}\n`;
    return { id: `${machine || 'machine'}:run:${wanted}`, name: wanted, files: undefined, cold: true, problem, said: undefined, began: nothing, note: nothing, ended: nothing, end: nothing };
  }
}

class KeptAgent implements RunAgent {
  readonly id: string;
  readonly name: string;
  readonly files: RunFiles;
  cold = true;
  problem = '';
  #began = 0;
  #cgroup: string | undefined;
  #groupDirs: string[] = [];
  #hasStarted = false;
  #turns: { held: HeldFile; native: NativeTurns } | undefined;
  #said: Record<string, number> | undefined;

  constructor(folder: string, machine: string, name: string) {
    this.id = `${machine}:run:${name}`;
    this.name = name;
    this.files = new RunFiles(folder, name);
  }

  claim(): boolean {
    if (!this.files.claim(this.#text([]))) return false;
    this.cold = !this.files.makeHome(bootMs()).usedSinceBoot;
    const { home, measures } = this.files;
    this.#turns = { held: new HeldFile(measures), native: new NativeTurns(home, measures) };
    return true;
  }

  get said(): Record<string, number> | undefined {
    return this.#said;
  }

  began({ who }: NativeRun, startedMs: number): void {
    this.#began = startedMs;
    this.#cgroup = who.cgroup ?? undefined;
    this.#groupDirs = who.groupDirs;
    this.#keep(() => this.files.say(this.#text(who.start === null ? [] : [{ pid: who.pid, start: who.start }])));
  }

  note(native: NativeRun): void {
    this.#turns?.held.renew();
    this.#said = this.#turns?.native.read();
    const { startedIn } = native;
    if (this.#hasStarted || startedIn === null) return;
    this.#hasStarted = true;
    this.#time(this.cold ? 'start_cold' : 'start_warm', startedIn);
  }

  ended(outcome: Outcome, traffic: unknown): void {
    const { stop, left, groupRemoved } = outcome;
    this.#turns?.held.close();
    if (stop !== null) this.#time('stop', stop);
    if (groupRemoved) this.#groupDirs = [];
    const who = left.map(({ pid, start }) => ({ pid, start }));
    // What goes on is counted on by whoever looks; of what doesn't, the watcher's last look knows only a part.
    if (who.length === 0) this.#keep(() => this.#leave(outcome, traffic));
    // What goes on is the agent's still; what doesn't is told of once more.
    this.#keep(() => this.files.say(this.#text(who, who.length === 0)));
  }

  end(): void {
    this.#keep(() => this.files.say(this.#text([], true)));
  }

  /** Leaves what it came to for the watcher, where one runs to take it up. */
  #leave({ cpu, diskRead, diskWritten, peak }: Outcome, traffic: unknown): void {
    if (lockHolder(this.files.folder)?.isWatcher !== true) return;
    const bytes = { ...(diskRead !== null && { read: diskRead }), ...(diskWritten !== null && { written: diskWritten }), ...(peak !== null && { peak }) };
    this.files.leave(this.#began, { started: this.#began / 1000, cpu, ...bytes, ...(traffic !== undefined && { traffic }) });
  }

  #time(what: string, seconds: number): void {
    this.#keep(() => appendFileSync(this.files.times, `${JSON.stringify({ t: Date.now() / 1000, [what]: seconds })}\n`, { mode: 0o600 }));
  }

  #text(who: Who[], ended = false): string {
    const { id, name, files } = this;
    const own = startOf(process.pid);
    const entry = {
      id,
      name,
      running: !ended,
      ...(this.#began > 0 && { started: this.#began / 1000 }),
      processes: who.map(({ pid }) => pid),
      ...(this.#cgroup !== undefined && !ended && { cgroup: this.#cgroup }),
      home: files.home,
      settings: files.home,
      measures: files.measures,
      folders: [process.cwd()],
      run: { ...place(), by: own === undefined ? null : { pid: process.pid, start: own }, who, groupDirs: this.#groupDirs, ...(ended && { ended: Date.now() }) },
    };
    return `${JSON.stringify(entry)}\n`;
  }

  #keep(act: () => void): void {
    try {
      act();
    } catch (error) {
      this.problem ||= `lnk measure: the watcher may not know this run: ${messageOf(error)}\n`;
    }
  }
}
