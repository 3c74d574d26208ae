import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { expectCounted } from '../../scripts/testing/expect-counted.ts';
import { appRole, type TestDatabase, testDatabase } from '../../scripts/testing/test-database.ts';
import { createClient } from '../../shop/db.ts';
import { derivedKey } from '../core/key.ts';
import { anything, effect, effects, freshKey, kit } from '../integration/kit.fixture.ts';
import { EventError } from './event.ts';
import { announce, daysPass, deliveries, destination, gate, outboxOn, watchOf } from './messaging.fixture.ts';

let database: TestDatabase;
let client: TestDatabase['client'];
let second: TestDatabase['client'];
let watch: Awaited<ReturnType<typeof watchOf>>;
beforeAll(async () => {
  database = await testDatabase();
  client = database.client;
  second = createClient(database.url);
  watch = await watchOf(database.url);
});
afterAll(async () => {
  await watch?.close();
  await second?.$disconnect();
  await database?.drop();
});

const paid = (aggregate: string, payload: unknown = { total: 1800 }) => ({ type: 'order.paid', aggregate, payload });
const eventsOf = (aggregate: string) =>
  client.outboxEvent.findMany({ where: { aggregate }, orderBy: { sequence: 'asc' } });

describe('M1 enqueue', () => {
  test('an event is there exactly if its transaction commits, with a delivery for each destination that wants it', async () => {
    const [all, refunds] = [destination('all'), destination('refunds', { types: ['order.refunded'] })];
    const outbox = outboxOn(client, [all.route, refunds.route]);
    const failing = client.$transaction(async (tx) => {
      await outbox.enqueue(tx, paid('order:1'));
      throw new Error('told to roll back');
    });
    await expect(failing).rejects.toThrow('told to roll back');
    expect(await eventsOf('order:1')).toEqual([]);
    await outbox.relayDue();
    expect(all.sent).toEqual([]);

    const told = await client.$transaction((tx) => outbox.enqueue(tx, paid('order:1')));
    expect(told.sequence).toBe(1);
    expect(await eventsOf('order:1')).toMatchObject([
      { id: told.eventId, type: 'order.paid', payload: '{"total":1800}' },
    ]);
    expect((await deliveries(client)).map((row) => row.destination)).toEqual(['all']);
  });

  test('in a handler it comes with the effect, under the derived key of the intent; a replay announces nothing', async () => {
    const outbox = outboxOn(client, [destination().route], { namespace: 'shop' });
    const key = freshKey();
    let fails = true;
    const checkout = kit(client)
      .operation({ name: 'checkout', schema: anything })
      .handler(async ({ tx, ...from }) => {
        await effect(tx, key);
        await outbox.enqueue(tx, paid(key), from);
        if (fails) throw new Error('told to roll back');
        return 'done';
      });
    await checkout.execute({ key, payload: {} });
    expect(await eventsOf(key)).toEqual([]);
    fails = false;
    await checkout.execute({ key, payload: {}, attempt: 2 });
    await checkout.execute({ key, payload: {}, attempt: 3 });
    const scope = { tenant: 'acme', principal: 'ann', operation: 'checkout', key };
    const expected = derivedKey('shop', scope, `event order.paid ${key}`);
    expect(await eventsOf(key)).toMatchObject([{ sequence: 1n, derivedKey: expected }]);
    expectCounted(await effects(client, key)).toBe(1);
  });

  test('in an atomic phase it comes with the phase', async () => {
    const outbox = outboxOn(client, [destination().route]);
    const key = freshKey();
    const checkout = kit(client)
      .operation({ name: 'paying', schema: anything })
      .phases(async ({ atomic, ...from }) => {
        await atomic('paid', async (tx) => void (await outbox.enqueue(tx, paid(key), from)));
        throw new Error('dies behind the phase');
      });
    await checkout.execute({ key, payload: {} });
    await checkout.execute({ key, payload: {}, attempt: 2 });
    expect(await eventsOf(key)).toHaveLength(1);
  });

  test('one intent announces one step once: a second time is an error, and the steps tell them apart', async () => {
    const outbox = outboxOn(client, []);
    const from = { scope: { tenant: 'acme', principal: 'ann', operation: 'twice' }, key: freshKey() };
    const twice = client.$transaction(async (tx) => {
      await outbox.enqueue(tx, paid('order:2'), from);
      await outbox.enqueue(tx, paid('order:2'), from);
    });
    await expect(twice).rejects.toThrow(EventError);
    expect(await eventsOf('order:2')).toEqual([]);
    // Nor in a transaction of its own, later: only an execution in place of an earlier one announces what that has.
    const step = { ...from, step: 'once' };
    await client.$transaction((tx) => outbox.enqueue(tx, paid('order:2b'), step));
    await expect(client.$transaction((tx) => outbox.enqueue(tx, paid('order:2b'), step))).rejects.toThrow(EventError);
    expect(await eventsOf('order:2b')).toHaveLength(1);
    await client.$transaction(async (tx) => {
      await outbox.enqueue(tx, paid('order:2'), { ...from, step: 'first' });
      await outbox.enqueue(tx, paid('order:2'), { ...from, step: 'second' });
    });
    expect(await eventsOf('order:2')).toHaveLength(2);
  });

  test('an intent that a failover has lost announces the same events when it runs again, under the same ids', async () => {
    const outbox = outboxOn(client, []);
    const [key, aggregate] = [freshKey(), `order:${freshKey()}`];
    const announced = async (attempt: number) => {
      // In a process of its own: the first one remembers its answer for a while.
      const checkout = kit(client)
        .operation({ name: 'lost', schema: anything })
        .handler(async ({ tx, ...from }) => {
          await outbox.enqueue(tx, paid(aggregate), from);
          await outbox.enqueue(tx, { ...paid(aggregate), type: 'order.placed' }, from);
          // The name of this aggregate is made anew: the step names the event.
          await outbox.enqueue(tx, paid(`parcel:${freshKey()}`), { ...from, step: 'parcel' });
        });
      expect(await checkout.execute({ key, payload: {}, attempt })).toMatchObject({ ok: true, replayed: false });
      const rows = await client.outboxEvent.findMany({ orderBy: { createdAt: 'desc' }, take: 3 });
      return rows.map(({ id }) => id).sort();
    };
    const first = await announced(1);
    await client.outboxEvent.deleteMany({ where: { id: { in: first } } });
    await client.outboxAggregate.deleteMany({ where: { aggregate } });
    await client.idempotencyKey.deleteMany({ where: { key } });
    const second = await announced(2);
    expect(second).toEqual(first);
    expect(new Set(first).size).toBe(3);

    // Without an intent nothing says that two are one.
    const alone = () => client.$transaction((tx) => outbox.enqueue(tx, paid(aggregate)));
    expect((await alone()).eventId).not.toBe((await alone()).eventId);
  });

  test('an operation that is naturally idempotent runs again, and its event is not published twice', async () => {
    const [aggregate, key] = [`order:${freshKey()}`, freshKey()];
    const { route, sent } = destination();
    const outbox = outboxOn(client, [route]);
    let announcements = 1;
    const told: unknown[] = [];
    const version = (schemaVersion: number) =>
      kit(client)
        .operation({ name: 'set', schema: anything, naturallyIdempotent: true, schemaVersion })
        .handler(async ({ tx, scope, key }) => {
          for (let n = 0; n < announcements; n++) {
            told.push(await outbox.enqueue(tx, paid(aggregate, { schemaVersion }), { scope, key }));
          }
          return 'set';
        });
    expect(await version(1).execute({ key, payload: {} })).toMatchObject({ ok: true });
    await outbox.relayDue();
    expect(await version(2).execute({ key, payload: {} })).toMatchObject({ ok: true, data: 'set' });
    await outbox.relayDue();
    expect(told[1]).toEqual(told[0]);
    expect(await eventsOf(aggregate)).toMatchObject([{ payload: '{"schemaVersion":1}' }]);
    expect(sent.filter((event) => event.aggregate === aggregate)).toHaveLength(1);

    // An event that it has not announced before may be announced now, once.
    await client.outboxEvent.deleteMany({ where: { aggregate } });
    announcements = 2;
    expect(await version(3).execute({ key, payload: {} })).toMatchObject({ code: 'internal' });
    announcements = 1;
    expect(await version(3).execute({ key, payload: {} })).toMatchObject({ ok: true });
    expect(await eventsOf(aggregate)).toMatchObject([{ payload: '{"schemaVersion":3}' }]);
  });

  test('the trace goes along', async () => {
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    const outbox = outboxOn(client, [], { traceContext: () => ({ traceparent }) });
    const event = { ...paid('order:3'), headers: { 'x-shop': 'mugs' } };
    await client.$transaction((tx) => outbox.enqueue(tx, event));
    expect(await eventsOf('order:3')).toMatchObject([{ headers: { traceparent, 'x-shop': 'mugs' } }]);
  });

  test.each([
    ['an empty header', { tracestate: '' }],
    ['other characters', { tracestate: 'ü=1' }],
    ['an upper case name', { Tracestate: 'a=1' }],
    ['the name of a header of ours', { 'webhook-signature': 'v1,' }],
    ['too much', { tracestate: 'x'.repeat(2048) }],
  ])('a trace with %s, which a client may send, keeps no order from being announced', async (_, odd) => {
    const outbox = outboxOn(client, [], { traceContext: () => ({ ...odd }) as never });
    const aggregate = `order:${freshKey()}`;
    await client.$transaction((tx) => outbox.enqueue(tx, paid(aggregate)));
    expect(await eventsOf(aggregate)).toMatchObject([{ headers: {} }]);
  });

  test('a tracer that fails keeps no order from being announced', async () => {
    const traceContext = () => {
      throw new Error('no tracer');
    };
    const aggregate = `order:${freshKey()}`;
    await client.$transaction((tx) => outboxOn(client, [], { traceContext }).enqueue(tx, paid(aggregate)));
    expect(await eventsOf(aggregate)).toHaveLength(1);
  });

  test('an event that is refused as announced before draws no number, even if its error is caught', async () => {
    const outbox = outboxOn(client, []);
    const aggregate = `order:${freshKey()}`;
    const from = { scope: { tenant: 'acme', principal: 'ann', operation: 'twice' }, key: freshKey() };
    await client.$transaction(async (tx) => {
      await outbox.enqueue(tx, paid(aggregate), from);
      await outbox.enqueue(tx, paid(aggregate), from).catch(() => {});
      await outbox.enqueue(tx, paid(aggregate), { ...from, step: 'next' });
    });
    expect((await eventsOf(aggregate)).map(({ sequence }) => sequence)).toEqual([1n, 2n]);
  });

  const circle: { self?: unknown } = {};
  circle.self = circle;
  test.each([
    ['a circle', paid('order:4', circle)],
    ['nothing', { ...paid('order:4'), payload: undefined }],
    ['more than 256 KiB', paid('order:4', 'x'.repeat(262_143))],
    ['no type', { ...paid('order:4'), type: '' }],
    ['no aggregate', paid('')],
    ['a line break in a header', { ...paid('order:4'), headers: { 'x-a': 'b\r\nc: d' } }],
    ['a header that fetch refuses', { ...paid('order:4'), headers: { expect: '100-continue' } }],
    ["the signature's name as a header", { ...paid('order:4'), headers: { 'webhook-signature': 'v1,' } }],
  ])('X4 %s is refused in words, and the transaction rolls back', async (_, event) => {
    const outbox = outboxOn(client, [destination().route]);
    const refused = client.$transaction(async (tx) => {
      await effect(tx, 'order:4');
      await outbox.enqueue(tx, event);
    });
    await expect(refused).rejects.toThrow(EventError);
    expectCounted([await eventsOf('order:4'), await effects(client, 'order:4')]).toEqual([[], 0]);
  });

  test('a payload of just 256 KiB, with every kind of character, arrives as it is', async () => {
    const sink = destination();
    const outbox = outboxOn(client, [sink.route]);
    const text = '\0\ud800 "ä" 𝄞';
    const room = 262_144 - Buffer.byteLength(JSON.stringify({ text, lines: [['tea', '5']], fill: '' }));
    const payload = { text, lines: new Map([['tea', 5n]]), fill: 'x'.repeat(room) };
    await client.$transaction((tx) => outbox.enqueue(tx, paid('order:5', payload)));
    await outbox.relayDue();
    const sent = sink.sent.find(({ aggregate }) => aggregate === 'order:5');
    expect(JSON.parse(sent?.payload ?? '')).toEqual({ ...payload, lines: [['tea', '5']] });
  });

  test('a whole client is refused: its rollback would not be ours', async () => {
    await expect(outboxOn(client, []).enqueue(client, paid('order:6'))).rejects.toThrow('transaction');
  });
});

