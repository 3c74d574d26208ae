import { expect, test } from 'vitest';
import { paymentComplaints, paymentSettings } from './settings.ts';

const GATEWAY = 'http://127.0.0.1:12111';

test('a key of its own means the real Stripe', () => {
  expect(paymentSettings({ STRIPE_SECRET_KEY: 'sk_test_1' })).toMatchObject({
    secretKey: 'sk_test_1',
    base: undefined,
  });
});

test('an address means another server, with any test key', () => {
  const { base, secretKey } = paymentSettings({ STRIPE_API_BASE: GATEWAY });
  expect([base?.host, secretKey]).toEqual(['127.0.0.1:12111', 'sk_test_local']);
});

test('how patient it is can be said', () => {
  const env = { STRIPE_API_BASE: GATEWAY, STRIPE_TIMEOUT_MS: '500', STRIPE_KEY_TTL_MS: '3000' };
  expect(paymentSettings(env)).toMatchObject({ timeoutMs: 500, keyTtlMs: 3000, canLookUp: true });
});

test('a provider without keys and without a look-up can be said', () => {
  const env = { STRIPE_API_BASE: GATEWAY, STRIPE_KEY_TTL_MS: '0', STRIPE_LOOKUP: 'off' };
  expect(paymentSettings(env)).toMatchObject({ keyTtlMs: 0, canLookUp: false });
});

test.each([
  [{}, 'Neither STRIPE_SECRET_KEY nor STRIPE_API_BASE'],
  [{ STRIPE_SECRET_KEY: 'pk_test_1' }, 'sk_test_'],
  [{ STRIPE_SECRET_KEY: 'sk_live_1', STRIPE_API_BASE: GATEWAY }, 'Unset one of them'],
  [{ STRIPE_API_BASE: 'localhost:12111' }, 'no address'],
  [{ STRIPE_API_BASE: GATEWAY, STRIPE_TIMEOUT_MS: 'soon' }, 'STRIPE_TIMEOUT_MS'],
  [{ STRIPE_API_BASE: GATEWAY, STRIPE_KEY_TTL_MS: '-1' }, 'STRIPE_KEY_TTL_MS'],
  [{ STRIPE_API_BASE: GATEWAY, STRIPE_LOOKUP: 'no' }, 'STRIPE_LOOKUP'],
])('%j is refused in words', (env, words) => {
  expect(paymentComplaints(env).join('\n')).toContain(words);
  expect(() => paymentSettings(env)).toThrow(words);
});
