import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { expectCounted } from '../../../../scripts/testing/expect-counted.ts';
import { bound } from '../../../../scripts/testing/patience.ts';
import { type TestDatabase, testDatabase } from '../../../../scripts/testing/test-database.ts';
import { type Client, createClient } from '../../../../shop/db.ts';
import {
  anything,
  effect,
  effects,
  freshKey,
  gate,
  kit,
  rowsOf,
  type Tx,
  watchOf,
} from '../../../integration/kit.fixture.ts';
import { skipTime } from '../../../integration/skip-time.fixture.ts';
import { AT_COMMIT, AT_COMPLETION, pidOf } from '../ambient/ambient.fixture.ts';
import { withTimeout } from '../timeouts.ts';
import { cuttingProxy, type Direction, SERVER_CRASHED } from './cutting-proxy.fixture.ts';

/**
 * Faults between BEGIN and the answer to COMMIT, however the kit's statements travel (`pool.db.test.ts`): nobody
 * is told of a success that is none, and the next attempt executes.
 */

let database: TestDatabase;
let watch: Awaited<ReturnType<typeof watchOf>>;
/** One connection: what one execution leaves on it, the next one meets. */
let client: Client;
const closers: (() => unknown)[] = [];

beforeAll(async () => {
  database = await testDatabase({ ownsTables: true });
  watch = await watchOf(database.url);
});
beforeEach(() => {
  client = createClient(database.url, { max: 1 });
});
afterEach(async () => {
  await client.$disconnect();
  for (const close of closers.splice(0)) await close();
});
afterAll(async () => {
  await watch?.close();
  await database?.drop();
});

const define = (
  handle: (context: { tx: Tx; key: string; input: Record<string, unknown> }) => Promise<unknown>,
  on: Client = client,
  more: { timeoutMs?: number } = {},
) =>
  kit(on)
    .operation({ name: 'checkout', schema: anything, ...more })
    .handler(async ({ tx, key, input }) => {
      await effect(tx, key);
      return ((await handle({ tx, key, input })) ?? 'there') as string;
    });

/** Waits by the looks of the kit itself, which come to what began before at the latest with it. */
const overdue = (ms: number) => withTimeout(new Promise(() => {}), ms).catch(() => {});

const isPlain = process.env.POOL === 'plain';

const counted = async (key: string) => [
  await effects(database.client, key),
  (await rowsOf(database.client, key)).length,
];

/** Nothing was committed, the next attempt executes on the same connection, and the one behind it is answered by that. */
async function expectAnother(operation: ReturnType<typeof define>, key: string) {
  expectCounted(await counted(key)).toEqual([0, 0]);
  expect(await operation.execute({ key, payload: {}, attempt: 2 })).toMatchObject({ ok: true, replayed: false });
  expect(await operation.execute({ key, payload: {}, attempt: 3 })).toMatchObject({ ok: true, replayed: true });
  expectCounted(await counted(key)).toEqual([1, 1]);
}

/**
 * Until the pool knows that its connection is lost. One that the kit has not wrapped takes it back with the server's last
 * word, before its end, and may give it to the next one, who is told `unavailable` and asks again.
 */
async function noticed() {
  const asks = () => client.$queryRaw`SELECT 1`.then(() => true, String);
  await expect.poll(asks).toBe(true);
}

/** Has the server do this with a row of a table, until the test is over. */
async function trigger(when: string, body: string) {
  await watch.query(`CREATE FUNCTION fault() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ${body} END $$`);
  await watch.query(`CREATE ${when} FOR EACH ROW EXECUTE FUNCTION fault()`);
  const lift = () => watch.query('DROP FUNCTION IF EXISTS fault() CASCADE');
  closers.push(lift);
  return lift;
}

describe('a completion that fails commits nothing', () => {
  test('the server answers it with an error', async () => {
    const lift = await trigger(
      AT_COMPLETION,
      `IF NEW.state = 'succeeded' THEN RAISE EXCEPTION 'no completion'; END IF; RETURN NEW;`,
    );
    const operation = define(async () => 'there');
    const key = freshKey();
    expect(await operation.execute({ key, payload: {} })).toMatchObject({ code: 'internal', executed: false });
    await lift();
    await expectAnother(operation, key);
  });

  test('a trigger of somebody’s swallows the row: no success is told', async () => {
    await trigger(AT_COMPLETION, `IF NEW.state = 'succeeded' THEN RETURN NULL; END IF; RETURN NEW;`);
    const told = await define(async () => 'there').execute({ key: freshKey(), payload: {} });
    expect(told).toMatchObject(isPlain ? { code: 'internal', executed: false } : { ok: false, executed: 'unknown' });
  });

  test('a rule of the table refuses the answer', async () => {
    await watch.query(
      `ALTER TABLE idempotency_keys ADD CONSTRAINT short CHECK (octet_length(result) < 1000) NOT VALID`,
    );
    closers.push(() => watch.query('ALTER TABLE idempotency_keys DROP CONSTRAINT short'));
    let answer = 'x'.repeat(2000);
    const operation = define(async () => answer);
    const key = freshKey();
    expect(await operation.execute({ key, payload: {} })).toMatchObject({ code: 'internal', executed: false });
    answer = 'short';
    await expectAnother(operation, key);
  });

  // A claim of the kit's own transaction has written no row that the handler could do away with.
  if (isPlain)
    test('the handler has done away with its own key', async () => {
      let isRude = true;
      const operation = define(async ({ tx, key }) => {
        if (isRude) await tx.idempotencyKey.deleteMany({ where: { key } });
      });
      const key = freshKey();
      expect(await operation.execute({ key, payload: {} })).toMatchObject({ code: 'internal', executed: false });
      isRude = false;
      await expectAnother(operation, key);
    });
});

