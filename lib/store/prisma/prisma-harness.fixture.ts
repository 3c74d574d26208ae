import pg from 'pg';
import { type TestDatabase, testDatabase } from '../../../scripts/testing/test-database.ts';
import { until } from '../../../scripts/testing/until.ts';
import { createClient } from '../../../shop/db.ts';
import type { Harness } from '../contract-harness.fixture.ts';
import type { Store } from '../store.ts';
import type { TransactionOf } from './client.ts';
import { Db } from './db.ts';
import { lostKeysOn } from './keys/lost-keys.ts';
import { prismaStore } from './store.ts';
import type { Tables } from './tables.ts';

export type Tx = TransactionOf<TestDatabase['client']>;

/** The store in the mode that these tests run in. */
export function storeOf(client: TestDatabase['client'], tables?: Tables): Store<Tx> {
  return prismaStore(client, { tables });
}

/**
 * The Prisma store on a database of its own, for the contract.
 *
 * @param own where its tables are, and what puts them there
 */
export async function prismaHarness(
  own: { tables?: Tables; keys?: string; things?: string; prepare?: (database: TestDatabase) => Promise<unknown> } = {},
): Promise<Harness<Tx>> {
  const { tables, keys = 'idempotency_keys', things = 'idempotency_things', prepare } = own;
  const database = await testDatabase({ ownsTables: prepare !== undefined });
  await prepare?.(database);
  const other = createClient(database.url);
  const watch = new pg.Client({ connectionString: database.url });
  await watch.connect();
  return {
    store: storeOf(database.client, tables),
    lostKeys: lostKeysOn(new Db(database.client, { tables })),
    rival: storeOf(other, tables),
    write: async (tx, marker) =>
      void (await tx.auditRecord.create({ data: { action: marker, tenant: 't', principal: 'p' } })),
    isWritten: async (marker) => (await database.client.auditRecord.count({ where: { action: marker } })) > 0,
    breakStatement: async (tx) => void (await tx.$queryRawUnsafe('SELECT 1/0')),
    overtake: async (tx, { key }) =>
      void (await tx.$queryRawUnsafe(`UPDATE ${keys} SET fencing_token = fencing_token + 1 WHERE key = $1`, key)),
    untilWaiting: (connections) => untilWaiting(watch, connections),
    age: async ({ key }, ms) => {
      const back = `- ${ms} * interval '1 ms'`;
      await watch.query(
        `UPDATE ${keys} SET claimed_at = claimed_at ${back}, expires_at = expires_at ${back} WHERE key = $1`,
        [key],
      );
    },
    forget: async ({ key }) => void (await watch.query(`DELETE FROM ${keys} WHERE key = $1`, [key])),
    hold: async ({ key }, thing) => {
      await watch.query(`SET lock_timeout = '200ms'`);
      await watch
        .query(
          `WITH held AS (
             INSERT INTO ${things} (tenant, principal, operation, key, thing)
             SELECT tenant, principal, operation, key, $2::varchar FROM ${keys} WHERE key = $1)
           UPDATE ${keys} SET thing = $2::varchar WHERE key = $1`,
          [key, thing],
        )
        .catch(() => {});
      await watch.query('RESET lock_timeout');
    },
    holderOf: async ({ tenant, operation, thing }) => {
      const of = 'tenant = $1 AND operation = $2 AND thing = $3';
      return (await watch.query(`SELECT principal, key FROM ${things} WHERE ${of}`, [tenant, operation, thing]))
        .rows[0];
    },
    close: async () => {
      await watch.end();
      await other.$disconnect();
      await database.drop();
    },
  };
}

/** The condition is in the database; nothing tells of it but asking again. */
async function untilWaiting(watch: pg.Client, connections: number): Promise<void> {
  const waiting = `SELECT count(*)::int AS n FROM pg_stat_activity
                    WHERE datname = current_database() AND wait_event_type = 'Lock'`;
  await until(
    `${connections} connections wait for a lock`,
    async () => (await watch.query(waiting)).rows[0].n >= connections,
  );
}
