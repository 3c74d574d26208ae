import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type TestDatabase, testDatabase } from '../../../scripts/testing/test-database.ts';
import { createClient } from '../../../shop/db.ts';
import { storeContract } from '../contract.testsuite.ts';
import { claimOf, DONE, gate, HOW } from '../contract-harness.fixture.ts';
import type { Claim } from '../rows.ts';
import { StoreUnavailableError } from '../store.ts';
import { type RawQueries, sendStatement } from './client.ts';
import { Db } from './db.ts';
import { claimStatements } from './keys/claim.ts';
import { keyValues } from './keys/read.ts';
import { inboxOn, outboxOn } from './messages/store.ts';
import { prismaHarness, type Tx } from './prisma-harness.fixture.ts';
import { prismaStore } from './store.ts';

const claimKey = async (tx: RawQueries, claim: Claim, holdMs: number) => {
  let rows: readonly unknown[] = [];
  for (const statement of claimStatements(claim, holdMs, false)) rows = await sendStatement(tx, statement);
  return rows;
};

storeContract<Tx>('Prisma', () => prismaHarness());

describe('the Prisma store', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await testDatabase({ max: 4 });
  });
  afterAll(() => database?.drop());

  const setting = async (tx: RawQueries) => {
    const [row] = await tx.$queryRawUnsafe<{ lock_timeout: string }[]>('SHOW lock_timeout');
    return row?.lock_timeout;
  };

  // In the run of this file that acts as a role with the documented rights: see `testDatabase`.
  test('A7 records that are past their retention are deleted, by two reapers at once, too', async () => {
    const { client } = database;
    await client.$executeRaw`
      INSERT INTO idempotency_audit (at, actor, type)
      SELECT now() - age * interval '1 h', 'eve', 'kept' FROM unnest('{719, 721, 800}'::int[]) AS age`;
    await client.$executeRaw`
      INSERT INTO message_events (at, box, peer, actor, type)
      SELECT now() - age * interval '1 h', box, 'bank', 'eve', 'requeued'
        FROM unnest('{8759, 8761}'::int[]) AS age, unnest('{inbox,outbox}'::text[]) AS box`;
    const [store, messages] = [prismaStore(client), new Db(client, { part: 'messaging' })];
    const reaped = await Promise.all([1, 2].map(() => store.reapAudit(720 * 3_600_000, 10)));
    expect(reaped.reduce((sum, count) => sum + count)).toBe(2);
    expect([await outboxOn(messages).reapRecords(10), await inboxOn(messages).reapRecords(10)]).toEqual([1, 1]);
    expect([await client.idempotencyAudit.count(), await client.messageEvent.count()]).toEqual([1, 2]);
  });

  test('C6 the server itself ends the transaction of an executor that has gone silent, and the key is free', async () => {
    const claim = claimOf({ waitMs: 10_000 });
    // A connection of its own, which no timer of Prisma's watches: like one whose process is paused.
    const silent = new pg.Client({ connectionString: database.url });
    silent.on('error', () => {});
    await silent.connect();
    const tx: RawQueries = {
      $queryRawUnsafe: async <T>(query: string, ...values: unknown[]) => (await silent.query(query, values)).rows as T,
    };
    await silent.query('BEGIN');
    expect(await claimKey(tx, claim, 200)).toHaveLength(1);
    const executed = await prismaStore(database.client).execute(claim, async () => DONE, HOW);
    expect(executed).toMatchObject({ kind: 'committed' });
    await silent.end().catch(() => {});
  });

  test('C3 a claim that may not wait sees its rival by the ticket: no row, and no lock was waited for', async () => {
    const claim = claimOf({ waitMs: 0 });
    const [claimed, end] = [gate(), gate()];
    const store = prismaStore(database.client);
    const holding = store.execute(
      claim,
      async () => {
        claimed.open();
        await end.opened;
        return DONE;
      },
      HOW,
    );
    await claimed.opened;
    // Without the ticket this insert would wait for the rival's, and end in an error of lock_timeout.
    expect(await database.client.$transaction((tx) => claimKey(tx, claim, 1000))).toEqual([]);
    end.open();
    expect(await holding).toMatchObject({ kind: 'committed' });
  });

  test('C3 lock_timeout bounds the claim alone: the handler has what was set before', async () => {
    const { client, url } = database;
    const store = prismaStore(client);
    let seen: string | undefined;
    await store.execute(
      claimOf({ waitMs: 123 }),
      async (tx) => {
        seen = await setting(tx);
        return DONE;
      },
      HOW,
    );
    expect(seen).toBe('0');
    const own = createClient(`${url}?options=-c%20lock_timeout%3D4321`);
    await prismaStore(own).execute(
      claimOf({ waitMs: 123 }),
      async (tx) => {
        seen = await setting(tx);
        return DONE;
      },
      HOW,
    );
    expect(seen).toBe('4321ms');
    await own.$disconnect();
  });

  test('C3 lock_timeout does not outlive the transaction on its connection, whatever it ended in', async () => {
    const one = createClient(database.url, { max: 1 });
    const store = prismaStore(one);
    const claim = claimOf({ waitMs: 123 });
    const claimed = gate();
    const end = gate();
    const holding = prismaStore(database.client).execute(
      claim,
      async () => {
        claimed.open();
        await end.opened;
        return DONE;
      },
      HOW,
    );
    await claimed.opened;
    expect(await store.execute({ ...claim, waitMs: 1 }, async () => DONE, HOW)).toEqual({ kind: 'locked' });
    expect(await setting(one)).toBe('0');
    expect(await store.fence({ ...claim, waitMs: 1 })).toEqual({ kind: 'locked' });
    expect(await setting(one)).toBe('0');
    end.open();
    await holding;
    expect(await store.execute(claim, async () => DONE, HOW)).toMatchObject({ kind: 'existing' });
    expect(await setting(one)).toBe('0');
    await one.$disconnect();
  });

  test("C3 a lock timeout of the handler's own is its error, not a claim that is locked", async () => {
    const claim = claimOf();
    const locked = new pg.Client({ connectionString: database.url });
    await locked.connect();
    await locked.query(`BEGIN; LOCK TABLE carts`);
    const run = async (tx: RawQueries) => {
      await tx.$queryRawUnsafe(`SELECT set_config('lock_timeout', '10ms', true)`);
      await tx.$queryRawUnsafe('SELECT count(*) FROM carts');
      return DONE;
    };
    const executed = await prismaStore(database.client).execute(claim, run, HOW);
    await locked.end();
    expect(executed).toMatchObject({ kind: 'rolled_back', why: 'error' });
  });

  test('C6 an unreachable database is a value of execute and a StoreUnavailableError of the others', async () => {
    const nowhere = createClient('postgresql://postgres@127.0.0.1:1/none');
    const store = prismaStore(nowhere);
    const claim = claimOf();
    expect(await store.execute(claim, async () => DONE, HOW)).toMatchObject({
      kind: 'rolled_back',
      why: 'unavailable',
    });
    const asked = [
      store.find(claim),
      store.probe(claim),
      store.fence(claim),
      store.list({ limit: 1, offset: 0 }),
      store.overview(1),
      store.tallies(new Date()),
      store.release({ ...claim, fencingToken: 1 }, 'eve'),
      store.forget({ ...claim, fencingToken: 1 }, 'eve'),
      store.events(claim),
      store.recordEvent(claim, { type: 'fenced', actor: 'a', detail: null }),
    ];
    for (const answer of await Promise.allSettled(asked)) {
      expect(answer).toMatchObject({ status: 'rejected', reason: expect.any(StoreUnavailableError) });
    }
    await nowhere.$disconnect();
  });

  describe('S5 probes at once', () => {
    /** A probe whose process stands still in its transaction, behind its insert, until the gate opens. */
    function standsStill(claim: Claim, before: Promise<void> = Promise.resolve()) {
      const [begun, inserted, end] = [gate(), gate(), gate()];
      const client = {
        $queryRawUnsafe: database.client.$queryRawUnsafe.bind(database.client),
        async $transaction(run: (tx: RawQueries) => Promise<unknown>) {
          begun.open();
          await before;
          return await database.client.$transaction(
            async (tx) => {
              const ended = run(tx);
              await ended.catch(() => {});
              inserted.open();
              await end.opened;
              return await ended;
            },
            { timeout: 60_000 },
          );
        },
      };
      return { begun, inserted, end, probed: prismaStore(client as never).probe(claim) };
    }

    test('one is no claim to another, which comes behind it or has looked before it', async () => {
      const claim = claimOf();
      const inserted = gate();
      const early = standsStill(claim, inserted.opened);
      early.end.open();
      await early.begun.opened;
      const first = standsStill(claim);
      await first.inserted.opened;
      expect(await prismaStore(database.client).probe(claim)).toEqual({ kind: 'absent' });
      inserted.open();
      expect(await early.probed).toEqual({ kind: 'absent' });
      first.end.open();
      expect(await first.probed).toEqual({ kind: 'absent' });
    });

    test('a claim that drew no ticket is one to all of them', async () => {
      const claim = claimOf();
      const older = new pg.Client({ connectionString: database.url });
      await older.connect();
      await older.query('BEGIN');
      await older.query(
        `INSERT INTO idempotency_keys (tenant, principal, operation, key, state, expires_at) VALUES ($1, $2, $3, $4, 'in_progress', now())`,
        keyValues(claim),
      );
      const store = prismaStore(database.client);
      const probed = await Promise.all([store.probe(claim), store.probe(claim), store.probe(claim)]);
      await older.end();
      expect(probed.map(({ kind }) => kind)).toEqual(['locked', 'locked', 'locked']);
    });

    test('the server ends one that stands still, so that it keeps no claim waiting', async () => {
      const claim = claimOf();
      const still = standsStill(claim);
      await still.inserted.opened;
      const executed = prismaStore(database.client).execute({ ...claim, waitMs: 0 }, async () => DONE, HOW);
      expect(await executed).toMatchObject({ kind: 'committed' });
      still.end.open();
      await still.probed.catch(() => {});
    });
  });

  test('C6 a pool without a free connection is unavailable within maxWaitMs', async () => {
    const one = createClient(database.url, { max: 1 });
    const claimed = gate();
    const end = gate();
    const store = prismaStore(one);
    const holding = store.execute(
      claimOf(),
      async () => {
        claimed.open();
        await end.opened;
        return DONE;
      },
      HOW,
    );
    await claimed.opened;
    const executed = await store.execute(claimOf(), async () => DONE, { ...HOW, maxWaitMs: 30 });
    expect(executed).toMatchObject({ kind: 'rolled_back', why: 'unavailable' });
    end.open();
    expect(await holding).toMatchObject({ kind: 'committed' });
    await one.$disconnect();
  });

  test('the read-replica extension does not get the question: it goes to the primary', async () => {
    const claim = claimOf();
    await prismaStore(database.client).execute(claim, async () => DONE, HOW);
    const behind = database.client.$extends({
      client: { $primary: () => database.client, $replica: () => ({}) },
      query: { $queryRawUnsafe: () => Promise.resolve([]) as never },
    });
    expect(await prismaStore(behind as never).find(claim)).toMatchObject({ key: claim.key });
  });

  test('X1 text that is SQL is only text', async () => {
    const store = prismaStore(database.client);
    const claim = claimOf({ key: `${randomUUID()};--`, principal: "'; DROP TABLE orders; --" });
    expect(await store.execute(claim, async () => DONE, HOW)).toMatchObject({ kind: 'committed' });
    expect(await store.find(claim)).toMatchObject({ principal: claim.principal });
  });
});