describe('a COMMIT that is none', () => {
  test('what the server finds wrong at COMMIT itself is told as it is', async () => {
    const lift = await trigger(AT_COMMIT, `RAISE EXCEPTION 'refused' USING ERRCODE = '23514';`);
    const operation = define(async () => 'there');
    const key = freshKey();
    expect(await operation.execute({ key, payload: {} })).toMatchObject({ code: 'internal', executed: false });
    await lift();
    await expectAnother(operation, key);
  });

  test('the connection is lost while the server commits: nobody knows, and the retry finds out', async () => {
    const lift = await trigger(AT_COMMIT, 'PERFORM pg_advisory_xact_lock(4711); RETURN NULL;');
    await watch.query('SELECT pg_advisory_lock(4711)');
    let pid = 0;
    const operation = define(async ({ tx }) => {
      pid = await pidOf(tx);
    });
    const key = freshKey();
    const executing = operation.execute({ key, payload: {} });
    await watch.untilWaiting(1); // the completion has been answered, COMMIT has not
    await watch.query('SELECT pg_terminate_backend($1)', [pid]);
    expect(await executing).toMatchObject({ code: 'unavailable', executed: 'unknown', retry: 'same-key' });
    await watch.query('SELECT pg_advisory_unlock(4711)');
    await lift();
    if (isPlain) await noticed();
    await expectAnother(operation, key);
  });
});

describe('a statement of the handler that fails', () => {
  const failing = (tx: Tx) => tx.$queryRawUnsafe('SELECT 1/0');

  test.each<[string, (tx: Tx) => Promise<unknown>]>([
    ['and is let through', failing],
    ['and is swallowed', (tx) => failing(tx).catch(() => 'swallowed')],
    ['and is swallowed, with others behind it', (tx) => failing(tx).catch(() => tx.product.count().catch(() => 0))],
  ])('%s: nothing is committed, and the connection is as good as before', async (_, fail) => {
    let fails = true;
    const operation = define(async ({ tx }) => (fails ? fail(tx) : undefined));
    const key = freshKey();
    expect(await operation.execute({ key, payload: {} })).toMatchObject({ code: 'internal', executed: false });
    fails = false;
    await expectAnother(operation, key);
  });

  test('and is taken back to a savepoint of its own: the rest commits', async () => {
    const operation = define(async ({ tx }) => {
      await tx.$executeRawUnsafe('SAVEPOINT mine');
      await failing(tx).catch(() => tx.$executeRawUnsafe('ROLLBACK TO SAVEPOINT mine'));
      return 'recovered';
    });
    const key = freshKey();
    expect(await operation.execute({ key, payload: {} })).toMatchObject({ ok: true, data: 'recovered' });
    expectCounted(await counted(key)).toEqual([1, 1]);
  });

  // On our pool it is refused: `own-raw-sql`.
  if (isPlain)
    test('because the handler has ended the transaction itself: no success is told that is none', async () => {
      let fails = true;
      const operation = define(async ({ tx }) => (fails ? tx.$executeRawUnsafe('ROLLBACK') : 0));
      const key = freshKey();
      expect(await operation.execute({ key, payload: {} })).toMatchObject({ ok: false });
      fails = false;
      await expectAnother(operation, key);
    });
});

