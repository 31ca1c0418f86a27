import { Command, Option } from 'clipanion';
import { measureFolder } from '../agents/folder';
import { readSending, type Sending } from '../export/sending';
import { hasFailed } from '../export/state';
import { bytes, duration } from '../show/numbers';
import { childrenCpu, readStatus, type Status } from '../watch/status';
import { LnkCommand } from './command';

/** `lnk measure status`: whether a watcher runs, and what it costs. */
export class StatusCommand extends LnkCommand {
  static override paths = [['status']];
  static override usage = Command.Usage({
    description: 'Whether a watcher runs, since when, when it looked last, and what it costs itself.',
    details: 'Ends with 0 if one runs, 1 if none does.',
    examples: [
      ['How the watcher is', '$0 status'],
      ['For a script', '$0 status --json'],
    ],
  });

  json = Option.Boolean('--json', false, { description: 'Print JSON: times in seconds since 1970, CPU in core-seconds, memory in bytes.' });

  async execute(): Promise<number> {
    const folder = measureFolder(this.context.env);
    const status = { ...readStatus(folder), export: readSending(folder) };
    this.context.stdout.write(this.json ? `${JSON.stringify(status)}\n` : this.#show(status));
    return status.running ? 0 : 1;
  }

  #show({ running, pid, since, every, lastLook, cost, export: sent }: Status & { export: Sending | null }): string {
    const ago = (at: number | null) => (at === null ? 'none yet' : `${duration(Math.max(0, Date.now() / 1000 - at))} ago`);
    if (!running) return `No watcher runs. \`lnk measure start\` starts one.${lastLook === null ? '' : ` The last look was ${ago(lastLook)}.`}\n`;
    const asked = pid === null ? undefined : childrenCpu(pid);
    const rows = [
      ['watching', `process ${pid ?? 'unknown'}, started ${ago(since)}`],
      ['last look', `${ago(lastLook)}${every === null ? '' : `, one every ${every}s`}`],
      ['its own cost', cost === null ? 'not known yet' : `${duration(cost.cpu)} of CPU, ${bytes(cost.memory)} of memory`],
      ...(asked === undefined ? [] : [['asked programs', `${duration(asked)} of CPU: what Link's commands cost`]]),
      ...(sent === null ? [] : [['sent to', `${sent.host}, last taken ${ago(sent.lastSuccess)}${hasFailed(sent) ? `, failed ${ago(sent.lastFailure)}: \`lnk measure export\` says why` : ''}`]]),
    ];
    return rows.map(([name = '', text = '']) => `${this.paint.dim(name.padEnd(16))}${text}\n`).join('');
  }
}
