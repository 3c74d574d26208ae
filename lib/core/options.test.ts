import { expect, test } from 'vitest';
import { ConfigurationError } from './errors.ts';
import { assertKnownOptions } from './options.ts';

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
