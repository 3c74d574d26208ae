import { expect, test } from 'vitest';
import { paymentsFrom } from './payments.ts';

test.each([{}, { STRIPE_SECRET_KEY: '', STRIPE_API_BASE: '' }, { STRIPE_SECRET_KEY: 'sk_test_local' }])(
  'without a real key payments go to the local gateway: %j',
  (env) => {
    expect(paymentsFrom(env, 12111)).toEqual({
      gatewayPort: 12111,
      env: { STRIPE_SECRET_KEY: 'sk_test_local', STRIPE_API_BASE: 'http://127.0.0.1:12111' },
    });
  },
);

test('a real key goes to Stripe, and needs no gateway', () => {
  const env = { STRIPE_SECRET_KEY: 'sk_test_51real' };
  expect(paymentsFrom(env, 12111)).toEqual({ gatewayPort: undefined, env });
});

test("somebody else's server is used as it is", () => {
  const env = { STRIPE_API_BASE: 'http://127.0.0.1:9999' };
  expect(paymentsFrom(env, 12111)).toEqual({ gatewayPort: undefined, env: { STRIPE_SECRET_KEY: 'sk_test_local' } });
});
