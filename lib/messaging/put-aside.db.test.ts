import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { random } from '../../e2e/fixtures/random.ts';
import { type TestDatabase, testDatabase } from '../../scripts/testing/test-database.ts';
import { SEED } from '../../scripts/testing/tier.ts';
import { until } from '../../scripts/testing/until.ts';
import { createClient } from '../../shop/db.ts';
import { announce, destination, outboxOn, timePasses, watchOf } from './messaging.fixture.ts';
import { fill, handOn, marks, stranded } from './put-aside.fixture.ts';

let database: TestDatabase;
let client: TestDatabase['client'];
let watch: Awaited<ReturnType<typeof watchOf>>;
let one: Awaited<ReturnType<typeof handOn>>;
let two: Awaited<ReturnType<typeof handOn>>;
beforeAll(async () => {
  database = await testDatabase();
  client = database.client;
  watch = await watchOf(database.url);
  [one, two] = [await handOn(database.url), await handOn(database.url)];
});
afterAll(async () => {
  for (const hand of [one, two]) await hand?.end();
  await watch?.close();
  await database?.drop();
});
beforeEach(async () => {
  await client.$executeRaw`DELETE FROM outbox_events`;
  await client.$executeRaw`DELETE FROM outbox_aggregates`;
});
afterEach(async () => {
  for (const hand of [one, two]) await hand.run('ROLLBACK');
  expect(await stranded(client)).toEqual([]);
});

const upTo = (count: number) => Array.from({ length: count }, (_, n) => n + 1);

/** Sends all that may be sent, in so many passes: each puts one event of each aggregate aside. Returns what was sent of `a`. */
async function relay(passes = 1): Promise<number[]> {
  const sink = destination();
  const outbox = outboxOn(client, [sink.route]);
  for (let pass = 0; pass < passes; pass++) await outbox.relayDue();
  return sink.order('a');
}

