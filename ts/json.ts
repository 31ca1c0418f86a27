// JSON that isn't trusted.

import { Failure } from './errors';

/** Whether a value is a JSON object. */
export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The array, or none. */
export const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);

/**
 * A text's JSON object.
 *
 * @throws {Failure} it is none; the message begins with a verb and holds nothing of the text, as Node's own would
 */
export function parseObject(text: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new Failure('is not JSON');
  }
  if (!isObject(value)) throw new Failure('is not a JSON object');
  return value;
}
