// Link's own agents: contract 1 (`lnk agent list --json --here`) and contract 2 (`lnk sandbox traffic --json`).

import { realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Failure, messageOf } from '../errors';
import { isObject, parseObject } from '../json';
import { isName, nameOf } from '../names';
import { findProgram } from '../path';
import { type ProxyTraffic, TOKEN_COUNTS } from '../native';
import { type Agent, parseAgent } from './agent';
import { ask, ASK_LIMITS, type AskLimits } from './ask';

/** What Link says of this machine and its agents. */
export interface LinkList {
  machine: { id?: string; name?: string };
  /** In Link's order, each ID once. */
  agents: Agent[];
  /** What was skipped, and why. */
  problems: string[];
  /** The command failed: these are those of its last good answer. */
  failed?: true;
}

/** What one run of a proxy carried, and whose it is. */
export interface Traffic extends ProxyTraffic {
  agent: string;
}

/**
 * Link's list from its JSON, entry by entry: a bad one is skipped and told.
 *
 * @param machineId this machine's, where Link gives none
 * @throws {Failure} it is no such list
 */
export function parseAgentList(text: string, machineId: () => string): LinkList {
  const list = parseObject(text);
  if (!Array.isArray(list['agents'])) throw new Failure('holds no list of agents');
  const said = isObject(list['machine']) ? list['machine'] : {};
  const [id, name] = [nameOf(said['id']), nameOf(said['name'])];
  const machine = { ...(id !== undefined && { id }), ...(name !== undefined && { name }) };
  const agents = new Map<string, Agent>();
  const problems: string[] = [];
  const ownId = id ?? machineId();
  list['agents'].forEach((entry: unknown, index) => {
    const agent = parseAgent(entry, ownId);
    if ('problem' in agent) problems.push(`Link's agent ${index + 1} was skipped: it ${agent.problem}.`);
    else if (agents.has(agent.id)) problems.push(`Link's agent ${index + 1} was skipped: ${agent.id} is in the list twice.`);
    else agents.set(agent.id, agent);
  });
  return { machine, agents: [...agents.values()], problems };
}

/**
 * The traffic of each agent's proxies from its JSON; entries that aren't such are left out.
 *
 * @throws {Failure} it is no such list
 */
export function parseTraffic(text: string): Traffic[] {
  const list = parseObject(text);
  if (!Array.isArray(list['sandboxes'])) throw new Failure('holds no list of sandboxes');
  return list['sandboxes'].flatMap((entry: unknown) => parseSandbox(entry) ?? []);
}

/** One entry of that list, if it is one. */
export function parseSandbox(entry: unknown): Traffic | undefined {
  if (!isObject(entry)) return undefined;
  const { agent, proxy, since, in: bytesIn, out: bytesOut } = entry;
  if (!isName(agent) || !isName(proxy) || !isCount(bytesIn) || !isCount(bytesOut)) return undefined;
  const began = typeof since === 'number' && Number.isFinite(since) && since > 0 ? { since } : {};
  return { agent, proxy, ...began, in: bytesIn, out: bytesOut, model: entry['model'] === true, ...tokensOf(entry['tokens']) };
}

/** The six counts, where all are there: one that isn't there isn't zero. */
function tokensOf(said: unknown): Pick<Traffic, 'tokens'> {
  if (!isObject(said) || !TOKEN_COUNTS.every((name) => isCount(said[name]))) return {};
  return { tokens: Object.fromEntries(TOKEN_COUNTS.map((name) => [name, said[name]])) as Traffic['tokens'] & object };
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0;

/** Link, as a provider of agents: asks its command, and keeps its last good answer. */
export class Link {
  readonly #command: string | undefined;
  readonly #limits: AskLimits;
  #last: LinkList | undefined;

  constructor(env: NodeJS.ProcessEnv = process.env, limits: AskLimits = ASK_LIMITS) {
    this.#command = linkCommand(env);
    this.#limits = limits;
  }

  /** The command that is asked; undefined where there is no Link. */
  get command(): string | undefined {
    return this.#command;
  }

  /**
   * The agents here; where the command fails, those of its last good answer, and why. Without Link, none.
   *
   * @param machineId this machine's, where Link gives none
   */
  async list(machineId: () => string): Promise<LinkList> {
    if (this.#command === undefined) return { machine: {}, agents: [], problems: [] };
    try {
      this.#last = parseAgentList(await ask(this.#command, ['agent', 'list', '--json', '--here'], this.#limits), machineId);
      return this.#last;
    } catch (error) {
      const kept = this.#last ?? { machine: {}, agents: [] };
      return { ...kept, problems: [`Link's agents aren't known: ${this.#why(error)}.`], failed: true };
    }
  }

  /** What each agent's proxies carried, undefined where that isn't known, and what went wrong. */
  async traffic(): Promise<{ traffic?: Traffic[]; problems: string[] }> {
    if (this.#command === undefined) return { problems: [] };
    try {
      return { traffic: parseTraffic(await ask(this.#command, ['sandbox', 'traffic', '--json'], this.#limits)), problems: [] };
    } catch (error) {
      return { problems: [`What crossed the agents' proxies isn't known: ${this.#why(error)}.`] };
    }
  }

  /** A failure with the command it is of: those of reading an answer don't name it. */
  #why(error: unknown): string {
    const message = messageOf(error);
    return message.startsWith('`') ? message : `what \`${this.#command}\` answered ${message}`;
  }
}

/**
 * Link's command: `LNK_COMMAND`, or the `lnk` on the PATH. That one may be this program, whose other groups are programs
 * of their own; without an `lnk-agent` there is then no Link.
 */
function linkCommand(env: NodeJS.ProcessEnv): string | undefined {
  if (env['LNK_COMMAND']) return env['LNK_COMMAND'];
  const found = findProgram('lnk', env);
  if (found === undefined || !isThisProgram(found)) return found;
  return findProgram('lnk-agent', env) === undefined ? undefined : found;
}

/** Whether a program is this one, or another copy of it: asking that would only cost a start of Node. */
function isThisProgram(path: string): boolean {
  try {
    const real = realpathSync(path);
    const { name } = require(join(dirname(real), '..', 'package.json')) as { name?: unknown };
    return name === 'lnk-measure';
  } catch {
    return false;
  }
}
