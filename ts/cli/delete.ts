import { existsSync, rmSync } from 'node:fs';
import { createInterface } from 'node:readline/promises';
import { Command, Option } from 'clipanion';
import { measureFolder } from '../agents/folder';
import { Failure, Misuse } from '../errors';
import { takeLock } from '../native/store';
import { LnkCommand } from './command';
import { stopIn } from './stop';

/** `lnk measure delete`: everything the watcher kept. */
export class DeleteCommand extends LnkCommand {
  static override paths = [['delete']];
  static override usage = Command.Usage({
    description: 'Stop the watcher and delete everything it kept, your settings too.',
    details: 'Asks first, unless --yes says so already. There is no way back.',
    examples: [
      ['Delete what was kept', '$0 delete'],
      ['Without being asked', '$0 delete --yes'],
    ],
  });

  yes = Option.Boolean('--yes', false, { description: "Don't ask." });

  async execute(): Promise<number> {
    const folder = measureFolder(this.context.env);
    const { stdout } = this.context;
    if (!existsSync(folder)) {
      stdout.write(`There is no ${folder}.\n`);
      return 0;
    }
    if (!this.yes && !(await this.#asked(folder))) {
      stdout.write('Nothing was deleted.\n');
      return 1;
    }
    stopIn(folder);
    // Held until this program ends, so that no watcher starts in a folder that is going.
    const taken = takeLock(folder);
    if ('holder' in taken) throw new Failure(`Another watcher has just started (process ${taken.holder.pid}). Nothing was deleted.`);
    rmSync(folder, { recursive: true, force: true });
    stdout.write(`Deleted ${folder}\n`);
    return 0;
  }

  async #asked(folder: string): Promise<boolean> {
    const { stdin, stdout } = process;
    if (!stdin.isTTY) throw new Misuse('There is no terminal to ask on. --yes deletes without asking.');
    const terminal = createInterface({ input: stdin, output: stdout });
    try {
      return /^y(es)?$/i.test((await terminal.question(`Stop the watcher and delete ${folder} with all it kept? [y/N] `)).trim());
    } finally {
      terminal.close();
    }
  }
}
