// What `lnk measure` shows: the watcher's last look where one runs, else a look of its own; and the day, where one was kept.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Unit } from '../native';
import { type Day, type LastLook, readKeptDay } from '../native/store';
import { now, type View } from '../show/view';
import { readWatched } from '../watch/status';

/** What there is to show, without the day. */
export async function viewNow(folder: string): Promise<View> {
  const last = hasKept(folder) ? readWatched(folder) : undefined;
  if (last !== undefined) return viewOf(last);
  // Loaded only where it is needed: a look of one's own asks other programs, and reads all of /proc twice.
  const { lookTwice } = await import('./look');
  return lookTwice();
}

const hasKept = (folder: string): boolean => existsSync(join(folder, 'fine'));

function viewOf({ at, units, every, cost, rates, report }: LastLook): View {
  // Which proxy counts tokens the last look doesn't say; that an agent without traffic has none, it does.
  const metered = new Set(units.filter(({ measures }) => measures['link.network.in.sum'] !== undefined).map(({ id }) => id));
  return { look: { at, units }, report, cpuRates: rates, metered, problems: [], hasDay: true, watcher: { every, cost } };
}

/** The kept day; `agent`: only this agent's and its processes', with their hours. None where nothing was kept. */
export const keptDay = (folder: string, agent?: string): Day | undefined => (hasKept(folder) ? readKeptDay(folder, agent) : undefined);

/** A view with a day: each unit's own, and those of the day's units that aren't running any more. */
export function withDay(view: View, day: Day | undefined): View {
  if (day === undefined || day.lastLook === null) return { ...view, hasDay: false };
  const ofDay = new Map(day.units.map((unit) => [unit.id, unit]));
  // An agent without processes is in the look for what was said of it as it ended.
  const ofLook = view.look.units.filter((unit) => unit.kind !== 'agent' || now(unit, 'link.processes.sum') !== undefined || !ofDay.has(unit.id));
  const running = new Set(ofLook.map(({ id }) => id));
  const ended = day.units.filter(({ id, kind }) => !running.has(id) && kind !== 'machine').map((unit) => joined({ ...unit, measures: {} }, unit));
  const units = [...ofLook.map((unit) => joined(unit, ofDay.get(unit.id))), ...ended];
  const counted = day.units.filter(({ measures }) => (measures['link.requests.model.sum']?.day ?? 0) > 0).map(({ id }) => id);
  return {
    ...view,
    look: { at: view.look.at, units },
    metered: new Set([...view.metered, ...counted]),
    problems: [...view.problems, ...day.skipped],
    hasDay: true,
    ended: new Set(ended.map(({ id }) => id)),
    dayEnds: day.lastLook,
  };
}

/** A unit as it is now, with its day. */
function joined(unit: Unit, ofDay: Unit | undefined): Unit {
  if (ofDay === undefined) return unit;
  const names = [...new Set([...Object.keys(unit.measures), ...Object.keys(ofDay.measures)])];
  const measures = names.map((name) => {
    const day = ofDay.measures[name]?.day;
    return [name, { now: unit.measures[name]?.now ?? null, ...(day !== undefined && { day }) }] as const;
  });
  return { ...unit, measures: Object.fromEntries(measures) };
}
