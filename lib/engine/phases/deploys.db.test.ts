import { describe, expect, test } from 'vitest';
import { expectCounted } from '../../../scripts/testing/expect-counted.ts';
import { mintKey } from '../../core/key.ts';
import { readSecrets } from '../../core/secrets.ts';
import type { ForeignCall, PhasesContext } from '../../index.ts';
import { ANN, anything, freshKey, kit, SECRET, type Tx } from '../../integration/kit.fixture.ts';
import { movedTime } from '../../integration/moved-time.fixture.ts';
import { prismaStore } from '../../store/prisma/store.ts';
import type { NamedKeyState } from './lost-key.ts';
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

type LostKeyState = Extract<NamedKeyState, { kind: 'lost' }>;

usePhases();

const lookup: Call['lookup'] = async ({ order }) => provider.find(order);
const keyed: Partial<Call> = { lookup, maxTries: 1 };
const keyless: Partial<Call> = { ...keyed, indeterminate: 'lookup', providerKeyTtlMs: 0 };

/** Each send without a key of the provider's is an effect of its own. */
async function deploy(how: Partial<Call>, honoursKeys: boolean, key: string): Promise<void> {
  provider.honoursKeys = honoursKeys;
  await expire(key);
  await shop({}, how).idempotency.completeDue({ limit: 100 });
}

test('P2 code that begins to use keys asks about a send that had none', async () => {
  const key = freshKey();
  provider.honoursKeys = false;
  provider.faults = ['after'];
  await shop({}, keyless).checkout.execute({ key, payload: {} });
  await deploy(keyed, true, key);
  expect([provider.sends, provider.lookups]).toEqual([1, 1]);
  await expectOnce(key);
});

test('P2 code that uses keys no more asks about a send that had one', async () => {
  const key = freshKey();
  provider.faults = ['after'];
  await shop({}, keyed).checkout.execute({ key, payload: {} });
  await deploy({ ...keyed, providerKeyTtlMs: 0 }, false, key);
  expect([provider.sends, provider.lookups]).toEqual([1, 1]);
  await expectOnce(key);
});

test('P2 code that knows of a longer memory does not lengthen that of an earlier send', async () => {
  const key = freshKey();
  const time = movedTime(database.client);
  provider.faults = ['after', 'before'];
  await shop({}, { ...keyed, providerKeyTtlMs: 3_600_000 }).checkout.execute({ key, payload: {} });
  const { idempotency } = shop({}, keyed);
  await time.pass(key, 1_800_000);
  await idempotency.completeDue({ limit: 100 });
  expect([provider.sends, provider.lookups]).toEqual([2, 0]);
  await time.pass(key, 3_600_000);
  await idempotency.completeDue({ limit: 100 });
  expect([provider.sends, provider.lookups]).toEqual([2, 1]);
  await expectOnce(key);
});

test('options that have no meaning keep nobody from asking, nor a person from judging', async () => {
  const key = freshKey();
  provider.faults = ['after'];
  await shop({}, { indeterminate: 'unknown', providerKeyTtlMs: 0 }).checkout.execute({ key, payload: {} });
  const judged = await prismaStore(database.client).recordVerdict(await seenCall(key), { kind: 'failed' }, 'ann');
  expect(judged).toBe('recorded');
  expect(await shop({}, { maxTries: 0 }).idempotency.completeDue({ limit: 100 })).toMatchObject({ settled: 1 });
});

test('a key that lives longer at the provider than its row lives here is refused before anything is sent', async () => {
  const key = freshKey();
  const errors: unknown[] = [];
  const idempotency = kit(database.client, { phasesRetention: '72h', onError: (error) => void errors.push(error) });
  const pay = idempotency
    .operation({ name: 'pay', schema: anything })
    .phases(async ({ foreign }) => foreign('charge_created', provider.call(key, { providerKeyTtlMs: 73 * 3_600_000 })));
  await pay.execute({ key, payload: {} });
  expect(String(errors.at(-1))).toContain('providerKeyTtlMs');
  expect(provider.sends).toBe(0);
  expectCounted(provider.charges.size).toBe(0);
});

