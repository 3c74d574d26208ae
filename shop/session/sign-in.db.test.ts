import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openShop } from '../shop.fixture.ts';
import type { Session } from './session.ts';

const DAY = 24 * 3_600_000;

let shop: Awaited<ReturnType<typeof openShop>>;
let signedIn: typeof import('./sign-in.ts').signedIn;
let signedOut: typeof import('./sign-in.ts').signedOut;
let hasEnded: typeof import('./session-end.ts').hasEnded;
let principalOf: typeof import('./visitor.ts').principalOf;
let orders: typeof import('../orders/orders.ts');
let carts: typeof import('../orders/carts.ts');
let namesOf: typeof import('./adoption.ts').namesOf;
beforeAll(async () => {
  shop = await openShop();
  ({ signedIn, signedOut } = await import('./sign-in.ts'));
  ({ hasEnded } = await import('./session-end.ts'));
  ({ principalOf } = await import('./visitor.ts'));
  ({ namesOf } = await import('./adoption.ts'));
  orders = await import('../orders/orders.ts');
  carts = await import('../orders/carts.ts');
});
afterAll(() => shop?.close());

const anonymous = (): Session => ({ shopperId: randomUUID() });
const isOver = ({ shopperId, account }: Session) => hasEnded({ id: shopperId, account });

async function orderOf(principal: string): Promise<string> {
  const scope = { tenant: 'demo', principal };
  const { labOrder } = shop.operations;
  const placed = await labOrder.execute({ key: randomUUID(), scope, payload: { sku: 'mug', quantity: 1 } });
  if (!placed.ok) throw new Error(placed.message);
  return placed.data.id;
}

describe('a sign-in', () => {
  test('gives another id, and the cookie from before it opens nothing any more', async () => {
    const before = anonymous();
    expect(await isOver(before)).toBe(false);
    const after = await signedIn(before, 'alice');
    expect(after).toMatchObject({ account: 'alice' });
    expect(after.shopperId).not.toBe(before.shopperId);
    expect([await isOver(before), await isOver(after)]).toEqual([true, false]);
    expect(await isOver({ ...before, account: 'bob' })).toBe(true);
  });

  test('keeps the old id as an alias for as long as its forms may be sent, in this session alone', async () => {
    const before = anonymous();
    const after = await signedIn(before, 'alice');
    expect(principalOf(after).aliases).toEqual([before.shopperId]);
    const left = (after.alias?.until ?? 0) - Date.now();
    expect(left).toBeGreaterThan(DAY - 60_000);
    expect(left).toBeLessThanOrEqual(DAY);
    expect(principalOf({ ...after, alias: { shopperId: 'x', until: Date.now() - 1 } }).aliases).toEqual([]);
    expect(principalOf(await signedIn(null, 'alice')).aliases).toEqual([]);
  });

  test('whose answer was lost is repeated with the old cookie, and prolongs no alias', async () => {
    const before = anonymous();
    const first = await signedIn(before, 'alice');
    await shop.client.adoptedShopper.update({
      where: { shopper: before.shopperId },
      data: { at: new Date(Date.now() - DAY) },
    });
    const second = await signedIn(before, 'alice');
    expect(second.shopperId).not.toBe(first.shopperId);
    expect(second.alias?.shopperId).toBe(before.shopperId);
    expect(principalOf(second).aliases).toEqual([]);
  });

  test('of two accounts with one cookie at once, one gets what the shopper had', async () => {
    const before = anonymous();
    const order = await orderOf(before.shopperId);
    const sessions = await Promise.all(['alice', 'bob'].map((account) => signedIn(before, account)));
    expect(sessions.filter(({ alias }) => alias)).toHaveLength(1);
    const found = await Promise.all(sessions.map((session) => orders.findOrder(order, principalOf(session))));
    expect(found.filter(Boolean)).toHaveLength(1);
    expect(found.findIndex(Boolean)).toBe(sessions.findIndex(({ alias }) => alias));
  });

  test('over another account ends that session, and takes nothing of it along', async () => {
    const alice = await signedIn(anonymous(), 'alice');
    const bob = await signedIn(alice, 'bob');
    expect(await isOver(alice)).toBe(true);
    expect(bob).toEqual({ shopperId: expect.not.stringMatching(alice.shopperId), account: 'bob' });
  });

  test('again under the same account goes on with its alias, under a new id', async () => {
    const first = await signedIn(anonymous(), 'alice');
    const second = await signedIn(first, 'alice');
    expect(second.alias).toEqual(first.alias);
    expect([await isOver(first), await isOver(second)]).toEqual([true, false]);
  });
});