describe('M2 an event that is put aside goes out once nothing is before it', () => {
  test('a look puts it aside behind a dead letter, and again behind what is under way', async () => {
    await fill(client, 'a', 1, ['dead', 'pending', 'pending']);
    await relay(2);
    expect(await marks(client)).toEqual(['a11 dead null', 'a12 pending false', 'a13 pending false']);
    await one.settle('a1', 1);
    expect(await marks(client), 'the next one, and none behind it').toEqual([
      'a11 skipped null',
      'a12 pending true',
      'a13 pending false',
    ]);
    await one.look();
    await one.look();
    expect((await marks(client)).slice(1)).toEqual(['a12 pending true', 'a13 pending false']);
    await one.settle('a1', 2, 'delivered');
    expect((await marks(client)).slice(1)).toEqual(['a12 delivered true', 'a13 pending true']);
  });

  test.each<[string, (aggregate: string) => Promise<unknown>]>([
    ['skipped', (aggregate) => one.settle(aggregate, 1)],
    ['deleted', (aggregate) => one.remove(aggregate, 1)],
    ['deleted with its deliveries first', () => one.run(`DELETE FROM outbox_deliveries WHERE state = 'dead'`)],
  ])('the one before it is %s', async (_, settle) => {
    await fill(client, 'a', 1, ['dead', 'pending']);
    await relay();
    await settle('a1');
    expect((await marks(client)).at(-1)).toBe('a12 pending true');
  });

  test('a person sends again what was put aside and skipped', async () => {
    await fill(client, 'a', 1, ['dead', 'pending', 'pending']);
    await relay(2);
    for (const sequence of [2, 1]) await one.settle('a1', sequence);
    await one.reopen('a1', 2);
    expect(await marks(client)).toEqual(['a11 skipped null', 'a12 pending true', 'a13 pending true']);
    await relay();
    expect((await marks(client)).slice(1)).toEqual(['a12 delivered true', 'a13 delivered true']);
  });

  test('a pause that a relay has given it is not cut short', async () => {
    await fill(client, 'a', 1, ['dead', 'later']);
    await client.$executeRaw`UPDATE outbox_deliveries SET is_head = false WHERE sequence = 2`;
    await one.settle('a1', 1);
    const [{ later } = { later: false }] = await client.$queryRaw<{ later: boolean }[]>`
      SELECT next_attempt_at > now() + interval '50 min' AS later FROM outbox_deliveries WHERE sequence = 2 AND is_head`;
    expect(later).toBe(true);
  });

  test('it is due at once, and not half a millisecond later', async () => {
    await fill(client, 'a', 300, ['dead', 'pending']);
    await relay();
    await one.run(`
      DO $$ DECLARE late int; lane text; BEGIN
        FOR lane IN SELECT aggregate FROM outbox_deliveries WHERE state = 'dead' LOOP
          UPDATE outbox_deliveries SET state = 'skipped', settled_at = now() WHERE aggregate = lane AND state = 'dead';
          SELECT count(*) INTO late FROM outbox_deliveries WHERE aggregate = lane AND next_attempt_at > clock_timestamp();
          IF late > 0 THEN RAISE '% is not due yet', lane; END IF;
        END LOOP;
      END $$`);
  });

  test('it goes to another destination without the one before it', async () => {
    await fill(client, 'a', 1, ['dead', 'pending', 'pending']);
    await relay(2);
    await one.run(`UPDATE outbox_deliveries SET destination = 'other' WHERE sequence > 1`);
    expect((await marks(client)).slice(1)).toEqual(['a12 pending true', 'a13 pending false']);
    await one.run(`UPDATE outbox_deliveries SET destination = 'sink' WHERE sequence = 2`);
    expect((await marks(client)).slice(1), 'what it leaves behind, too').toEqual([
      'a12 pending true',
      'a13 pending true',
    ]);
  });

  test('it is written back from a copy, without the one before it', async () => {
    await fill(client, 'a', 1, ['dead', 'pending']);
    await relay();
    await one.run(`CREATE TEMP TABLE copied AS SELECT * FROM outbox_deliveries WHERE state = 'pending'`);
    await one.run('DELETE FROM outbox_deliveries');
    await one.run('INSERT INTO outbox_deliveries SELECT * FROM copied');
    expect(await relay()).toEqual([]);
    expect(await marks(client)).toEqual(['a12 delivered true']);
  });

  test('one statement for a thousand aggregates takes up the next of each', async () => {
    await fill(client, 'a', 1000, ['dead', 'pending', 'pending']);
    await relay(2);
    const [{ aside } = { aside: 0 }] = await client.$queryRaw<{ aside: number }[]>`
      SELECT count(*)::int AS aside FROM outbox_deliveries WHERE is_head = false`;
    expect(aside).toBe(2000);
    await client.$executeRaw`
      UPDATE outbox_deliveries SET state = 'skipped', settled_at = now() WHERE state = 'dead'`;
    const taken = await client.outboxDelivery.groupBy({ by: ['sequence'], where: { isHead: true }, _count: true });
    expect(taken).toEqual([{ sequence: 2n, _count: 1000 }]);
  });
});

