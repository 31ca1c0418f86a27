// What the screens show: a look, and what only two looks or the providers know.

import type { Look, ShownReport, Unit } from '../native';

/** What a screen is made of. */
export interface View {
  look: Look;
  report: ShownReport;
  /** Cores in use between the last two looks, by unit. */
  cpuRates: ReadonlyMap<string, number>;
  /** Agents whose proxy counts their tokens. */
  metered: ReadonlySet<string>;
  /** What went wrong while it was put together. */
  problems: string[];
  /** Whether there is a day: what a watcher kept. */
  hasDay: boolean;
  /** The watcher whose last look this is, where one runs: how far apart its looks are, and what it costs itself. */
  watcher?: { every: number; cost: { cpu: number; memory: number } | null };
  /** Units of the day that aren't running any more. */
  ended?: ReadonlySet<string>;
  /** The day's last look, in seconds since 1970. */
  dayEnds?: number;
}

/** A unit's value now, where it has one. */
export const now = (unit: Unit, measure: string): number | undefined => unit.measures[measure]?.now ?? undefined;

/** A unit's value over the day, where it has one. */
export const day = (unit: Unit, measure: string): number | undefined => unit.measures[measure]?.day ?? undefined;

/** The agents of a look, each with its processes, those holding most memory first. */
export function agentsOf(look: Look): { agent: Unit; processes: Unit[] }[] {
  const processes = new Map<string, Unit[]>();
  for (const unit of look.units) {
    if ((unit.kind !== 'process' && unit.kind !== 'sandbox') || unit.parent === null) continue;
    const siblings = processes.get(unit.parent);
    if (siblings === undefined) processes.set(unit.parent, [unit]);
    else siblings.push(unit);
  }
  return look.units
    .filter(({ kind }) => kind === 'agent')
    .sort(byMemory)
    .map((agent) => ({ agent, processes: (processes.get(agent.id) ?? []).sort(byMemory) }));
}

const byMemory = (a: Unit, b: Unit): number => memory(b) - memory(a);

/** What a unit holds, as far as it is known. */
export const memory = (unit: Unit): number => now(unit, 'link.memory.used.sum') ?? 0;

/** The number of a process's unit, from its ID `<agent id>/<pid>`. */
export const pidOf = (unit: Unit): number => Number(unit.id.slice(unit.id.lastIndexOf('/') + 1));

/** A process by its number, and its program's name where it has one. */
export const processLabel = (unit: Unit): string => (unit.name === null ? `${pidOf(unit)}` : `${pidOf(unit)} ${unit.name}`);

/** Cores in use between two looks, by unit, of those that are in both. */
export function cpuRates(before: Look, after: Look, elapsedMs: number | null): Map<string, number> {
  const rates = new Map<string, number>();
  if (elapsedMs === null || elapsedMs <= 0) return rates;
  const used = new Map(before.units.map((unit) => [unit.id, now(unit, 'link.cpu.used.sum')]));
  for (const unit of after.units) {
    const [was, is] = [used.get(unit.id), now(unit, 'link.cpu.used.sum')];
    // A total that fell is another process's, or began anew: there is no rate to tell.
    if (was !== undefined && is !== undefined && is >= was) rates.set(unit.id, ((is - was) * 1000) / elapsedMs);
  }
  return rates;
}

/** An agent's name; with its ID where another has the same. */
export function agentLabel(agent: Unit, agents: Unit[]): string {
  const name = agent.name ?? agent.id;
  const shared = agents.some((other) => other.id !== agent.id && other.name === agent.name);
  return shared && name !== agent.id ? `${name} (${agent.id})` : name;
}
