// What other programs show of the watcher's numbers.

import { measureFolder } from '../agents/folder';
import { readKeptDay } from '../native/store';
import type { Unit } from '../native/look';
import { readWatched } from './status';

/** An agent's memory at the watcher's last look, in bytes; null where it isn't known. */
export interface AgentNow {
  id: string;
  name: string | null;
  memory: number | null;
}

/** What an agent's turns cost over the last day, in micro-dollars; null where nothing says. */
export interface AgentDay {
  id: string;
  name: string | null;
  cost: number | null;
}

const agents = (units: Unit[]): Unit[] => units.filter(({ kind }) => kind === 'agent');

/** The agents of the watcher's last look; null where no watcher runs. */
export function readNow(folder = measureFolder()): AgentNow[] | null {
  const last = readWatched(folder);
  if (last === undefined) return null;
  return agents(last.units).map(({ id, name, measures }) => ({ id, name, memory: measures['link.memory.used.sum']?.now ?? null }));
}

/** The agents of the last day; null where no watcher runs. */
export function readDay(folder = measureFolder()): AgentDay[] | null {
  if (readWatched(folder) === undefined) return null;
  return agents(readKeptDay(folder).units).map(({ id, name, measures }) => ({ id, name, cost: measures['link.cost.sum']?.day ?? null }));
}
