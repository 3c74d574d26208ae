import { monitorEventLoopDelay } from 'node:perf_hooks';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { random } from '../../e2e/fixtures/random.ts';
import { expectCounted } from '../../scripts/testing/expect-counted.ts';
import { bound } from '../../scripts/testing/patience.ts';
import { type TestDatabase, testDatabase } from '../../scripts/testing/test-database.ts';
import { SEED, tier } from '../../scripts/testing/tier.ts';
import { type Client, createClient } from '../../shop/db.ts';
import { anything, effect, effects, freshKey, gate, kit } from '../integration/kit.fixture.ts';
import { silentProxy } from '../store/prisma/wire/silent-proxy.fixture.ts';

/** A caller that says how long it waits is told in time, whatever the database does. */

/** How much later than its deadline a call may be answered, in milliseconds. */
const GRACE_MS = bound(250);
const RANDOM_CALLS = tier === 'short' ? 200 : 1000;
/** The same on a machine that has other things to do: how late its timers are is measured, and not the kit's fault. */
const late = monitorEventLoopDelay({ resolution: 5 });

let database: TestDatabase;
const closers: (() => unknown)[] = [];
beforeAll(async () => {
  database = await testDatabase();
  late.enable();
});
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});
afterAll(async () => {
  late.disable();
  await database?.drop();
});

function shop(client: Client) {
  const idempotency = kit(client, { leaseMs: 2000, waitMs: 300 });
  const order = idempotency
    .operation({ name: 'order', schema: z.looseObject({ n: z.number() }) })
    .handler(async ({ tx, key }) => await effect(tx, key));
  const pay = idempotency.operation({ name: 'pay', schema: anything }).phases(async ({ atomic, capture, key }) => {
    await capture('id', () => key);
    await atomic('ordered', async (tx) => await effect(tx, key));
  });
  return { idempotency, order, pay };
}

/** How much longer than its deadline a call took. */
async function overrun(deadlineMs: number, call: () => Promise<unknown>): Promise<number> {
  const from = performance.now();
  const said = await call().catch((error) => error);
  expect(said).toBeDefined();
  return performance.now() - from - deadlineMs;
}

const allowed = () => GRACE_MS + late.max / 1e6;

type Shop = ReturnType<typeof shop>;
/** Each kind of call, with what it says where the database gives no answer. */
const CALLS: Record<string, (shop: Shop, how: { key: string; deadlineMs: number }) => Promise<unknown>> = {
  'a first attempt': ({ order }, how) => order.execute({ ...how, payload: { n: 1 } }),
  'a retry': ({ order }, how) => order.execute({ ...how, payload: { n: 1 }, attempt: 2 }),
  'what the schema refuses': ({ order }, how) => order.execute({ ...how, payload: { n: 'one' } as never }),
  phases: ({ pay }, how) => pay.execute({ ...how, payload: {} }),
  'a retry of phases': ({ pay }, how) => pay.execute({ ...how, payload: {}, attempt: 2 }),
  'a question for the status': ({ order }, how) => order.status(how),
  'a fence': ({ order }, how) => order.fence(how),
};

test(`deadlines are kept in ${RANDOM_CALLS} random calls while others hold all connections of the pool`, async () => {
  const next = random(SEED);
  const client = createClient(database.url, { max: 2 });
  closers.push(() => client.$disconnect());
  const here = shop(client);
  const warm = { key: freshKey(), payload: { n: 1 } };
  expect(await here.order.execute(warm)).toMatchObject({ ok: true });
  const end = gate();
  const held = [1, 2].map(() => {
    const open = gate();
    const holding = client.$transaction(
      async (tx) => {
        await tx.$queryRawUnsafe('SELECT 1');
        open.open();
        await end.opened;
      },
      { timeout: 60_000 },
    );
    return { opened: open.opened, holding };
  });
  await Promise.all(held.map(({ opened }) => opened));
  const calls = Object.values(CALLS);
  const overruns: number[] = [];
  let left = RANDOM_CALLS;
  const caller = async () => {
    while (left-- > 0) {
      const deadlineMs = 20 + Math.floor(next() * 300);
      const call = calls[Math.floor(next() * calls.length)] as (typeof calls)[number];
      overruns.push(await overrun(deadlineMs, () => call(here, { key: freshKey(), deadlineMs })));
    }
  };
  await Promise.all(Array.from({ length: 25 }, caller));
  end.open();
  await Promise.all(held.map(({ holding }) => holding));
  expect(overruns).toHaveLength(RANDOM_CALLS);
  expect(Math.max(...overruns)).toBeLessThan(allowed());
  // On a pool that is not the kit's, what was given up still waits for its turn.
  const again = () => here.order.execute({ ...warm, attempt: 2 });
  await expect.poll(again).toMatchObject({ ok: true, replayed: true });
});

describe('a connection that has gone silent', () => {
  test.each(Object.entries(CALLS))('%s is answered in time, and the next call finds out', async (_, call) => {
    const proxy = await silentProxy(database.url);
    const client = createClient(proxy.url, { max: 1 });
    closers.push(proxy.close, () => client.$disconnect());
    const here = shop(client);
    expect(await here.order.execute({ key: freshKey(), payload: { n: 1 } })).toMatchObject({ ok: true });
    const key = freshKey();
    proxy.silence();
    expect(await overrun(500, () => call(here, { key, deadlineMs: 500 }))).toBeLessThan(allowed());
    // On a pool that is not the kit's, nobody destroys it.
    const next = process.env.POOL === 'plain' ? shop(database.client) : here;
    const operation = _.includes('phases') ? next.pay : next.order;
    const how = { key, payload: { n: 1 }, attempt: 3 };
    await expect.poll(() => operation.execute({ ...how, deadlineMs: 5000 })).toMatchObject({ ok: true });
    expectCounted(await effects(database.client, key)).toBe(1);
  });

  test('a completer’s pass ends, and the next one does its work', async () => {
    const proxy = await silentProxy(database.url);
    const client = createClient(proxy.url, { max: 1 });
    closers.push(proxy.close, () => client.$disconnect());
    const { idempotency, order } = shop(client);
    expect(await order.execute({ key: freshKey(), payload: { n: 1 } })).toMatchObject({ ok: true });
    proxy.silence();
    await expect(idempotency.completeDue()).rejects.toMatchObject({ name: 'StoreUnavailableError' });
    if (process.env.POOL !== 'plain') expect(await idempotency.completeDue()).toMatchObject({ taken: 0 });
  });
});
