// A day an hour at a time, as a table.

import type { MeasureRow } from '../native';
import type { Hour } from '../native/store';
import { measureLabel } from './absences';
import { inUnit } from './numbers';
import type { Paint } from './paint';
import { showTable } from './table';

/** What an hour's row shows, the most telling first. */
const SHOWN = [
  'link.memory.used.sum',
  'link.cpu.used.sum',
  'link.cost.sum',
  'link.turns.sum',
  'link.tokens.input.sum',
  'link.tokens.output.sum',
  'link.network.in.sum',
  'link.network.out.sum',
  'link.disk.written.sum',
  'link.errors.sum',
];

/** The hours that have anything, a row each, by the local time they begin; no line wider than asked. */
export function showHours(hours: readonly Hour[], table: MeasureRow[], paint: Paint, width: number): string[] {
  const kept = hours.filter(({ measures }) => Object.keys(measures).length > 0);
  const columns = SHOWN.filter((name) => kept.some(({ measures }) => measures[name] !== undefined));
  const unitOf = (name: string) => table.find((row) => row.name === name)?.unit ?? '';
  const rows = kept.map(({ from, measures }) => ({
    branch: '',
    name: hourOf(from),
    cells: columns.map((name) => (measures[name] === undefined ? '' : inUnit(measures[name], unitOf(name)))),
    paintName: paint.dim,
    paintCells: (text: string) => text,
  }));
  return rows.length === 0 ? [] : showTable(columns.map((name, rank) => ({ title: measureLabel(name), rank })), rows, paint, width);
}

/** `14:05`, where this is: an hour of the day up to now begins when this hour did, to the minute. */
function hourOf(seconds: number): string {
  const time = new Date(seconds * 1000);
  return `${String(time.getHours()).padStart(2, '0')}:${String(time.getMinutes()).padStart(2, '0')}`;
}
