import { beforeAll, describe, expect, test } from 'vitest';
import { expectCounted } from '../../../scripts/testing/expect-counted.ts';
import { until } from '../../../scripts/testing/until.ts';
import { anything, effect, freshKey, gate, kit } from '../../integration/kit.fixture.ts';
import { movedTime } from '../../integration/moved-time.fixture.ts';
import { prismaStore } from '../../store/prisma/store.ts';
import {
  type Call,
  database,
  expectOnce,
  expire,
  provider,
  rowOf,
  seenCall,
  shop,
  stepsOf,
  usePhases,
} from './shop.fixture.ts';

usePhases();

let time: ReturnType<typeof movedTime>;
beforeAll(() => {
  time = movedTime(database.client);
});

const MINUTE = 60_000;
const DAY = 86_400_000;
const once: Partial<Call> = { maxTries: 1 };
const asking: Partial<Call> = { ...once, lookup: async ({ order }) => provider.find(order) };
const always = (fault: 'before' | 'refused') => Array.from({ length: 1000 }, () => fault);

async function chargeOf(key: string) {
  const step = (await stepsOf(key)).find(({ name }) => name === 'charge_created');
  if (!step) throw new Error('The charge was not begun.');
  return step;
}

describe('A4 a provider that is away', () => {
  test.each([
    ['for 14 minutes', 14 * MINUTE, 60],
    ['for an hour', 60 * MINUTE, 60],
    ['for two days', 2 * DAY, 200],
  ])('%s and proves each time that nothing was done: finished without a person, one charge', async (_, ms, most) => {
    const { checkout, idempotency } = shop({}, once);
    const key = freshKey();
    provider.faults = always('refused');
    expect(await checkout.execute({ key, payload: {} })).toMatchObject({ code: 'unavailable' });
    expect(await time.work(idempotency, key, ms)).toBeLessThan(most);
    expect(await rowOf(key)).toMatchObject({ state: 'in_progress', needsAttention: ms > 20 * MINUTE });
    const { sends, notExecuted } = await chargeOf(key);
    expect(sends).toBeGreaterThan(10);
    expect(notExecuted).toBe(sends);
    // It is back: within half of the time that it was away, and an hour at most.
    provider.faults = [];
    expect(await time.pauseOf(key)).toBeLessThan(Math.min(60 * MINUTE, ms / 2));
    await time.work(idempotency, key, 60 * MINUTE);
    expect(await rowOf(key)).toMatchObject({ state: 'succeeded', needsAttention: false });
    await expectOnce(key);
  });

  test('for two days after a charge whose answer was lost: sent again while it remembers, then asked; one charge', async () => {
    const { checkout, idempotency } = shop({}, asking);
    const key = freshKey();
    provider.faults = ['after', ...always('before')];
    provider.says = 'nothing';
    expect(await checkout.execute({ key, payload: {} })).toMatchObject({ code: 'unavailable' });
    await time.work(idempotency, key, 20 * 60 * MINUTE);
    expect(await rowOf(key)).toMatchObject({ state: 'in_progress', needsAttention: true });
    expect(provider.lookups).toBe(0);
    await time.work(idempotency, key, 28 * 60 * MINUTE);
    // The provider's memory is over, and it cannot be asked: nobody knows, and the completer goes on asking.
    expect(await rowOf(key)).toMatchObject({ state: 'unknown', needsAttention: true });
    expect(provider.lookups).toBeGreaterThan(10);
    const { sends } = await chargeOf(key);
    provider.faults = [];
    provider.says = undefined;
    await time.work(idempotency, key, 60 * MINUTE);
    expect(await rowOf(key)).toMatchObject({ state: 'succeeded', needsAttention: false });
    expect(provider.sends).toBe(sends);
    await expectOnce(key);
  });

  test('and has forgotten the key, and cannot be asked: only then is it a person’s alone', async () => {
    const { checkout, idempotency } = shop({}, once);
    const key = freshKey();
    provider.faults = always('before');
    await checkout.execute({ key, payload: {} });
    await time.work(idempotency, key, DAY - 2 * 60 * MINUTE);
    expect(await rowOf(key)).toMatchObject({ state: 'in_progress', needsAttention: true });
    await time.work(idempotency, key, 3 * 60 * MINUTE);
    expect(await rowOf(key)).toMatchObject({ state: 'unknown', needsAttention: true, nextAttemptAt: null });
    const { sends } = await chargeOf(key);
    provider.faults = [];
    expect(await time.work(idempotency, key, 3 * DAY)).toBe(0);
    expect(provider.sends).toBe(sends);
  });

  test('and then stays silent after one send: its memory counts from that one', async () => {
    const { checkout, idempotency } = shop({}, once);
    const key = freshKey();
    provider.faults = always('refused');
    await checkout.execute({ key, payload: {} });
    await time.work(idempotency, key, 2 * DAY);
    provider.faults = ['after', ...always('refused')];
    await time.work(idempotency, key, 20 * 60 * MINUTE);
    const { sends, notExecuted } = await chargeOf(key);
    expect(sends - notExecuted).toBe(1);
    provider.faults = [];
    await time.work(idempotency, key, 60 * MINUTE);
    expect(await rowOf(key)).toMatchObject({ state: 'succeeded' });
    await expectOnce(key);
  });

  test('is no reason to repeat what is in doubt: one send that proves nothing leaves the doubt of another', async () => {
    const { checkout, idempotency } = shop({}, once);
    const key = freshKey();
    provider.honoursKeys = false; // and forgets what it was given: a second send is a second charge
    provider.faults = ['after', ...always('refused')];
    await checkout.execute({ key, payload: {} });
    await time.work(idempotency, key, 25 * 60 * MINUTE);
    provider.faults = [];
    await time.work(idempotency, key, 5 * 60 * MINUTE);
    expect(await rowOf(key)).toMatchObject({ state: 'unknown', nextAttemptAt: null });
    expectCounted(provider.count(`order-of-${key}`)).toBe(1);
  });
});

