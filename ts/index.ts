// What other programs import from this package.

export { measures, type MeasureRow } from './native';
export { version } from './version';
