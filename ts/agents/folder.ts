// The measure folder: where this program keeps what it must, inside Link's settings.

import { chmodSync, existsSync, lstatSync, mkdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { codeOf, Failure, messageOf } from '../errors';

/** Link's settings folder: `LNK_HOME`; else `~/.lnk`; else `~/.config/lnk` where only that is there. */
export function linkHome(env: NodeJS.ProcessEnv = process.env): string {
  // The watcher and a run's command have other working directories.
  if (env['LNK_HOME']) return resolve(env['LNK_HOME']);
  const home = join(homedir(), '.lnk');
  const older = join(homedir(), '.config', 'lnk');
  return !existsSync(home) && existsSync(older) ? older : home;
}

/** The measure folder's path, whether it is there or not. */
export const measureFolder = (env: NodeJS.ProcessEnv = process.env): string => join(linkHome(env), 'measure');

/**
 * Makes the measure folder, only this user's. One that others could read is closed to them; one that isn't surely this
 * user's own is left alone.
 *
 * @throws {Failure} it can't be made, another user owns it or could have written in it, or it is a link, and what mends that
 */
export function makeMeasureFolder(folder: string): void {
  const wasThere = existsSync(folder);
  makeFolder(folder);
  const stat = lstatSync(folder);
  if (stat.isSymbolicLink()) throw new Failure(`${folder} is a link, and must be a folder. To keep it elsewhere, set LNK_HOME; to have one made here: rm ${quoted(folder)}`);
  if (!stat.isDirectory()) throw new Failure(`${folder} is no folder. Move it out of the way.`);
  if (stat.uid !== process.geteuid?.()) throw new Failure(`${folder} is another user's (${stat.uid}). To make it yours: sudo chown -R "$(id -u):$(id -g)" ${quoted(folder)}`);
  // What anybody may have put there is not for us to say good of.
  if (wasThere && (stat.mode & 0o022) !== 0) throw new Failure(`Others can write in ${folder}. If all in it is yours: chmod 700 ${quoted(folder)}`);
  if ((stat.mode & 0o777) !== 0o700) chmodSync(folder, 0o700);
}

/** A path as a shell takes it. */
const quoted = (path: string): string => (/^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`);

/** Makes a folder and those above it. Node's own `recursive` never ends where a folder that is there takes no other (/proc). */
function makeFolder(folder: string): void {
  if (existsSync(folder)) return;
  if (dirname(folder) !== folder) makeFolder(dirname(folder));
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw new Failure(`${folder} can't be made: ${codeOf(error) ?? messageOf(error)}.`);
  }
}
