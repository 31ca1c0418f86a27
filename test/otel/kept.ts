// What a watcher kept, read from its lines by their own rules, beside the program's reader.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A unit at one look: its values by measure (a running total carried on, zero for what is left out), and one value a turn. */
export interface KeptUnit {
  since: string;
  values: Map<string, number>;
  turns: Map<string, number[]>;
}

/** Each look kept: its units by ID, by the look's time in milliseconds. */
export function readKept(measure: string, totals: ReadonlySet<string>): Map<number, Map<string, KeptUnit>> {
  const looks = new Map<number, Map<string, KeptUnit>>();
  const fine = join(measure, 'fine');
  for (const name of readdirSync(fine).sort()) {
    const [header = '', ...lines] = readFileSync(join(fine, name), 'utf8').split('\n').slice(0, -1);
    const { measures } = JSON.parse(header) as { measures: string[] };
    const carried = new Map<string, { since: string; totals: Map<string, number> }>();
    for (const line of lines) {
      const look = JSON.parse(line) as { t: number; units: { id: string; s?: string; v?: (number | null)[]; e?: Record<string, number[]> }[] };
      const units = new Map<string, KeptUnit>();
      for (const { id, s, v = [], e = {} } of look.units) {
        const before = carried.get(id);
        const since = s ?? before?.since ?? '';
        const values = new Map(s === undefined || s === before?.since ? before?.totals : []);
        measures.forEach((measure, at) => {
          const value = v[at];
          if (typeof value === 'number') values.set(measure, value);
        });
        carried.set(id, { since, totals: new Map([...values].filter(([measure]) => totals.has(measure))) });
        units.set(id, { since, values, turns: new Map(Object.entries(e).map(([at, each]) => [measures[Number(at)] ?? '', each])) });
      }
      looks.set(Math.round(look.t * 1000), units);
    }
  }
  return looks;
}
