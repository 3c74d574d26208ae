import { describe, expect, test } from 'vitest';
import { expectCounted } from '../../../scripts/testing/expect-counted.ts';
import { ANN, anything, effect, freshKey, kit } from '../../integration/kit.fixture.ts';
import { prismaStore } from '../../store/prisma/store.ts';
import type { NamedKeyState } from './lost-key.ts';
import { type Call, database, expire, provider, rowOf, seenCall, stepsOf, usePhases } from './shop.fixture.ts';

type LostKeyState = Extract<NamedKeyState, { kind: 'lost' }>;

usePhases();

/** The steps that each refusal was told of. */
let told: Record<string, unknown>[];
/** The end of the function, behind a charge that is done. */
type End = (steps: Steps) => Promise<unknown>;
interface Steps {
  /** A call of its own kind at the same provider. */
  call: (name: string, how?: Partial<Call>) => Promise<{ id: string }>;
  atomic: <R>(name: string, run: () => Promise<R>) => Promise<R>;
  fail: (reason: string) => never;
}

function shopThat(end: End, charge: Partial<Call> = {}, { isSoldOut = (): boolean => false, undoFails = 0 } = {}) {
  told = [];
  let left = undoFails;
  const idempotency = kit(database.client, { onError: () => {} });
  const checkout = idempotency
    .operation({
      name: 'pay',
      schema: anything,
      attentionAfterMs: 0,
      onRefused: async (_, { steps }) => {
        told.push(steps);
        if (left-- > 0) throw new Error('no luck');
      },
    })
    .phases(async ({ atomic, foreign, capture, key, fail }) => {
      const order = await capture('order_id', () => `order-of-${key}`);
      await atomic('order_created', async (tx) => {
        if (isSoldOut()) fail('sold_out');
        await effect(tx, `${key}:order`);
        return { cents: 100 };
      });
      await foreign('charge_created', provider.call(order, charge));
      const call = (name: string, how: Partial<Call> = {}) => foreign(name, provider.call(`${name}-of-${key}`, how));
      return end({ call, fail, atomic: (name, run) => atomic(name, run) });
    });
  return { idempotency, checkout };
}

/** What is left of the key, and what a person is told. */
async function leftOf(key: string) {
  const row = await rowOf(key);
  const events = await prismaStore(database.client).events({ ...ANN, operation: 'pay', key });
  const kept = (await stepsOf(key)).filter(({ result }) => result !== null);
  return {
    state: row?.state,
    flagged: row?.needsAttention,
    why: events.filter(({ type }) => type === 'needs_attention').map(({ detail }) => detail?.why),
    kept: kept.map(({ name, result }) => `${name} ${/ch_\d/.exec(result ?? '')}`),
  };
}

const leftWith = (reason: string) => ({
  state: 'failed',
  flagged: true,
  why: [`It was refused (${reason}), and no other call has compensated: charge_created.`],
  kept: ['charge_created ch_1'],
});
const NOTHING_LEFT = { state: 'failed', flagged: false, why: [], kept: [] };

const REFUSALS: [string, string, End][] = [
  [
    'by the next call',
    'card_declined',
    async ({ call }) => {
      provider.faults = ['declined'];
      return await call('parcel_booked');
    },
  ],
  ['in a phase', 'sold_out', async ({ atomic, fail }) => await atomic('finished', async () => fail('sold_out'))],
  ['by the function itself', 'sold_out', async ({ fail }) => fail('sold_out')],
  [
    'behind a call that has compensated another one',
    'sold_out',
    async ({ call, fail }) => {
      await call('parcel_booked');
      await call('parcel_cancelled', { compensates: 'parcel_booked' });
      return fail('sold_out');
    },
  ],
];

