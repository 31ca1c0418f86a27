// Colour, where it is wanted.

/** Paints a text; without colour each gives the text back. */
export interface Paint {
  bold(text: string): string;
  dim(text: string): string;
  name(text: string): string;
  good(text: string): string;
  warn(text: string): string;
  bad(text: string): string;
}

const sgr =
  (open: number, close: number) =>
  (text: string): string =>
    text === '' ? '' : `\x1b[${open}m${text}\x1b[${close}m`;

const COLOURED: Paint = {
  bold: sgr(1, 22),
  dim: sgr(2, 22),
  name: sgr(36, 39),
  good: sgr(32, 39),
  warn: sgr(33, 39),
  bad: sgr(31, 39),
};

const asIs = (text: string): string => text;
const PLAIN: Paint = { bold: asIs, dim: asIs, name: asIs, good: asIs, warn: asIs, bad: asIs };

/** The colours, or none. */
export const paint = (coloured: boolean): Paint => (coloured ? COLOURED : PLAIN);

/**
 * Whether a stream is to be written to in colour: `FORCE_COLOR` (its own no is `0` or `false`), then `NO_COLOR`, then
 * whether it is a terminal that isn't dumb. An empty variable says nothing (https://no-color.org).
 */
export function wantsColor(stream: object, env: Record<string, string | undefined>): boolean {
  const forced = env['FORCE_COLOR'];
  if (forced) return forced !== '0' && forced !== 'false';
  if (env['NO_COLOR']) return false;
  return 'isTTY' in stream && stream.isTTY === true && env['TERM'] !== 'dumb';
}
