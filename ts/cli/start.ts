import { Command, Option } from 'clipanion';
import { makeMeasureFolder, measureFolder } from '../agents/folder';
import { Failure } from '../errors';
import { takeLock } from '../native/store';
import { logPath } from '../watch/log';
import { LnkCommand } from './command';

/** `lnk measure start`: the watcher, in the background or here. */
export class StartCommand extends LnkCommand {
  static override paths = [['start']];
  static override usage = Command.Usage({
    description: 'Keep watching in the background, so that there is a day to look back on.',
    details: `
      Returns once the watcher has taken its first look, or says why it could not. Where one runs already, says so and
      changes nothing. With --foreground it watches here until it is told to end, which is what systemd and launchd want.
    `,
    examples: [
      ['Watch in the background', '$0 start'],
      ['As a service of systemd or launchd', '$0 start --foreground'],
    ],
  });

  foreground = Option.Boolean('--foreground', false, { description: 'Watch here, until told to end, and not in the background.' });

  async execute(): Promise<number> {
    const folder = measureFolder(this.context.env);
    if (this.foreground) return this.#watch(folder);
    const { startWatcher } = await import('../watch/daemon');
    const { holder, started } = await startWatcher(folder, this.context.env);
    this.context.stdout.write(started ? `Watching (process ${holder.pid}). \`lnk measure stop\` ends it.\n` : `A watcher runs already (process ${holder.pid}).\n`);
    return 0;
  }

  async #watch(folder: string): Promise<never> {
    // Whatever the terminal's is: nothing that is made from here on is for anybody else, nor kept from ourselves.
    process.umask(0o077);
    makeMeasureFolder(folder);
    const taken = takeLock(folder);
    if ('holder' in taken) throw new Failure(`A watcher runs already (process ${taken.holder.pid ?? 'in another container'}).`);
    const ending = new AbortController();
    // Also the second of them: the end takes a few seconds at most, and is the same.
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => ending.abort());
    const { Log } = await import('../watch/log');
    const { Watcher } = await import('../watch/watcher');
    const watcher = new Watcher(folder, this.context.env, new Log(folder));
    this.context.stdout.write(`Watching here; ${logPath(folder)} is the log.\n`);
    await watcher.run(ending.signal);
    // A program that was asked may be a while yet: it keeps nothing from ending.
    return process.exit(0);
  }
}
