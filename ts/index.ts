// What other programs import from this package.

export { measures, type MeasureRow } from './native';
export { version } from './version';
export { type AgentDay, type AgentNow, readDay, readNow } from './watch/reading';
