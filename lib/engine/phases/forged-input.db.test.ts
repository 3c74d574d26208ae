import { afterEach, describe, expect, test, vi } from 'vitest';
import { expectCounted } from '../../../scripts/testing/expect-counted.ts';
import { seal } from '../../core/seal.ts';
import { readSecrets } from '../../core/secrets.ts';
import { ANN, anything, effect, effects, freshKey, kit, SECRET } from '../../integration/kit.fixture.ts';
import { database, expire, provider, rowOf, stepsOf, usePhases } from './shop.fixture.ts';
import { encodeInput } from './stored-input.ts';

usePhases();
afterEach(() => vi.unstubAllEnvs());

/** Forgeries by somebody who may write to the table and has none of the secrets. */
const NO_SECRETS = readSecrets([]);
const OTHERS = readSecrets(['another secret of at least 32 characters']);
const idOf = (key: string) => ({ ...ANN, operation: 'refund', key });

/** A refund, as a process of the app has it. */
function refunds(secret: string[] = [SECRET]) {
  const thrown: string[] = [];
  const idempotency = kit(database.client, { secret, onError: (error) => void thrown.push((error as Error).message) });
  const refund = idempotency
    .operation({ name: 'refund', schema: anything })
    .phases(async ({ atomic, foreign, input, key }) => {
      await atomic('reserved', (tx) => effect(tx, `${key}:${(input as { cents: number }).cents}`));
      return await foreign('refund_created', provider.call(key));
    });
  return { idempotency, refund, thrown };
}

/** A row as it lies there after a crash, written by hand. */
async function forge(key: string, input: Uint8Array<ArrayBuffer>): Promise<void> {
  await database.client.idempotencyKey.create({
    data: { ...idOf(key), state: 'in_progress', input, expiresAt: new Date(Date.now() + 3_600_000) },
  });
  await expire(key);
}

const wanted = encodeInput({ input: { cents: 3600 }, context: [] }, {});

