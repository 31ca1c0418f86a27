// What could not be read, in words.

import type { Absence, ShownReport } from '../native';

const WHY: Record<Absence['why'], string> = {
  denied: 'not allowed for this user',
  gone: 'gone',
  unsupported: 'not offered by this system',
  'not-enabled': 'not switched on',
  hidden: 'hidden from this user',
  timeout: 'too slow to answer',
  'not-yet': 'not known yet',
  invalid: 'not readable',
};

/** Ordinary at any look: a process that ended, a difference that needs another look. */
const ORDINARY = new Set<Absence['why']>(['gone', 'not-yet']);

/** Values that are absent for one reason. */
export interface Missing {
  source: string;
  measures: string[];
  why: string;
  /** What came of reading them, where that is known. */
  detail?: string;
  /** How many times. */
  count: number;
}

/** What could not be read here, that one might expect to be; one entry a source and reason. */
export function missingOf(report: ShownReport): Missing[] {
  const missing = new Map<string, Missing>();
  for (const { source, absent } of report.sources) {
    for (const { measures, why, detail, count } of absent) {
      if (ORDINARY.has(why)) continue;
      const key = [source, why, ...measures].join('\n');
      const known = missing.get(key);
      if (known) known.count += count;
      else missing.set(key, { source, measures, why: WHY[why], count, ...(detail !== undefined && { detail }) });
    }
  }
  return [...missing.values()];
}

/** `memory used`, of `link.memory.used.sum`. */
export const measureLabel = (name: string): string =>
  name
    .replace(/^link\./, '')
    .replace(/\.(sum|max|own)$/, '')
    .replaceAll(/[._]/g, ' ');
