// This machine's own ID. A file of its own: showing what a watcher saw needs none, and would load Node's crypto for it.

import { randomBytes } from 'node:crypto';
import { existsSync, linkSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { codeOf, Failure, messageOf } from '../errors';
import { parseObject } from '../json';
import { isName } from '../names';
import { readPlain } from '../plain';
import { makeMeasureFolder } from './folder';

/**
 * This machine's ID where Link gives none: the last it gave; else random, made once. Kept in `machine.json`. Where
 * nothing can be kept, one for this run, and a note that says so.
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

/**
 * Keeps the ID that Link gave this machine, for when Link doesn't answer: the machine is then still the same. Only where
 * something is kept at all; it is no fault if it can't be.
 */
export function keepLinkId(folder: string, id: string): void {
  const path = join(folder, 'machine.json');
  const mine = `${path}.${process.pid}`;
  try {
    if (!existsSync(folder) || (existsSync(path) && readMachineId(path) === id)) return;
    writeFileSync(mine, `${JSON.stringify({ id })}\n`, { mode: 0o600, flag: 'wx' });
    renameSync(mine, path);
  } catch {
    rmSync(mine, { force: true });
  }
}

const newMachineId = (): string => `mch_${randomBytes(8).toString('hex')}`;

function readMachineId(path: string): string {
  const { id } = parseObject(readPlain(path));
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
