import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type TestDatabase, testDatabase } from '../../../scripts/testing/test-database.ts';
import { until } from '../../../scripts/testing/until.ts';
import { createClient } from '../../../shop/db.ts';
import { claimOf, DONE, HOW } from '../contract-harness.fixture.ts';
import type { HeldKey } from '../leases.ts';
import type { Store } from '../store.ts';
import type { TransactionOf } from './client.ts';
import { Db } from './db.ts';
import { confirmCommit } from './execute.ts';
import { storeOf } from './prisma-harness.fixture.ts';
import { prismaStore } from './store.ts';

/** Keys that are held under a lease: what each condition of the statements about them is for. */

type Client = TestDatabase['client'];

let database: TestDatabase;
let client: Client;
let store: Store<TransactionOf<Client>>;
beforeAll(async () => {
  database = await testDatabase({ ownsTables: true });
  client = database.client;
  store = storeOf(client);
});
afterAll(() => database?.drop());

const DAY = 86_400_000;
const LEASE_MS = 30_000;
const set = (key: string, sql: string) =>
  client.$executeRawUnsafe(`UPDATE idempotency_keys SET ${sql} WHERE key = $1`, key);

async function heldKey(): Promise<HeldKey> {
  let held: HeldKey | undefined;
  const run = async (opened: { held: HeldKey }) => {
    held = opened.held;
    return {};
  };
  const begun = await store.begin(
    { ...claimOf(), leaseMs: LEASE_MS, firstToken: 1, input: new Uint8Array([1]) },
    run,
    HOW,
  );
  if (begun.kind !== 'committed' || !held) throw new Error(`The key is ${begun.kind}.`);
  return held;
}

test('S3 P4 a key whose executor is inside a transaction is passed over, not waited for, however long its lease is over', async () => {
  const { id } = await heldKey();
  await set(id.key, `lease_until = now() - interval '1 h', next_attempt_at = now() - interval '1 h'`);
  const impatient = createClient(`${database.url}?options=-c%20lock_timeout%3D2s`, { max: 2 });
  const rival = prismaStore(impatient);
  try {
    await client.$transaction(
      async (executor) => {
        await executor.$queryRaw`SELECT 1 FROM idempotency_keys WHERE key = ${id.key} FOR NO KEY UPDATE`;
        expect(await rival.takeOver(id, LEASE_MS, true)).toBeUndefined();
        expect(await rival.takeDue([{ operation: id.operation, most: 10 }], LEASE_MS)).toEqual([]);
      },
      { timeout: 20_000 },
    );
    expect(await rival.takeDue([{ operation: id.operation, most: 10 }], LEASE_MS)).toMatchObject([
      { id, fencingToken: expect.any(Number) },
    ]);
    expect((await store.find(id))?.fencingToken).toBeGreaterThan(1);
  } finally {
    await impatient.$disconnect();
  }
});

test('X3 a lease that is renewed while a release looks at the steps keeps its executor', async () => {
  const held = await heldKey();
  const { id } = held;
  await set(id.key, `lease_until = now() - interval '1 s'`);
  const other = createClient(database.url, { max: 3 });
  const view = 'SELECT steps.* FROM hold_up(), steps';
  // The statement waits where it reads the steps: behind its look at the key, before it locks it.
  for (const sql of [
    `CREATE FUNCTION hold_up() RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN
       PERFORM pg_advisory_xact_lock(22); RETURN true; END $$`,
    'ALTER TABLE idempotency_phases RENAME TO steps',
    `CREATE VIEW idempotency_phases AS ${view}`,
  ]) {
    await client.$executeRawUnsafe(sql);
  }
  const isWaiting = async (db: Pick<Client, '$queryRaw'>) =>
    (
      await db.$queryRaw<unknown[]>`
        SELECT 1 FROM pg_locks JOIN pg_database d ON d.oid = database AND datname = current_database()
         WHERE locktype = 'advisory' AND objid = 22 AND NOT granted`
    ).length > 0;
  try {
    const released = await other.$transaction(
      async (tx) => {
        await tx.$queryRaw`SELECT pg_advisory_xact_lock(22)::text`;
        const releasing = prismaStore(client).release({ ...id, fencingToken: 1 }, 'eve');
        await until('the release looks at the steps', () => isWaiting(tx));
        expect(await prismaStore(other).renew(held, LEASE_MS)).toBe(true);
        return { releasing };
      },
      { timeout: 20_000 },
    );
    expect(await released.releasing).toBe('refused');
    expect(await store.find(id)).toMatchObject({ fencingToken: 1 });
    expect(await store.renew(held, LEASE_MS)).toBe(true);
  } finally {
    for (const sql of [
      'DROP VIEW idempotency_phases',
      'DROP FUNCTION hold_up',
      'ALTER TABLE steps RENAME TO idempotency_phases',
    ]) {
      await client.$executeRawUnsafe(sql);
    }
    await other.$disconnect();
  }
});

