import { existsSync } from 'node:fs';
import { Command } from 'clipanion';
import { measureFolder } from '../agents/folder';
import { Failure, messageOf } from '../errors';
import { stopWatcher } from '../native/store';
import { LnkCommand } from './command';

const PATIENCE_MS = 10_000;

/** Ends a measure folder's watcher; its process, or undefined if there was none. @throws {Failure} it runs on, or is no watcher */
export function stopIn(folder: string): number | undefined {
  if (!existsSync(folder)) return undefined;
  try {
    return stopWatcher(folder, PATIENCE_MS);
  } catch (error) {
    throw new Failure(messageOf(error));
  }
}

/** `lnk measure stop`: ends the watcher. */
export class StopCommand extends LnkCommand {
  static override paths = [['stop']];
  static override usage = Command.Usage({
    description: 'End the watcher. What it kept stays.',
    details: 'Returns once it has ended. Where none runs, says so and ends well.',
    examples: [['End the watcher', '$0 stop']],
  });

  async execute(): Promise<number> {
    const pid = stopIn(measureFolder(this.context.env));
    this.context.stdout.write(pid === undefined ? 'No watcher runs.\n' : `Stopped the watcher (process ${pid}).\n`);
    return 0;
  }
}
