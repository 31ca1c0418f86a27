// The rule for names and IDs: the only text there is, and what keeps words out of it.

const NAME = /^[A-Za-z0-9._:/@-]{1,64}$/;

/** Keys that would reach an object's prototype. */
const REFUSED = new Set(['__proto__', 'constructor', 'prototype']);

/** Whether a value is a name or an ID: 1 to 64 of ASCII letters, digits and `._:/@-`. */
export function isName(value: unknown): value is string {
  return typeof value === 'string' && NAME.test(value) && !REFUSED.has(value);
}

/** The value if it is a name. */
export const nameOf = (value: unknown): string | undefined => (isName(value) ? value : undefined);

/** Whether a value is a JSON object. */

const PROCESS_ID = /^(.+)\/\d{1,10}$/;

/** Whether a value is a unit's ID: a name, or a name, a slash and a process number. */
export const isUnitId = (value: unknown): value is string =>
  isName(value) || (typeof value === 'string' && isName(PROCESS_ID.exec(value)?.[1]));
