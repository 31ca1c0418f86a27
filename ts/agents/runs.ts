// What `lnk measure run` is running now, from the measure folder.

import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { codeOf, Failure } from '../errors';
import { parseObject } from '../json';
import { isName } from '../names';
import type { EndedRun } from '../native';
import { readPlain } from '../plain';
import { isForgotten, OVER, parseMark, RunFiles, runningOf } from '../run/home';
import { type Agent, parseAgent } from './agent';
import { parseSandbox, type Traffic } from './link';

/** The runs there are. */
export interface Runs {
  agents: (Agent & { ended?: EndedRun[] })[];
  /** What was skipped, and why. */
  problems: string[];
  /** Files of runs that are over, to be removed once what they say is in a look that was kept. */
  over: string[];
}

/**
 * The runs there are (one file each, an agent as in contract 1), and what was skipped. What is left of a run that was
 * killed, and has nobody left, is removed by whoever sees it; so is that of one that ended a while ago.
 */
export function readRuns(folder: string, machineId: string): Runs {
  const agents: Runs['agents'] = [];
  const problems: string[] = [];
  const over: string[] = [];
  const left = runFiles(folder, '.ended');
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
      else {
        const { ended, paths } = readEnded(folder, left, name.slice(0, -'.json'.length));
        over.push(...paths);
        // One that is over is the last that ended.
        const started = agent.started ?? ended.at(-1)?.started;
        agents.push({ ...agent, pids: runningOf(mark), ...(started !== undefined && { started }), ...(ended.length > 0 && { ended }) });
      }
    } catch (error) {
      // A run that ended meanwhile took its file with it.
      if (codeOf(error) !== 'ENOENT') problems.push(`${shown} was skipped: it ${error instanceof Failure ? error.message : `can't be read (${codeOf(error) ?? 'no reason given'})`}.`);
    }
  }
  return { agents, problems, over };
}

/** What runs of a name left for the watcher as they ended, the oldest first. What isn't that is left out. */
function readEnded(folder: string, left: string[], base: string): { ended: EndedRun[]; paths: string[] } {
  const found = left.filter((name) => name.replace(OVER, '') === base).flatMap((name) => {
    const path = join(folder, 'runs', name);
    const said = readObject(path);
    const { started, cpu } = said ?? {};
    if (!isAmount(started) || !isAmount(cpu)) return [];
    const bytes = Object.fromEntries((['read', 'written', 'peak'] as const).flatMap((key) => (Number.isSafeInteger(said?.[key]) && isAmount(said?.[key]) ? [[key, said[key]]] : [])));
    return [{ path, run: { started, cpu, ...bytes } as EndedRun }];
  });
  found.sort((a, b) => a.run.started - b.run.started);
  return { ended: found.map(({ run }) => run), paths: found.map(({ path }) => path) };
}

const isAmount = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value) && value >= 0;

function readObject(path: string): Record<string, unknown> | undefined {
  try {
    return parseObject(readPlain(path));
  } catch {
    // Not there any more, or not yet.
    return undefined;
  }
}

/**
 * What the proxies of the runs there are carried so far: a file each beside its run's, an entry as in contract 2; and what
 * those of runs that are over carried in all.
 */
export function readRunTraffic(folder: string): Traffic[] {
  const said = (name: string): unknown => {
    const entry = readObject(join(folder, 'runs', name));
    return OVER.test(name) ? entry?.['traffic'] : entry;
  };
  const found = [...runFiles(folder, '.ended'), ...runFiles(folder, '.traffic')].flatMap((name) => parseSandbox(said(name)) ?? []);
  // One that has just ended may be there twice: as it ended is all of it.
  return found.filter(({ proxy }, at) => found.findIndex((other) => other.proxy === proxy) === at);
}

function runFiles(folder: string, ending: string): string[] {
  try {
    return readdirSync(join(folder, 'runs')).filter((name) => name.endsWith(ending)).sort();
  } catch {
    return [];
  }
}
