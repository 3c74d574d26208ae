import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type TestDatabase, testDatabase } from '../../../../scripts/testing/test-database.ts';
import type { Repeat } from '../../oversight.ts';
import type { KeyEvent } from '../../store.ts';
import { prismaStore } from '../store.ts';
import { REAP } from './reap.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database?.drop());

const counted = [
  { operation: 'pay', outcome: 'created', count: 3 },
  { operation: 'pay', outcome: 'replayed', count: 2 },
] as const;

test('on a pool of the kit, tallies pass Prisma by', async () => {
  const asked: string[] = [];
  const client = database.client.$extends({
    query: {
      $queryRawUnsafe: ({ args, query }) => {
        asked.push(String(args));
        return query(args);
      },
    },
  });
  const store = prismaStore(client as never);
  // Not the timeline, which a process writes there once in a while.
  const written = () =>
    asked.filter((text) => /INSERT INTO idempotency_tallies[\s\S]*json_to_recordset/.test(text)).length;

  await store.addTallies(counted);
  await store.addTallies(counted);
  expect(written()).toBe(process.env.POOL === 'plain' ? 2 : 0);

  const rows = await store.tallies(new Date());
  expect(rows.map(({ operation, outcome, count }) => ({ operation, outcome, count }))).toEqual(
    counted.map((tally) => ({ ...tally, count: 2 * tally.count })),
  );
});

