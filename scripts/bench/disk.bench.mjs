// What looks take on the disk: a look's line beside the same look as OTLP JSON, and closed files beside the values they
// could hold. Of this machine with agents that mostly idle, really looked at; and of one where all are busy, made up.

import { spawn } from 'node:child_process';
import { copyFileSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { nativeFile, Place } from './place.mjs';
import { buildExamples, run, table } from './table.mjs';

/** Programs to be found: a Node each that wakes twice a second and does next to nothing, as a harness that waits does. */
const HARNESSES = ['claude', 'codex', 'gemini', 'opencode', 'goose', 'aider', 'crush', 'qwen'];
const LOOKS = 360;
const BETWEEN_MS = 250;
const SETTINGS = JSON.stringify({ keepFineMs: 86_400_000, keepMinutesMs: 86_400_000, processes: false });

const binding = createRequire(import.meta.url)(nativeFile());
const TABLE = JSON.parse(binding.measures());

/** A look's units that a line has, as the OTLP JSON that would send them: a resource a unit, a point a value. */
function otlpOf({ at, units }) {
  const timeUnixNano = `${Math.round(at * 1000)}000000`;
  const text = (key, stringValue) => ({ key, value: { stringValue } });
  const machine = units.find(({ kind }) => kind === 'machine').id;
  const resourceMetrics = units.filter(({ kind }) => kind === 'machine' || kind === 'agent').map((unit) => {
    const attributes = [
      text('link.unit.id', unit.id),
      text('link.unit.kind', unit.kind),
      ...(unit.parent ? [text('link.unit.parent', unit.parent)] : []),
      ...(unit.name ? [text('link.unit.name', unit.name)] : []),
      text('link.machine.id', machine),
      text('service.name', 'link'),
      text('service.instance.id', unit.id),
    ];
    const metrics = TABLE.filter(({ name }) => unit.measures[name]).map(({ name, unit: base, kind }) => {
      const value = unit.measures[name].now;
      const point = { timeUnixNano, ...(base !== 's' && Number.isInteger(value) ? { asInt: String(value) } : { asDouble: value }) };
      if (kind === 'level' || kind === 'peak') return { name, unit: base, gauge: { dataPoints: [point] } };
      // When it began is in nanoseconds too, so as long.
      const started = { startTimeUnixNano: timeUnixNano, ...point };
      return { name, unit: base, sum: { aggregationTemporality: 2, isMonotonic: true, dataPoints: [started] } };
    });
    return { resource: { attributes }, scopeMetrics: [{ scope: { name: 'lnk-measure', version: binding.version() }, metrics }] };
  });
  return JSON.stringify({ resourceMetrics });
}

/** The last line of the newest file. */
function lastLine(folder) {
  const [name] = readdirSync(join(folder, 'fine')).sort().reverse();
  return readFileSync(join(folder, 'fine', name), 'utf8').trimEnd().split('\n').at(-1);
}

/** Looks at this machine, kept as the watcher keeps them; then the hour is closed. */
async function idleMachine(place) {
  const children = HARNESSES.map((name) => {
    copyFileSync(process.execPath, join(place.home, name));
    return spawn(join(place.home, name), ['-e', 'let n = 0; setInterval(() => n++, 500)'], { stdio: 'ignore' });
  });
  try {
    const sampler = new binding.Sampler('{}');
    const store = new binding.Store(place.measure, SETTINGS);
    const request = JSON.stringify({ machine: { id: 'mch_7f3a9c21', name: 'studio' }, agents: [], found: true });
    let [lines, otlp, units] = [0, 0, 0];
    for (let n = 0; n < LOOKS; n++) {
      const look = sampler.look(request);
      await store.append(look, '{}');
      const seen = JSON.parse(look.json());
      lines += lastLine(place.measure).length + 1;
      otlp += otlpOf(seen).length;
      units += seen.units.filter(({ kind }) => kind === 'machine' || kind === 'agent').length;
      await wait(BETWEEN_MS);
    }
    return { lines, otlp, units, ...(await close(place.measure)) };
  } finally {
    for (const child of children) child.kill('SIGKILL');
  }
}

/** Compresses what was kept, as the turn of an hour would: the looks become the hour's before last. */
async function close(folder) {
  const fine = join(folder, 'fine');
  const text = readdirSync(fine).sort().map((name) => readFileSync(join(fine, name)));
  const all = Buffer.concat(text);
  const [name] = readdirSync(fine).sort();
  for (const other of readdirSync(fine).filter((each) => each !== name)) rmSync(join(fine, other));
  const hour = new Date(Date.now() - 2 * 3_600_000).toISOString().slice(0, 13).replace('T', '-');
  renameSync(join(fine, name), join(fine, `${hour}.jsonl`));
  const store = new binding.Store(folder, SETTINGS);
  await store.append(new binding.Sampler('{}').look(JSON.stringify({ machine: { id: 'mch_7f3a9c21' }, agents: [], found: false })), '{}');
  const problems = await store.tidy(Date.now());
  if (problems.length) throw new Error(problems.join('\n'));
  const closed = readdirSync(fine).filter((each) => each.endsWith('.zst'));
  return { plain: all.length, closed: closed.reduce((sum, each) => sum + statSync(join(fine, each)).size, 0) };
}

export default async function disk() {
  const bench = `${buildExamples('lnk-store')}/store_bench`;
  const [idle, busy] = [new Place(), new Place()];
  try {
    const { lines, otlp, units, plain, closed } = await idleMachine(idle);
    const made = JSON.parse(run(bench, ['fill', busy.measure, '100', String(Date.now()), '1', '10000']));
    const per = (bytes, values) => (bytes / values).toFixed(3);
    table([
      ['a look of this machine, its agents idle', 'bytes', 'of OTLP JSON', 'goal'],
      ['as OTLP JSON', (otlp / LOOKS).toFixed(0), '1', ''],
      ['as a line', (lines / LOOKS).toFixed(0), `1/${(otlp / lines).toFixed(1)}`, '1/8'],
    ]);
    table([
      ['closed files', 'bytes', 'a possible value', 'goal'],
      [`this machine, idle: ${LOOKS} looks, ${BETWEEN_MS / 1000} s apart, of ${Math.round(units / LOOKS)} units (plain ${plain})`, String(closed), per(closed, units * TABLE.length), '0.15'],
      [`made, all busy: a day of ${made.units} units`, String(made.closed_bytes), per(made.closed_bytes, made.possible_values), ''],
    ]);
  } finally {
    for (const place of [idle, busy]) place.end();
  }
}
