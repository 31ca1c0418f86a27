import { Command, Option } from 'clipanion';
import { nearest } from '../suggest';
import { Failure, Misuse } from '../errors';
import { measureFolder } from '../agents/folder';
import { measures, type Unit } from '../native';
import type { Hour } from '../native/store';
import { showUnit } from '../show/agent';
import { showTree } from '../show/tree';
import { agentsOf, pidOf, type View } from '../show/view';
import { LnkCommand } from './command';
import { keptDay, viewNow, withDay } from './view';

/** `lnk measure`: this machine as a tree, one agent, or one of its processes. */
export class MeasureCommand extends LnkCommand {
  static override paths = [Command.Default];
  static override usage = Command.Usage({
    description: 'What every AI agent on this machine costs, as it happens.',
    details: `
      Shows this machine, the agents on it and each agent's processes: the memory they hold now, the CPU they have used
      and use now, what crossed an agent's proxy, and the processes and ports it has. Agents are those of Link, and the
      programs of known harnesses running as this user; each is measured from outside. Where a watcher runs
      (\`start\`), what it saw last is shown, and over the last day.
    `,
    examples: [
      ['This machine as a tree', '$0'],
      ['Every measure of one agent', '$0 --agent main'],
      ['One of its processes', '$0 --agent main --pid 4567'],
      ['For a script', '$0 --json'],
    ],
  });
  static override readonly values = { '--agent': 'NAME', '--pid': 'N' };
  static override readonly choices = { '--agent': 'agents' } as const;

  agent = Option.String('--agent', { description: 'Show one agent, by its name or ID.' });
  pid = Option.String('--pid', { description: "Show one of that agent's processes." });
  json = Option.Boolean('--json', false, { description: 'Print JSON, in base units: bytes, seconds, micro-dollars.' });

  async execute(): Promise<number> {
    const pid = this.#parsePid();
    const folder = measureFolder(this.context.env);
    const seen = await viewNow(folder);
    const { stdout } = this.context;
    if (this.agent === undefined) {
      const view = withDay(seen, keptDay(folder));
      stdout.write(this.json ? this.#jsonOf(view, view.look.units) : showTree(view, this.paint, this.width));
      return 0;
    }
    // One that runs is named by the look; one that has ended, by the whole day.
    const { agent: named } = findIn(seen, this.agent) ?? findAgent(withDay(seen, keptDay(folder)), this.agent);
    const day = keptDay(folder, named.id);
    const view = withDay(seen, day);
    const { agent, processes } = findAgent(view, named.id);
    const unit = pid === undefined ? agent : findProcess(agent, processes, pid);
    const running = pid === undefined ? processes.filter(({ id }) => !view.ended?.has(id)) : [];
    stdout.write(this.#page(view, unit, running, day?.hours.get(unit.id)));
    return 0;
  }

  #parsePid(): number | undefined {
    if (this.pid === undefined) return undefined;
    if (this.agent === undefined) throw new Misuse('--pid is one of an agent\'s processes: name the agent with --agent NAME.');
    if (!/^[1-9]\d{0,9}$/.test(this.pid)) throw new Misuse(`--pid takes a process number, not ${JSON.stringify(this.pid)}.`);
    return Number(this.pid);
  }

  #page(view: View, unit: Unit, processes: Unit[], hours: Hour[] = []): string {
    if (this.json) return this.#jsonOf(view, [unit, ...processes], hours);
    return showUnit(unit, processes, hours, view, measures(), this.paint, this.width);
  }

  #jsonOf(view: View, units: Unit[], hours?: Hour[]): string {
    const withDay = units.map((unit) => ({
      ...unit,
      measures: Object.fromEntries(Object.entries(unit.measures).map(([name, { now, day }]) => [name, { now, day: day ?? null }])),
    }));
    return `${JSON.stringify({ at: view.look.at, units: withDay, ...(hours !== undefined && { hours }) })}\n`;
  }
}

interface Found {
  agent: Unit;
  processes: Unit[];
}

/** The agent of an ID, else of a name; undefined if there is none. */
function findIn(view: View, wanted: string): Found | undefined {
  const agents = agentsOf(view.look);
  const byId = agents.find(({ agent }) => agent.id === wanted);
  const named = byId ? [byId] : agents.filter(({ agent }) => agent.name === wanted);
  if (named.length > 1) {
    throw new Failure(`${named.length} agents are called ${wanted}. Say which by its ID: ${named.map(({ agent }) => agent.id).join(', ')}`);
  }
  return named[0];
}

function findAgent(view: View, wanted: string): Found {
  const found = findIn(view, wanted);
  if (found !== undefined) return found;
  const agents = agentsOf(view.look);
  const names = agents.map(({ agent }) => agent.name ?? agent.id);
  const meant = nearest(wanted, names);
  const hint = meant !== undefined ? `Did you mean ${meant}?` : names.length > 0 ? `Here are: ${names.join(', ')}` : 'No agent runs here.';
  throw new Failure(`No agent here is called ${JSON.stringify(wanted)}. ${hint}`);
}

function findProcess(agent: Unit, processes: Unit[], pid: number): Unit {
  const found = processes.find((process) => pidOf(process) === pid);
  if (found !== undefined) return found;
  const pids = processes.map(pidOf).join(', ');
  throw new Failure(`${agent.name ?? agent.id} has no process ${pid} now. ${pids === '' ? 'It has none.' : `It has: ${pids}`}`);
}