describe('M2 numbers', () => {
  test('who numbers second waits for the first, so numbers become visible in their order', async () => {
    const outbox = outboxOn(client, []);
    const [numbered, end] = [gate(), gate()];
    const first = client.$transaction(
      async (tx) => {
        await outbox.enqueue(tx, paid('order:10'));
        numbered.open();
        await end.opened;
      },
      { timeout: 20_000 },
    );
    await numbered.opened;
    const later = second.$transaction((tx) => outboxOn(second, []).enqueue(tx, paid('order:10')), { timeout: 20_000 });
    await watch.untilWaiting(1);
    // Another aggregate waits for nobody.
    await second.$transaction((tx) => outbox.enqueue(tx, paid('order:11')));
    end.open();
    await first;
    expect((await later).sequence).toBe(2);
  });

  test('40 transactions at once, a third of which roll back, leave no gap and no double', async () => {
    const outbox = outboxOn(client, []);
    const one = async (n: number) =>
      (n % 2 ? client : second).$transaction(
        async (tx) => {
          await outbox.enqueue(tx, paid('order:12', n));
          if (n % 3 === 0) throw new Error('told to roll back');
        },
        { maxWait: 20_000, timeout: 20_000 },
      );
    await Promise.allSettled(Array.from({ length: 40 }, (_, n) => one(n)));
    const numbers = (await eventsOf('order:12')).map(({ sequence }) => Number(sequence));
    expect(numbers).toEqual(Array.from({ length: 26 }, (_, n) => n + 1));
  });
});

