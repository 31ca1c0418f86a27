import { version as packageVersion } from '../package.json';

/** This package's version; the addon's must be the same. */
export const version: string = packageVersion;
