// OTLP for other programs' units: a relay sends of itself what a watcher sends of its machine.

import { encodeUnits } from '../native/otlp';

/** A unit that a program made itself. Names and IDs are 1 to 64 of ASCII letters, digits and `._:/@-`. */
export interface OtlpUnit {
  id: string;
  kind: 'machine' | 'agent' | 'sandbox' | 'process' | 'relay';
  parent?: string;
  name?: string;
  owner?: string;
  teams?: readonly string[];
  /** When its totals began, in nanoseconds since 1970: the same in every call for as long as they grow. A text or a bigint, since a number can't hold it. */
  since?: string | bigint;
  /** By full name, in base units; what is counted is given as its running total. Absent means not known. */
  measures: Readonly<Record<string, number>>;
}

/** What a request is of, beside its units. */
export interface OtlpContext {
  /** The machine's ID. */
  machine?: string;
  /** When the units were as they are, in milliseconds since 1970; now, where it isn't said. */
  atMs?: number;
}

/**
 * The body of one OTLP request (`POST <endpoint>/v1/metrics`, `Content-Type: application/json`): a resource a unit, as the
 * watcher sends them.
 *
 * @returns null if no unit has a measure: there is nothing to send
 * @throws {TypeError} a unit isn't what it should be; the message says which and what
 */
export function encodeOtlp(units: readonly OtlpUnit[], { machine, atMs = Date.now() }: OtlpContext = {}): string | null {
  const given = {
    at: `${BigInt(Math.round(atMs)) * 1_000_000n}`,
    machine,
    units: units.map(({ since, ...unit }) => ({ ...unit, ...(since !== undefined && { since: since.toString() }) })),
  };
  try {
    return encodeUnits(JSON.stringify(given));
  } catch (error) {
    throw new TypeError(error instanceof Error ? error.message : String(error));
  }
}
