import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { expectCounted } from '../../scripts/testing/expect-counted.ts';
import { type TestDatabase, testDatabase } from '../../scripts/testing/test-database.ts';
import { anything, effect, effects, freshKey, gate, kit, type Tx, watchOf } from '../integration/kit.fixture.ts';

let database: TestDatabase;
let watch: Awaited<ReturnType<typeof watchOf>>;
beforeAll(async () => {
  database = await testDatabase();
  watch = await watchOf(database.url);
});
afterAll(async () => {
  await watch?.close();
  await database?.drop();
});
beforeEach(async () => {
  await watch.query(`DELETE FROM products WHERE sku IN ('a', 'b')`);
  await watch.query(
    `INSERT INTO products (sku, name, description, price_cents, stock) VALUES ('a', 'a', '', 1, 10), ('b', 'b', '', 1, 10)`,
  );
});

/** Opens once `n` executions have come to it; later ones pass. */
function meeting(n: number) {
  const { open, opened } = gate();
  let come = 0;
  return async () => {
    if (++come === n) open();
    await opened;
  };
}

const take = (tx: Tx, sku: string) => tx.product.update({ where: { sku }, data: { stock: { decrement: 1 } } });
const total = async (tx: Tx) =>
  (await tx.product.aggregate({ where: { sku: { in: ['a', 'b'] } }, _sum: { stock: true } }))._sum.stock ?? 0;

