// From words to the one module that has the command. Only that module is loaded and only its class registered: clipanion
// builds its whole state machine at each start, which for all commands costs more than the rest of the program.

import type { LnkCommandClass } from '../cli/command';

/** Each command of the group by its word; '' is the group's own. */
export const routes: ReadonlyMap<string, () => Promise<LnkCommandClass>> = new Map([
  ['', async () => (await import('../cli/measure')).MeasureCommand],
  ['start', async () => (await import('../cli/start')).StartCommand],
  ['stop', async () => (await import('../cli/stop')).StopCommand],
  ['status', async () => (await import('../cli/status')).StatusCommand],
  ['settings', async () => (await import('../cli/settings')).SettingsCommand],
  ['route', async () => (await import('../cli/route')).RouteCommand],
  ['export', async () => (await import('../cli/export')).ExportCommand],
  ['run', async () => (await import('../cli/run')).RunCommand],
  ['check', async () => (await import('../cli/check')).CheckCommand],
  ['completions', async () => (await import('../cli/completions')).CompletionsCommand],
  ['delete', async () => (await import('../cli/delete')).DeleteCommand],
]);
