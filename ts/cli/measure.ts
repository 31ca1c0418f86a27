import { Command, Option } from 'clipanion';
import { nearest } from '../suggest';
import { Failure, Misuse } from '../errors';
import { measures, type Unit } from '../native';
import { showUnit } from '../show/agent';
import { showTree } from '../show/tree';
import { agentsOf, pidOf, type View } from '../show/view';
import { LnkCommand } from './command';
import { lookTwice } from './look';

/** `lnk measure`: this machine as a tree, one agent, or one of its processes. */
export class MeasureCommand extends LnkCommand {
  static override paths = [Command.Default];
  static override usage = Command.Usage({
    description: 'What every AI agent on this machine costs, as it happens.',
    details: `
      Shows this machine, the agents on it and each agent's processes: the memory they hold now, the CPU they have used
      and use now, what crossed an agent's proxy, and the processes and ports it has. Agents are those of Link, and the
      programs of known harnesses running as this user; each is measured from outside.
    `,
    examples: [
      ['This machine as a tree', '$0'],
      ['Every measure of one agent', '$0 --agent main'],
      ['One of its processes', '$0 --agent main --pid 4567'],
      ['For a script', '$0 --json'],
    ],
  });
  static override readonly values = { '--agent': 'NAME', '--pid': 'N' };

  agent = Option.String('--agent', { description: 'Show one agent, by its name or ID.' });
  pid = Option.String('--pid', { description: "Show one of that agent's processes." });
  json = Option.Boolean('--json', false, { description: 'Print JSON, in base units: bytes, seconds, micro-dollars.' });

  async execute(): Promise<number> {
    const pid = this.#parsePid();
    const view = await lookTwice();
    const { stdout } = this.context;
    if (this.agent === undefined) {
      stdout.write(this.json ? this.#jsonOf(view, view.look.units) : showTree(view, this.paint, this.width));
      return 0;
    }
    const { agent, processes } = findAgent(view, this.agent);
    if (pid === undefined) stdout.write(this.#page(view, agent, processes));
    else stdout.write(this.#page(view, findProcess(agent, processes, pid), []));
    return 0;
  }

  #parsePid(): number | undefined {
    if (this.pid === undefined) return undefined;
    if (this.agent === undefined) throw new Misuse('--pid is one of an agent\'s processes: name the agent with --agent NAME.');
    if (!/^[1-9]\d{0,9}$/.test(this.pid)) throw new Misuse(`--pid takes a process number, not ${JSON.stringify(this.pid)}.`);
    return Number(this.pid);
  }

  #page(view: View, unit: Unit, processes: Unit[]): string {
    if (this.json) return this.#jsonOf(view, [unit, ...processes]);
    return showUnit(unit, processes, view, measures(), this.paint, this.width);
  }

  #jsonOf(view: View, units: Unit[]): string {
    const withDay = units.map((unit) => ({
      ...unit,
      measures: Object.fromEntries(Object.entries(unit.measures).map(([name, { now, day }]) => [name, { now, day: day ?? null }])),
    }));
    return `${JSON.stringify({ at: view.look.at, units: withDay })}\n`;
  }
}

/** The agent of an ID, else of a name. */
function findAgent(view: View, wanted: string): { agent: Unit; processes: Unit[] } {
  const agents = agentsOf(view.look);
  const byId = agents.find(({ agent }) => agent.id === wanted);
  const named = byId ? [byId] : agents.filter(({ agent }) => agent.name === wanted);
  const [found, another] = named;
  if (found !== undefined && another === undefined) return found;
  if (found !== undefined) {
    throw new Failure(`${named.length} agents are called ${wanted}. Say which by its ID: ${named.map(({ agent }) => agent.id).join(', ')}`);
  }
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
