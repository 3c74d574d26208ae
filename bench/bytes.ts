import { randomUUID } from 'node:crypto';
import { createIdempotency } from 'oncekit';
import pg from 'pg';
import { z } from 'zod';
import { prismaStore } from '../lib/store/prisma/store.ts';
import { type TestDatabase, testDatabase } from '../scripts/testing/test-database.ts';
import type { Report, Row } from './report.ts';

type Client = TestDatabase['client'];

const MADE = 30_000;
const CALLERS = 4;
const SECRET = ['bench-secret-of-at-least-32-characters'];
const SHAPES = [
  ['a UUID', 450],
  ['minted and signed', 400],
] as const;

/** The size of a key on disk with its index entries, and in the WAL with its transaction. */
export async function bytes(): Promise<Report> {
  const rows: Row[] = [];
  for (const [shape, atMost] of SHAPES) {
    const { size, wal, again } = await made(shape === 'a UUID');
    rows.push(
      {
        figure: `bytes per key with indexes, ${shape}, a small result, no vacuum yet`,
        value: size.toFixed(0),
        must: `≤ ${atMost}`,
        met: size <= atMost,
      },
      { figure: 'bytes of WAL per key, the whole transaction', value: wal.toFixed(0) },
      { figure: `bytes more with indexes of one that was answered again, ${shape}`, value: again.toFixed(0) },
    );
  }
  return { name: 'Bytes per key', rows };
}

/** Of keys that the kit itself makes, without business rows. */
async function made(isUuid: boolean) {
  const database = await testDatabase({ max: CALLERS });
  const direct = new pg.Client({ connectionString: database.url });
  try {
    await direct.connect();
    const ask = async (expression: string) => Number((await direct.query(`SELECT ${expression} AS n`)).rows[0].n);
    const lsn = () => ask(`pg_current_wal_lsn() - '0/0'::pg_lsn`);
    const kit = createIdempotency({ prisma: database.client, secret: SECRET, poolSize: CALLERS });
    const bare = kit
      .operation({ name: 'checkout', schema: z.object({ n: z.number() }) })
      .handler(async () => ({ id: randomUUID() }));
    const before = await lsn();
    let left = MADE;
    const caller = async () => {
      while (left-- > 0) {
        // Of lengths that apps have.
        const scope = { tenant: 'acme', principal: `user-${1000 + Math.floor(Math.random() * 5000)}` };
        const key = isUuid ? randomUUID() : await bare.mintKey(scope);
        const outcome = await bare.execute({ key, scope, payload: { n: 1 } });
        if (!outcome.ok) throw new Error(`A key of its own was refused: ${outcome.code}`);
      }
    };
    await Promise.all(Array.from({ length: CALLERS }, caller));
    const wal = ((await lsn()) - before) / MADE;
    const size = (await ask(`pg_total_relation_size('idempotency_keys')`)) / MADE;
    return { wal, size, again: await countedAgain(database.client, ask) };
  } finally {
    await direct.end();
    await database.drop();
  }
}

/** The size of what says how often a key was answered again: of all keys that there are, once each. */
async function countedAgain(client: Client, ask: (expression: string) => Promise<number>): Promise<number> {
  const store = prismaStore(client);
  const [firstAt, lastAt] = [performance.now(), performance.now()];
  const ids = await client.idempotencyKey.findMany({
    select: { tenant: true, principal: true, operation: true, key: true },
    orderBy: { claimedAt: 'asc' },
  });
  for (let n = 0; n < ids.length; n += 1000) {
    const some = ids.slice(n, n + 1000);
    await store.addTallies(
      [],
      some.map((id) => ({ ...id, type: 'replayed', count: 1, firstAt, lastAt })),
    );
  }
  const written = await client.idempotencyEvent.count();
  if (written !== ids.length) throw new Error(`Of ${ids.length} keys ${written} were counted.`);
  return (await ask(`pg_total_relation_size('idempotency_events')`)) / written;
}
