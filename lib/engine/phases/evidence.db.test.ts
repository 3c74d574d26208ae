import { expect, test } from 'vitest';
import { freshKey, gate } from '../../integration/kit.fixture.ts';
import type { Evidence } from '../../store/evidence.ts';
import { prismaStore } from '../../store/prisma/store.ts';
import { type Call, database, expectOnce, provider, rowOf, seenCall, shop, usePhases } from './shop.fixture.ts';

usePhases();

const idOf = (key: string) => ({ tenant: 'acme', principal: 'ann', operation: 'pay', key });
const eventsOf = async (key: string) =>
  (await prismaStore(database.client).events(idOf(key))).filter(({ type }) => type === 'evidence');

/** A shop whose provider can be asked, and a key whose charge was made and not answered: nobody knows of it. */
async function unknownKey() {
  provider.honoursKeys = false;
  const asks: Partial<Call> = {
    indeterminate: 'lookup',
    lookup: async ({ order }) => provider.find(order),
    maxTries: 1,
  };
  const { checkout, idempotency } = shop({}, asks);
  const key = freshKey();
  provider.faults = ['after'];
  provider.says = 'nothing';
  expect(await checkout.execute({ key, payload: {} })).toMatchObject({ code: 'outcome_unknown' });
  provider.says = undefined;
  // A person's turn, and the next look-up far away.
  await database.client.$executeRaw`
    UPDATE idempotency_keys SET next_attempt_at = now() + interval '1 h', needs_attention = true, attempts = 30
     WHERE key = ${key}`;
  const hear = (said = 'paid', id = key) =>
    database.client.$transaction((tx) => idempotency.recordEvidence(tx, idOf(id), said, 'stripe'));
  return { key, checkout, idempotency, hear };
}

test('S4 what is heard of an unknown key has it looked up at once, also one that was given up on', async () => {
  const { key, idempotency, hear } = await unknownKey();
  expect(await idempotency.completeDue({ limit: 100 })).toMatchObject({ taken: 0 });
  expect(await hear()).toBe('recorded');
  expect(await rowOf(key)).toMatchObject({ state: 'unknown', needsAttention: false, attempts: 0 });
  expect(await idempotency.completeDue({ limit: 100 })).toMatchObject({ taken: 1, settled: 1 });
  await expectOnce(key);
  expect(await eventsOf(key)).toMatchObject([{ actor: 'stripe', detail: { said: 'paid' } }]);
});

test('it decides nothing: what the provider does not confirm stays unknown', async () => {
  const { key, idempotency, hear } = await unknownKey();
  provider.says = 'pending';
  await hear();
  expect(await idempotency.completeDue({ limit: 100 })).toMatchObject({ taken: 1, unknown: 1 });
  expect(await rowOf(key)).toMatchObject({ state: 'unknown', result: null });
});

test('an executor at work goes on undisturbed: the event alone is written', async () => {
  const { checkout, idempotency } = shop();
  const [charging, end] = [gate(), gate()];
  provider.onCharge = async () => {
    charging.open();
    await end.opened;
  };
  const key = freshKey();
  const outcome = checkout.execute({ key, payload: {} });
  await charging.opened;
  const before = await rowOf(key);
  const heard = await database.client.$transaction((tx) => idempotency.recordEvidence(tx, idOf(key), 'paid', 'stripe'));
  expect(heard).toBe('recorded');
  expect(await rowOf(key)).toEqual(before);
  expect(await idempotency.completeDue({ limit: 100 })).toMatchObject({ taken: 0 });
  end.open();
  expect(await outcome).toMatchObject({ ok: true, replayed: false });
  expect(provider.sends).toBe(1);
  expect(await eventsOf(key)).toHaveLength(1);
});

test('whoever asked before it was heard cannot put the next look-up off', async () => {
  const { key, idempotency, hear } = await unknownKey();
  await hear();
  const [asking, end] = [gate(), gate()];
  const find = provider.find.bind(provider);
  provider.find = () => {
    asking.open();
    provider.find = find;
    return end.opened.then(() => 'pending') as never;
  };
  const asker = idempotency.completeDue({ limit: 100 });
  await asking.opened;
  await hear();
  end.open();
  expect(await asker).toMatchObject({ taken: 1, settled: 0 });
  expect(await idempotency.completeDue({ limit: 100 })).toMatchObject({ taken: 1, settled: 1 });
  await expectOnce(key);
});