describe('A8 with a secret, nothing is executed that was sealed without one', () => {
  test('an input that was sealed without a secret is not run by the completer, and waits for a person at once', async () => {
    const key = freshKey();
    await forge(key, seal(wanted, 'input', idOf(key), NO_SECRETS));
    const { idempotency, thrown } = refunds();
    expect(await idempotency.completeDue({ limit: 100 })).toMatchObject({ taken: 1, settled: 0, unfinished: 1 });
    expectCounted(await effects(database.client, `${key}:3600`)).toBe(0);
    expect(provider.sends).toBe(0);
    expect(await rowOf(key)).toMatchObject({ state: 'in_progress', needsAttention: true, nextAttemptAt: null });
    expect(thrown.join()).toMatch(/without a secret/);
    const [event] = await database.client.idempotencyEvent.findMany({ where: { key } });
    expect(event).toMatchObject({
      type: 'needs_attention',
      detail: { why: expect.stringMatching(/without a secret/) },
    });
    expect(await idempotency.completeDue({ limit: 100 })).toMatchObject({ taken: 0 });
  });

  test('nor by a status question, nor by a person who has it looked at again', async () => {
    const key = freshKey();
    await forge(key, seal(wanted, 'input', idOf(key), NO_SECRETS));
    const { idempotency, refund } = refunds();
    expect(await refund.status({ key })).toMatchObject({ state: 'in_progress' });
    expect(await rowOf(key)).toMatchObject({ needsAttention: true });
    await expire(key);
    await idempotency.completeDue({ limit: 100 });
    expectCounted(await effects(database.client, `${key}:3600`)).toBe(0);
    expect(await rowOf(key)).toMatchObject({ needsAttention: true, nextAttemptAt: null });
  });

  test.each([
    [
      'bytes that were changed',
      (key: string) =>
        seal(wanted, 'input', idOf(key), readSecrets([SECRET])).map((byte, at) => (at === 20 ? byte ^ 1 : byte)),
    ],
    ['the input of another key', () => seal(wanted, 'input', idOf('another'), readSecrets([SECRET]))],
    ['nothing', () => new Uint8Array()],
  ])('%s: the same', async (_, forged) => {
    const key = freshKey();
    await forge(key, forged(key));
    await refunds().idempotency.completeDue({ limit: 100 });
    expectCounted(await effects(database.client, `${key}:3600`)).toBe(0);
    expect(await rowOf(key)).toMatchObject({ needsAttention: true, nextAttemptAt: null });
  });

  test('an input under a secret that another process may know is left to that one', async () => {
    const key = freshKey();
    await forge(key, seal(wanted, 'input', idOf(key), OTHERS));
    await refunds().idempotency.completeDue({ limit: 100 });
    expect(await rowOf(key)).toMatchObject({ needsAttention: false, nextAttemptAt: expect.any(Date) });
    await expire(key);
    await refunds([SECRET, 'another secret of at least 32 characters']).idempotency.completeDue({ limit: 100 });
    expectCounted(await effects(database.client, `${key}:3600`)).toBe(1);
  });

  test('arguments of a foreign call that were sealed without a secret are not sent', async () => {
    const key = freshKey();
    const { idempotency, refund } = refunds();
    provider.faults = ['before', 'before', 'before', 'before'];
    await refund.execute({ key, payload: { cents: 100 } });
    const [, begun] = await stepsOf(key);
    expect(begun).toMatchObject({ name: 'refund_created', state: 'started' });
    const args = seal('[{"amount":1,"order":2},3600,"theirs"]', 'arguments of refund_created', idOf(key), NO_SECRETS);
    await database.client.idempotencyPhase.updateMany({
      where: { key, name: 'refund_created' },
      data: { arguments: args },
    });
    provider.sends = 0;
    await expire(key);
    await idempotency.completeDue({ limit: 100 });
    expect(provider.sends).toBe(0);
    expectCounted(provider.charges.size).toBe(0);
    // It had been begun before, so nobody knows what has become of it: a person asks the provider.
    expect(await rowOf(key)).toMatchObject({ state: 'unknown', needsAttention: true, nextAttemptAt: null });
  });

  test('a stored answer whose fingerprint was made without a secret is not played', async () => {
    const key = freshKey();
    const { refund } = refunds();
    const before = kit(database.client)
      .operation({ name: 'refund', schema: anything })
      .handler(async () => ({ made: 'before' }));
    expect(await before.execute({ key, payload: {} })).toMatchObject({ ok: true });
    expect(await refund.execute({ key, payload: {} })).toMatchObject({ code: 'unavailable', executed: 'unknown' });
    expect(await refund.execute({ key, payload: { other: 1 } })).toMatchObject({ code: 'unavailable' });
    expect(provider.sends).toBe(0);
  });

  test('a key that was minted without a secret counts as minted nowhere: its time is ignored, and a form is refused', async () => {
    const key = (await kit(database.client, { clock: () => 0 })
      .operation({ name: 'refund', schema: anything })
      .handler(async () => null)
      .mintKey()) as string;
    const { refund } = refunds();
    expect(await refund.execute({ key, payload: {}, acceptKeys: 'minted' })).toMatchObject({ code: 'key_invalid' });
    expect(await rowOf(key)).toBeUndefined();
    expect(await refund.execute({ key, payload: { cents: 1 } })).toMatchObject({ ok: true });
    expect(await rowOf(key)).toMatchObject({ mintedAt: null });
  });
});

test('without a secret, outside production, what was sealed without one is read', async () => {
  const key = freshKey();
  await forge(key, seal(wanted, 'input', idOf(key), NO_SECRETS));
  await refunds([]).idempotency.completeDue({ limit: 100 });
  expectCounted(await effects(database.client, `${key}:3600`)).toBe(1);
});

test('X5 without a secret, in production, nobody takes such a key: no pass, no retry now, no question', async () => {
  const key = freshKey();
  await forge(key, seal(wanted, 'input', idOf(key), NO_SECRETS));
  const before = await rowOf(key);
  const { idempotency, refund } = refunds([]);
  vi.stubEnv('NODE_ENV', 'production');
  const ways = [
    () => idempotency.completeDue({ limit: 100 }),
    () => idempotency.completeKey(idOf(key)),
    () => refund.status({ key }),
    () => refund.execute({ key, payload: { cents: 3600 } }),
    () => idempotency.lookUpLost({ ...idOf(key), payload: { cents: 3600 } }, () => false),
  ];
  for (const way of ways) await expect(way()).rejects.toThrow(/No secret is configured/);
  expectCounted(await effects(database.client, `${key}:3600`)).toBe(0);
  expect(await rowOf(key)).toEqual(before);
});
