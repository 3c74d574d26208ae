import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Session } from '../session/session.ts';
import { openShop } from '../shop.fixture.ts';

let shop: Awaited<ReturnType<typeof openShop>>;
let signedIn: typeof import('../session/sign-in.ts').signedIn;
let admin: typeof import('../admin/admin.ts').admin;
beforeAll(async () => {
  shop = await openShop();
  ({ signedIn } = await import('../session/sign-in.ts'));
  ({ admin } = await import('../admin/admin.ts'));
});
afterAll(() => shop?.close());

async function buy(principal: string): Promise<string> {
  const key = randomUUID();
  const scope = { tenant: 'demo', principal };
  const { labOrder } = shop.operations;
  expect(await labOrder.execute({ key, scope, payload: { sku: 'mug', quantity: 1 } })).toMatchObject({ ok: true });
  return key;
}

const isErased = async (key: string) =>
  (await shop.client.idempotencyKey.findFirstOrThrow({ where: { key } })).result === null;

test('an account is erased with all it has bought before its sign-ins, and nobody else', async () => {
  const [first, second, other]: Session[] = Array.from({ length: 3 }, () => ({ shopperId: randomUUID() })) as never;
  const keys = [];
  for (const before of [first, second] as Session[]) {
    keys.push(await buy(before.shopperId));
    await signedIn(before, 'dora');
  }
  keys.push(await buy('dora'));
  const kept = await buy((other as Session).shopperId);
  await signedIn(other as Session, 'emil');

  const erased = await admin({ tenant: null }).erasePrincipal(
    { tenant: 'demo', principal: 'dora' },
    'eve@shop.example',
  );
  expect(erased).toMatchObject({ forgotten: 3, left: expect.arrayContaining([expect.stringContaining('orders (3)')]) });
  expect(await Promise.all(keys.map(isErased))).toEqual([true, true, true]);
  expect(await isErased(kept)).toBe(false);
  const names = ['dora', first?.shopperId, second?.shopperId];
  const records = await shop.client.idempotencyAudit.findMany({ where: { type: 'erased', actor: 'eve@shop.example' } });
  expect(records.map(({ principal }) => principal).sort()).toEqual([...names].sort());
});
