import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { type Pair, scratchPair } from '../../scripts/services/postgres-scratch.ts';
import { expectCounted } from '../../scripts/testing/expect-counted.ts';
import { until } from '../../scripts/testing/until.ts';
import { type Client, createClient } from '../../shop/db.ts';
import { Provider } from '../engine/phases/phases.fixture.ts';
import type { OperationOptions } from '../index.ts';
import { anything, effect, effects, freshKey, kit, rowsOf, type Tx } from './kit.fixture.ts';

/** A primary that waits for its standby, which a test can freeze; `synchronous_commit` is `local` where nothing else is said. */

let pair: Pair;
let client: Client;

beforeAll(async () => {
  pair = await scratchPair(['synchronous_commit=local']);
  client = createClient(pair.primary.url, { max: 5 });
  await setStandbys('standby');
});
afterEach(async () => {
  await pair.thawStandby();
  await setStandbys('standby');
});
afterAll(async () => {
  await client?.$disconnect();
  await pair?.close();
});

const isPlain = process.env.POOL === 'plain';

async function setStandbys(names: string) {
  await pair.sql.query(`ALTER SYSTEM SET synchronous_standby_names = '${names}'`);
  await pair.sql.query('SELECT pg_reload_conf()');
  const asked = () =>
    client.$queryRaw<
      { now: string }[]
    >`SELECT current_setting('synchronous_standby_names') AS now, pg_sleep(0.02)::text`;
  await until('every connection knows', async () => {
    const told = await Promise.all(Array.from({ length: 5 }, asked));
    return told.every(([row]) => row?.now === names);
  });
}

/** Until so many COMMITs wait for the standby. */
const untilWaiting = (count = 1): Promise<number[]> => {
  const look = async () => {
    const { rows } = await pair.sql.query(`SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep'`);
    expect(rows).toHaveLength(count);
    return rows.map(({ pid }) => pid);
  };
  return vi.waitFor(look, { interval: 5 });
};

const cancel = async () => {
  const [pid] = await untilWaiting();
  await pair.sql.query('SELECT pg_cancel_backend($1)', [pid]);
};

/** Tells whether the standby has heard of the key. */
async function isOnStandby(key: string): Promise<boolean> {
  const standby = createClient(pair.standby.url, { max: 1 });
  const [row] = await rowsOf(standby, key);
  await standby.$disconnect();
  return row?.state === 'succeeded';
}

/** As a process of its own has it, which remembers nothing of what the others have answered. */
function op(more: Partial<OperationOptions<typeof anything, Tx>> = { durability: 'replicated' }) {
  const after: string[] = [];
  const words: string[] = [];
  const operation = kit(client, { waitMs: 0, onError: (error) => void words.push(String((error as Error).message)) })
    .operation({ name: 'checkout', schema: anything, timeoutMs: 1000, ...more })
    .handler(async ({ tx, key, afterCommit }) => {
      await effect(tx, key);
      afterCommit(() => void after.push(key));
      return 'done';
    });
  return { ...operation, after, words };
}

const IN_DOUBT = { ok: false, code: 'unavailable', executed: 'unknown', retry: 'same-key' };

if (isPlain)
  test('Prisma’s own transaction cannot hear of it: a set-up error, and nothing is executed', async () => {
    const key = freshKey();
    await expect(op().execute({ key, payload: {} })).rejects.toMatchObject({
      name: 'ConfigurationError',
      expected: expect.stringContaining('oncekit/adapter-pg'),
    });
    expectCounted(await effects(client, key)).toBe(0);
  });