test('a key that is in progress with nobody at work is due as well', async () => {
  const { key, idempotency, hear } = await unknownKey();
  await database.client.$executeRaw`
    UPDATE idempotency_keys SET state = 'in_progress', lease_until = now() - interval '1 s', next_attempt_at = NULL
     WHERE key = ${key}`;
  expect(await idempotency.completeDue({ limit: 100 })).toMatchObject({ taken: 0 });
  await hear();
  expect(await idempotency.completeDue({ limit: 100 })).toMatchObject({ taken: 1, settled: 1 });
  await expectOnce(key);
});

test('it is recorded with the transaction, or not at all', async () => {
  const { key, idempotency } = await unknownKey();
  const before = await rowOf(key);
  const rollback = new Error('told to fail');
  const failing = database.client.$transaction(async (tx) => {
    await idempotency.recordEvidence(tx, idOf(key), 'paid', 'stripe');
    throw rollback;
  });
  await expect(failing).rejects.toBe(rollback);
  expect(await rowOf(key)).toEqual(before);
  expect(await eventsOf(key)).toEqual([]);
});

test('said twice it is recorded once; of what is settled or was never there, nothing is', async () => {
  const { key, idempotency, hear } = await unknownKey();
  expect([await hear(), await hear(), await hear('refunded')]).toEqual(['recorded', 'recorded', 'recorded']);
  expect(await eventsOf(key)).toMatchObject([{ detail: { said: 'paid' } }, { detail: { said: 'refunded' } }]);
  await idempotency.completeDue({ limit: 100 });
  const settled = await rowOf(key);
  expect(settled).toMatchObject({ state: 'succeeded' });
  const absent = freshKey();
  expect([await hear('late'), await hear('late', absent)]).toEqual(['none', 'none']);
  expect(await rowOf(key)).toEqual(settled);
  expect(await eventsOf(key)).toHaveLength(2);
  expect(await eventsOf(absent)).toEqual([]);
});

test('what cannot be recorded is refused before anything is sent: the transaction goes on, and says the rest', async () => {
  const { key, idempotency } = await unknownKey();
  const proof = { said: 'paid', step: 'charge_created', succeeded: 'ch_1' };
  const bad = (limit: number) => ['', 'a\0b', 'a'.repeat(limit + 1), '\ud800'];
  const wrong: [Evidence, string, string][] = [
    ...bad(1000).map((said): [Evidence, string, string] => [said, 'stripe', 'What was heard needs a line']),
    ...bad(1000).map((said): [Evidence, string, string] => [
      { ...proof, said },
      'stripe',
      'What was heard needs a line',
    ]),
    ...bad(255).map((actor): [Evidence, string, string] => ['paid', actor, 'What was heard needs the name']),
    ...bad(100).map((step): [Evidence, string, string] => [{ ...proof, step }, 'stripe', 'A proof needs the step']),
    ...bad(255).map((succeeded): [Evidence, string, string] => [
      { ...proof, succeeded },
      'stripe',
      'A proof needs the reference',
    ]),
  ];
  await database.client.$transaction(async (tx) => {
    for (const [said, actor, words] of wrong)
      await expect(idempotency.recordEvidence(tx, idOf(key), said, actor)).rejects.toMatchObject({
        name: 'ConfigurationError',
        message: expect.stringContaining(words),
      });
    for (const said of ['paid', proof])
      expect(await idempotency.recordEvidence(tx, idOf('a\0b'), said, 'stripe'), 'no key is called so').toBe('none');
    const longest = { said: 'é'.repeat(1000), step: 'x'.repeat(100), succeeded: '𝟙'.repeat(255) };
    expect(await idempotency.recordEvidence(tx, idOf(key), longest, 'é'.repeat(255))).toBe('recorded');
  });
  expect(await eventsOf(key)).toHaveLength(1);
  const store = prismaStore(database.client);
  const seen = await seenCall(key);
  for (const reference of bad(255))
    await expect(store.recordVerdict(seen, { kind: 'succeeded', reference }, 'eve')).rejects.toThrow(
      'A verdict that it went through needs the reference of the call',
    );
  for (const actor of bad(255))
    await expect(store.recordVerdict(seen, { kind: 'failed' }, actor)).rejects.toThrow('A verdict needs the name');
  expect(await store.recordVerdict(seen, { kind: 'succeeded', reference: 'ch_1' }, 'eve')).toBe('recorded');
});
