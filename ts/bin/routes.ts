// From words to the one module that has the command. Only that module is loaded and only its class registered: clipanion
// builds its whole state machine at each start, which for all commands costs more than the rest of the program.

import type { LnkCommandClass } from '../cli/command';

/** Each command of the group by its word; '' is the group's own. */
export const routes: ReadonlyMap<string, () => Promise<LnkCommandClass>> = new Map([
  ['', async () => (await import('../cli/measure')).MeasureCommand],
  ['check', async () => (await import('../cli/check')).CheckCommand],
]);