test('what a call without keys and without a look-up never did is sent when the provider is back', async () => {
  const { checkout, idempotency } = shop({}, { ...once, indeterminate: 'unknown', providerKeyTtlMs: 0 });
  const key = freshKey();
  provider.faults = always('refused');
  expect(await checkout.execute({ key, payload: {} })).toMatchObject({ code: 'unavailable' });
  await time.work(idempotency, key, DAY);
  expect(await rowOf(key)).toMatchObject({ state: 'in_progress' });
  provider.faults = [];
  await time.work(idempotency, key, 60 * MINUTE);
  await expectOnce(key);
});

test('an executor that dies before it can say what its send proved leaves a doubt', async () => {
  const { checkout, idempotency } = shop({}, { ...once, indeterminate: 'unknown', providerKeyTtlMs: 0 });
  const key = freshKey();
  provider.faults = ['refused'];
  await checkout.execute({ key, payload: {} });
  expect(await chargeOf(key)).toMatchObject({ sends: 1, notExecuted: 1 });
  // The next one is written down and sent, and its process is gone.
  await database.client.$executeRaw`UPDATE idempotency_phases SET sends = 2 WHERE key = ${key} AND kind = 'foreign'`;
  await expire(key);
  expect(await idempotency.completeDue({ limit: 100 })).toMatchObject({ unknown: 1 });
  expect(provider.sends).toBe(1);
});

test('what a person vouched for leaves no doubt behind either', async () => {
  const { checkout, idempotency } = shop({}, { ...once, indeterminate: 'unknown', providerKeyTtlMs: 0 });
  const key = freshKey();
  provider.faults = ['before', ...always('refused')];
  expect(await checkout.execute({ key, payload: {} })).toMatchObject({ code: 'outcome_unknown' });
  expect(
    await database.client.idempotencyEvent.findMany({ where: { key, type: 'needs_attention' } }),
    'not that it took long',
  ).toMatchObject([{ detail: { why: 'nobody can be asked what became of it' } }]);
  expect(await prismaStore(database.client).recordVerdict(await seenCall(key), { kind: 'retry' }, 'ann')).toBe(
    'recorded',
  );
  await time.work(idempotency, key, 60 * MINUTE);
  expect(await rowOf(key)).toMatchObject({ state: 'in_progress' });
  const { sends, notExecuted } = await chargeOf(key);
  expect([sends > 2, notExecuted]).toEqual([true, sends]);
  provider.faults = [];
  await time.work(idempotency, key, 60 * MINUTE);
  await expectOnce(key);
});

