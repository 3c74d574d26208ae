import { afterEach, describe, expect, test, vi } from 'vitest';
import { ConfigurationError } from '../core/errors.ts';
import { assertOnePurpose } from '../core/secret-strength.ts';
import { readSecrets } from '../core/secrets.ts';
import { assertSecret, readConfig } from './config.ts';

const HOUR = 3_600_000;
const STRONG = 'a secret of more than thirty-two characters';

afterEach(() => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
});

describe('K5 configuration', () => {
  test('K5 window 24 h, retention 25 h, wait 1000 ms unless said otherwise', () => {
    expect(readConfig({})).toMatchObject({ windowMs: 24 * HOUR, retentionMs: 25 * HOUR, waitMs: 1000, poolSize: 10 });
  });

  test('K5 the default retention follows the window', () => {
    expect(readConfig({ window: '7d' }).retentionMs).toBe(7 * 24 * HOUR + HOUR);
  });

  test('K5 retention must be at least the window plus 15 min', () => {
    expect(() => readConfig({ window: '1h', retention: 75 * 60_000 - 1 })).toThrow(ConfigurationError);
    expect(readConfig({ window: '1h', retention: '75m' }).retentionMs).toBe(75 * 60_000);
  });

  test.each([
    [undefined, undefined],
    ['/docs/errors', '/docs/errors'],
    ['/docs/errors/', '/docs/errors'],
    ['https://docs.test', 'https://docs.test'],
  ])('H2 errorPages %j', (given, errorPages) => {
    expect(readConfig({ errorPages: given } as object).errorPages).toBe(errorPages);
  });

  test.each(['', 'docs/errors', '//evil.test', 'javascript:alert(1)'])(
    'H2 errorPages %j is no address',
    (errorPages) => {
      expect(() => readConfig({ errorPages })).toThrow(ConfigurationError);
    },
  );

  test('C3 waitMs 0 stays 0', () => {
    expect(readConfig({ waitMs: 0 }).waitMs).toBe(0);
  });

  test('who acts must be said by somebody', () => {
    expect(() => readConfig({}).scope()).toThrow(ConfigurationError);
  });

  test('K2 production refuses to run without a secret, at first use', () => {
    const without = readConfig({}).secrets;
    expect(() => assertSecret(without)).not.toThrow();
    vi.stubEnv('NODE_ENV', 'production');
    expect(() => readConfig({})).not.toThrow();
    expect(() => assertSecret(without)).toThrow(ConfigurationError);
    expect(() => assertSecret(readSecrets(['s'.repeat(32)]))).not.toThrow();
  });

  test('production refuses a secret that can be guessed, and one of another purpose, without telling it', () => {
    const weak = 's'.repeat(32);
    expect(() => readConfig({ secret: [weak] })).not.toThrow();
    vi.stubEnv('NODE_ENV', 'production');
    expect(() => readConfig({ secret: [STRONG, weak] })).toThrow(ConfigurationError);
    expect(() => readConfig({ secret: [STRONG, weak] })).toThrow(/createIdempotency\(\{ secret \}\)/);
    expect(() => readConfig({ secret: [weak] })).not.toThrow(new RegExp(weak));
    assertOnePurpose('cronRoute({ secret })', `${STRONG} of the clock`);
    expect(() => readConfig({ secret: [`${STRONG} of the clock`] })).toThrow(/is the secret of cronRoute/);
  });

  test('N3 in production the log line of an error holds no message, which may hold the payload', () => {
    const log = vi.spyOn(console, 'error').mockImplementation(() => {});
    const error = Object.assign(new Error('Argument `card`: 4242'), { code: 'P2002' });
    const context = { operation: 'checkout', key: 'k1', during: 'handler' } as const;
    vi.stubEnv('NODE_ENV', 'production');
    const instance = readConfig({ secret: [STRONG] }).onError(error, context);
    const line = log.mock.calls.flat().map(String).join(' ');
    expect(line).toMatch(new RegExp(`checkout.*k1.*${instance}.*Error P2002`));
    expect(line).not.toContain('4242');
  });
});
