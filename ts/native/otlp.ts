// OTLP, as the addon makes it.

import { loadNative } from './load';
import type { NativeLook } from './store';

/** What a sender keeps of the looks: their running totals, and the last one. Totals begin at `startMs` (ms since 1970). */
export const newExporter = (startMs: number) => new (loadNative().Exporter)(startMs);

/** A sender's exporter. */
export type Exporter = ReturnType<typeof newExporter>;

/** A request of a look's levels and peaks alone; undefined if it has none. */
export const encodeLevels = (look: NativeLook): Buffer | undefined => loadNative().encodeLevels(look) ?? undefined;

/** A request of units given as JSON (see the addon's types); null if they have no measure. @throws Error what isn't as it should be */
export const encodeUnits = (json: string): string | null => loadNative().encodeUnits(json);
