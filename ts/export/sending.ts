// How sending went, in short.

import { readTarget } from './settings';
import { readState } from './state';

/** What `status --json` says of it. Times are in seconds since 1970. */
export interface Sending {
  host: string;
  lastSuccess: number | null;
  lastFailure: number | null;
}

/** How sending went; null where nothing is to be sent, or nothing can be for the settings. */
export function readSending(folder: string): Sending | null {
  let host: string | undefined;
  try {
    host = readTarget(folder)?.endpoint.host;
  } catch {
    return null;
  }
  if (host === undefined) return null;
  const { lastSuccess, lastFailure } = readState(folder, host);
  return { host, lastSuccess, lastFailure };
}
