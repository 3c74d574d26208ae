import { describe, expect, test } from 'vitest';
import { type Duration, toMs } from './duration.ts';
import { ConfigurationError } from './errors.ts';

describe('duration', () => {
  test.each([
    [250, 250],
    ['1ms', 1],
    ['500ms', 500],
    ['30s', 30_000],
    ['15m', 900_000],
    ['24h', 86_400_000],
    ['7d', 604_800_000],
    ['1.5h', 5_400_000],
    [0.6, 1],
  ] as [Duration, number][])('%s is %d ms', (duration, ms) => {
    expect(toMs(duration, 'window')).toBe(ms);
  });

  test.each([
    0,
    -1,
    NaN,
    Infinity,
    '',
    '0s',
    '-1s',
    '1 h',
    '1w',
    'h',
    '1hh',
    ' 1h',
    '1h\n',
    '1e3s',
    '24H',
    null,
    undefined,
  ])('refuses %j, and names what it is for', (duration) => {
    expect(() => toMs(duration as Duration, 'window')).toThrow(ConfigurationError);
    expect(() => toMs(duration as Duration, 'window')).toThrow(/^window/);
  });
});
