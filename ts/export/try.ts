// One look sent now, to see what comes back.

import { Agents } from '../agents';
import { Failure } from '../errors';
import { Sampler } from '../native';
import { encodeLevels } from '../native/otlp';
import { type Answer, Transport } from './post';
import type { Target } from './settings';
import { judge, wordsOf } from './verdict';

const LIMIT_MS = 10_000;
/** How much of an endpoint's own words is shown. */
const MOST_SHOWN = 300;

/** What came of it, as lines for a person. */
export interface Trial {
  isTaken: boolean;
  lines: string[];
}

/**
 * Sends what this machine holds now. Levels only: a total of this look's own would be another than the watcher's, and
 * read as its reset.
 *
 * @throws {Failure} there is nothing to send
 */
export async function tryTarget(target: Target, env: NodeJS.ProcessEnv, transport = new Transport()): Promise<Trial> {
  const gathered = await new Agents(env).gather();
  const body = encodeLevels(new Sampler().take(JSON.stringify(gathered.request)));
  if (body === undefined) throw new Failure('There is nothing to send: `lnk measure check` says why.');
  const { host, shown } = target.endpoint;
  let answer: Answer;
  const signal = AbortSignal.timeout(LIMIT_MS);
  try {
    answer = await transport.post(target, body, signal);
  } catch (error) {
    return { isTaken: false, lines: [`${host} ${signal.aborted ? `gives no answer in ${LIMIT_MS / 1000} s` : wordsOf(error)}.`] };
  }
  const verdict = judge(answer, Date.now());
  const said = told(answer, target);
  if (verdict.kind === 'taken') {
    const all = verdict.isPartial ? `but refused ${verdict.rejected} of its numbers` : 'all of it';
    return { isTaken: true, lines: [`${shown} took a look of ${body.length} bytes, ${all} (${answer.status}).`, ...(verdict.isPartial ? said : [])] };
  }
  const why = verdict.kind === 'too-large' ? 'takes no request as large as this look' : verdict.why;
  return { isTaken: false, lines: [`${host} ${why}.`, ...said] };
}

/** What an endpoint said itself: plain text, and nothing of our headers' values if it sent them back. */
function told({ body, location }: Answer, { headers }: Target): string[] {
  const shown = (text: string) => {
    const plain = headers.reduce((rest, [, value]) => rest.replaceAll(value, '…'), text).replace(/[^\x20-\x7e…]+/g, ' ').trim();
    return plain.length > MOST_SHOWN ? `${plain.slice(0, MOST_SHOWN)}…` : plain;
  };
  const texts = [location === undefined ? '' : `It points to ${shown(originOf(location))}.`, shown(body.toString('utf8'))];
  return texts.filter((text) => text !== '').map((text) => `  ${text}`);
}

/** The origin of an absolute URL; what it is relative to otherwise. */
function originOf(location: string): string {
  try {
    return new URL(location).origin;
  } catch {
    return 'another path of its own';
  }
}
