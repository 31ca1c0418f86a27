// Where agents come from: Link, then runs, then what the sampler finds by its program. The order is the order of claim: an
// earlier one's process is never a later one's.

import { hostname } from 'node:os';
import { isName } from '../names';
import type { AgentRequest, LookRequest } from '../native';
import type { Agent } from './agent';
import { measureFolder } from './folder';
import { Link, type LinkList, type Traffic } from './link';
import { keepLinkId, machineId } from './machine';
import { readRuns, readRunTraffic } from './runs';

/** What to look at, and what is to be told about it. */
export interface Gathered {
  request: LookRequest;
  /** Agents whose proxy counts their tokens. */
  metered: ReadonlySet<string>;
  problems: string[];
  /** Whether all that was asked answered. */
  isWhole: boolean;
  /** Files to be removed once what is asked for is in a look that was kept. */
  over: string[];
}

/** The three providers, merged. */
export class Agents {
  readonly link: Link;
  readonly #folder: string;
  #linkId: string | undefined;
  #own: { id: string; note?: string } | undefined;

  constructor(env: NodeJS.ProcessEnv = process.env, link = new Link(env)) {
    this.link = link;
    this.#folder = measureFolder(env);
  }

  /** The agents here now, without what their proxies carried. */
  async gather(): Promise<Gathered> {
    const list = await this.link.list(() => this.#ownId());
    if (list.machine.id !== undefined && list.machine.id !== this.#linkId) keepLinkId(this.#folder, list.machine.id);
    this.#linkId = list.machine.id;
    const id = list.machine.id ?? this.#ownId();
    const runs = readRuns(this.#folder, id);
    const problems = [...list.problems, ...runs.problems, ...(list.machine.id === undefined && this.#own?.note ? [this.#own.note] : [])];
    return { request: { machine: machineOf(list, id), agents: merge(list.agents, runs.agents), found: true }, metered: new Set(), problems, isWhole: list.failed !== true, over: runs.over };
  }

  /** The same with what each agent's proxies carried; Link is asked for that only where an agent of its runs. */
  async withTraffic(gathered: Gathered): Promise<Gathered> {
    const { request } = gathered;
    const isAsked = request.agents.some(({ from, pids, cgroup, unit }) => from === 'link' && (pids.length > 0 || cgroup || unit));
    const { traffic: ofLink, problems } = isAsked ? await this.link.traffic() : { problems: [] };
    const traffic = { link: ofLink, run: request.agents.some(({ from }) => from === 'run') ? readRunTraffic(this.#folder) : undefined };
    const agents = request.agents.map((agent) => ({ ...agent, ...proxiesOf(agent, traffic[agent.from]) }));
    const metered = new Set(agents.filter(({ traffic }) => traffic?.some(({ model }) => model)).map(({ id }) => id));
    return { ...gathered, request: { ...request, agents }, metered, problems: [...gathered.problems, ...problems] };
  }

  /** The same with the runs there are by now. Asks nobody: a run may come and go between two questions. */
  withRuns(gathered: Gathered): Gathered {
    const { request } = gathered;
    const { agents: runs, over } = readRuns(this.#folder, request.machine.id);
    const traffic = runs.length > 0 ? readRunTraffic(this.#folder) : [];
    const merged = merge(request.agents.filter(({ from }) => from === 'link'), runs);
    const agents = merged.map((agent) => (agent.from === 'run' ? { ...agent, ...proxiesOf(agent, traffic) } : agent));
    return { ...gathered, request: { ...request, agents }, over };
  }

  #ownId(): string {
    this.#own ??= machineId(this.#folder);
    return this.#own.id;
  }
}

function machineOf(list: LinkList, id: string): LookRequest['machine'] {
  const name = list.machine.name ?? hostname();
  return isName(name) ? { id, name } : { id };
}

function merge(link: Agent[], runs: Agent[]): AgentRequest[] {
  const agents = new Map<string, AgentRequest>();
  for (const agent of link) agents.set(agent.id, { ...agent, from: 'link' });
  for (const agent of runs) if (!agents.has(agent.id)) agents.set(agent.id, { ...agent, from: 'run' });
  return [...agents.values()];
}

const proxiesOf = ({ id }: AgentRequest, traffic: Traffic[] | undefined): Pick<AgentRequest, 'traffic'> =>
  traffic === undefined ? {} : { traffic: traffic.filter(({ agent }) => agent === id).map(({ agent: _, ...proxy }) => proxy) };
