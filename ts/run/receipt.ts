// A run's receipt: what it took by the names everything else has, and what isn't known with the reason.

import { constants } from 'node:os';
import type { Left, Outcome } from '../native/run';
import type { RouteCounts } from '../route';

/** What passed the meter of a run. */
export interface Metered extends Pick<RouteCounts, 'requests' | 'unmetered' | 'input' | 'output' | 'cached' | 'cacheWritten' | 'failed'> {
  /** Bytes of the connections out, each way. */
  in: number;
  out: number;
}

/** As `--receipt` writes it. Nothing of the command's words is in it. */
export interface Receipt {
  agent: { id: string; name: string };
  /** Seconds since 1970. */
  started: number;
  ended: number;
  /** Seconds. */
  wall: number;
  exit: { code: number | null; signal: string | null };
  /** By full name, in base units. */
  measures: Record<string, number>;
  /** Why a measure isn't there. */
  missing: Record<string, string>;
  /** The kernel's own marks of memory, in bytes: of its group, page cache included; of its largest process, shared pages in full. */
  kernel: { groupPeak: number | null; largestProcess: number | null };
  processes: { started: number | null; most: number; why?: string };
  /** What its working directory grew by. */
  folder: { files: number | null; bytes: number | null; about: boolean; why?: string };
  ports: number[];
  cpuBy: Outcome['cpuBy'];
  /** What held it together: a control group of its own, one below a scope of the user's systemd, or its reaper alone. */
  heldBy: Outcome['heldBy'];
  /** How many looks its memory was seen in. */
  looks: number;
  left: Left[];
}

export interface RunFacts {
  agent: { id: string; name: string };
  startedMs: number;
  endedMs: number;
  outcome: Outcome;
  startedIn: number | null;
  cold: boolean;
  metered: Metered | undefined;
  /** What its harness said of its turns, by measure without `link.`. */
  said: Record<string, number> | undefined;
}

const NOT_METERED = 'only a run with --meter has its traffic counted';
const NOT_SAID = 'no harness said any';

/** What only a harness says of its turns. */
const TURNS = ['turns.sum', 'tool_calls.sum', 'errors.sum', 'fallbacks.off.sum', 'fallbacks.window.sum', 'fallbacks.overloaded.sum', 'cost.sum'] as const;

/** The receipt of a run. */
export function receiptOf({ agent, startedMs, endedMs, outcome, startedIn, cold, metered, said }: RunFacts): Receipt {
  const why = Object.fromEntries(outcome.absent);
  const measures: Record<string, number> = {};
  const missing: Record<string, string> = {};
  const note = (name: string, value: number | null | undefined, reason?: string): void => {
    if (value !== null && value !== undefined) measures[`link.${name}`] = value;
    else if (reason !== undefined) missing[`link.${name}`] = reason;
  };
  note('memory.peak.max', outcome.peak, why['peak'] ?? 'not seen');
  note('cpu.used.sum', outcome.cpu);
  note('disk.read.sum', outcome.diskRead, why['disk']);
  note('disk.written.sum', outcome.diskWritten, why['disk']);
  note('ports.sum', why['ports'] === undefined ? outcome.ports.length : null, why['ports']);
  for (const name of TURNS) note(name, said?.[name], NOT_SAID);
  for (const [name, value] of meteredMeasures(metered)) note(name, value, NOT_METERED);
  for (const [name, value] of tokens(metered, said)) note(name, value, metered === undefined ? `${NOT_METERED}, and ${NOT_SAID}` : `no request passed the route, and ${NOT_SAID}`);
  note('time.start_' + (cold ? 'cold' : 'warm') + '.own', startedIn);
  note('time.stop.own', outcome.stop);
  return {
    agent: { id: agent.id, name: agent.name },
    started: startedMs / 1000,
    ended: endedMs / 1000,
    wall: outcome.wall,
    exit: { code: outcome.code, signal: signalName(outcome.signal) },
    measures,
    missing,
    kernel: { groupPeak: outcome.groupPeak, largestProcess: outcome.largest > 0 ? outcome.largest : null },
    processes: { started: outcome.started, most: outcome.mostProcesses, ...(why['started'] !== undefined && { why: why['started'] }) },
    folder: { files: outcome.files, bytes: outcome.bytes, about: outcome.about, ...(why['files'] !== undefined && { why: why['files'] }) },
    ports: outcome.ports,
    cpuBy: outcome.cpuBy,
    heldBy: outcome.heldBy,
    looks: outcome.looks,
    left: outcome.left,
  };
}

const meteredMeasures = (metered: Metered | undefined): [string, number | undefined][] => [
  ['network.in.sum', metered?.in],
  ['network.out.sum', metered?.out],
  ['requests.model.sum', metered?.requests],
  ['requests.unmetered.sum', metered?.unmetered],
];

/** Tokens as the route counted them; where no request passed it, as the harness did. Never both: they are the same ones. */
const tokens = (metered: Metered | undefined, said: Record<string, number> = {}): [string, number | undefined][] => {
  const routed = metered !== undefined && metered.requests > 0 ? metered : undefined;
  return [
    ['tokens.input.sum', routed?.input ?? said['tokens.input.sum']],
    ['tokens.output.sum', routed?.output ?? said['tokens.output.sum']],
    ['tokens.cached.sum', routed?.cached ?? said['tokens.cached.sum']],
    ['tokens.cache_written.sum', routed?.cacheWritten ?? said['tokens.cache_written.sum']],
  ];
};

function signalName(signal: number | null): string | null {
  if (signal === null) return null;
  return Object.entries(constants.signals).find(([, number]) => number === signal)?.[0] ?? String(signal);
}
