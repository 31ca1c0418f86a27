// OTLP of units that another program made itself.

import { encodeOtlp } from '../otel/library';

const RELAY = { id: 'rly_1', kind: 'relay', since: 1_767_225_600_123_456_789n, measures: { 'link.relay.requests.sum': 12 } } as const;

test('a start in nanoseconds comes through to the last digit, as a bigint or a text', () => {
  for (const since of [RELAY.since, String(RELAY.since)]) {
    expect(encodeOtlp([{ ...RELAY, since }], { atMs: 1_780_000_000_000.4 })).toContain('"startTimeUnixNano":"1767225600123456789","timeUnixNano":"1780000000000000000","asInt":"12"');
  }
});

test('the machine is named where it is given, and nothing to send is nothing', () => {
  expect(encodeOtlp([RELAY], { machine: 'mch_1' })).toContain('{"key":"link.machine.id","value":{"stringValue":"mch_1"}}');
  expect(encodeOtlp([RELAY])).not.toContain('link.machine.id');
  expect([encodeOtlp([]), encodeOtlp([{ ...RELAY, measures: {} }])]).toEqual([null, null]);
});

test.each([
  [{ id: 'two words' }, 'unit 1: id is no ID'],
  [{ name: '\x1b[2J' }, 'unit 1: name is no name'],
  [{ measures: { 'link.secret.sum': 1 } }, 'unit 1: there is no such measure'],
  [{ measures: { 'link.relay.requests.sum': -1 } }, 'unit 1: a value is negative'],
  [{ measures: { 'link.relay.requests.sum': NaN } }, 'invalid type: null'],
  [{ since: '1e9' }, 'unit 1: since is no time'],
])('%j is refused', (change, why) => {
  expect(() => encodeOtlp([{ ...RELAY, ...change }])).toThrow(TypeError);
  expect(() => encodeOtlp([{ ...RELAY, ...change }])).toThrow(why);
});
