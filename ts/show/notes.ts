// What a person must know, in a line each, under the tree.

import type { Unit } from '../native';
import { measureLabel, missingOf } from './absences';
import { bytes, duration, many } from './numbers';
import type { Paint } from './paint';
import { agentLabel, agentsOf, memory, pidOf, type View } from './view';
import { wrap } from './wrap';

const MOST_NAMES = 4;
const MOST_MISSING = 3;

/** The notes of a view, each in lines no wider than asked. */
export function notesOf(view: View, paint: Paint, width: number): string[] {
  const agents = agentsOf(view.look);
  const units = agents.map(({ agent }) => agent);
  const labels = new Map(units.map((agent) => [agent.id, agentLabel(agent, units)]));
  const warnings = [...orphanNotes(view, agents, labels), ...view.problems];
  const facts = agents.every(({ agent }) => view.ended?.has(agent.id)) ? [noAgents()] : [...tokenNotes(view, units, labels), ...estimateNotes(view, labels)];
  facts.push(...missingNotes(view));
  facts.push(...watcherNotes(view, labels));
  const lines = (note: string, mark: string, colour: (text: string) => string) =>
    wrap(note, Math.min(width, 110), 2)
      .split('\n')
      .map((line, at) => (at === 0 ? `${mark} ${line.slice(2)}` : line))
      .map(colour);
  return [...warnings.flatMap((note) => lines(note, '!', paint.warn)), ...facts.flatMap((note) => lines(note, '·', paint.dim))];
}

function noAgents(): string {
  return (
    'No agent runs here. Looked for: agents of Link, what was started to be measured, and the programs of known harnesses ' +
    '(claude, codex, gemini, opencode and more) running as this user.'
  );
}

/** Of the day and who keeps it: the watcher and what it costs, or how to have one. */
export function watcherNotes(view: View, labels: Map<string, string>): string[] {
  const ended = [...labels].filter(([id]) => view.ended?.has(id)).map(([, label]) => label);
  const notes = ended.length === 0 ? [] : [`Not running any more, with the day it was: ${some(ended)}.`];
  const start = 'Start one with `lnk measure start`.';
  if (view.watcher === undefined) {
    notes.push(
      view.hasDay
        ? `No watcher runs here; the day is as one kept it, up to ${duration(Math.max(0, view.look.at - (view.dayEnds ?? view.look.at)))} ago. ${start}`
        : `Tokens, turns and spend are of the last day, which a watcher keeps; none is running here, so they are empty. ${start}`,
    );
  } else if (view.watcher.cost !== null) {
    const { cpu, memory } = view.watcher.cost;
    notes.push(`The watcher looks every ${view.watcher.every}s; since it started it has cost ${duration(cpu)} of CPU, and holds ${bytes(memory)}.`);
  }
  return notes;
}

function orphanNotes(view: View, agents: { agent: Unit; processes: Unit[] }[], labels: Map<string, string>): string[] {
  const processes = new Map(agents.map(({ agent, processes }) => [agent.id, processes]));
  return view.report.agents.flatMap(({ id, orphans }) => {
    if (orphans.length === 0) return [];
    const lost = new Set(orphans);
    const held = (processes.get(id) ?? []).filter((unit) => lost.has(pidOf(unit))).reduce((sum, unit) => sum + memory(unit), 0);
    const [has, hold] = orphans.length === 1 ? ['has lost its', 'holds'] : ['have lost their', 'hold'];
    return [`${many(orphans.length, 'process', 'processes')} of ${labels.get(id) ?? id} ${has} parent and ${hold} ${bytes(held)}: ${some(orphans)}.`];
  });
}

function tokenNotes(view: View, agents: Unit[], labels: Map<string, string>): string[] {
  const unmetered = agents.filter(({ id }) => !view.metered.has(id) && !view.ended?.has(id)).map(({ id }) => labels.get(id) ?? id);
  if (unmetered.length === 0) return [];
  const whose = unmetered.length === 1 ? "its model's answers pass no proxy that counts them" : "their models' answers pass no proxy that counts them";
  return [`Tokens of ${some(unmetered)} aren't metered: ${whose}. \`lnk measure route\` is one; an agent that Link runs in a sandbox has its own.`];
}

function estimateNotes(view: View, labels: Map<string, string>): string[] {
  const estimated = view.report.agents.filter((agent) => agent.estimated).map(({ id }) => labels.get(id) ?? id);
  return estimated.length === 0 ? [] : [`The memory of ${some(estimated)} is in part an estimate: reading all of it would take too long.`];
}

function missingNotes(view: View): string[] {
  const missing = missingOf(view.report);
  const notes = missing
    .slice(0, MOST_MISSING)
    .map(({ source, measures, why, count }) => `Can't be read: ${measures.map(measureLabel).join(', ')} (${source}${count > 1 ? `, ${count} times` : ''}): ${why}.`);
  if (missing.length > MOST_MISSING) notes.push(`And ${missing.length - MOST_MISSING} more that can't be read: \`lnk measure check\` has them all.`);
  return notes;
}

/** The first few of a list, and how many more. */
function some(all: readonly (string | number)[]): string {
  const shown = all.slice(0, MOST_NAMES).join(', ');
  return all.length > MOST_NAMES ? `${shown} and ${all.length - MOST_NAMES} more` : shown;
}
