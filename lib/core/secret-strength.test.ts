import { randomBytes } from 'node:crypto';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { ConfigurationError } from './errors.ts';
import { assertOnePurpose, assertStrong, secretProblems, weaknessOf } from './secret-strength.ts';

afterEach(() => vi.unstubAllEnvs());

describe('a secret', () => {
  test.each([
    ['x', 'shorter than 16'],
    ['whsec_x', 'shorter than 16'],
    ['whsec_123456789', 'shorter than 16'],
    ['fifteen-letters', 'shorter than 16'],
    ['x'.repeat(64), 'fewer than 5'],
    ['ababababababababa', 'fewer than 5'],
    ['aaaaaaaaaaaaaaab', 'fewer than 5'],
    ['changemechangeme', 'repeats itself'],
    ['changemechangemechan', 'repeats itself'],
    [`whsec_${Buffer.alloc(32, 1).toString('base64')}`, 'fewer than 5'],
    [`whsec_${Buffer.from('changeme!'.repeat(4)).toString('base64')}`, 'repeats itself'],
  ])('%j is weak', (secret, why) => {
    expect(weaknessOf(secret)).toContain(why);
    expect(weaknessOf(secret)).not.toContain(secret);
  });

  test('that is random is not, in any alphabet', () => {
    for (let n = 0; n < 200; n++) {
      for (const text of ['base64', 'base64url', 'hex'] as const) {
        expect(weaknessOf(randomBytes(32).toString(text))).toBeUndefined();
        expect(weaknessOf(`whsec_${randomBytes(24).toString(text)}`)).toBeUndefined();
      }
    }
    expect(weaknessOf('a-b-c-d-e-f-g-h-i')).toBeUndefined();
  });

  test('can be asked to be longer', () => {
    expect(weaknessOf('seventeen-letters')).toBeUndefined();
    expect(weaknessOf('seventeen-letters', 32)).toContain('shorter than 32');
  });
});

describe('the secrets of an environment', () => {
  const [one, two, three] = ['a', 'b', 'c'].map((letter) => `secret-${letter}-of-the-tests-alone`) as [
    string,
    string,
    string,
  ];

  test('are well when each is strong and has one purpose', () => {
    expect(secretProblems({ IDEMPOTENCY_SECRET: [one, two], CRON_SECRET: [three], METRICS_TOKEN: [] })).toEqual([]);
    expect(secretProblems({ EVENTS_WEBHOOK_SECRET: [one, one] })).toEqual([]);
  });

  test('are named where they are weak, by number where there are several, and never told', () => {
    const found = secretProblems({ IDEMPOTENCY_SECRET: [one, 'hunter2'], ADMIN_PASSWORD: ['hunter3'] });
    expect(found).toEqual([
      'IDEMPOTENCY_SECRET number 2 is shorter than 16 characters.',
      'ADMIN_PASSWORD is shorter than 16 characters.',
    ]);
    expect(secretProblems({ A: ['seventeen-letters'] }, { A: 32 })).toEqual(['A is shorter than 32 characters.']);
  });

  test('are named where one serves two purposes, also with and without a prefix', () => {
    const found = secretProblems({
      IDEMPOTENCY_SECRET: [one, two],
      CRON_SECRET: [two],
      STRIPE_WEBHOOK_SECRET: [`whsec_${two}`],
    });
    expect(found).toEqual([
      'IDEMPOTENCY_SECRET and CRON_SECRET are one secret: whoever learns it by one way gets in by the other.',
      'IDEMPOTENCY_SECRET and STRIPE_WEBHOOK_SECRET are one secret: whoever learns it by one way gets in by the other.',
    ]);
    expect(found.join()).not.toContain(two);
  });
});

describe('in production', () => {
  const strong = (n: number) => `strong-secret-number-${n}`;

  test('an option with a weak secret is refused by name, without the secret', () => {
    expect(() => assertStrong('cronRoute({ secret })', 'hunter2')).not.toThrow();
    vi.stubEnv('NODE_ENV', 'production');
    const refused = () => assertStrong('cronRoute({ secret })', 'hunter2');
    expect(refused).toThrow(ConfigurationError);
    expect(refused).toThrow(/cronRoute\(\{ secret \}\) can be guessed: it is shorter than 16 characters.*openssl/s);
    expect(refused).not.toThrow(/hunter2/);
  });

  test.each([undefined, '', 'staging', 'Development'])(
    'X5 and NODE_ENV=%s is production: all but development and test are',
    (value) => {
      vi.stubEnv('NODE_ENV', value);
      const refused = () => assertStrong('cronRoute({ secret })', 'hunter2');
      expect(refused).toThrow(/If this is not production, set NODE_ENV=development\.$/);
      for (const other of ['development', 'test']) {
        vi.stubEnv('NODE_ENV', other);
        expect(refused).not.toThrow();
      }
    },
  );

  test('and one that another option has, in whichever order they are set up', () => {
    vi.stubEnv('NODE_ENV', 'production');
    assertOnePurpose('createIdempotency({ secret })', strong(1));
    assertOnePurpose('createIdempotency({ secret })', strong(1));
    assertOnePurpose('cronRoute({ secret })', strong(2));
    for (const [option, n] of [
      ['cronRoute({ secret })', 1],
      ['createIdempotency({ secret })', 2],
    ] as const) {
      expect(() => assertOnePurpose(option, strong(n))).toThrow(/is the secret of (createIdempotency|cronRoute)/);
      expect(() => assertOnePurpose(option, strong(n))).not.toThrow(/strong-secret/);
    }
  });

  test('a build evaluates the same modules, and answers nobody', () => {
    vi.stubEnv('NODE_ENV', 'production');
    vi.stubEnv('NEXT_PHASE', 'phase-production-build');
    expect(() => assertStrong('cronRoute({ secret })', 'x')).not.toThrow();
    expect(() => assertOnePurpose('cronRoute({ secret })', strong(1))).not.toThrow();
  });
});
