import type { Usage } from '../native';
import type { RouteParts } from './index';

/** An answer that gave no usage, or whose usage can't be read. */
export const UNMETERED: Usage = { metered: false, input: 0, output: 0, cached: 0, cacheWritten: 0 };

/** Counts an answer that is over; null was no model's. */
export function countAnswer({ ledger, agent, counts }: RouteParts, usage: Usage | null): void {
  if (usage === null) return;
  ledger.add(agent, usage);
  counts.requests++;
  if (!usage.metered) counts.unmetered++;
  counts.input += usage.input;
  counts.output += usage.output;
  counts.cached += usage.cached;
  counts.cacheWritten += usage.cacheWritten;
}
