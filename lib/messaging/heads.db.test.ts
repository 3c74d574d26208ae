import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type TestDatabase, testDatabase } from '../../scripts/testing/test-database.ts';
import { createClient } from '../../shop/db.ts';
import { announce, destination, outboxOn, timePasses } from './messaging.fixture.ts';
import { fill, handOn, marks, stranded, TAKE_HEADS } from './put-aside.fixture.ts';

let database: TestDatabase;
let client: TestDatabase['client'];
let hand: Awaited<ReturnType<typeof handOn>>;
beforeAll(async () => {
  database = await testDatabase({ ownsTables: true });
  client = database.client;
  hand = await handOn(database.url);
});
afterAll(async () => {
  await hand?.end();
  await database?.drop();
});
beforeEach(async () => {
  await client.$executeRaw`DELETE FROM outbox_events`;
  await client.$executeRaw`DELETE FROM outbox_aggregates`;
});

/** How many blocks a look reads that takes one event. */
async function blocksOfLook(): Promise<number> {
  await hand.run('VACUUM ANALYZE outbox_deliveries'); // the marks of the tables' filling
  await hand.run('BEGIN');
  await hand.run(`PREPARE look(text, float8, int, text, int) AS ${TAKE_HEADS}`);
  const [row] = await hand.run(`EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) EXECUTE look('sink', 30000, 20, '', 20)`);
  await hand.run('ROLLBACK');
  await hand.run('DEALLOCATE look');
  const { Plan: plan } = row['QUERY PLAN'][0];
  return plan['Shared Hit Blocks'] + plan['Shared Read Blocks'];
}

describe('M2 a look passes over nothing that it cannot take', () => {
  test.each([
    ['dead letters block', 'dead'],
    ['their first event is put off', 'later'],
  ])('aggregates that %s: 100 of them cost what 5,000 cost', async (_, first) => {
    const sink = destination();
    const outbox = outboxOn(client, [sink.route]);
    const costs: number[] = [];
    for (const count of [100, 5000]) {
      await fill(client, `blocked ${count} `, count, [first, 'pending']);
      // A pass looks at one event of each aggregate.
      for (const _ of [1, 2]) expect(await outbox.relayDue()).toMatchObject({ delivered: 0 });
      await announce(client, outbox, 'well');
      costs.push(await blocksOfLook());
      expect(await outbox.relayDue()).toMatchObject({ delivered: 1 });
    }
    const [few = 0, many = 0] = costs;
    expect(few).toBeGreaterThan(0);
    expect(many).toBeLessThanOrEqual(few * 1.5);
  });

  test('a pass that may take nothing ends', async () => {
    const outbox = outboxOn(client, [destination().route]);
    await announce(client, outbox, 'a');
    expect(await outbox.relayDue({ limit: 0 })).toEqual({ delivered: 0, failed: 0, dead: 0, unfinished: 0 });
  });

  test('more than a look passes over keep no other from its turn', async () => {
    const sink = destination();
    const outbox = outboxOn(client, [sink.route]);
    await fill(client, 'blocked ', 450, ['dead', 'pending']);
    await announce(client, outbox, 'well', 2);
    expect(await outbox.relayDue()).toMatchObject({ delivered: 2 });
    expect(sink.order('well')).toEqual([1, 2]);
  });
});

describe('M2 what is new and what was put off share the places', () => {
  test('retries that are always due let a new event have its turn', async () => {
    const sink = destination('sink', { backoff: { baseMs: 1, capMs: 1 }, attempts: 1000 });
    const outbox = outboxOn(client, [sink.route]);
    const stop = new AbortController();
    for (const n of [1, 2, 3]) await announce(client, outbox, `bad ${n}`);
    sink.behave = async ({ aggregate }) => {
      await timePasses(client);
      if (sink.sent.length === 4) await announce(client, outbox, 'well');
      if (aggregate === 'well' || sink.sent.length === 60) return stop.abort();
      throw new Error('down');
    };
    await outbox.relayDue({ limit: 1, until: stop.signal });
    expect(sink.order('well')).toEqual([1]);
  });

  test('new events without end let a retry have its turn', async () => {
    const sink = destination('sink', { backoff: { baseMs: 1, capMs: 1 } });
    const outbox = outboxOn(client, [sink.route]);
    const stop = new AbortController();
    await announce(client, outbox, 'bad');
    await announce(client, outbox, 'new 0');
    sink.behave = async ({ aggregate }) => {
      await timePasses(client);
      if (aggregate === 'bad' && sink.order('bad').length === 1) throw new Error('down');
      if (aggregate === 'bad' || sink.sent.length === 60) return stop.abort();
      await announce(client, outbox, `new ${String(sink.sent.length).padStart(3, '0')}`);
    };
    await outbox.relayDue({ limit: 1, until: stop.signal });
    expect(sink.order('bad')).toEqual([1, 1]);
  });
});

