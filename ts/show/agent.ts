// One agent, or one process: every measure there is of it.

import type { MeasureRow, Unit } from '../native';
import type { Hour } from '../native/store';
import { measureLabel } from './absences';
import { showHours } from './hours';
import { watcherNotes } from './notes';
import { bytes, duration, inUnit, percent } from './numbers';
import type { Paint } from './paint';
import { spark } from './spark';
import { type Row, shorten, showTable } from './table';
import { day, now, processLabel, type View } from './view';
import { wrap } from './wrap';

/** A unit's page: its measures now and over the day, its day an hour at a time, its processes; no line wider than asked. */
export function showUnit(unit: Unit, processes: Unit[], hours: Hour[], view: View, table: MeasureRow[], paint: Paint, width: number): string {
  const parts = [heading(unit, paint, width), measureLines(unit, hours, view, table, paint, width)];
  const byHour = showHours(hours, table, paint, width);
  if (byHour.length > 0) parts.push(byHour);
  if (processes.length > 0) parts.push(processLines(processes, view, paint, width));
  const notes = watcherNotes(view, new Map([[unit.id, unit.name ?? unit.id]]));
  if (notes.length > 0) parts.push(notes.map((note) => paint.dim(wrap(note, width, 0))));
  return `${parts.map((lines) => lines.join('\n')).join('\n\n')}\n`;
}

function heading(unit: Unit, paint: Paint, width: number): string[] {
  const facts = [
    ...(unit.name === null || unit.name === unit.id ? [] : [unit.id]),
    ...(unit.owner === null ? [] : [`owner ${unit.owner}`]),
    ...(unit.teams.length === 0 ? [] : [`teams ${unit.teams.join(', ')}`]),
  ];
  const name = paint.bold(paint.name(shorten(unit.name ?? unit.id, width)));
  return facts.length === 0 ? [name] : [name, paint.dim(wrap(facts.join(' · '), width, 0))];
}

function measureLines(unit: Unit, hours: Hour[], view: View, table: MeasureRow[], paint: Paint, width: number): string[] {
  const rows = table.flatMap(({ name, unit: base }): Row[] => {
    const [value, overDay] = [now(unit, name), day(unit, name)];
    if (value === undefined && overDay === undefined) return [];
    const cells = [value, overDay].map((each) => (each === undefined ? '' : inUnit(each, base)));
    return [plainRow(measureLabel(name), [...cells, ...(hours.length === 0 ? [] : [spark(hours.map(({ measures }) => measures[name]))])])];
  });
  const rate = view.cpuRates.get(unit.id);
  if (rate !== undefined) rows.unshift(plainRow('cpu now', [percent(rate), '']));
  if (rows.length === 0) return [paint.dim('Nothing is known of it now.')];
  const columns = [{ title: 'now', rank: 0 }, { title: 'day', rank: 1 }, ...(hours.length === 0 ? [] : [{ title: 'each hour of it'.padEnd(hours.length), rank: 2 }])];
  return showTable(columns, rows, paint, width);
}

function processLines(processes: Unit[], view: View, paint: Paint, width: number): string[] {
  const columns = [{ title: 'memory', rank: 0 }, { title: 'cpu', rank: 1 }, { title: 'cpu now', rank: 2 }, { title: 'ports', rank: 3 }];
  const cell = (value: number | undefined, show: (value: number) => string) => (value === undefined ? '' : show(value));
  const rows = processes.map((process) =>
    plainRow(processLabel(process), [
      cell(now(process, 'link.memory.used.sum'), bytes),
      cell(now(process, 'link.cpu.used.sum'), duration),
      cell(view.cpuRates.get(process.id), percent),
      cell(now(process, 'link.ports.sum'), String),
    ]),
  );
  return showTable(columns, rows, paint, width);
}

const plainRow = (name: string, cells: string[]): Row => ({ branch: '', name, cells, paintName: (text) => text, paintCells: (text) => text });
