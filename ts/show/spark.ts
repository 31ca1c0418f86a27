// A day at a glance: a bar an hour.

const BARS = '▁▂▃▄▅▆▇█';

/** A bar for each value, the tallest for the most; a blank where there is none. */
export function spark(values: readonly (number | undefined)[]): string {
  const most = Math.max(0, ...values.map((value) => value ?? 0));
  const bar = (value: number) => BARS[most === 0 ? 0 : Math.min(BARS.length - 1, Math.floor((value / most) * BARS.length))] ?? ' ';
  return values.map((value) => (value === undefined ? ' ' : bar(value))).join('');
}
