// A look of one's own, where no watcher has one to show.

import { setTimeout as wait } from 'node:timers/promises';
import { Agents } from '../agents';
import { Sampler } from '../native';
import { cpuRates, type View } from '../show/view';

/** Between the two looks a rate needs: long enough for a hundred-tick clock to tell a busy core, short enough to wait for. */
const BETWEEN_MS = 250;

/** What one look asked for by hand may spend on memory: it must be whole at once, and comes only now and then. */
const PSS_BUDGET_MS = 500;

/** Takes two looks a short while apart; meanwhile asks what crossed the agents' proxies. */
export async function lookTwice(agents = new Agents()): Promise<View> {
  const sampler = new Sampler(PSS_BUDGET_MS);
  const gathered = await agents.gather();
  const first = sampler.look(gathered.request);
  const [complete] = await Promise.all([agents.withTraffic(gathered), wait(BETWEEN_MS)]);
  const { look, report } = sampler.look(complete.request);
  return {
    look,
    report,
    cpuRates: cpuRates(first.look, look, report.elapsedMs),
    metered: complete.metered,
    problems: complete.problems,
    hasDay: false,
  };
}