describe('waking the relay', () => {
  const jobs = () =>
    client.$queryRaw<{ key: string }[]>`SELECT key FROM graphile_worker.jobs WHERE task_identifier = 'oncekit_relay'`;

  test('a thousand events of one aggregate are one job; a rollback leaves none', async () => {
    await client.$executeRaw`DELETE FROM graphile_worker._private_jobs`;
    const outbox = outboxOn(client, [destination().route]);
    await announce(client, outbox, 'order:20', 20);
    await announce(client, outboxOn(client, [destination().route], { wake: false }), 'order:24');
    await client
      .$transaction(async (tx) => {
        await outbox.enqueue(tx, paid('order:21'));
        throw new Error('told to roll back');
      })
      .catch(() => {});
    expect(await jobs()).toEqual([{ key: 'oncekit_relay:order:20' }]);
  });

  test('announcing different things, nobody waits for another at the job', async () => {
    const outbox = outboxOn(client, [destination().route]);
    await client.$transaction(async (tx) => {
      await outbox.enqueue(tx, paid('order:22'));
      // Inside the first transaction: it would never end if the second waited for it.
      await second.$transaction((other) => outbox.enqueue(other, paid('order:23')));
    });
    expect(await jobs()).toHaveLength(3);
  });

  test('a role that may not add jobs writes events all the same, and wakes nobody; one that may, does', async () => {
    const shared = await testDatabase({ ownsTables: true });
    const outbox = outboxOn(shared.client, [destination().route]);
    const sql = (text: string) => shared.client.$executeRawUnsafe(text);
    const TABLES = ['_private_jobs', '_private_tasks', '_private_job_queues'].map(
      (table) => `graphile_worker.${table}`,
    );
    const addsJob = async (aggregate: string) => {
      await shared.client.$transaction(async (tx) => {
        await tx.$executeRawUnsafe(`SET LOCAL ROLE ${appRole}`);
        await outbox.enqueue(tx, paid(aggregate));
      });
      const key = `oncekit_relay:${aggregate}`;
      return (await shared.client.$queryRaw<[]>`SELECT FROM graphile_worker.jobs WHERE key = ${key}`).length > 0;
    };
    const seen: Record<string, boolean> = {};
    try {
      for (const [right, grant] of Object.entries({
        'no right': 'SELECT 1',
        'the schema': `GRANT USAGE ON SCHEMA graphile_worker TO ${appRole}`,
        'tables that it reads': `GRANT SELECT ON ${TABLES} TO ${appRole}`,
        'tables that hide rows from it': `GRANT INSERT, UPDATE ON ${TABLES} TO ${appRole}`,
        'its policies': `DO $$ DECLARE t text; BEGIN FOREACH t IN ARRAY ARRAY['${TABLES.join("', '")}'] LOOP
          EXECUTE format('CREATE POLICY app ON %s TO ${appRole} USING (true)', t); END LOOP; END $$`,
        'no function': 'REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA graphile_worker FROM PUBLIC',
        'the function': `GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA graphile_worker TO ${appRole}`,
        'no table': `REVOKE ALL ON ${TABLES} FROM ${appRole}`,
        'a function that is run as its owner': `ALTER FUNCTION graphile_worker.add_job SECURITY DEFINER`,
      })) {
        await sql(grant);
        seen[right] = await addsJob(`order:${right}`);
      }
      expect(Object.keys(seen).filter((right) => seen[right])).toEqual([
        'its policies',
        'the function',
        'a function that is run as its owner',
      ]);
    } finally {
      await shared.drop();
    }
  });

  test('where the job runner is not installed, events are written all the same', async () => {
    const bare = await testDatabase();
    await bare.client.$executeRaw`DROP SCHEMA graphile_worker CASCADE`;
    const sink = destination();
    const outbox = outboxOn(bare.client, [sink.route]);
    await announce(bare.client, outbox, 'order:30');
    await outbox.relayDue();
    expect(sink.order('order:30')).toEqual([1]);
    await bare.drop();
  });
});

test('what was reaped and is announced again goes out again under its id; `types` leave numbers out', async () => {
  const sink = destination('sink', { types: ['order.paid'] });
  const outbox = outboxOn(client, [sink.route]);
  const from = { scope: { tenant: 'acme', principal: 'ann', operation: 'checkout' }, key: freshKey() };
  const again = () => client.$transaction((tx) => outbox.enqueue(tx, paid('order:40'), from));
  const first = await again();
  await client.$transaction((tx) => outbox.enqueue(tx, { ...paid('order:40'), type: 'order.seen' }));
  await announce(client, outbox, 'order:40');
  await outbox.relayDue();
  expect(sink.order('order:40')).toEqual([1, 3]);
  await daysPass(client, 8);
  await outbox.reap();
  expect(await again()).toEqual({ eventId: first.eventId, sequence: 4 });
});
