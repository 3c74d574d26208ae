import { walkLostCharge } from './fixtures/lost-charge.ts';
import { test } from './fixtures/test.ts';

test.use({ appEnv: { STRIPE_KEY_TTL_MS: '0' } });

walkLostCharge('search alone', {
  offer: { keys: false, search: true },
  said: 'found by asking the provider',
  mayAsk: true,
});