test('P4 a key that no completer looks at again is flagged, however young it is', async () => {
  for (const putOff of ['suspend', 'postpone'] as const) {
    const held = await heldKey();
    expect(await store[putOff](held, { pauseMs: null, attentionAfterMs: DAY })).toBe(true);
  }
  const asked = await heldKey();
  expect(await store.suspend(asked, { pauseMs: 1000, attentionAfterMs: DAY })).toBe(false);
  const unknown = await store.markUnknown(await heldKey(), { askAfterMs: null, attentionAfterMs: DAY });
  expect(unknown.needsAttention).toBe(true);
});

describe('a transaction of the executor', () => {
  test('P3 is ended by the server where it falls silent, a second behind its time', async () => {
    const held = await heldKey();
    const settings: unknown[] = [];
    const transacted = await store.transact(
      held,
      LEASE_MS,
      async ({ tx }) => {
        settings.push(...(await tx.$queryRaw<unknown[]>`SHOW idle_in_transaction_session_timeout`));
        return { steps: [{ name: 'paid', position: 1, kind: 'atomic', result: 'null' }] };
      },
      { ...HOW, timeoutMs: 7000 },
    );
    expect([transacted.kind, settings]).toEqual(['committed', [{ idle_in_transaction_session_timeout: '8s' }]]);
    expect(await client.$queryRaw`SHOW idle_in_transaction_session_timeout`).toEqual([
      { idle_in_transaction_session_timeout: '0' },
    ]);
  });

  test('K5 that settles the key after its retention keeps the answer for another day', async () => {
    const held = await heldKey();
    await set(held.id.key, `claimed_at = now() - interval '3 days', expires_at = now() - interval '1 h'`);
    const settle = { state: 'succeeded', result: '"late"', schemaVersion: 1 } as const;
    const settled = await store.transact(held, LEASE_MS, async () => ({ settle }), HOW);
    expect(settled.kind).toBe('committed');
    const row = await store.find(held.id);
    const keptMs = Number(row?.expiresAt) - Number(row?.settledAt);
    expect(keptMs).toBeGreaterThan(DAY - 1000);
    expect(keptMs).toBeLessThan(DAY + 1000);
    await store.reapKeys(100);
    expect(await store.find(held.id)).toMatchObject({ result: '"late"' });
  });

  test('K5 that settles the key in time leaves its retention as it is', async () => {
    const held = await heldKey();
    const before = await store.find(held.id);
    const settle = { state: 'succeeded', result: '"soon"', schemaVersion: 1 } as const;
    await store.transact(held, LEASE_MS, async () => ({ settle }), HOW);
    expect((await store.find(held.id))?.expiresAt).toEqual(before?.expiresAt);
  });
});

describe('S2 a COMMIT that is none, because a statement that nobody awaits has failed behind the last one of the kit', () => {
  /** A client of which every transaction ends so. */
  const late = () =>
    new Proxy(client, {
      get: (target, name, receiver) =>
        name === '$transaction'
          ? (run: (tx: TransactionOf<Client>) => Promise<unknown>, options: object) =>
              client.$transaction(async (tx) => {
                await run(tx);
                await tx.$queryRawUnsafe('SELECT 1/0').catch(() => {});
              }, options)
          : Reflect.get(target, name, receiver),
    });
  const end = { kind: 'rolled_back', why: 'error' };
  const steps = [{ name: 'paid', position: 1, kind: 'atomic', result: 'null' } as const];
  const start = { name: 'sent', position: 1, arguments: new Uint8Array(), derivedKey: 'k' };
  const settle = { state: 'succeeded', result: '"done"', schemaVersion: 1 } as const;

  test('is no success of an execution', async () => {
    const claim = claimOf();
    expect(await prismaStore(late()).execute(claim, async () => DONE, HOW)).toMatchObject(end);
    expect(await store.find(claim)).toBeUndefined();
  });

  test.each([[{}], [{ steps }], [{ start }], [{ settle }]])('is no success of a claim with %o', async (write) => {
    const claim = { ...claimOf(), leaseMs: LEASE_MS, firstToken: 1, input: new Uint8Array([1]) };
    expect(await prismaStore(late()).begin(claim, async () => write, HOW)).toMatchObject(end);
    expect(await store.find(claim)).toBeUndefined();
  });

  test.each([[{ steps }], [{ start }], [{ settle }]])('is no success of a phase with %o', async (write) => {
    const held = await heldKey();
    expect(await prismaStore(late()).transact(held, LEASE_MS, async () => write, HOW)).toMatchObject(end);
    expect(await store.find(held.id)).toMatchObject({ state: 'in_progress', result: null });
    expect(await store.steps(held.id)).toEqual([]);
  });
});

test.each([
  ['of the same version', 3, 'existing'],
  ['of a newer version', 4, 'existing'],
  ['of an older version: this deploy’s own claim stands no more, and that answer is not its', 2, 'rolled_back'],
])('S1 a COMMIT that was none, and since then a row %s', async (_, schemaVersion, kind) => {
  const claim = claimOf({ schemaVersion });
  const executed = await prismaStore(client).execute(
    claim,
    async () => ({ state: 'succeeded', result: '"other"' }),
    HOW,
  );
  if (executed.kind !== 'committed') throw new Error(executed.kind);
  const told = { ...executed.row, schemaVersion: 3, result: '"mine"' };
  expect(await confirmCommit(new Db(client), told, 5000)).toMatchObject({ kind });
});