describe('M2 putting aside, beside whoever settles', () => {
  test('nothing is put aside behind a row that somebody is settling', async () => {
    await announce(client, outboxOn(client, [destination().route]), 'a', 2);
    await one.look();
    await two.run('BEGIN');
    await two.settle('a', 1, 'delivered');
    await one.look();
    await two.run('COMMIT');
    expect(await marks(client)).toEqual(['a1 delivered true', 'a2 pending null']);
    expect(await relay()).toEqual([2]);
  });

  test.each(['COMMIT', 'ROLLBACK'])(
    'who settles while a look is open waits for its %s, and finds what it did',
    async (end) => {
      await announce(client, outboxOn(client, [destination().route]), 'a', 2);
      await one.look();
      await one.run('BEGIN');
      await one.look();
      const settled = two.settle('a', 1, 'delivered');
      await watch.untilWaiting(1);
      await one.run(end);
      await settled;
      expect(await marks(client)).toEqual(['a1 delivered true', `a2 pending ${end === 'COMMIT' ? true : null}`]);
      expect(await relay()).toEqual([2]);
    },
  );

  test.each([
    ['COMMIT', 'COMMIT', ''],
    ['COMMIT', 'ROLLBACK', ''],
    ['ROLLBACK', 'COMMIT', ''],
    ['COMMIT', 'COMMIT', 'FOR UPDATE'],
    ['COMMIT', 'ROLLBACK', 'FOR UPDATE'],
    ['ROLLBACK', 'COMMIT', 'FOR UPDATE'],
  ])('two before it are settled at once: %s, %s, and neither sees the other %s', async (first, second, locking) => {
    await fill(client, 'a', 1, ['dead', 'dead', 'pending']);
    await relay();
    for (const [at, hand] of [one, two].entries()) {
      await hand.run('BEGIN');
      await hand.run(`SELECT FROM outbox_deliveries WHERE sequence = ${at + 1} ${locking}`);
    }
    await one.settle('a1', 1);
    const other = two.settle('a1', 2);
    await watch.untilWaiting(1);
    await one.run(first);
    await other;
    await two.run(second);
    expect(await stranded(client)).toEqual([]);
    await relay();
    for (const sequence of [1, 2]) await one.settle('a1', sequence);
    await timePasses(client);
    await relay();
    expect((await marks(client)).at(-1)).toBe('a13 delivered true');
  });

  test('what is settled itself meanwhile is passed over for the one behind it', async () => {
    await fill(client, 'a', 1, ['dead', 'pending', 'pending']);
    await relay(2);
    for (const hand of [one, two]) await hand.run('BEGIN');
    await one.settle('a1', 2);
    const settled = two.settle('a1', 1);
    await watch.untilWaiting(1);
    await one.run('COMMIT');
    await settled;
    await two.run('COMMIT');
    expect(await marks(client)).toEqual(['a11 skipped null', 'a12 skipped false', 'a13 pending true']);
  });

  test('relays, and people who skip, send again and delete: all that is not given up arrives, in order', async () => {
    const sink = destination('sink', { attempts: 2, backoff: { baseMs: 1, capMs: 1 } });
    const gone = new Set<string>();
    const next = random(SEED);
    sink.behave = () => {
      if (next() < 0.3) throw new Error('down');
    };
    const second = createClient(database.url);
    const outboxes = upTo(4).map((n) => outboxOn(n % 2 ? client : second, [sink.route]));
    const [outbox] = outboxes as [(typeof outboxes)[0]];
    const names = upTo(6).map((n) => `a${n}`);
    let isOver = false;
    const goOn = (what: string, work: () => Promise<unknown>) =>
      until(what, async () => {
        await work();
        return isOver;
      });
    const person = async () => {
      const open = await outbox.list({ limit: 100, offset: 0 });
      const found = open.filter(({ state }) => state !== 'delivered')[Math.floor(next() * open.length)];
      if (!found) return;
      const given = { destination: 'sink', eventId: found.eventId };
      const act = next();
      if (act < 0.4) await outbox.requeue(given, 'eve');
      else if (act < 0.6) await outbox.skip(given, 'eve');
      else if (act < 0.7) await client.$executeRaw`DELETE FROM outbox_events WHERE id = ${found.eventId}::uuid`;
      if (act >= 0.4 && act < 0.7) gone.add(`${found.aggregate} ${found.sequence}`);
    };
    const helpers = [
      ...outboxes.map((each) => goOn('a relay has ended', () => each.relayDue({ limit: 3 }))),
      ...upTo(2).map(() => goOn('a person has ended', person)),
    ];
    await Promise.all(names.map((name) => announce(client, outbox, name, 40)));
    isOver = true;
    await Promise.all(helpers);
    await second.$disconnect();

    sink.behave = () => {};
    await outbox.requeueAll('sink', 'eve');
    await timePasses(client);
    await outbox.relayDue();
    expect(await stranded(client)).toEqual([]);
    expect((await marks(client)).filter((mark) => /pending|dead/.test(mark))).toEqual([]);
    for (const name of names) {
      const first = sink.order(name).filter((sequence, at, all) => all.indexOf(sequence) === at);
      const isKept = (sequence: number) => !gone.has(`${name} ${sequence}`);
      expect(first.filter(isKept)).toEqual(upTo(40).filter(isKept));
    }
  });
});
