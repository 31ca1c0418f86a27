// The machine as a tree: its agents, and their processes.

import type { Unit } from '../native';
import { notesOf } from './notes';
import { bytes, count, duration, many, money, percent } from './numbers';
import type { Paint } from './paint';
import { type Column, type Row, showTable } from './table';
import { agentLabel, agentsOf, day, memory, now, processLabel, type View } from './view';

/** Processes of an agent that get a row of their own; the rest share one. */
const MOST_PROCESSES = 10;

type Cell = (unit: Unit, view: View) => string | undefined;

const ofNow = (measure: string, show: (value: number) => string): Cell => (unit) => shown(now(unit, measure), show);
const ofDay = (measure: string, show: (value: number) => string): Cell => (unit) => shown(day(unit, measure), show);
const shown = (value: number | undefined, show: (value: number) => string) => (value === undefined ? undefined : show(value));

const COLUMNS: (Column & { cell: Cell })[] = [
  { title: 'memory', rank: 0, cell: ofNow('link.memory.used.sum', bytes) },
  { title: 'cpu', rank: 1, cell: ofNow('link.cpu.used.sum', duration) },
  { title: 'cpu now', rank: 2, cell: (unit, view) => shown(view.cpuRates.get(unit.id), percent) },
  { title: 'in', rank: 5, cell: ofNow('link.network.in.sum', bytes) },
  { title: 'out', rank: 6, cell: ofNow('link.network.out.sum', bytes) },
  { title: 'tokens', rank: 7, cell: (unit) => shown(tokensOfDay(unit), count) },
  { title: 'turns', rank: 9, cell: ofDay('link.turns.sum', count) },
  { title: 'spend', rank: 8, cell: ofDay('link.cost.sum', money) },
  { title: 'procs', rank: 3, cell: (unit) => (isProcess(unit) ? undefined : shown(now(unit, 'link.processes.sum'), count)) },
  { title: 'ports', rank: 4, cell: ofNow('link.ports.sum', count) },
];

const isProcess = (unit: Unit): boolean => unit.kind === 'process' || unit.kind === 'sandbox';

/** The whole prompt and the answer; what was cached is in the prompt already. */
function tokensOfDay(unit: Unit): number | undefined {
  const [input, output] = [day(unit, 'link.tokens.input.sum'), day(unit, 'link.tokens.output.sum')];
  return input === undefined && output === undefined ? undefined : (input ?? 0) + (output ?? 0);
}

/** The tree, and under it what a person must know; no line wider than asked. */
export function showTree(view: View, paint: Paint, width: number): string {
  const agents = agentsOf(view.look);
  const machine = view.look.units.find(({ kind }) => kind === 'machine');
  const units = agents.map(({ agent }) => agent);
  const rows: Row[] = machine ? [row(machine, '', machine.name ?? machine.id, paint.bold, view)] : [];
  agents.forEach(({ agent, processes }, at) => {
    const last = at === agents.length - 1;
    rows.push(row(agent, last ? '└─ ' : '├─ ', agentLabel(agent, units), view.ended?.has(agent.id) ? paint.dim : (name) => paint.bold(paint.name(name)), view));
    // Of processes that have ended there may be any number; their agent has their day.
    rows.push(...processRows(processes.filter(({ id }) => !view.ended?.has(id)), last ? '   ' : '│  ', paint, view));
  });
  return [...showTable(COLUMNS, rows, paint, width), '', ...notesOf(view, paint, width)].join('\n') + '\n';
}

function row(unit: Unit, branch: string, name: string, paintName: Row['paintName'], view: View): Row {
  return { branch, name, cells: COLUMNS.map(({ cell }) => cell(unit, view) ?? ''), paintName, paintCells: (text) => text };
}

function processRows(processes: Unit[], under: string, paint: Paint, view: View): Row[] {
  // A row for one process more takes no more room than one that says so.
  const most = processes.length <= MOST_PROCESSES + 1 ? processes.length : MOST_PROCESSES;
  const rows = processes.slice(0, most).map((process, at): Row => {
    const branch = under + (at === processes.length - 1 ? '└─ ' : '├─ ');
    const name = processLabel(process);
    return { ...row(process, branch, name, paint.dim, view), paintCells: paint.dim };
  });
  const rest = processes.slice(most);
  if (rest.length === 0) return rows;
  const held = rest.reduce((sum, process) => sum + memory(process), 0);
  const cells = COLUMNS.map(({ title }) => (title === 'memory' && held > 0 ? bytes(held) : ''));
  rows.push({ branch: `${under}└─ `, name: `… ${many(rest.length, 'more', 'more')}`, cells, paintName: paint.dim, paintCells: paint.dim });
  return rows;
}