// On our pool: `ambient-faults`.
if (isPlain)
  describe('time that runs out', () => {
    const atOnce = async () => {};

    test('in the handler: what it does afterwards is void, and the connection is as good as before', async () => {
      const [inside, late] = [gate(), gate()];
      const ended = gate<unknown>();
      const operation = define(
        async ({ tx, key }) => {
          inside.open();
          await late.opened;
          await effect(tx, key).then(() => ended.open('written'), ended.open);
        },
        client,
        { timeoutMs: bound(150) },
      );
      const key = freshKey();
      const executing = operation.execute({ key, payload: {} });
      // The transaction is over for everybody, whatever the handler still believes.
      await inside.opened;
      await watch.untilIdle();
      late.open();
      expect(await executing).toMatchObject({ code: 'unavailable', executed: false });
      expect(await ended.opened).toBeInstanceOf(Error);
      await expectAnother(define(atOnce), key);
    });

    test('while the handler waits for a lock', async () => {
      const holder = await watchOf(database.url);
      closers.push(holder.close);
      await holder.query('BEGIN');
      await holder.query(`SELECT 1 FROM products WHERE sku = 'mug' FOR UPDATE`);
      const timeoutMs = bound(350);
      const operation = define(
        ({ tx }) => tx.product.update({ where: { sku: 'mug' }, data: { stock: { increment: 0 } } }),
        client,
        { timeoutMs },
      );
      const key = freshKey();
      const executing = operation.execute({ key, payload: {} });
      await watch.untilWaiting(1);
      await overdue(timeoutMs); // the time itself is what is tested
      await overdue(200); // and what the kit adds to it where the process was late
      await holder.query('COMMIT');
      expect(await executing).toMatchObject({ code: 'unavailable', executed: false });
      await expectAnother(define(atOnce), key);
    });
  });

// Where the kit sends COMMIT itself, it is behind the completion on the wire.
if (isPlain)
  test('a caller whose time is up while the answer is written is told that nothing was done, and nothing is', async () => {
    const lift = await trigger(
      'TRIGGER fault BEFORE UPDATE ON idempotency_keys',
      'PERFORM pg_advisory_xact_lock(4713); RETURN NEW;',
    );
    await watch.query('SELECT pg_advisory_lock(4713)');
    const operation = define(async () => 'there', client, { timeoutMs: 60_000 });
    const key = freshKey();
    const executing = operation.execute({ key, payload: {}, deadlineMs: 20_000 });
    await watch.untilWaiting(1);
    skipTime(30_000); // Prisma's own time is not over when the caller's is
    expect(await executing).toMatchObject({ code: 'unavailable', executed: false });
    await watch.query('SELECT pg_advisory_unlock(4713)');
    await watch.untilIdle();
    await lift();
    await expectAnother(operation, key);
  });

describe('a connection that is lost', () => {
  test.each([
    ['the handler asks on', true],
    ['the handler does not notice', false],
  ])('between claim and completion, and %s: nothing is committed', async (_, asks) => {
    let dies = true;
    const operation = define(async ({ tx }) => {
      if (!dies) return;
      await watch.query('SELECT pg_terminate_backend($1, 5000)', [await pidOf(tx)]);
      if (asks) await tx.product.count();
    });
    const key = freshKey();
    const told = await operation.execute({ key, payload: {} });
    expect(told).toMatchObject({ code: 'unavailable', retry: 'same-key' });
    if (asks) expect(told).toMatchObject({ executed: false });
    dies = false;
    await expectAnother(operation, key);
  });

  test.each<[Direction, string, Buffer?]>([
    ['to the server', 'in silence'],
    ['to the client', 'in silence'],
    ['to the client', 'with a pooler’s word for it', SERVER_CRASHED],
  ])('at any message %s, %s: what is told is true, and the retry makes it one', async (direction, _, words) => {
    const proxy = await cuttingProxy(database.url);
    const through = createClient(proxy.url, { max: 1 });
    closers.push(() => through.$disconnect(), proxy.close);
    const operation = define(
      ({ tx, key }) => (tx as Client).$transaction((inner) => inner.auditRecord.count({ where: { action: key } })),
      through,
    );
    const met = new Set<unknown>();
    let after = 0;
    for (let wasCut = true; wasCut; after++) {
      // Before each: the connection is there, and has executed something.
      expect(await operation.execute({ key: freshKey(), payload: {} })).toMatchObject({ ok: true });
      const key = freshKey();
      proxy.cutAfter(after, direction, words);
      const told = await operation.execute({ key, payload: {} });
      wasCut = proxy.disarm();
      const executed = told.ok || told.executed;
      met.add(executed);
      const [made, rows] = await settledCount(key);
      expectCounted({ after, executed, made, rows }).toEqual({
        after,
        executed: wasCut ? expect.toSatisfy((said) => said === 'unknown' || said === (made === 1)) : true,
        made: wasCut ? expect.toSatisfy((count) => count === 0 || count === 1) : 1,
        rows: made,
      });
      expect(await operation.execute({ key, payload: {}, attempt: 2 })).toMatchObject({ ok: true, data: 1 });
      expectCounted(await counted(key)).toEqual([1, 1]);
    }
    expect([...met].map(String).sort()).toEqual(['false', 'true', 'unknown']);
    expect(after).toBeGreaterThan(15);
  });

  /** The server may be about to end a transaction whose connection is gone. */
  async function settledCount(key: string) {
    await watch.untilIdle();
    return await counted(key);
  }
});
