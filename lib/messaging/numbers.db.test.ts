import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type TestDatabase, testDatabase } from '../../scripts/testing/test-database.ts';
import { createClient } from '../../shop/db.ts';
import { anything, freshKey, kit } from '../integration/kit.fixture.ts';
import { EventError } from './event.ts';
import { destination, gate, outboxOn, watchOf } from './messaging.fixture.ts';

let database: TestDatabase;
let clients: [TestDatabase['client'], TestDatabase['client']];
let watch: Awaited<ReturnType<typeof watchOf>>;
beforeAll(async () => {
  database = await testDatabase();
  clients = [database.client, createClient(database.url)];
  watch = await watchOf(database.url);
});
afterAll(async () => {
  await watch?.close();
  await clients?.[1].$disconnect();
  await database?.drop();
});

const WAITS = { maxWait: 20_000, timeout: 20_000 };
const fromOf = (step: string) => ({ scope: { tenant: 'acme', principal: 'ann', operation: 'pairs' }, key: 'k', step });
const paid = (aggregate: string) => ({ type: 'order.paid', aggregate, payload: {} });

/** Announces it in a transaction that commits whatever becomes of it, as of an app that goes on without its event. */
const announceOrGoOn = (n: number, step: string, aggregate: string) => {
  const client = clients[n % 2] as TestDatabase['client'];
  const outbox = outboxOn(client, [destination().route]);
  return client.$transaction(async (tx) => {
    const enqueued = await outbox.enqueue(tx, paid(aggregate), fromOf(step)).catch((error) => {
      expect(error).toBeInstanceOf(EventError);
    });
    return enqueued?.sequence;
  }, WAITS);
};

async function numbersOf(aggregates: string[]): Promise<Record<string, number[]>> {
  const rows = await clients[0].outboxEvent.findMany({ orderBy: { sequence: 'asc' } });
  const of = (aggregate: string) =>
    rows.filter((row) => row.aggregate === aggregate).map((row) => Number(row.sequence));
  return Object.fromEntries(aggregates.map((aggregate) => [aggregate, of(aggregate)]));
}

const upTo = (last: number) => Array.from({ length: last }, (_, n) => n + 1);

test('M2 where two transactions at once announce one step of one aggregate, the refused one leaves no gap', async () => {
  const pairs = Array.from({ length: 40 }, (_, n) => announceOrGoOn(n, `one ${n >> 1}`, 'order:one'));
  expect((await Promise.all(pairs)).filter((sequence) => sequence !== undefined)).toHaveLength(20);
  expect(await numbersOf(['order:one'])).toEqual({ 'order:one': upTo(20) });
});

test('M2 nor where they announce it of different aggregates, new ones or known', async () => {
  const aggregates = ['order:a', 'order:b', 'order:c'];
  for (let round = 0; round < 8; round++) {
    const all = Array.from({ length: 24 }, (_, n) =>
      announceOrGoOn(n, `${round} ${n >> 1}`, n < 4 ? `new:${round} ${n}` : (aggregates[(n + round) % 3] as string)),
    );
    await Promise.all(all);
  }
  const numbers = await numbersOf(aggregates);
  for (const of of Object.values(numbers)) expect(of).toEqual(upTo(of.length));
  const rows = await clients[0].outboxAggregate.findMany();
  const events = await clients[0].outboxEvent.groupBy({ by: ['aggregate'], _count: true });
  // The last number of each aggregate is that of its last event, and of one without events there is no row.
  expect(rows.map((row) => [row.aggregate, Number(row.lastSequence)]).sort()).toEqual(
    events.map((of) => [of.aggregate, of._count]).sort(),
  );
});

test('M2 of two at the same moment the second is refused in words, also where it meets the first at the id', {
  tags: 'all',
}, async () => {
  // Within some microseconds of each other: of so many pairs several do.
  for (let n = 0; n < 600; n++) {
    const pair = await Promise.all([0, 1].map((one) => announceOrGoOn(one, `pair ${n}`, `pair:${n} ${one}`)));
    expect(pair.filter((sequence) => sequence === 1)).toHaveLength(1);
  }
});

test('M2 a number that an event has is never taken for an event that was announced before', async () => {
  await announceOrGoOn(0, 'of a restore', 'order:restored');
  await announceOrGoOn(0, 'of a restore, too', 'order:restored');
  await clients[0].$executeRaw`UPDATE outbox_aggregates SET last_sequence = 1 WHERE aggregate = 'order:restored'`;
  const enqueue = clients[0].$transaction((tx) => outboxOn(clients[0], []).enqueue(tx, paid('order:restored')));
  await expect(enqueue).rejects.toThrow("The number 2 of order:restored is another event's already.");
});