describe('C4 conflicts are tried again', () => {
  /** Each reads both rows and then writes one: write skew, which only Serializable sees. */
  function skew(options: Parameters<typeof kit>[1] = {}) {
    const bothHaveRead = meeting(2);
    const captured: Record<string, Set<string>> = {};
    const runs: string[] = [];
    const operation = kit(database.client, options)
      .operation({ name: 'checkout', schema: anything, isolationLevel: 'Serializable', timeoutMs: 20_000 })
      .handler(async ({ tx, input, key, capture, afterCommit }) => {
        runs.push(key);
        captured[key] ??= new Set();
        captured[key].add(await capture('id', () => randomUUID()));
        const before = await total(tx);
        await bothHaveRead();
        await take(tx, input.sku as string);
        await effect(tx, key);
        afterCommit(() => effect(database.client, `${key} after`));
        return before;
      });
    return { operation, runs, captured };
  }

  test('C4 two Serializable executions that conflict both succeed, one after the other, each effect once', async () => {
    const { operation, runs, captured } = skew();
    const [one, two] = [freshKey(), freshKey()];
    const outcomes = await Promise.all(
      [one, two].map((key, i) => operation.execute({ key, payload: { sku: i ? 'b' : 'a' } })),
    );
    expect(outcomes.map((outcome) => (outcome as { data: number }).data).sort()).toEqual([19, 20]);
    expect(runs.length).toBeGreaterThan(2);
    for (const key of [one, two]) {
      expectCounted(await effects(database.client, key)).toBe(1);
      expectCounted(await effects(database.client, `${key} after`)).toBe(1);
      expect(captured[key]?.size).toBe(1); // S6: every try got the value of the first
    }
  });

  test('C4 a serialization failure that only COMMIT brings is a conflict, not a lost commit', async () => {
    const [one, two] = [freshKey(), freshKey()];
    const oneCommitted = gate();
    const twoIsComplete = gate();
    let waits = 0;
    const onPoint = async (point: string, { key }: { key: string }) => {
      if (key === one && point === 'before-commit') await twoIsComplete.opened;
      if (key === two && point === 'before-commit' && ++waits === 1) {
        twoIsComplete.open();
        await oneCommitted.opened;
      }
      if (key === one && point === 'after-commit') oneCommitted.open();
    };
    const { operation, runs } = skew({ onPoint });
    const outcomes = await Promise.all(
      [one, two].map((key, i) => operation.execute({ key, payload: { sku: i ? 'b' : 'a' } })),
    );
    expect(outcomes).toMatchObject([
      { ok: true, data: 20 },
      { ok: true, data: 19, replayed: false },
    ]);
    expect(runs.filter((key) => key === two)).toHaveLength(2);
    expectCounted([await effects(database.client, one), await effects(database.client, two)]).toEqual([1, 1]);
  });

  test('C4 of two that deadlock the victim runs again', async () => {
    const bothHoldOne = meeting(2);
    const committed = gate();
    let runs = 0;
    const onPoint = async (point: string) => {
      if (point === 'after-commit') committed.open();
    };
    const operation = kit(database.client, { onPoint })
      .operation({ name: 'checkout', schema: anything, timeoutMs: 20_000 })
      .handler(async ({ tx, input, key }) => {
        // Faster than the other one awakes, the victim would take the row again that it has left, and both would deadlock anew.
        if (++runs > 2) await committed.opened;
        const [first, then] = input.order as [string, string];
        await take(tx, first);
        await bothHoldOne();
        await take(tx, then);
        await effect(tx, key);
      });
    const [one, two] = [freshKey(), freshKey()];
    const outcomes = await Promise.all([
      operation.execute({ key: one, payload: { order: ['a', 'b'] } }),
      operation.execute({ key: two, payload: { order: ['b', 'a'] } }),
    ]);
    expect(outcomes).toMatchObject([{ ok: true }, { ok: true }]);
    expect(runs).toBe(3);
    expectCounted([await effects(database.client, one), await effects(database.client, two)]).toEqual([1, 1]);
    expect((await watch.query(`SELECT sum(stock)::int AS n FROM products WHERE sku IN ('a', 'b')`)).rows[0].n).toBe(16);
  });

  test('C4 a try that has changed its input, or what it has captured, leaves the next one what these were', async () => {
    const seen: unknown[] = [];
    const operation = kit(database.client)
      .operation({
        name: 'changing',
        schema: z.object({ amount: z.number(), lines: z.array(z.object({ sku: z.string() })) }),
        isolationLevel: 'Serializable',
      })
      .handler(async ({ tx, input, key, capture }) => {
        const quote = await capture('quote', () => ({ amount: 5000, lines: [{ sku: 'a' }] }));
        seen.push(structuredClone(input), structuredClone(quote));
        const before = await total(tx);
        input.amount /= 100;
        quote.amount /= 100;
        for (const line of [...input.lines, ...quote.lines]) line.sku = `${line.sku}, changed`;
        // Another one, that is committed, is what it cannot be ordered with.
        if (seen.length === 2) await watch.query(`UPDATE products SET stock = stock - 1 WHERE sku = 'a'`);
        await take(tx, 'a');
        await effect(tx, `${key} ${input.amount}`);
        return before;
      });
    const key = freshKey();
    const payload = { amount: 5000, lines: [{ sku: 'a' }] };
    expect(await operation.execute({ key, payload })).toMatchObject({ ok: true });
    expect(seen).toEqual([payload, payload, payload, payload]);
    expectCounted([await effects(database.client, `${key} 50`), await effects(database.client, `${key} 0.5`)]).toEqual([
      1, 0,
    ]);
  });

  test('C4 a duplicate under Serializable that waited for the winner replays it', async () => {
    const started = gate();
    const end = gate();
    const handle = async () => {
      started.open();
      await end.opened;
      return 'winner';
    };
    const define = () =>
      kit(database.client).operation({
        name: 'checkout',
        schema: anything,
        isolationLevel: 'Serializable',
        timeoutMs: 20_000,
      });
    const key = freshKey();
    const winning = define().handler(handle).execute({ key, payload: {} });
    await started.opened;
    const losing = define()
      .handler(async () => 'loser')
      .execute({ key, payload: {} });
    await watch.untilWaiting(1);
    end.open();
    expect([await winning, await losing]).toMatchObject([
      { data: 'winner', replayed: false },
      { data: 'winner', replayed: true },
    ]);
  });

  test('C4 a conflict that never ends is unavailable, and nothing was executed', async () => {
    let runs = 0;
    const operation = kit(database.client)
      .operation({ name: 'checkout', schema: anything })
      .handler(async ({ tx, key }) => {
        runs++;
        await effect(tx, key);
        await tx.$queryRawUnsafe(`DO $$ BEGIN RAISE EXCEPTION 'again' USING ERRCODE = '40001'; END $$`);
      });
    const key = freshKey();
    expect(await operation.execute({ key, payload: {} })).toMatchObject({
      code: 'unavailable',
      executed: false,
      retry: 'same-key',
    });
    expect(runs).toBe(5);
    runs = 0;
    expect(await operation.execute({ key, payload: {}, deadlineMs: 1 })).toMatchObject({ ok: false });
    expect(runs).toBeLessThan(5);
    expectCounted(await effects(database.client, key)).toBe(0);
  });
});

describe('S6 capture', () => {
  test('S6 two captures of one name give one value, also at the same time', async () => {
    const operation = kit(database.client)
      .operation({ name: 'checkout', schema: anything })
      .handler(async ({ capture }) =>
        Promise.all([
          capture('id', async () => randomUUID()),
          capture('id', async () => randomUUID()),
          capture('other', () => 'x'),
        ]),
      );
    const outcome = (await operation.execute({ key: freshKey(), payload: {} })) as { data: string[] };
    expect(outcome.data[0]).toBe(outcome.data[1]);
    expect(outcome.data[2]).toBe('x');
  });
});
