// What passed a route, in a line.

import type { RouteCounts } from '../route';
import { bytes, count, many } from './numbers';

/** `3 requests, 1 without usage · 90K tokens in (80K cached), 4.1K out · 64 KiB sent, 1.0 MiB received`. */
export function showRoute(counts: Readonly<RouteCounts>): string {
  const unmetered = counts.unmetered > 0 ? `, ${count(counts.unmetered)} without usage` : '';
  const cached = counts.cached > 0 ? ` (${count(counts.cached)} cached)` : '';
  const failed = counts.failed > 0 ? ` · ${count(counts.failed)} failed` : '';
  const status = counts.lastStatus >= 400 ? ` · last status ${counts.lastStatus}` : '';
  const tokens = `${count(counts.input)} tokens in${cached}, ${count(counts.output)} out`;
  return `${many(counts.requests, 'request')}${unmetered} · ${tokens} · ${bytes(counts.bytesOut)} sent, ${bytes(counts.bytesIn)} received${failed}${status}`;
}
