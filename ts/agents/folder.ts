// The measure folder: where this program keeps what it must, inside Link's settings.

import { randomBytes } from 'node:crypto';
import { chmodSync, existsSync, linkSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { codeOf, Failure, messageOf } from '../errors';
import { parseObject } from '../json';
import { isName } from '../names';

/** Link's settings folder: `LNK_HOME`; else `~/.lnk`; else `~/.config/lnk` where only that is there. */
export function linkHome(env: NodeJS.ProcessEnv = process.env): string {
  if (env['LNK_HOME']) return env['LNK_HOME'];
  const home = join(homedir(), '.lnk');
  const older = join(homedir(), '.config', 'lnk');
  return !existsSync(home) && existsSync(older) ? older : home;
}

/** The measure folder's path, whether it is there or not. */
export const measureFolder = (env: NodeJS.ProcessEnv = process.env): string => join(linkHome(env), 'measure');

/**
 * Makes the measure folder, only this user's, or mends its mode.
 *
 * @throws a system error where it can't be made
 */
export function makeMeasureFolder(folder: string): void {
  makeFolder(folder);
  if ((statSync(folder).mode & 0o777) !== 0o700) chmodSync(folder, 0o700);
}

/** Makes a folder and those above it. Node's own `recursive` never ends where a folder that is there takes no other (/proc). */
function makeFolder(folder: string): void {
  if (existsSync(folder)) return;
  if (dirname(folder) !== folder) makeFolder(dirname(folder));
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
  }
}

/**
 * This machine's ID where Link gives none: random, made once and kept in `machine.json`. Where nothing can be kept, one
 * for this run, and a note that says so.
 */
export function machineId(folder: string): { id: string; note?: string } {
  const path = join(folder, 'machine.json');
  try {
    return { id: readMachineId(path) };
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') {
      return { id: newMachineId(), note: `${path} gives no ID for this machine (${messageOf(error)}), so it has one for this run only. Delete the file to have a new one made.` };
    }
  }
  try {
    makeMeasureFolder(folder);
    return { id: keepMachineId(path, newMachineId()) };
  } catch (error) {
    return { id: newMachineId(), note: `${path} can't be written (${codeOf(error) ?? messageOf(error)}), so this machine has an ID for this run only.` };
  }
}

const newMachineId = (): string => `mch_${randomBytes(8).toString('hex')}`;

function readMachineId(path: string): string {
  const { id } = parseObject(readFileSync(path, 'utf8'));
  if (!isName(id)) throw new Failure('holds no ID');
  return id;
}

/** Keeps an ID unless another run has meanwhile; answers the one that is kept. */
function keepMachineId(path: string, id: string): string {
  const mine = `${path}.${process.pid}`;
  writeFileSync(mine, `${JSON.stringify({ id })}\n`, { mode: 0o600, flag: 'wx' });
  try {
    // A link never replaces: of two first runs, one wins and both read that one's, whole.
    linkSync(mine, path);
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
  } finally {
    rmSync(mine, { force: true });
  }
  return readMachineId(path);
}
