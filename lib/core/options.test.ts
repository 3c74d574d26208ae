import { describe, expect, test } from 'vitest';
import { ConfigurationError } from './errors.ts';
import { assertKnownOptions, type Duration, toMs } from './options.ts';

const KNOWN = {
  secret: true,
  scope: true,
  retention: true,
  phasesRetention: true,
  timeoutMs: true,
  waitMs: true,
} as const;

const refused = (name: string): ConfigurationError => {
  try {
    assertKnownOptions('createIdempotency', { scope: 1, [name]: undefined }, KNOWN as never);
  } catch (error) {
    return error as ConfigurationError;
  }
  throw new Error(`${name} was accepted`);
};

test.each([
  ['secrets', 'secret'],
  ['Secret', 'secret'],
  ['secert', 'secret'],
  ['scop', 'scope'],
  ['timeout', 'timeoutMs'],
  ['retentoin', 'retention'],
  ['phaseRetention', 'phasesRetention'],
])('an option called %s is refused, and %s named', (name, nearest) => {
  const error = refused(name);
  expect(error).toBeInstanceOf(ConfigurationError);
  expect(error.message).toBe(
    `createIdempotency has no option \`${name}\`, so it would do nothing. Write \`${nearest}\`.`,
  );
  expect(error).toMatchObject({ existing: name, expected: nearest });
});

test('one that is like none is refused with all that there are', () => {
  expect(refused('ttl')).toMatchObject({
    message: 'createIdempotency has no option `ttl`, so it would do nothing. Remove it.',
    expected: 'one of secret, scope, retention, phasesRetention, timeoutMs, waitMs',
  });
});

test('those that there are pass, and so does the name of a method that every object has only where it is one', () => {
  expect(() => assertKnownOptions('x', { secret: 1, waitMs: undefined }, KNOWN as never)).not.toThrow();
  expect(() => refused('toString')).not.toThrow();
});

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
