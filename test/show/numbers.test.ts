import { bytes, count, duration, inUnit, money, percent } from '../../ts/show/numbers';

const each = (show: (value: number) => string, values: [number, string][]) =>
  expect(values.map(([value]) => show(value))).toEqual(values.map(([, text]) => text));

test('bytes are MiB and GiB, and never 1024 of one', () => {
  each(bytes, [[0, '0 B'], [1, '1 B'], [1023, '1023 B'], [1024, '1.0 KiB'], [65_536, '64 KiB'], [734 * 2 ** 20, '734 MiB']]);
  each(bytes, [[1.25 * 2 ** 30, '1.3 GiB'], [2 ** 30 - 1, '1.0 GiB'], [9.96 * 2 ** 30, '10 GiB'], [2 ** 60, '1024 PiB']]);
});

test('counts are thousands and millions', () => {
  each(count, [[0, '0'], [999, '999'], [1000, '1.0K'], [64_000, '64K'], [1_234_567, '1.2M'], [999_999, '1.0M'], [3.4e9, '3.4B']]);
});

test('money has two decimals, and is never nothing', () => {
  each(money, [[0, '$0.00'], [1, '<$0.01'], [4999, '<$0.01'], [5000, '$0.01'], [420_000, '$0.42'], [1_204_500_000, '$1,204.50']]);
});

test('durations have two parts at most', () => {
  each(duration, [[0, '0s'], [0.001, '<0.01s'], [0.04, '0.04s'], [0.999, '1.0s'], [4.24, '4.2s'], [9.96, '10s'], [59.6, '1m 00s']]);
  each(duration, [[192, '3m 12s'], [3599.7, '1h 00m'], [7380, '2h 03m'], [86_399, '23h 59m'], [277_200, '3d 05h']]);
});

test('a share of a core', () => {
  each(percent, [[0, '0%'], [0.0001, '<0.1%'], [0.034, '3.4%'], [0.34, '34%'], [2.1, '210%'], [0.0996, '10%']]);
});

test("a measure's value by its unit", () => {
  expect([inUnit(2048, 'By'), inUnit(61, 's'), inUnit(5e5, '{microdollar}'), inUnit(12, '{turn}'), inUnit(3, '')]).toEqual([
    ...['2.0 KiB', '1m 01s', '$0.50', '12', '3'],
  ]);
});
