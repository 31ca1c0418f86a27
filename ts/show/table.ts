// Columns that line up, and that go one by one, least needed first, where a terminal is narrow.

import type { Paint } from './paint';

/** A column of numbers, to the right of the names. */
export interface Column {
  title: string;
  /** The smaller, the longer it stays. */
  rank: number;
}

/** A row: a name behind its branches, and a cell a column. */
export interface Row {
  /** Box drawing before the name. */
  branch: string;
  name: string;
  cells: string[];
  paintName: (text: string) => string;
  paintCells: (text: string) => string;
}

const GAP = '  ';

/** What the names keep however many columns there are. */
const narrowestName = (width: number): number => Math.max(14, Math.floor(width / 3));

/** The rows under their titles, no line wider than asked. */
export function showTable(columns: Column[], rows: Row[], paint: Paint, width: number): string[] {
  const widths = columns.map(({ title }, at) => Math.max(title.length, ...rows.map(({ cells }) => (cells[at] ?? '').length)));
  const longest = Math.max(...rows.map(({ branch, name }) => branch.length + name.length));
  const isEmpty = columns.map((_, at) => rows.every(({ cells }) => (cells[at] ?? '') === ''));
  const kept = columnsThatFit(columns, widths, isEmpty, width - Math.min(longest, narrowestName(width)));
  const taken = kept.reduce((sum, at) => sum + GAP.length + (widths[at] ?? 0), 0);
  const nameWidth = Math.max(1, Math.min(longest, width - taken));
  const cellsOf = (cells: string[]) => kept.map((at) => GAP + (cells[at] ?? '').padStart(widths[at] ?? 0)).join('').trimEnd();
  const titles = cellsOf(columns.map(({ title }) => title));
  const lines = rows.map(({ branch, name, cells, paintName, paintCells }) => {
    const shown = shorten(name, Math.max(1, nameWidth - branch.length));
    const fill = ' '.repeat(Math.max(0, nameWidth - branch.length - shown.length));
    return `${paint.dim(branch)}${paintName(shown)}${fill}${paintCells(cellsOf(cells))}`;
  });
  return [paint.dim(' '.repeat(nameWidth) + titles), ...lines].map((line) => line.trimEnd());
}

/** The places of the columns that fit together, in their own order: best ranks first, and empty ones last. */
function columnsThatFit(columns: Column[], widths: number[], isEmpty: boolean[], width: number): number[] {
  const rank = (at: number) => (columns[at]?.rank ?? 0) + (isEmpty[at] ? columns.length : 0);
  const byRank = columns.map((_, at) => at).sort((a, b) => rank(a) - rank(b));
  const kept: number[] = [];
  let left = width;
  for (const at of byRank) {
    left -= GAP.length + (widths[at] ?? 0);
    if (left < 0) break;
    kept.push(at);
  }
  return kept.sort((a, b) => a - b);
}

/** A text of at most so many columns. */
export const shorten = (text: string, width: number): string => (text.length <= width ? text : `${text.slice(0, Math.max(0, width - 1))}…`);
