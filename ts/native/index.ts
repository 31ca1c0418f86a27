// The addon's typed face: what the rest of the program calls.

import { loadNative } from './load';

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