describe('a deploy that renames an argument', () => {
  type Renamed = ForeignCall<{ amountCents: number; order: string }, { id: string }>;

  /** The call of the new code, which gives `amountCents` where the old one gave `amount`. */
  const renamed = (key: string, how: Partial<Renamed> = {}) =>
    ({
      arguments: { amountCents: 100, order: `order-of-${key}` },
      send: ({ amountCents, order }, { idempotencyKey }) =>
        provider.charge({ amount: amountCents, order }, idempotencyKey),
      ...how,
    }) as Partial<Renamed> as never;
  const version: Partial<Renamed> = {
    version: 2,
    upcasts: { 1: { arguments: ({ amount, ...old }: { amount: number }) => ({ ...old, amountCents: amount }) } },
  };
  /** The old code, whose send was lost: on the way there, or on the way back. */
  async function begun(fault: 'before' | 'after', how: Partial<Call> = {}): Promise<string> {
    const key = freshKey();
    provider.faults = [fault];
    await shop({}, { maxTries: 1, ...how }).checkout.execute({ key, payload: {} });
    expect(await stepsOf(key)).toMatchObject([{}, {}, { name: 'charge_created', state: 'started', sends: 1 }]);
    return key;
  }
  const charged = () => [...provider.charges.values()].map(({ amount }) => amount);

  test('P1 sends nothing of the old ones, says what differs, and goes on with the old code', async () => {
    const key = await begun('before');
    const errors: unknown[] = [];
    const { checkout } = shop({ onError: (error) => void errors.push(error) }, renamed(key), { attentionAfterMs: 0 });
    expect(await checkout.execute({ key, payload: {}, attempt: 2 })).toMatchObject({
      code: 'phase_mismatch',
      retry: 'never',
      executed: 'unknown',
    });
    expect(provider.sends).toBe(1);
    expectCounted(charged()).toEqual([]);
    expect(errors.at(-1)).toMatchObject({
      message: expect.stringMatching(/charge_created.*arguments\.amountCents.*`version`.*`upcasts`.*old code/),
      existing: 'nothing',
      expected: 'number',
    });
    expect((await stepsOf(key)).at(-1)).toMatchObject({ sends: 1, notExecuted: 0, state: 'started' });
    expect(await rowOf(key)).toMatchObject({ state: 'in_progress', needsAttention: true });

    await expire(key);
    expect(await shop().idempotency.completeDue({ limit: 100 })).toMatchObject({ settled: 1 });
    expect(charged()).toEqual([100]);
    await expectOnce(key);
  });

  test('P1 and leads the old ones up, sends those, once', async () => {
    const key = await begun('before');
    const { checkout } = shop({}, renamed(key, version));
    expect(await checkout.execute({ key, payload: {}, attempt: 2 })).toMatchObject({ ok: true });
    expect([provider.sends, charged()]).toEqual([2, [100]]);
    await expectOnce(key);
  });

  test('P1 and takes what an upcast makes for what it would be once stored', async () => {
    const key = await begun('before');
    const tag = Buffer.from('t');
    const how = {
      arguments: { amountCents: 100, order: `order-of-${key}`, tag },
      upcasts: { 1: { arguments: ({ amount, ...old }: { amount: number }) => ({ ...old, amountCents: amount, tag }) } },
    };
    const { checkout } = shop({}, renamed(key, { ...version, ...how }));
    expect(await checkout.execute({ key, payload: {}, attempt: 2 })).toMatchObject({ ok: true });
    await expectOnce(key);
  });

  test.each<[string, Partial<Renamed>, string]>([
    ['has no upcast', { version: 2 }, '`upcasts[1]`'],
    ['has an upcast that throws', { version: 2, upcasts: { 1: { arguments: () => expect.fail() } } }, 'threw'],
    ['leads them to something else', { version: 2, upcasts: { 1: {} } }, 'arguments.amountCents'],
  ])('P1 sends nothing where it %s', async (_, how, words) => {
    const key = await begun('after');
    const errors: unknown[] = [];
    const { checkout } = shop({ onError: (error) => void errors.push(error) }, renamed(key, how));
    expect(await checkout.execute({ key, payload: {}, attempt: 2 })).toMatchObject({ code: 'phase_mismatch' });
    expect(String(errors.at(-1))).toContain(words);
    expect(provider.sends).toBe(1);
    expect((await stepsOf(key)).at(-1)).toMatchObject({ sends: 1 });
    expect(await rowOf(key)).toMatchObject({ state: 'in_progress' });
  });

  test('R3 leaves what it has stored to its own instances', async () => {
    const key = freshKey();
    provider.faults = ['before'];
    const next = shop({}, renamed(key, { ...version, maxTries: 1 }));
    await next.checkout.execute({ key, payload: {} });
    // The version counts, not that this one can do with these arguments.
    const old: Partial<Call> = { arguments: { amountCents: 100, order: `order-of-${key}` } as never };
    const earlier = shop({}, old);
    expect(await earlier.checkout.execute({ key, payload: {}, attempt: 2 })).toMatchObject({ code: 'unavailable' });
    expect(provider.sends).toBe(1);
    await expire(key);
    expect(await next.idempotency.completeDue({ limit: 100 })).toMatchObject({ settled: 1 });
    expect([provider.sends, charged()]).toEqual([2, [100]]);
  });

  test.each<[string, Partial<Call>]>([
    ['in_progress', {}],
    ['unknown', { indeterminate: 'lookup', lookup: () => Promise.reject(new Error('cannot be asked')) }],
  ])('P1 asks with those that were led up, and with none that were not: %s', async (state, how) => {
    const key = await begun('after', how);
    const asked: unknown[] = [];
    const lookup: Renamed['lookup'] = async (stored) => {
      asked.push(stored);
      return provider.find(stored.order);
    };
    const errors: unknown[] = [];
    const onError = (error: unknown) => void errors.push(error);
    const asks: Partial<Renamed> = { indeterminate: 'lookup', lookup };
    await expire(key);
    const unversioned = shop({ onError }, renamed(key, asks)).idempotency;
    expect(await unversioned.completeDue({ limit: 100 })).toMatchObject({ taken: 1, settled: 0 });
    expect(errors).toMatchObject([{ code: 'phase_mismatch' }]);
    expect(await rowOf(key)).toMatchObject({ state, nextAttemptAt: expect.any(Date) });
    await expire(key);
    const { idempotency } = shop({}, renamed(key, { ...asks, ...version }));
    expect(await idempotency.completeDue({ limit: 100 })).toMatchObject({ settled: 1 });
    expect(asked).toEqual([{ amountCents: 100, order: `order-of-${key}` }]);
    expect(provider.sends).toBe(1);
    await expectOnce(key);
  });

  test('S4 acts upon "it went through" without the arguments', async () => {
    const key = await begun('after', { indeterminate: 'unknown', providerKeyTtlMs: 0 });
    const verdict = { kind: 'succeeded', reference: 'ch_1' } as const;
    expect(await prismaStore(database.client).recordVerdict(await seenCall(key), verdict, 'ann')).toBe('recorded');
    const { idempotency } = shop({}, renamed(key, { fromReference: async (id) => ({ id }) }));
    expect(await idempotency.completeDue({ limit: 100 })).toMatchObject({ settled: 1 });
    expect(provider.sends).toBe(1);
    await expectOnce(key);
  });
});

