// What `lnk measure run` is running now, from the measure folder.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { codeOf, Failure } from '../errors';
import { parseObject } from '../json';
import { isName } from '../names';
import { type Agent, parseAgent } from './agent';
import { parseSandbox, type Traffic } from './link';

/** The runs there are (one file each, an agent as in contract 1), and what was skipped. */
export function readRuns(folder: string, machineId: string): { agents: Agent[]; problems: string[] } {
  const agents: Agent[] = [];
  const problems: string[] = [];
  for (const name of runFiles(folder, '.json')) {
    const path = join(folder, 'runs', name);
    // What a file is called is not ours to repeat, unless it keeps the rule.
    const shown = isName(name) ? path : `A file in ${join(folder, 'runs')}`;
    try {
      const agent = parseAgent(parseObject(readFileSync(path, 'utf8')), machineId);
      if ('problem' in agent) problems.push(`${shown} was skipped: it ${agent.problem}.`);
      else agents.push(agent);
    } catch (error) {
      // A run that ended meanwhile took its file with it.
      if (codeOf(error) !== 'ENOENT') problems.push(`${shown} was skipped: it ${error instanceof Failure ? error.message : `can't be read (${codeOf(error) ?? 'no reason given'})`}.`);
    }
  }
  return { agents, problems };
}

/** What the proxies of the runs there are carried so far: a file each beside its run's, an entry as in contract 2. */
export const readRunTraffic = (folder: string): Traffic[] =>
  runFiles(folder, '.traffic').flatMap((name) => {
    try {
      return parseSandbox(parseObject(readFileSync(join(folder, 'runs', name), 'utf8'))) ?? [];
    } catch {
      // Not there any more, or not yet.
      return [];
    }
  });

function runFiles(folder: string, ending: string): string[] {
  try {
    return readdirSync(join(folder, 'runs')).filter((name) => name.endsWith(ending)).sort();
  } catch {
    return [];
  }
}
