// The addon's typed face: what the rest of the program calls.

import { loadNative } from './load';
import { type Look, parseLook } from './look';
import type { ShownAbsence, ShownAgent, ShownReport } from './report';
import type { NativeLook, Store } from './store';

export type { Look, Unit } from './look';
export type { ShownReport } from './report';
export { type AnswerHead, isAnswer, type Usage, UsageScanner } from './usage';

/** A row of the measures table. */
export interface MeasureRow {
  /** `link.memory.used.sum` */
  name: string;
  /** UCUM: `By`, `s`, `{token}`; empty for a relay's counts. */
  unit: string;
  kind: 'level' | 'peak' | 'total' | 'step' | 'turn';
  rollUp: 'sum' | 'max' | 'own';
  saidBy: string;
}

/** The measures there are, in the order every file and screen gives them. */
export function measures(): MeasureRow[] {
  return JSON.parse(loadNative().measures()) as MeasureRow[];
}

/** An agent to look at. The order of agents is the order in which they claim processes. */
export interface AgentRequest {
  id: string;
  name: string;
  owner?: string;
  teams: string[];
  from: 'link' | 'run';
  pids: number[];
  /** Seconds since 1970. */
  started?: number;
  cgroup?: string;
  unit?: string;
  running: boolean;
  home?: string;
  measures?: string;
  settings?: string;
  /** What each run of its proxy carried; undefined where that isn't known. */
  traffic?: ProxyTraffic[];
  /** Starts of it that are over, the oldest first, counted to their end. */
  ended?: EndedRun[];
}

/** What a run that is over came to, as it was counted around it. What isn't known isn't there. */
export interface EndedRun {
  /** Seconds since 1970. */
  started: number;
  /** Core-seconds. */
  cpu: number;
  /** Disk bytes. */
  read?: number;
  written?: number;
  /** The most memory seen, in bytes. */
  peak?: number;
}

/** What one run of an agent's proxy carried. */
export interface ProxyTraffic {
  /** Tells one run of a proxy from the next; counters only grow within one. */
  proxy: string;
  /** When that run began, in seconds since 1970. */
  since?: number;
  in: number;
  out: number;
  /** Whether it carries the agent's model, and so counts its tokens. */
  model: boolean;
  tokens?: Readonly<Record<(typeof TOKEN_COUNTS)[number], number>>;
}

/** The counts of a tokens file, by the names it has for them. */
export const TOKEN_COUNTS = ['requests', 'unmetered', 'input', 'output', 'cached', 'cache_written'] as const;

/** What to look at. */
export interface LookRequest {
  machine: { id: string; name?: string };
  agents: AgentRequest[];
  /** Whether to look for the programs of known harnesses too. */
  found: boolean;
}

/** Why values are absent. */
export interface Absence extends ShownAbsence {
  /** The unit's ID; null where it is of no one unit. */
  unit: string | null;
  detail: string;
}

/** What reading one source cost, and what it could not say. */
export interface SourceReport {
  source: string;
  micros: number;
  reads: number;
  absent: Absence[];
}

/** How an agent's processes were told. */
export interface AgentReport extends ShownAgent {
  from: 'link' | 'run' | 'found';
  by: 'control-group' | 'tree';
}

/** How a look went. */
export interface LookReport extends ShownReport {
  /** Since this sampler's look before; null at the first. */
  elapsedMs: number | null;
  sources: SourceReport[];
  agents: AgentReport[];
}

/** Looks at this machine, again and again; what it learns at one look makes the next exact and cheap. */
export class Sampler {
  readonly #sampler;

  /**
   * @param pssBudgetMs CPU milliseconds a look may spend on reading memory once all of it was read a first time; four
   * times as long is waited for it
   * @throws {NativeError} there is no addon that fits
   */
  constructor(pssBudgetMs?: number) {
    this.#sampler = new (loadNative().Sampler)(JSON.stringify({ pssBudgetMs }));
  }

  /** Goes on from the last look of a store, of this start of the machine or maybe of one before, so that no total falls or begins anew. */
  resume(store: Store, sameBoot: boolean): void {
    this.#sampler.resume(store, sameBoot);
  }

  /** Takes a look, and leaves it where the store takes it from. `request` is a `LookRequest` as JSON. */
  take(request: string): NativeLook {
    return this.#sampler.look(request);
  }

  /** Takes a look. */
  look(request: LookRequest): { look: Look; report: LookReport } {
    const look = this.take(JSON.stringify(request));
    return { look: parseLook(look.json()), report: JSON.parse(look.report()) as LookReport };
  }
}
