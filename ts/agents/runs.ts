// What `lnk measure run` is running now, from the measure folder.

import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { codeOf, Failure } from '../errors';
import { parseObject } from '../json';
import { isName } from '../names';
import { readPlain } from '../plain';
import { isForgotten, parseMark, RunFiles, runningOf } from '../run/home';
import { type Agent, parseAgent } from './agent';
import { parseSandbox, type Traffic } from './link';

/**
 * The runs there are (one file each, an agent as in contract 1), and what was skipped. What is left of a run that was
 * killed, and has nobody left, is removed by whoever sees it; so is that of one that ended a while ago.
 */
export function readRuns(folder: string, machineId: string): { agents: Agent[]; problems: string[] } {
  const agents: Agent[] = [];
  const problems: string[] = [];
  for (const name of runFiles(folder, '.json')) {
    const path = join(folder, 'runs', name);
    // What a file is called is not ours to repeat, unless it keeps the rule.
    const shown = isName(name) ? path : `A file in ${join(folder, 'runs')}`;
    try {
      const entry = parseObject(readPlain(path));
      const mark = parseMark(entry['run']);
      if (isForgotten(mark)) {
        new RunFiles(folder, decodeURIComponent(name.slice(0, -'.json'.length))).forget();
        continue;
      }
      const agent = parseAgent(entry, machineId);
      if ('problem' in agent) problems.push(`${shown} was skipped: it ${agent.problem}.`);
      else if (mark === undefined) problems.push(`${shown} was skipped: it doesn't say when its processes started.`);
      // A number may be somebody else's by now.
      else agents.push({ ...agent, pids: runningOf(mark) });
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
      return parseSandbox(parseObject(readPlain(join(folder, 'runs', name)))) ?? [];
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
