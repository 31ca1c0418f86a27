import { accessSync, constants, existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { Command } from 'clipanion';
import { Agents } from '../agents';
import { measureFolder } from '../agents/folder';
import { messageOf } from '../errors';
import { readTarget } from '../export/settings';
import { hasFailed, readState } from '../export/state';
import { Sampler } from '../native';
import { type Finding, findingsOf, showCheck } from '../show/check';
import { many } from '../show/numbers';
import { LnkCommand } from './command';

/** `lnk measure check`: what can and can't be measured here, and why. */
export class CheckCommand extends LnkCommand {
  static override paths = [['check']];
  static override usage = Command.Usage({
    description: "What can and can't be measured here, and why.",
    details: `
      Takes a look and says of each source what it cost and what it could not say. Ends with 0 if all is well, 1 if
      something can't be measured, 2 if nothing can.
    `,
    examples: [['Check this machine', '$0 check']],
  });

  async execute(): Promise<number> {
    let findings: Finding[];
    try {
      const agents = new Agents();
      const sampler = new Sampler();
      const gathered = await agents.withTraffic(await agents.gather());
      const { report } = sampler.look(gathered.request);
      findings = [linkFinding(agents, gathered.request.agents.length, gathered.problems), folderFinding(measureFolder()), ...exportFinding(measureFolder()), ...findingsOf(report)];
    } catch (error) {
      this.context.stderr.write(`lnk measure: nothing can be measured here: ${messageOf(error)}\n`);
      return 2;
    }
    this.context.stdout.write(showCheck(findings, this.paint, this.width));
    return findings.every(({ good }) => good) ? 0 : 1;
  }
}

function linkFinding({ link }: Agents, agents: number, problems: string[]): Finding {
  const text =
    link.command === undefined
      ? 'Agents: Link is not here, so they are found by their programs'
      : `Agents: ${many(agents, 'agent')} of Link, asked of ${link.command}`;
  return { good: problems.length === 0, text, more: problems };
}

/** How sending went, where looks are to be sent. */
function exportFinding(folder: string): Finding[] {
  let host: string | undefined;
  try {
    host = readTarget(folder)?.endpoint.host;
  } catch (error) {
    return [{ good: false, text: 'Export: nothing is sent', more: [messageOf(error)] }];
  }
  if (host === undefined) return [];
  const state = readState(folder, host);
  if (hasFailed(state)) return [{ good: false, text: `Export: ${host} took no look lately`, more: [`It ${state.failure ?? 'failed'}. \`lnk measure export --test\` tries it now.`] }];
  const text = state.lastSuccess === null ? 'nothing was sent yet: the watcher sends each look' : 'takes what is sent';
  return [{ good: true, text: `Export: ${host}: ${text}` }];
}

/** Whether the measure folder can be written, or made: in the nearest folder that is there. */
function folderFinding(folder: string): Finding {
  let nearest = folder;
  while (!existsSync(nearest) && dirname(nearest) !== nearest) nearest = dirname(nearest);
  try {
    accessSync(nearest, constants.W_OK);
    return { good: true, text: `Folder: ${folder} can be written` };
  } catch (error) {
    return { good: false, text: `Folder: ${folder} can't be written`, more: [messageOf(error)] };
  }
}
