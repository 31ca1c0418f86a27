// What can and can't be measured here, and why.

import type { LookReport } from '../native';
import { measureLabel, missingOf } from './absences';
import { many } from './numbers';
import type { Paint } from './paint';
import { wrap } from './wrap';

/** A thing that was checked. */
export interface Finding {
  good: boolean;
  text: string;
  /** What more there is to say, a line each. */
  more?: string[];
}

/** What a look's report says of each source. */
export function findingsOf(report: LookReport): Finding[] {
  const missing = missingOf(report);
  return report.sources.map(({ source, reads, micros }) => {
    const more = missing
      .filter((each) => each.source === source)
      .map(({ measures, why, detail, count }) => {
        const times = count > 1 ? ` (${count} times)` : '';
        return `${measures.map(measureLabel).join(', ') || 'this'}: ${why}${times}${detail ? `. ${detail}` : ''}`;
      });
    return { good: more.length === 0, text: `${source}: ${many(reads, 'read')} in ${(micros / 1000).toFixed(1)} ms`, more };
  });
}

/** The findings as text; no line wider than asked. */
export function showCheck(findings: Finding[], paint: Paint, width: number): string {
  const wide = Math.min(width, 110);
  const lines = findings.flatMap(({ good, text, more }) => [
    `${good ? paint.good('✓') : paint.warn('✗')} ${wrap(text, wide, 2).trimStart()}`,
    ...(more ?? []).map((line) => paint.dim(wrap(line, wide, 4))),
  ]);
  const bad = findings.filter(({ good }) => !good).length;
  const verdict = bad === 0 ? 'All that is measured here can be.' : `${many(bad, 'thing')} of ${findings.length} can't be measured here, or not in full.`;
  return `${lines.join('\n')}\n\n${wrap(verdict, wide, 0)}\n`;
}