test('P1 a lost key is entered with the versions of what its steps have stored', async () => {
  // Minted a minute ago, so that the provider is known to remember what was sent under it.
  const key = mintKey(Date.now() - 60_000, { ...ANN, operation: 'pay' }, readSecrets([SECRET]).first);
  const ofThisVersion = () => expect.fail('led up');
  const version = { version: 2, upcasts: { 1: ofThisVersion } };
  const how = { lookup, version: 2, upcasts: { 1: { arguments: ofThisVersion, result: ofThisVersion } } };
  const idempotency = kit(database.client, { secret: [SECRET] });
  idempotency.operation({ name: 'pay', schema: anything }).phases(async ({ capture, foreign }) => {
    const at = await capture('at', () => 'now', version);
    await foreign('charge_created', provider.call(`charge-${key}`, how));
    await foreign('parcel_booked', provider.call(`parcel-${key}`, how));
    return at;
  });
  provider.charges.set('charged', { id: 'ch_1', amount: 100, order: `charge-${key}` });
  const state = await idempotency.lookUpLost({ ...ANN, operation: 'pay', key, payload: {} }, () => false);
  expect(state).toMatchObject({ calls: [{ answer: 'found' }, { answer: 'absent' }] });
  const { enter } = state as Required<LostKeyState>;
  expect(await enter('eve')).toEqual({ kind: 'entered', state: 'succeeded' });
  expectCounted([provider.count(`charge-${key}`), provider.count(`parcel-${key}`)]).toEqual([1, 1]);
});

describe('a deploy that changes what a step has returned', () => {
  const version = { version: 2, upcasts: { 1: (id: string) => ({ id }) } };
  const foreignVersion = { version: 2, upcasts: { 1: { result: (id: string) => ({ id }) } } };
  type Steps = (context: PhasesContext<unknown, Tx>) => Promise<unknown>;
  const pay = (key: string, steps: Steps) =>
    kit(database.client)
      .operation({ name: 'pay', schema: anything })
      .phases(steps)
      .execute({ key, payload: {}, attempt: 2 });
  const send = async () => 'old';
  const sent = { arguments: { order: 'o' }, indeterminate: 'retry' as const };

  test.each<[string, Steps, Steps, Steps]>([
    [
      'an atomic phase',
      ({ atomic }) => atomic('a', async () => 'old'),
      ({ atomic }) => atomic('a', async () => ({ id: 'new' }), version),
      ({ atomic }) => atomic('a', async () => ({ id: 'new' }), { version: 2 }),
    ],
    [
      'a captured value',
      ({ capture }) => capture('a', () => 'old'),
      ({ capture }) => capture('a', () => ({ id: 'new' }), version),
      ({ capture }) => capture('a', () => ({ id: 'new' }), { version: 2 }),
    ],
    [
      'a foreign call',
      ({ foreign }) => foreign('a', { ...sent, send }),
      ({ foreign }) => foreign('a', { ...sent, ...foreignVersion, send: async () => ({ id: 'new' }) }),
      ({ foreign }) => foreign('a', { ...sent, version: 2, send: async () => ({ id: 'new' }) }),
    ],
  ])('P1 leads that of %s up, and R3 leaves its own to its instances', async (_, old, next, without) => {
    const stopped =
      (steps: Steps): Steps =>
      async (context) => {
        await steps(context);
        throw new Error('stop');
      };
    const key = freshKey();
    await pay(key, stopped(old));
    expect(await pay(key, without)).toMatchObject({ code: 'phase_mismatch', retry: 'never' });
    expect(await pay(key, next)).toMatchObject({ ok: true, data: { id: 'old' } });

    const later = freshKey();
    await pay(later, stopped(next));
    expect(await pay(later, old)).toMatchObject({ code: 'unavailable' });
    expect(await pay(later, next)).toMatchObject({ ok: true, data: { id: 'new' } });
  });
});