if (!isPlain)
  describe('replicated', () => {
    test('it is answered once the standby has it, and a replay too', async () => {
      const key = freshKey();
      const operation = op();
      expect(await operation.execute({ key, payload: {} })).toMatchObject({ ok: true, replayed: false });
      expect(await isOnStandby(key)).toBe(true);
      expect(await op().execute({ key, payload: {} })).toMatchObject({ ok: true, replayed: true });
      expect(await op().status({ key })).toMatchObject({ state: 'succeeded' });
      expect(operation.after).toEqual([key]);
    });

    test('while the standby is silent nobody is told anything, and nothing is done twice', async () => {
      const key = freshKey();
      const operation = op();
      await pair.freezeStandby();
      const executing = operation.execute({ key, payload: {} });
      await untilWaiting();
      // Not committed to anybody yet.
      expect(await op().execute({ key, payload: {}, attempt: 2 })).toMatchObject({ code: 'in_flight' });
      expect(await op().status({ key })).toMatchObject({ state: 'in_progress' });
      await pair.thawStandby();
      expect(await executing).toMatchObject({ ok: true });
      expectCounted(await effects(client, key)).toBe(1);
    });

    test('a wait that somebody cancels is in doubt; so is every answer that follows from the row, until the standby is back', async () => {
      const key = freshKey();
      const operation = op();
      await pair.freezeStandby();
      const executing = operation.execute({ key, payload: {}, attempt: 1 });
      await cancel();
      expect(await executing).toMatchObject(IN_DOUBT);
      expect(operation.after).toEqual([]);
      expect(operation.words.join()).toContain('wait for the synchronous standby was cancelled');
      // The primary shows it to everybody, and its answer could still be lost.
      expectCounted(await effects(client, key)).toBe(1);
      expect(await isOnStandby(key)).toBe(false);
      const strict = { name: 'checkout', schema: anything.refine(() => false), durability: 'replicated' } as const;
      for (const ask of [
        () => operation.execute({ key, payload: {}, attempt: 2 }),
        () => op().execute({ key, payload: {} }),
        () => op().execute({ key, payload: {}, attempt: 2 }),
        () => op(strict).execute({ key, payload: {} }),
        () => op().status({ key }),
        () => op().fence({ key }),
      ]) {
        const asked = ask();
        await cancel();
        expect(await asked).toMatchObject(IN_DOUBT);
      }
      // Nor where nobody cancels: the caller's time runs out.
      expect(await op().execute({ key, payload: {}, deadlineMs: 300 })).toMatchObject(IN_DOUBT);
      const late = op().execute({ key, payload: {}, attempt: 2 });
      await pair.thawStandby();
      expect(await late).toMatchObject({ ok: true, replayed: true, data: 'done' });
      expect(await isOnStandby(key)).toBe(true);
      expectCounted(await effects(client, key)).toBe(1);
    });

    test('a key that is given up is given up on the standby, too', async () => {
      const key = freshKey();
      await pair.freezeStandby();
      const fencing = op({ durability: 'replicated', acceptKeys: 'any' }).fence({ key });
      await cancel();
      expect(await fencing).toMatchObject(IN_DOUBT);
      await pair.thawStandby();
      const again = await op({ durability: 'replicated', acceptKeys: 'any' }).fence({ key });
      expect(again).toMatchObject({ fenced: true });
    });

    test('a server without a synchronous standby executes nothing, for PostgreSQL would not wait', async () => {
      const stored = freshKey();
      expect(await op().execute({ key: stored, payload: {} })).toMatchObject({ ok: true });
      await setStandbys('');
      const key = freshKey();
      const operation = op();
      expect(await operation.execute({ key, payload: {}, attempt: 1 })).toMatchObject({ ...IN_DOUBT, executed: false });
      expect(operation.words.join()).toContain('no synchronous standby');
      expectCounted(await effects(client, key)).toBe(0);
      expect(await op().execute({ key: stored, payload: {} })).toMatchObject(IN_DOUBT);
      expect(await op({}).execute({ key, payload: {} })).toMatchObject({ ok: true });
    });

    test('the standby is struck off while COMMIT waits, which ends the wait without a word: in doubt', async () => {
      const key = freshKey();
      const operation = op({ durability: 'replicated', timeoutMs: 10_000 });
      await pair.freezeStandby();
      const executing = operation.execute({ key, payload: {} });
      await untilWaiting();
      await pair.sql.query(`ALTER SYSTEM SET synchronous_standby_names = ''`);
      await pair.sql.query('SELECT pg_reload_conf()');
      expect(await executing).toMatchObject(IN_DOUBT);
      expectCounted(await effects(client, key)).toBe(1);
    });

    test('a call is sent once its start is on the standby, and a charge is made once', async () => {
      const provider = new Provider();
      const key = freshKey();
      const define = () => {
        const idempotency = kit(client, { waitMs: 0, leaseMs: 300 });
        const pay = idempotency
          .operation({ name: 'pay', schema: anything, timeoutMs: 1000, durability: 'replicated' })
          .phases(async ({ atomic, foreign }) => {
            await atomic('created', (tx) => effect(tx, key));
            const { id } = await foreign('charged', { ...provider.call(key), maxTries: 1 });
            await atomic('paid', (tx) => effect(tx, `${key} paid`));
            return id;
          });
        return { ...pay, completeDue: idempotency.completeDue };
      };
      await pair.freezeStandby();
      const paying = define().execute({ key, payload: {}, attempt: 1 });
      await cancel();
      expect(await paying).toMatchObject(IN_DOUBT);
      expectCounted([provider.sends, await effects(client, key)]).toEqual([0, 1]);
      // Again, from what is there: the start of the call is written down by itself this time.
      await client.$executeRaw`UPDATE idempotency_keys SET lease_until = now() - interval '1 s', next_attempt_at = now() - interval '1 s' WHERE key = ${key}`;
      const again = define().execute({ key, payload: {}, attempt: 2 });
      await cancel();
      expect(await again).toMatchObject(IN_DOUBT);
      expect(provider.sends).toBe(0);
      await pair.thawStandby();
      await client.$executeRaw`UPDATE idempotency_keys SET lease_until = now() - interval '1 s', next_attempt_at = now() - interval '1 s' WHERE key = ${key}`;
      expect(await define().execute({ key, payload: {}, attempt: 3 })).toMatchObject({ ok: true });
      expect(await isOnStandby(key)).toBe(true);
      expectCounted([provider.count(key), await effects(client, `${key} paid`)]).toEqual([1, 1]);
    });
  });

describe('local', () => {
  test('waits for nobody where the database does not', async () => {
    await pair.freezeStandby();
    const key = freshKey();
    expect(await op({}).execute({ key, payload: {} })).toMatchObject({ ok: true });
    expect(await isOnStandby(key)).toBe(false);
  });

  // In Prisma's interactive transaction nobody hears of it.
  if (!isPlain)
    test('where the database waits, a wait that somebody cancels is in doubt, and the retry answers', async () => {
      const waits = createClient(pair.primary.url.concat('?options=-csynchronous_commit%3Don'), { max: 2 });
      const operation = kit(waits, { waitMs: 0 })
        .operation({ name: 'checkout', schema: anything })
        .handler(async ({ tx, key }) => effect(tx, key));
      const key = freshKey();
      await pair.freezeStandby();
      const executing = operation.execute({ key, payload: {} });
      await cancel();
      expect(await executing).toMatchObject(IN_DOUBT);
      expect(await operation.execute({ key, payload: {}, attempt: 2 })).toMatchObject({ ok: true, replayed: true });
      expectCounted(await effects(client, key)).toBe(1);
      await waits.$disconnect();
    });
});
