import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { expectCounted } from '../../scripts/testing/expect-counted.ts';
import { type TestDatabase, testDatabase } from '../../scripts/testing/test-database.ts';
import { type AuditLogEntry, createMessagesAdmin } from '../admin/index.ts';
import { Db } from '../store/prisma/db.ts';
import { outboxOn as storeOn } from '../store/prisma/messages/store.ts';
import { statementsOfRoom } from '../store/prisma/statements.fixture.ts';
import { createInbox } from './index.ts';
import { fillDeliveries, outboxOn } from './messaging.fixture.ts';

/** Acts of a person on many deliveries at once: in batches, each of which is done. */

const MANY = 5000;
/** The event at which a batch breaks off, in the third thousand. */
const BROKEN = 'a:2500';

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database?.drop());
beforeEach(() => database.client.outboxEvent.deleteMany());

/** Deliveries to `crm`, and one of another destination beside each. */
const fill = (state: 'dead' | 'pending', count = MANY) =>
  fillDeliveries(database.client, state, count, ['crm', 'other']);

const states = async (destination = 'crm') =>
  Object.fromEntries(
    (await database.client.outboxDelivery.groupBy({ by: ['state'], where: { destination }, _count: true })).map(
      ({ state, _count }) => [state, _count],
    ),
  );

/** How many records there are of what an actor did, and of how many events. */
async function recordsOf(actor: string) {
  const [records] = await database.client.$queryRaw<[{ all: number; events: number }]>`
    SELECT count(*)::int AS all, count(DISTINCT event_id)::int AS events FROM message_events WHERE actor = ${actor}`;
  return records;
}

/** Breaks a statement off that changes the delivery of `BROKEN`. */
async function breaking(work: () => Promise<unknown>) {
  const { client } = database;
  await client.$executeRawUnsafe(`
    CREATE FUNCTION break_off() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'broken off' USING ERRCODE = '57014'; END $$`);
  await client.$executeRawUnsafe(`
    CREATE TRIGGER break_off BEFORE UPDATE ON outbox_deliveries
      FOR EACH ROW WHEN (OLD.aggregate = '${BROKEN}') EXECUTE FUNCTION break_off()`);
  try {
    await work();
  } finally {
    await client.$executeRaw`DROP FUNCTION break_off CASCADE`;
  }
}

type Act = 'requeueAll' | 'abandon';
const ACTS = [
  { act: 'requeueAll', from: 'dead', to: 'pending', type: 'requeued' },
  { act: 'abandon', from: 'pending', to: 'skipped', type: 'abandoned' },
] as const satisfies { act: Act; from: string; to: string; type: string }[];

describe.each(ACTS)('$act of many', ({ act, from, to, type }) => {
  test('an error in the third batch leaves two done, and the next call does the rest: each event once', async () => {
    await fill(from);
    const outbox = outboxOn(database.client, []);
    const actor = `${act} breaks`;
    await breaking(() => expect(outbox[act]('crm', actor)).rejects.toThrow());
    expectCounted([await states(), await recordsOf(actor)]).toEqual([
      { [from]: 3000, [to]: 2000 },
      { all: 2000, events: 2000 },
    ]);
    expect(await outbox[act]('crm', actor)).toBe(3000);
    expect(await outbox[act]('crm', actor)).toBe(0);
    expectCounted([await states(), await states('other'), await recordsOf(actor)]).toEqual([
      { [to]: MANY },
      { [from]: MANY },
      { all: MANY, events: MANY },
    ]);
  });

  test('a signal ends it behind a batch, it says how far it is, and the log has what was done', async () => {
    await fill(from);
    const lines: AuditLogEntry[] = [];
    const { outbox } = createMessagesAdmin({
      outbox: outboxOn(database.client, []),
      inbox: createInbox({ prisma: database.client }),
      log: (line) => void lines.push(line),
    });
    const stop = new AbortController();
    const onBatch = vi.fn((count: number) => count === 2000 && stop.abort());
    expect(await outbox[act]('crm', 'eve', { signal: stop.signal, onBatch })).toBe(2000);
    expectCounted(await states()).toEqual({ [from]: 3000, [to]: 2000 });
    await breaking(() => expect(outbox[act]('crm', 'eve', { batch: 250, onBatch })).rejects.toThrow());
    expect(await outbox[act]('crm', 'eve', { onBatch })).toBe(2750);
    expect(onBatch.mock.calls.flat()).toEqual([1000, 2000, 250, 1000, 2000, 2750]);
    expect(lines.map(({ msg, detail }) => [msg, detail])).toEqual(
      ['2000', '250', '2750'].map((messages) => [`audit: ${type}`, { messages }]),
    );
  });

  test('two at once share the work, and neither waits for ever', async () => {
    await fill(from);
    const actor = `${act} twice`;
    const both = () => outboxOn(database.client, [])[act]('crm', actor, { batch: 100 });
    const counts = await Promise.all([both(), both()]);
    expectCounted([counts.reduce((a, b) => a + b), await states(), await recordsOf(actor)]).toEqual([
      MANY,
      { [to]: MANY },
      { all: MANY, events: MANY },
    ]);
  });
});

test('what is dead again, or for the first time, since it began is left to the next call', async () => {
  await fill('dead', 30);
  const store = storeOn(new Db(database.client, { part: 'messaging' }));
  const dies = (aggregate: string) => database.client.$executeRaw`
    UPDATE outbox_deliveries SET state = 'dead', settled_at = clock_timestamp() + interval '1 ms', next_attempt_at = NULL
     WHERE destination = 'crm' AND aggregate = ${aggregate}`;
  const first = await store.requeueDead('crm', 'eve', 10);
  expect(first).toMatchObject({ count: 10, aggregate: 'a:0010', sequence: 1 });
  for (const aggregate of ['a:0001', 'a:0015']) await dies(aggregate);
  const second = await store.requeueDead('crm', 'eve', 10, first);
  expect(second).toMatchObject({ count: 10, aggregate: 'a:0021', startedAt: first?.startedAt });
  expect(await store.requeueDead('crm', 'eve', 10, second)).toMatchObject({ count: 9, aggregate: 'a:0030' });
  expect(await states()).toEqual({ dead: 2, pending: 28 });
});

test('a batch is bounded, and found by the index where the one before it has ended', async () => {
  await fill('dead');
  const statements = (await statementsOfRoom()).filter(({ name }) => /operate\.ts (REQUEUE_DEAD|ABANDON)$/.test(name));
  expect(statements).toHaveLength(2);
  for (const { name, text } of statements) {
    expect(text, name).toMatch(/LIMIT \$3::int\s+FOR UPDATE/);
    const plan = await database.client.$queryRawUnsafe(`EXPLAIN ${text}`, 'crm', 'eve', 1000, 'a:2000', 1, new Date());
    const lines = (plan as { 'QUERY PLAN': string }[]).map((row) => row['QUERY PLAN']);
    const batch = lines.slice(lines.findIndex((line) => line.includes('CTE batch'))).slice(1, 5);
    expect(batch, name).toEqual([
      expect.stringContaining('Limit'),
      expect.stringContaining('LockRows'),
      expect.stringContaining('Index Scan using outbox_deliveries_open_idx'),
      expect.stringMatching(/Index Cond: .*destination.* AND .*ROW\(/),
    ]);
  }
});
