/** Shared by the tests of deliveries that are put aside: rows made at once, statements by hand, and what must hold of them. */
import pg from 'pg';
import type { Client } from '../../shop/db.ts';
import { statementsOfRoom } from '../store/prisma/statements.fixture.ts';

const statements = await statementsOfRoom();
/** The look of a relay, as the kit sends it. */
export const TAKE_HEADS = statements.find(({ name }) => name === 'messages/delivery.ts TAKE_HEADS')?.text ?? '';

/** A connection of its own, for transactions that stay open. */
export async function handOn(url: string) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const run = async (sql: string, values: unknown[] = []) => (await client.query(sql, values)).rows;
  return {
    run,
    look: async () => await run(TAKE_HEADS, ['sink', 30_000, 20, '', 20]),
    settle: (aggregate: string, sequence: number, state = 'skipped') =>
      run(
        `UPDATE outbox_deliveries SET state = $3, settled_at = now(), next_attempt_at = NULL
          WHERE aggregate = $1 AND sequence = $2`,
        [aggregate, sequence, state],
      ),
    reopen: (aggregate: string, sequence: number) =>
      run(
        `UPDATE outbox_deliveries SET state = 'pending', settled_at = NULL, next_attempt_at = now()
          WHERE aggregate = $1 AND sequence = $2`,
        [aggregate, sequence],
      ),
    remove: (aggregate: string, sequence: number) =>
      run('DELETE FROM outbox_events WHERE aggregate = $1 AND sequence = $2', [aggregate, sequence]),
    end: () => client.end(),
  };
}

/** Writes so many aggregates, each with one event for each state, in their order. */
export async function fill(client: Client, prefix: string, count: number, states: readonly string[]): Promise<void> {
  await client.$executeRaw`
    INSERT INTO outbox_events (id, aggregate, sequence, type, payload, headers, derived_key, created_at)
    SELECT gen_random_uuid(), ${prefix} || n, sequence, 'order.paid', '{}', '{}', ${prefix} || n || ' ' || sequence, now()
      FROM generate_series(1, ${count}::int) AS n, generate_series(1, ${states.length}::int) AS sequence`;
  await client.$executeRaw`
    INSERT INTO outbox_deliveries (event_id, destination, aggregate, sequence, state, settled_at, next_attempt_at)
    SELECT id, 'sink', aggregate, sequence, replace(state, 'later', 'pending'), CASE state WHEN 'dead' THEN now() END,
           CASE state WHEN 'pending' THEN now() WHEN 'later' THEN now() + interval '1 h' END
      FROM outbox_events CROSS JOIN LATERAL (SELECT (${[...states]}::text[])[sequence] AS state) AS given
     WHERE aggregate LIKE ${prefix} || '%'`;
  await client.$executeRaw`ANALYZE outbox_deliveries`;
}

/** Each delivery with its mark: `a1 dead true`. */
export async function marks(client: Client): Promise<string[]> {
  const rows = await client.outboxDelivery.findMany({ orderBy: [{ aggregate: 'asc' }, { sequence: 'asc' }] });
  return rows.map(({ aggregate, sequence, state, isHead }) => `${aggregate}${sequence} ${state} ${isHead}`);
}

/** Deliveries that were put aside and stand behind nothing: no relay would ever take them. None wherever no transaction is open. */
export async function stranded(client: Client): Promise<unknown[]> {
  return await client.$queryRaw`
    SELECT aggregate, sequence FROM outbox_deliveries d
     WHERE state = 'pending' AND is_head = false AND NOT EXISTS (
       SELECT FROM outbox_deliveries o WHERE o.destination = d.destination AND o.aggregate = d.aggregate
          AND o.sequence < d.sequence AND o.state IN ('pending', 'dead'))`;
}