describe('M2 where nothing would take up what is put aside, nothing is', () => {
  test('on tables without the trigger, and with one that is switched off', async () => {
    const outbox = outboxOn(client, [destination().route]);
    // More of them than one look passes over: the pass ends all the same.
    await fill(client, 'a', 300, ['dead', 'pending']);
    await hand.run('ALTER TABLE outbox_deliveries DISABLE TRIGGER outbox_deliveries_settled');
    await announce(client, outbox, 'well', 2);
    expect(await outbox.relayDue()).toMatchObject({ delivered: 2 });
    await hand.run('ALTER TABLE outbox_deliveries ENABLE TRIGGER outbox_deliveries_settled');
    expect(new Set((await marks(client)).map((mark) => mark.replace(/^\w+/, '')))).toEqual(
      new Set([' dead null', ' pending null', ' delivered true']),
    );
  });

  test('where transactions are SERIALIZABLE by default, and all arrives', async () => {
    const url = new URL(database.url);
    url.searchParams.set('options', '-c default_transaction_isolation=serializable');
    const strict = createClient(url.href);
    const sink = destination();
    const outbox = outboxOn(strict, [sink.route]);
    await fill(client, 'a', 1, ['dead', 'pending']);
    await announce(strict, outbox, 'b', 3);
    expect(await outbox.relayDue()).toMatchObject({ delivered: 3 });
    expect(await marks(client)).toContain('a12 pending null');
    await strict.$disconnect();
  });
});

describe('M2 beside a relay of before version 3', () => {
  // As it sent them, but for columns that it does not name.
  const take = (aggregate: string) =>
    hand.run(
      `UPDATE outbox_deliveries SET fencing_token = fencing_token + 1, next_attempt_at = now() + interval '30 s'
        WHERE (aggregate, sequence) = (SELECT aggregate, sequence FROM outbox_deliveries
          WHERE aggregate = $1 AND state IN ('pending', 'dead') ORDER BY sequence LIMIT 1)`,
      [aggregate],
    );

  test('what it has taken and put off is a head from the first look on, at its time', async () => {
    const sink = destination();
    const outbox = outboxOn(client, [sink.route]);
    await announce(client, outbox, 'a', 2);
    await take('a');
    for (let pass = 0; pass < 2; pass++) expect(await outbox.relayDue()).toMatchObject({ delivered: 0 });
    expect(await marks(client)).toEqual(['a1 pending true', 'a2 pending false']);
    await timePasses(client);
    await outbox.relayDue();
    expect(sink.order('a')).toEqual([1, 2]);
  });

  test('it marks one and takes the next, which was put aside, in one statement: that is a head again', async () => {
    const sink = destination();
    const outbox = outboxOn(client, [sink.route]);
    await announce(client, outbox, 'a', 3);
    await take('a');
    for (let pass = 0; pass < 3; pass++) await outbox.relayDue();
    expect(await marks(client)).toEqual(['a1 pending true', 'a2 pending false', 'a3 pending false']);
    await hand.run(`
      WITH done AS (UPDATE outbox_deliveries SET state = 'delivered', settled_at = now(), next_attempt_at = NULL
                     WHERE sequence = 1)
      UPDATE outbox_deliveries SET next_attempt_at = now() + interval '30 s' WHERE sequence = 2`);
    expect(await marks(client)).toEqual(['a1 delivered true', 'a2 pending true', 'a3 pending false']);
    await timePasses(client);
    await outbox.relayDue();
    expect(sink.order('a')).toEqual([2, 3]);
    expect(await stranded(client)).toEqual([]);
  });
});
