// Reading files that other programs of this user may have put something else in the place of.

import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs';
import { Failure } from './errors';

/** The largest of them is a run's, some KiB. */
const LARGEST = 1024 * 1024;

/**
 * The text of a plain file. Anything else that is there is not waited for, as a FIFO would be, nor read to no end, as a
 * device: whoever waits here looks at nothing meanwhile.
 *
 * @throws {Failure} it is no plain file, or none of ours; the message begins with a verb
 * @throws a system error where it can't be read
 */
export function readPlain(path: string): string {
  const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const stat = fstatSync(file);
    if (!stat.isFile()) throw new Failure('is no plain file');
    if (stat.size > LARGEST) throw new Failure(`is larger than ${LARGEST / 1024 / 1024} MiB`);
    return readFileSync(file, 'utf8');
  } finally {
    closeSync(file);
  }
}
