import { walkLostCharge } from './fixtures/lost-charge.ts';
import { test } from './fixtures/test.ts';

test.use({ appEnv: { STRIPE_LOOKUP: 'off' } });

walkLostCharge('keys alone', { offer: { keys: true, search: false }, said: 'answered by the provider' });