test('signing out ends the session for whoever has copied its cookie', async () => {
  const session = await signedIn(anonymous(), 'alice');
  const next = await signedOut(session);
  expect([await isOver(session), await isOver(next)]).toEqual([true, false]);
  expect(next).toEqual({ shopperId: expect.not.stringMatching(session.shopperId) });
  const { expire } = await shop.client.rateLimit.findFirstOrThrow({ where: { key: { endsWith: session.shopperId } } });
  // Not before the cookie would have expired by itself.
  expect(Number(expire)).toBeGreaterThan(Date.now() + 179 * DAY);
});

describe('what an anonymous shopper had', () => {
  const locked = (id: string, principal: string) =>
    shop.client.$transaction((tx) => orders.lockOrder(tx, id, { tenant: 'demo', principal }));

  test('is the account’s, also what a retry places under the old id later; and nobody else’s', async () => {
    const before = anonymous();
    const early = await orderOf(before.shopperId);
    await signedIn(before, 'alice');
    const late = await orderOf(before.shopperId);
    const own = await orderOf('alice');
    for (const id of [early, late, own]) {
      expect(await orders.findOrder(id, { tenant: 'demo', principal: 'alice' }), id).toMatchObject({ id });
      expect(await locked(id, 'alice')).toMatchObject({ id });
      expect(await orders.findOrder(id, { tenant: 'demo', principal: 'bob' })).toBeNull();
      expect(await orders.findOrder(id, { tenant: 'elsewhere', principal: 'alice' })).toBeNull();
      expect(await locked(id, 'bob')).toBeUndefined();
    }
    expect(await locked(own, before.shopperId)).toBeUndefined();
    expect(await namesOf({ tenant: 'demo', principal: 'alice' })).toContain(before.shopperId);
    expect(await namesOf({ tenant: 'demo', principal: 'bob' })).not.toContain(before.shopperId);
  });

  test('an order from a cart of the session is the account’s alone, not the session’s id', async () => {
    const session = await signedIn(anonymous(), 'alice');
    const cart = await carts.createCart(session, { sku: 'mug', quantity: 1 });
    const order = await orderOf('alice');
    await shop.client.order.update({ where: { id: order }, data: { cartId: cart } });
    expect(await locked(order, session.shopperId)).toBeUndefined();
    expect(await locked(order, 'alice')).toMatchObject({ id: order });
  });

  test('carts go along, and are found in every session of the account', async () => {
    const before = anonymous();
    const cart = await carts.createCart(before, { sku: 'mug', quantity: 2 });
    if (!cart) throw new Error('No cart.');
    const after = await signedIn(before, 'alice');
    expect(await carts.findCart(after, undefined)).toMatchObject({ id: cart });
    expect(await carts.findCart(await signedIn(null, 'alice'), cart)).toMatchObject({ id: cart });
    expect(await carts.findCart(await signedIn(anonymous(), 'bob'), cart)).toBeNull();
    expect(await carts.findCart(anonymous(), cart)).toBeNull();
  });
});

test('whether a session is over, a database that does not answer cannot say: unavailable, and soon', async () => {
  const { isUnavailable } = await import('oncekit');
  const blocker = await shop.connect();
  await blocker.query('BEGIN; LOCK TABLE adopted_shoppers');
  try {
    await expect(isOver(anonymous())).rejects.toSatisfy(isUnavailable);
  } finally {
    await blocker.query('ROLLBACK');
    await blocker.end();
  }
});
