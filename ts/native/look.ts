// A look as JSON, wherever it comes from: names and numbers are checked here, once, before anything shows or sends them.

import { isObject, listOf, parseObject } from '../json';
import { isName, isUnitId, nameOf } from '../names';

const KINDS = ['machine', 'agent', 'sandbox', 'process', 'relay'] as const;

/** A unit as one look saw it. */
export interface Unit {
  id: string;
  kind: (typeof KINDS)[number];
  parent: string | null;
  name: string | null;
  owner: string | null;
  teams: string[];
  /** By full name, in base units. Absent means zero or not known. */
  measures: Readonly<Record<string, { now: number | null; day?: number | null }>>;
}

/** Every unit at one moment: the machine first, each agent followed by its processes. */
export interface Look {
  /** Seconds since 1970. */
  at: number;
  units: Unit[];
}

/**
 * A look from its JSON. A unit or a value that isn't what it should be is left out.
 *
 * @throws {Failure} it is no look
 */
export function parseLook(text: string): Look {
  const { at, units } = parseObject(text);
  return { at: isNumber(at) ? at : 0, units: parseUnits(units) };
}

/** The units of a list; what isn't one is left out. */
export const parseUnits = (units: unknown): Unit[] => listOf(units).flatMap(parseUnit);

function parseUnit(entry: unknown): Unit[] {
  if (!isObject(entry) || !isUnitId(entry['id'])) return [];
  const kind = KINDS.find((each) => each === entry['kind']);
  if (kind === undefined) return [];
  return [
    {
      id: entry['id'],
      kind,
      parent: isUnitId(entry['parent']) ? entry['parent'] : null,
      name: nameOf(entry['name']) ?? null,
      owner: nameOf(entry['owner']) ?? null,
      teams: listOf(entry['teams']).filter(isName),
      measures: isObject(entry['measures']) ? parseMeasures(entry['measures']) : {},
    },
  ];
}

function parseMeasures(said: Record<string, unknown>): Unit['measures'] {
  const measures: Record<string, { now: number | null; day?: number }> = {};
  for (const [name, value] of Object.entries(said)) {
    if (!isName(name) || !isObject(value)) continue;
    const { now, day } = value;
    if (isNumber(now) || isNumber(day)) measures[name] = { now: isNumber(now) ? now : null, ...(isNumber(day) && { day }) };
  }
  return measures;
}

const isNumber = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value) && value >= 0;
