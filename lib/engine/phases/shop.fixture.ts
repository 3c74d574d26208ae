import type pg from 'pg';
import { afterAll, beforeAll, beforeEach } from 'vitest';
import { expectCounted } from '../../../scripts/testing/expect-counted.ts';
import { type TestDatabase, testDatabase } from '../../../scripts/testing/test-database.ts';
import { until } from '../../../scripts/testing/until.ts';
import type { ForeignCall, Options } from '../../index.ts';
import { ANN, anything, effect, effects, kit, rowsOf } from '../../integration/kit.fixture.ts';
import { prismaStore } from '../../store/prisma/store.ts';
import { Provider } from './phases.fixture.ts';

/** Set-up of a file of tests of phases: a database, and a provider that is new for each test. */
export let database: TestDatabase;
export let provider: Provider;

/** @param options.ownsTables of tests that change tables */
export function usePhases(options: { ownsTables?: boolean } = {}): void {
  beforeAll(async () => {
    database = await testDatabase(options);
  });
  afterAll(() => database?.drop());
  beforeEach(async () => {
    provider = new Provider();
    // What earlier tests have left unfinished is none of this one's business.
    await database.client.$executeRaw`UPDATE idempotency_keys SET next_attempt_at = NULL`;
  });
}

export type Call = ForeignCall<{ amount: number; order: string }, { id: string }>;

/** A checkout: an order, a charge, and the end. */
export function shop(
  options: Partial<Options> = {},
  how: Partial<Call> = {},
  { attentionAfterMs = 900_000, beforeRefused }: { attentionAfterMs?: number; beforeRefused?: () => void } = {},
) {
  const idempotency = kit(database.client, options);
  const checkout = idempotency
    .operation({
      name: 'pay',
      schema: anything,
      attentionAfterMs,
      onRefused: async (tx, { key, reason }) => {
        beforeRefused?.();
        await effect(tx, `${key}:undone:${reason}`);
      },
    })
    .phases(async ({ atomic, foreign, capture, key }) => {
      const order = await capture('order_id', () => `order-of-${key}`);
      await atomic('order_created', async (tx) => effect(tx, `${key}:order`));
      const { id } = await foreign('charge_created', provider.call(order, how));
      await atomic('finished', async (tx) => effect(tx, `${key}:finished`));
      return { order, charge: id };
    });
  return { idempotency, checkout };
}

export const stepsOf = (key: string) =>
  database.client.idempotencyPhase.findMany({ where: { key }, orderBy: { position: 'asc' } });
export const rowOf = async (key: string) => (await rowsOf(database.client, key))[0];
/** The key's call as a person sees it now. */
export async function seenCall(key: string) {
  const id = { ...ANN, operation: 'pay', key };
  return { ...id, ...(await prismaStore(database.client).asSeen(id)) };
}
/** The lease is over, and whatever pause was asked for. */
export const expire = (key: string) =>
  database.client.$executeRaw`UPDATE idempotency_keys
    SET lease_until = CASE state WHEN 'in_progress' THEN now() - interval '1 s' END, next_attempt_at = now() - interval '1 s'
    WHERE key = ${key}`;

/** Deletes what goes with a failover that lost the key, or with a restore from before it. */
export async function lose(key: string): Promise<void> {
  await database.client.$transaction([
    database.client.idempotencyKey.deleteMany({ where: { key } }),
    database.client.auditRecord.deleteMany({ where: { action: { startsWith: `${key}:` } } }),
  ]);
}

/**
 * Until so many connections wait for a lock.
 *
 * @param other in a transaction, whose snapshot of who is connected is dropped: else a connection that is new since BEGIN is not seen
 */
export async function untilLocked(other: pg.Client, connections: number): Promise<void> {
  await until(`${connections} wait for a lock`, async () => {
    await other.query('SELECT pg_stat_clear_snapshot()');
    const { rows } = await other.query(
      `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
    );
    return rows.length === connections;
  });
}

export async function expectOnce(key: string): Promise<void> {
  expectCounted(await effects(database.client, `${key}:order`)).toBe(1);
  expectCounted(await effects(database.client, `${key}:finished`)).toBe(1);
  expectCounted(provider.count(`order-of-${key}`)).toBe(1);
}
