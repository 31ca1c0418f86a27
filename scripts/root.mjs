import { realpathSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** The checkout these scripts are in. */
export const root = fileURLToPath(new URL('..', import.meta.url)).replace(/\/$/, '');

/** Whether a module is the program that was started, rather than imported. */
export const isMain = (url) => process.argv[1] !== undefined && realpathSync(process.argv[1]) === fileURLToPath(url);
