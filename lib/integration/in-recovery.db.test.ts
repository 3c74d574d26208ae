import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Pair, scratchPair } from '../../scripts/services/postgres-scratch.ts';
import { expectCounted } from '../../scripts/testing/expect-counted.ts';
import { type Client, createClient } from '../../shop/db.ts';
import { find } from '../store/prisma/keys/read.ts';
import { ANN, anything, effect, effects, freshKey, kit } from './kit.fixture.ts';

/**
 * A server in recovery: a standby, or a primary that has come back as one. It may show a commit that the next primary lacks,
 * and lack one that the next primary has.
 */

let pair: Pair;
let onPrimary: Client;
let onStandby: Client;

beforeAll(async () => {
  pair = await scratchPair();
  onPrimary = createClient(pair.primary.url, { max: 2 });
  onStandby = createClient(pair.standby.url, { max: 2 });
});
afterAll(async () => {
  await Promise.all([onPrimary?.$disconnect(), onStandby?.$disconnect()]);
  await pair?.close();
});

/** As a process of its own, which remembers no answer. */
const checkoutOn = (client: Client) =>
  kit(client, { waitMs: 0 })
    .operation({ name: 'checkout', schema: anything })
    .handler(({ tx, key }) => effect(tx, key));

const AWAY = { ok: false, code: 'unavailable', executed: 'unknown' };

test('nothing is answered there, whatever it shows; and everything once it is the primary', async () => {
  const key = freshKey();
  expect(await checkoutOn(onPrimary).execute({ key, payload: {} })).toMatchObject({ ok: true });
  await expect.poll(() => effects(onStandby, key)).toBe(1);
  const { execute, status, fence } = checkoutOn(onStandby);
  for (const ask of [execute, status, fence]) {
    expect(await ask({ key, payload: {}, attempt: 2 })).toMatchObject(AWAY);
  }
  // Whoever looks for a commit must not take a row that is not there yet for one that was rolled back.
  const unheard = { ...ANN, operation: 'checkout', key: freshKey() };
  await expect(find(onStandby, unheard)).rejects.toThrow('recovery');

  await onStandby.$queryRaw`SELECT pg_promote()`;
  expect(await execute({ key, payload: {}, attempt: 3 })).toMatchObject({ ok: true, replayed: true });
  expect(await checkoutOn(onStandby).status({ key })).toMatchObject({ state: 'succeeded' });
  expectCounted(await effects(onStandby, key)).toBe(1);
});
