import { setTimeout as wait } from 'node:timers/promises';
import { createIdempotency, type Idempotency } from 'oncekit';
import { testDatabase } from '../scripts/testing/test-database.ts';
import { type Client, createClient } from '../shop/db.ts';

const DAYS = 7;
const HOURS = 24;
const DAY_MS = 6000;
const BATCH = 200;

/**
 * Seven days in which keys are made at one rate and live for a day: the bytes of table and indexes at the end of each.
 * A day takes six seconds. Each hour reaps, and vacuums when autovacuum's own rule, with the table's settings, says so:
 * the server's looks once a minute, which is ten days here.
 */
export async function week(perDay: number, say: (what: string) => void): Promise<number[]> {
  const database = await testDatabase({ max: 1 });
  const client = createClient(database.url, { max: 1 });
  const kit = createIdempotency({ prisma: client });
  const sizes: number[] = [];
  try {
    const startedAt = Date.now();
    for (let hour = 1; hour <= DAYS * HOURS; hour++) {
      await anHour(client, kit, Math.ceil(perDay / HOURS));
      await wait(Math.max(0, startedAt + (hour * DAY_MS) / HOURS - Date.now()));
      if (hour % HOURS > 0) continue;
      const bytes = await bytesOf(client);
      sizes.push(bytes);
      say(`Day ${hour / HOURS}: ${(bytes / perDay).toFixed(0)} bytes for each key of a day`);
    }
    return sizes;
  } finally {
    await client.$disconnect();
    await database.drop();
  }
}

async function anHour(client: Client, kit: Pick<Idempotency<never>, 'reap'>, keys: number): Promise<void> {
  for (let left = keys; left > 0; left -= BATCH) await make(client, Math.min(BATCH, left));
  await kit.reap();
  await vacuumIfDue(client);
}

/** A transaction to claim them and one to complete them, so that each leaves a dead version behind, as in life. */
async function make(client: Client, keys: number): Promise<void> {
  const at = new Date();
  await client.$executeRaw`
    INSERT INTO idempotency_keys (tenant, principal, operation, key, state, fingerprint, fingerprint_version, secret_id,
                                  minted_at, claimed_at, expires_at)
    SELECT 'acme', 'user-' || n, 'checkout', ${at.getTime().toString(16).padStart(12, '0')} || gen_random_uuid(),
           'in_progress', sha256(n::text::bytea), 1, 'a1b2c3d4', ${at}, ${at}, ${new Date(at.getTime() + DAY_MS)}
      FROM generate_series(1, ${keys}::int) n`;
  await client.$executeRaw`
    UPDATE idempotency_keys
       SET state = 'succeeded', result = '{"kind":"ok","data":[{"id":1},"' || md5(key) || '"]}', settled_at = now()
     WHERE claimed_at = ${at} AND state = 'in_progress'`;
}

async function vacuumIfDue(client: Client): Promise<void> {
  const [row] = await client.$queryRaw<[{ due: boolean }]>`
    SELECT n_dead_tup > current_setting('autovacuum_vacuum_threshold')::int
             + greatest(reltuples, 0) * coalesce(
                 (SELECT option_value FROM pg_options_to_table(reloptions)
                   WHERE option_name = 'autovacuum_vacuum_scale_factor'),
                 current_setting('autovacuum_vacuum_scale_factor'))::float8 AS due
      FROM pg_class JOIN pg_stat_user_tables ON relid = pg_class.oid
     WHERE pg_class.oid = 'idempotency_keys'::regclass`;
  if (row.due) await client.$executeRawUnsafe('VACUUM ANALYZE idempotency_keys');
}

async function bytesOf(client: Client): Promise<number> {
  const [row] = await client.$queryRaw<[{ bytes: number }]>`
    SELECT pg_total_relation_size('idempotency_keys')::float8 AS bytes`;
  return row.bytes;
}