describe('a refusal behind a charge', () => {
  test.each(REFUSALS)('that nothing compensates calls a person, and its result stays: %s', async (_, reason, end) => {
    const { checkout } = shopThat(end);
    const key = freshKey();
    expect(await checkout.execute({ key, payload: {} })).toMatchObject({ code: 'failed', reason });
    expectCounted(provider.count(`order-of-${key}`)).toBe(1);
    expect(await leftOf(key)).toEqual(leftWith(reason));
    expect(told).toMatchObject([
      { order_id: `order-of-${key}`, order_created: { cents: 100 }, charge_created: { id: 'ch_1' } },
    ]);
    // What was sent is nobody's business any more.
    expect((await stepsOf(key)).map((step) => step.arguments).filter(Boolean)).toEqual([]);
    expect(await checkout.execute({ key, payload: {} })).toMatchObject({ code: 'failed', reason, replayed: true });
  });

  test('that a later call has compensated, or that needs none, calls nobody, and all that was stored is erased', async () => {
    const end: End = async ({ call, fail }) => {
      await call('charge_refunded', { compensates: 'charge_created' });
      await call('customer_told', { needsCompensation: false });
      return fail('sold_out');
    };
    const key = freshKey();
    const { checkout } = shopThat(end);
    expect(await checkout.execute({ key, payload: {} })).toMatchObject({ code: 'failed', reason: 'sold_out' });
    expect(await leftOf(key)).toEqual(NOTHING_LEFT);
    expect(told).toMatchObject([{ charge_refunded: { id: 'ch_2' }, customer_told: { id: 'ch_3' } }]);
  });

  test.each([
    ['nothing was done, by its result', 'declined', NOTHING_LEFT.flagged],
    ['it was', 'ch_1', true],
  ])('calls a person, and says whether it was executed, by the result of the call: %s', async (_, id, flagged) => {
    provider.faults = ['replayed'];
    const charge: Partial<Call> = {
      lookup: async () => ({ found: { id } }),
      needsCompensation: (found) => found.id !== 'declined',
    };
    const { checkout } = shopThat(async ({ fail }) => fail('card_declined'), charge);
    const key = freshKey();
    expect(await checkout.execute({ key, payload: {} })).toMatchObject({ code: 'failed', executed: flagged });
    expect(await leftOf(key)).toMatchObject({ flagged });
  });

  test('that a refund has not taken back, as its result says, calls a person', async () => {
    const end: End = async ({ call, fail }) => {
      await call('charge_refunded', { compensates: 'charge_created', needsCompensation: ({ id }) => id !== 'ch_2' });
      return fail('sold_out');
    };
    const { checkout } = shopThat(end);
    const key = freshKey();
    expect(await checkout.execute({ key, payload: {} })).toMatchObject({ code: 'failed' });
    expect(await leftOf(key)).toEqual(leftWith('sold_out'));
  });

  test('of which its call cannot say whether it needs a compensation calls a person, and a success asks nobody', async () => {
    const charge: Partial<Call> = {
      needsCompensation: () => {
        throw new Error('no such property');
      },
    };
    const [sold, refused] = [freshKey(), freshKey()];
    expect(await shopThat(async () => 'sold', charge).checkout.execute({ key: sold, payload: {} })).toMatchObject({
      ok: true,
    });
    const { checkout } = shopThat(async ({ fail }) => fail('sold_out'), charge);
    expect(await checkout.execute({ key: refused, payload: {} })).toMatchObject({ code: 'failed' });
    expect(await leftOf(refused)).toMatchObject({ flagged: true });
  });

  test('is the same in a run that finds the charge done, and its results are told again', async () => {
    const { checkout, idempotency } = shopThat(async ({ fail }) => fail('sold_out'), {}, { undoFails: 1 });
    const key = freshKey();
    expect(await checkout.execute({ key, payload: {} })).toMatchObject({ code: 'internal' });
    await expire(key);
    expect(await idempotency.completeDue({ limit: 100 })).toMatchObject({ settled: 1 });
    expect(await leftOf(key)).toMatchObject({ flagged: true, kept: ['charge_created ch_1'] });
    expect(told[1]).toEqual(told[0]);
    expect(told[1]).toMatchObject({ charge_created: { id: 'ch_1' } });
  });

  test('by a person, who says that the next call has failed: the charge is left to them as well', async () => {
    const end: End = async ({ call }) => {
      provider.faults = ['before'];
      return await call('parcel_booked', { indeterminate: 'unknown', providerKeyTtlMs: 0, maxTries: 1 });
    };
    const { checkout, idempotency } = shopThat(end);
    const key = freshKey();
    expect(await checkout.execute({ key, payload: {} })).toMatchObject({ code: 'outcome_unknown' });
    expect(await prismaStore(database.client).recordVerdict(await seenCall(key), { kind: 'failed' }, 'eve')).toBe(
      'recorded',
    );
    expect(await idempotency.completeDue({ limit: 100 })).toMatchObject({ settled: 1 });
    const { why, ...left } = await leftOf(key);
    expect(left).toEqual({ state: 'failed', flagged: true, kept: ['charge_created ch_1'] });
    expect(why).toContain('It was refused (marked_failed), and no other call has compensated: charge_created.');
  });
});

describe('a lost key that is entered with its charge, whose earlier phase now refuses', () => {
  const lookup: Call['lookup'] = async ({ order }) => provider.find(order);

  test.each<[string, 'pending' | undefined, string[]]>([
    ['found', undefined, ['charge_created ch_1']],
    ['still pending', 'pending', []],
  ])('calls a person: %s', async (_, says, kept) => {
    let isSoldOut = false;
    const how = { isSoldOut: () => isSoldOut };
    const { idempotency } = shopThat(async () => undefined, { lookup }, how);
    const key = freshKey();
    provider.charges.set('charged', { id: 'ch_1', amount: 100, order: `order-of-${key}` });
    provider.says = says;
    const lost = await idempotency.lookUpLost({ ...ANN, operation: 'pay', key, payload: {} }, () => false);
    isSoldOut = true;
    const entered = await (lost as LostKeyState & Required<Pick<LostKeyState, 'enter'>>).enter('eve');
    expect(entered).toEqual({ kind: 'entered', state: 'failed' });
    expect(await leftOf(key)).toEqual({ ...leftWith('sold_out'), kept });
    expect(await stepsOf(key)).toContainEqual(
      expect.objectContaining({ name: 'charge_created', derivedKey: expect.any(String) }),
    );
    expect(told).toMatchObject([says ? {} : { charge_created: { id: 'ch_1' } }]);
    expectCounted(provider.sends).toBe(0);
  });
});
