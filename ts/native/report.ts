// What a person is shown of how a look went, whoever took it. What the watcher took comes out of a file, and is checked here.

import { isObject, listOf } from '../json';
import { isName, isUnitId } from '../names';

const WHY = ['denied', 'gone', 'unsupported', 'not-enabled', 'hidden', 'timeout', 'not-yet', 'invalid'] as const;

/** A source's name: a file or a call of the system's, in plain ASCII. */
const SOURCE = /^[\x20-\x7e]{1,64}$/;

/** Values that are absent for one reason, and how many times. */
export interface ShownAbsence {
  measures: string[];
  why: (typeof WHY)[number];
  count: number;
  /** What came of reading them, in words; a look that was kept doesn't say. */
  detail?: string;
}

/** What is to be said of an agent's processes. */
export interface ShownAgent {
  id: string;
  /** Its members whose parent is gone. */
  orphans: number[];
  /** Whether its memory is in part of an earlier look. */
  estimated: boolean;
}

/** What a person is shown of how a look went. */
export interface ShownReport {
  sources: { source: string; absent: ShownAbsence[] }[];
  agents: ShownAgent[];
}

/** The report of a look that was kept; what isn't as it should be is left out. */
export function parseReport(report: unknown): ShownReport {
  const { sources, agents } = isObject(report) ? report : {};
  return { sources: listOf(sources).flatMap(parseSource), agents: listOf(agents).flatMap(parseAgent) };
}

function parseSource(entry: unknown): ShownReport['sources'] {
  if (!isObject(entry) || typeof entry['source'] !== 'string' || !SOURCE.test(entry['source'])) return [];
  return [{ source: entry['source'], absent: listOf(entry['absent']).flatMap(parseAbsence) }];
}

function parseAbsence(entry: unknown): ShownAbsence[] {
  if (!isObject(entry) || !isCount(entry['count'])) return [];
  const why = WHY.find((each) => each === entry['why']);
  return why === undefined ? [] : [{ measures: listOf(entry['measures']).filter(isName), why, count: entry['count'] }];
}

function parseAgent(entry: unknown): ShownAgent[] {
  if (!isObject(entry) || !isUnitId(entry['id'])) return [];
  return [{ id: entry['id'], orphans: listOf(entry['orphans']).filter(isCount), estimated: entry['estimated'] === true }];
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) > 0;
