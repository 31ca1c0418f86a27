// Programs on the PATH.

import { accessSync, constants, readdirSync, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';

const folders = (env: NodeJS.ProcessEnv): string[] => (env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '');

/** The first program of a name on the PATH. */
export function findProgram(name: string, env: NodeJS.ProcessEnv): string | undefined {
  return folders(env)
    .map((folder) => join(folder, name))
    .find(isProgram);
}

/** The names of all programs on the PATH that begin so, sorted, each once. */
export function programsNamed(prefix: string, env: NodeJS.ProcessEnv): string[] {
  const names = folders(env).flatMap((folder) => {
    try {
      return readdirSync(folder).filter((name) => name.startsWith(prefix) && isProgram(join(folder, name)));
    } catch {
      return [];
    }
  });
  return [...new Set(names)].sort();
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