test('M2 who waits for a transaction that is refused its event draws the number that it gives back', async () => {
  const outbox = outboxOn(clients[0], []);
  const [announced, end, refused, commit] = [gate(), gate(), gate(), gate()];
  const first = clients[0].$transaction(async (tx) => {
    await outbox.enqueue(tx, paid('order:x'), fromOf('given back'));
    announced.open();
    await end.opened;
  }, WAITS);
  await announced.opened;
  const second = clients[1].$transaction(async (tx) => {
    await expect(outbox.enqueue(tx, paid('order:y'), fromOf('given back'))).rejects.toThrow(EventError);
    refused.open();
    await commit.opened;
  }, WAITS);
  await watch.untilWaiting(1);
  end.open();
  await first;
  await refused.opened;
  const third = clients[0].$transaction((tx) => outbox.enqueue(tx, paid('order:y')), WAITS);
  await watch.untilWaiting(1);
  commit.open();
  await second;
  expect((await third).sequence).toBe(1);
});

test('M2 an operation that runs again is given the event that it has waited for', async () => {
  const outbox = outboxOn(clients[0], []);
  const key = freshKey();
  const set = (schemaVersion: number, hold = async () => {}) =>
    kit(clients[0])
      .operation({ name: 'again', schema: anything, naturallyIdempotent: true, schemaVersion })
      .handler(async ({ tx, scope, key }) => {
        await hold();
        return await outbox.enqueue(tx, paid('order:again'), { scope, key });
      });
  expect(await set(1).execute({ key, payload: {} })).toMatchObject({ data: { sequence: 1 } });
  await clients[0].$executeRaw`DELETE FROM outbox_events WHERE aggregate = 'order:again'`;
  // Somebody else announces it for the intent, and the second execution begins before that commits.
  const from = { scope: { tenant: 'acme', principal: 'ann', operation: 'again' }, key };
  const [announced, end] = [gate(), gate()];
  const other = clients[1].$transaction(async (tx) => {
    const enqueued = await outbox.enqueue(tx, paid('order:again'), from);
    announced.open();
    await end.opened;
    return enqueued;
  }, WAITS);
  await announced.opened;
  const again = set(2).execute({ key, payload: {} });
  await watch.untilWaiting(1);
  end.open();
  expect(await again).toMatchObject({ ok: true, data: await other });
  expect((await clients[0].outboxAggregate.findUnique({ where: { aggregate: 'order:again' } }))?.lastSequence).toBe(2n);
});

test('M2 the rights that docs/row-level-security.md gives to a role are enough to be refused, and to go on', async () => {
  const owned = await testDatabase({ ownsTables: true });
  const role = `numbers_${crypto.randomUUID().replaceAll('-', '')}`;
  const page = readFileSync(new URL('../../docs/row-level-security.md', import.meta.url), 'utf8');
  const rights = page.match(/^GRANT .* ON outbox_.* TO shop_tenant;$/gm) ?? [];
  for (const text of ['CREATE ROLE shop_tenant', ...rights]) {
    await owned.client.$executeRawUnsafe(text.replace('shop_tenant', role));
  }
  const [own, outbox] = [await watchOf(owned.url), outboxOn(owned.client, [destination().route])];
  const [announced, end] = [gate(), gate()];
  const first = owned.client.$transaction(async (tx) => {
    await outbox.enqueue(tx, paid('one:first'), fromOf('one'));
    announced.open();
    await end.opened;
  }, WAITS);
  await announced.opened;
  const second = owned.client.$transaction(async (tx) => {
    await tx.$executeRawUnsafe(`SET LOCAL ROLE ${role}`);
    await expect(outbox.enqueue(tx, paid('one:second'), fromOf('one'))).rejects.toThrow(EventError);
    return await outbox.enqueue(tx, paid('one:third'));
  }, WAITS);
  await own.untilWaiting(1);
  end.open();
  await first;
  expect(await second).toMatchObject({ sequence: 1 });
  await own.close();
  await owned.client.$executeRawUnsafe(`DROP OWNED BY ${role}`);
  await owned.client.$executeRawUnsafe(`DROP ROLE ${role}`);
  await owned.drop();
});
