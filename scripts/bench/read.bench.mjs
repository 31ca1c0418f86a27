// What `lnk measure` takes where a watcher runs, beside a Node that does nothing: with hardly any day, and with a full
// day of 20 agents that mostly idle or are all busy. And 30 days of minutes.

import { buildExamples, run, table } from './table.mjs';
import { Place } from './place.mjs';

const ROUNDS = 11;
const AGENTS = 20;
const DAYS = { 'a day of 20 agents, mostly idle': 5, 'a day of 20 agents, all busy': 100 };

const median = (values) => values.sort((a, b) => a - b)[values.length >> 1];

/**
 * Each command a few times, in turns with a bare Node: what else the machine does is the same for both. On a machine that
 * does much else the clock says little, and the CPU's time is what a free core would take at most.
 */
function rowsOf(place, what, commands) {
  const all = commands.map(() => []);
  const bare = [];
  for (let round = 0; round < ROUNDS; round++) {
    bare.push(place.time('-e', '0'));
    commands.forEach(([, args], at) => all[at].push(place.timeLnk('measure', ...args)));
  }
  return commands.map(([name, , goal], at) => {
    const [[ms, base], [cpu, baseCpu]] = ['ms', 'cpu'].map((key) => [all[at], bare].map((each) => median(each.map((one) => one[key]))));
    const more = (part, whole) => `+${(part - whole).toFixed(0)}`;
    return [`${name}, ${what}`, base.toFixed(0), ms.toFixed(0), more(ms, base), more(cpu, baseCpu), `+${goal}`];
  });
}

export default async function read() {
  const bench = `${buildExamples('lnk-store')}/store_bench`;
  const rows = [['', 'node -e 0, ms', 'ms', 'more', 'more CPU', 'goal']];
  const place = new Place();
  try {
    await place.startAgents(AGENTS, 1);
    place.startWatcher();
    rows.push(...rowsOf(place, 'no day yet', [['lnk measure', [], 50]]));
    place.lnk('measure', 'stop');
  } finally {
    place.end();
  }
  for (const [what, busy] of Object.entries(DAYS)) {
    const place = new Place();
    try {
      await place.startAgents(AGENTS, 1);
      run(bench, ['fill', place.measure, String(busy), String(Date.now() - 10_000), '1', '10000']);
      place.startWatcher();
      rows.push(...rowsOf(place, what, [['lnk measure', [], 120], ['lnk measure --agent', ['--agent', 'agent-3'], 120]]));
    } finally {
      place.end();
    }
  }
  table(rows);
  const month = new Place();
  try {
    const now = String(Date.now());
    run(bench, ['fill', month.measure, '30', now, '30', '60000']);
    const { median_ms: ms } = JSON.parse(run(bench, ['month', month.measure, now]));
    table([['', 'ms', 'goal'], ['30 days of minutes of 20 agents, a slice a day', ms.toFixed(0), '1000']]);
  } finally {
    month.end();
  }
}