test('a person who knows what happened need not wait for the provider', async () => {
  const { checkout, idempotency } = shop({}, { ...once, fromReference: async (id) => ({ id }) });
  const key = freshKey();
  provider.faults = ['after', ...always('before')];
  await checkout.execute({ key, payload: {} });
  const store = prismaStore(database.client);
  const judge = async () =>
    await store.recordVerdict(await seenCall(key), { kind: 'succeeded', reference: 'ch_1' }, 'ann');
  // Minutes are the completer's: nobody needs a person's word yet.
  expect(await judge()).toBe('changed');
  await time.work(idempotency, key, 60 * MINUTE);
  expect(await rowOf(key)).toMatchObject({ state: 'in_progress', needsAttention: true });
  expect(await judge()).toBe('recorded');
  expect(await idempotency.completeDue({ limit: 100 })).toMatchObject({ settled: 1 });
  await expectOnce(key);
});

test('a person is asked once, however long it takes', async () => {
  const { checkout, idempotency } = shop({}, once);
  const key = freshKey();
  provider.faults = always('refused');
  await checkout.execute({ key, payload: {} });
  await time.work(idempotency, key, DAY);
  const events = await prismaStore(database.client).events({
    tenant: 'acme',
    principal: 'ann',
    operation: 'pay',
    key,
  });
  expect(events.map(({ type }) => type)).toEqual(['call_failed', 'needs_attention']);
  expect(events[1]?.detail, 'and told why').toEqual({ why: 'not finished for long' });
});

test('A4 a step that throws is tried for as long as it throws, ever more slowly', async () => {
  const key = freshKey();
  let runs = 0;
  let isBroken = true;
  const idempotency = kit(database.client);
  const pay = idempotency.operation({ name: 'pay', schema: anything }).phases(({ atomic }) =>
    atomic('a', async (tx) => {
      runs++;
      if (isBroken) throw new Error('not yet');
      await effect(tx, key);
    }),
  );
  await pay.execute({ key, payload: {} });
  await time.work(idempotency, key, 2 * DAY);
  expect(runs).toBeLessThan(200);
  expect(await rowOf(key)).toMatchObject({ state: 'in_progress', needsAttention: true });
  isBroken = false; // the next deploy
  await time.work(idempotency, key, 60 * MINUTE);
  expect(await rowOf(key)).toMatchObject({ state: 'succeeded', needsAttention: false });
});

test('a run that got further is not put off for what befell the ones before it', async () => {
  const key = freshKey();
  const idempotency = kit(database.client);
  const pay = idempotency.operation({ name: 'pay', schema: anything }).phases(async ({ foreign, atomic }) => {
    await foreign('charge_created', provider.call(key, once));
    await atomic('finished', () => Promise.reject(new Error('no luck')));
  });
  provider.faults = always('refused');
  await pay.execute({ key, payload: {} });
  await time.work(idempotency, key, DAY);
  provider.faults = [];
  await time.pass(key, 60 * MINUTE);
  expect(await idempotency.completeDue({ limit: 100 })).toMatchObject({ unfinished: 1 });
  expect(await time.pauseOf(key)).toBeLessThan(1001);
});

test('a key whose every run kills its process is taken up ever more slowly, not every few seconds', async () => {
  const key = freshKey();
  const { checkout, idempotency } = shop({ leaseMs: 1500 }, once);
  provider.faults = ['before'];
  await checkout.execute({ key, payload: {} });
  await database.client.$executeRaw`UPDATE idempotency_keys SET attempts = 60 WHERE key = ${key}`;
  await time.pass(key, DAY / 2);
  const [charging, end] = [gate(), gate()];
  provider.onCharge = async () => {
    charging.open();
    await end.opened;
  };
  const first = (await rowOf(key))?.fencingToken ?? 0;
  const dying = idempotency.completeDue({ limit: 100 });
  await charging.opened;
  const leaseEnd = async () => (await rowOf(key))?.leaseUntil?.getTime() ?? 0;
  const claimed = await leaseEnd();
  await until('the lease is renewed', async () => (await leaseEnd()) > claimed);
  // Its lease is short and renewed, and yet the completer would come back much later.
  expect(await time.pauseOf(key)).toBeGreaterThan(20 * MINUTE);
  const taken = await rowOf(key);
  expect(taken?.needsAttention).toBe(true);
  expect(taken?.fencingToken).toBeGreaterThan(first);
  end.open();
  expect(await dying).toMatchObject({ settled: 1 });
  await expectOnce(key);
});