describe('keys that were answered again', () => {
  const ID = { tenant: 'acme', principal: 'ann', operation: 'pay' };
  const ago = (ms: number) => performance.now() - ms;
  const repeat = (key: string, more: Partial<Repeat> = {}): Repeat => ({
    ...ID,
    key,
    type: 'replayed',
    count: 1,
    firstAt: ago(9000),
    lastAt: ago(1000),
    ...more,
  });

  const claimed = (...keys: string[]) =>
    database.client.idempotencyKey.createMany({
      data: keys.map((key) => ({
        ...ID,
        key,
        state: 'abandoned',
        settledAt: new Date(),
        expiresAt: new Date(Date.now() + 3_600_000),
      })),
    });

  const told = async (key: string) =>
    (await prismaStore(database.client).events({ ...ID, key })).map(({ type, detail }) => [type, detail?.times]);

  /** How long ago an event says that it was first, and last, in seconds. */
  const ages = ({ at, detail }: KeyEvent) =>
    [at, detail?.last ?? 0].map((time) => Math.round((Date.now() - new Date(time).getTime()) / 1000));

  test('each way is one row, however often: with its count, and its first and last time', async () => {
    await claimed('often', 'other');
    const store = prismaStore(database.client);
    await store.addTallies(
      [],
      [repeat('often', { count: 2, firstAt: ago(60_000), lastAt: ago(50_000) }), repeat('gone')],
    );
    await store.addTallies([], [repeat('often'), repeat('often', { type: 'in_flight' }), repeat('other')]);
    expect((await told('often')).sort()).toEqual([
      ['in_flight', '1'],
      ['replayed', '3'],
    ]);
    expect(await told('other')).toEqual([['replayed', '1']]);
    expect(await told('gone'), 'a key without a row').toEqual([]);
    const [first] = await store.events({ ...ID, key: 'often' });
    expect(first).toMatchObject({ type: 'replayed', actor: 'client' });
    expect(ages(first as KeyEvent)).toEqual([60, 1]);
  });

  test('rows of two processes are made one, and what was noted of the first mismatch stays', async () => {
    await claimed('twice');
    const store = prismaStore(database.client);
    const id = { ...ID, key: 'twice' };
    const at = (seconds: number) => new Date(Date.now() - seconds * 1000);
    await database.client.idempotencyEvent.createMany({
      data: [
        { ...id, type: 'replayed', actor: 'client', at: at(20), detail: { times: '4', last: at(5).toISOString() } },
        { ...id, type: 'replayed', actor: 'client', at: at(30), detail: { times: '5', last: at(25).toISOString() } },
      ],
    });
    await store.recordEvent(id, { type: 'payload_mismatch', actor: 'client', detail: { fingerprint: 'abc' } });
    await store.addTallies([], [repeat('twice', { lastAt: ago(8000) }), repeat('twice', { type: 'payload_mismatch' })]);
    await store.recordEvent(id, { type: 'payload_mismatch', actor: 'client', detail: { fingerprint: 'def' } });
    const [replayed, mismatch, ...others] = await store.events(id);
    expect(others).toEqual([]);
    expect(replayed).toMatchObject({ type: 'replayed', detail: { times: '10' } });
    expect(ages(replayed as KeyEvent)).toEqual([30, 5]);
    expect(mismatch).toMatchObject({ type: 'payload_mismatch', detail: { times: '1', fingerprint: 'abc' } });
  });

  test('one process writes at a time, and none waits for who deletes a key', async () => {
    await claimed('one', 'two', 'held');
    const [store, rival] = [prismaStore(database.client), prismaStore(database.client)];
    const all = ['one', 'two', 'held'].map((key) => repeat(key));
    await store.addTallies([], all);
    const { client } = database;
    const waiting = async () =>
      (await client.$queryRaw<unknown[]>`SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted`).length;
    let both: Promise<unknown> | undefined;
    await client.$transaction(async (tx) => {
      await tx.$queryRaw`SELECT pg_advisory_xact_lock(1868788331, 1) IS NOT NULL AS is_held`;
      both = Promise.all([store.addTallies([], all), rival.addTallies([], all.toReversed())]);
      await expect.poll(waiting).toBe(2);
    });
    await both;
    for (const key of ['one', 'two', 'held']) {
      const times = (await told(key)).reduce((sum, [, each]) => sum + Number(each), 0);
      expect(times, 'in one row, or in two').toBe(3);
    }
    await client.$transaction(async (tx) => {
      await tx.$queryRaw`SELECT 1 FROM idempotency_keys WHERE key = 'held' FOR UPDATE`;
      await store.addTallies([], all);
    });
    expect(await told('one')).toEqual([['replayed', '4']]);
    expect((await told('held')).reduce((sum, [, each]) => sum + Number(each), 0)).toBe(3);
  });

  test('no event stays behind a key that a reaper takes which began before it was written', async () => {
    const [{ client }, at] = [database, new Date()];
    const held = { state: 'in_progress', leaseUntil: at, nextAttemptAt: at };
    const settled = { state: 'abandoned', settledAt: at };
    await client.idempotencyKey.createMany({
      data: [
        { key: 'reaped', ...settled },
        { key: 'flagged', ...settled, needsAttention: true },
        { key: 'open', ...held },
      ].map((row) => ({ ...ID, ...row, expiresAt: at })),
    });
    await client.$transaction(
      async (tx) => {
        await tx.$queryRaw`SELECT 1 FROM idempotency_keys`; // what a statement sees that begins now
        await prismaStore(client).addTallies(
          [],
          ['reaped', 'flagged', 'open'].map((key) => repeat(key)),
        );
        expect(await tx.$queryRawUnsafe(REAP, 10, null)).toMatchObject([{ count: 1 }]);
      },
      { isolationLevel: 'RepeatableRead' },
    );
    expect([await told('reaped'), await told('flagged'), await told('open')]).toEqual([
      [],
      [['replayed', '1']],
      [['replayed', '1']],
    ]);
  });

  test('what cannot be written of keys keeps nothing else from being written', async () => {
    const since = new Date();
    const store = prismaStore(database.client);
    await store.addTallies([{ operation: 'alone', outcome: 'created', count: 1 }], [repeat('one', { count: 2 ** 40 })]);
    expect((await store.tallies(since)).filter(({ operation }) => operation === 'alone')).toMatchObject([{ count: 1 }]);
  });
});
