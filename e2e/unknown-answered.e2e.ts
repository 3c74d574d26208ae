import { walkLostCharge } from './fixtures/lost-charge.ts';

walkLostCharge('keys and search', { offer: { keys: true, search: true }, said: 'answered by the provider' }, []);
