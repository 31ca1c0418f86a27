// An agent as a provider names it, read from JSON that is not trusted.

import { isObject, listOf } from '../json';
import { isName, nameOf } from '../names';

/** An agent: what the sampler needs to find its processes. */
export interface Agent {
  id: string;
  name: string;
  owner?: string;
  teams: string[];
  /** Its main processes. */
  pids: number[];
  /** When it was started, in seconds since 1970. */
  started?: number;
  /** Its control group of its own, as a v2 path. */
  cgroup?: string;
  /** Its systemd unit. */
  unit?: string;
  running: boolean;
  /** Its harness's home, and the file in it the harness reports its turns in. */
  home?: string;
  measures?: string;
  /** The folder of its settings, where its starts and stops are kept. */
  settings?: string;
}

const UNIT = /^[A-Za-z0-9:_.\\@-]{1,255}$/;
const LARGEST_PID = 2 ** 31 - 1;

/**
 * An agent of one entry of a provider's list (contract 1), or why it is not one. Only a name is needed; anything else that
 * isn't what it should be is left out, except an ID, which stands for the agent and so must be right.
 *
 * @param machineId what the ID of an agent that has none begins with
 */
export function parseAgent(entry: unknown, machineId: string): Agent | { problem: string } {
  if (!isObject(entry)) return { problem: 'is not an object' };
  const { name } = entry;
  if (!isName(name)) return { problem: 'has no name, or one that may not be kept' };
  const id = entry['id'] ?? `${machineId}:${name}`;
  if (!isName(id)) return { problem: 'has an ID that may not be kept' };
  const agent: Agent = { id, name, teams: listOf(entry['teams']).filter(isName), pids: [], running: entry['running'] !== false };
  const owner = nameOf(entry['owner']);
  if (owner !== undefined) agent.owner = owner;
  for (const key of ['home', 'measures', 'settings'] as const) {
    const path = entry[key];
    if (isPath(path)) agent[key] = path;
  }
  // What is said of an agent that isn't running is what it was.
  if (!agent.running) return agent;
  agent.pids = listOf(entry['processes']).filter(isPid);
  const { started, cgroup, unit } = entry;
  if (typeof started === 'number' && Number.isFinite(started) && started > 0) agent.started = started;
  if (isCgroupPath(cgroup)) agent.cgroup = cgroup;
  if (typeof unit === 'string' && UNIT.test(unit)) agent.unit = unit;
  return agent;
}

const isPid = (value: unknown): value is number => Number.isInteger(value) && Number(value) > 0 && Number(value) <= LARGEST_PID;

const isPath = (value: unknown): value is string => typeof value === 'string' && value.length <= 4096 && value.startsWith('/') && !value.includes('\0');

const isCgroupPath = (value: unknown): value is string => isPath(value) && !value.split('/').some((part) => part === '..' || part === '.');
