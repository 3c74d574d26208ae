import { Decimal } from '@prisma/client/runtime/client';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { expectCounted } from '../../scripts/testing/expect-counted.ts';
import { type TestDatabase, testDatabase } from '../../scripts/testing/test-database.ts';
import type { Client } from '../../shop/db.ts';
import {
  ANN,
  anything,
  BOB,
  effect,
  effects,
  freshKey,
  HOUR,
  kit,
  rowsOf,
  SECRET,
  type Tx,
  withoutKeys,
} from '../integration/kit.fixture.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database?.drop());

const op = (options: Parameters<typeof kit>[1] = {}, more: object = {}, result: unknown = 'v1') => {
  const handle = vi.fn(async ({ tx, key }) => {
    await effect(tx, key);
    return result;
  });
  const operation = kit(database.client, options)
    .operation({ name: 'checkout', schema: anything, ...more })
    .handler(handle);
  return { ...operation, handle };
};

describe('R1 a replay is equal to the first answer', () => {
  test('R1 Date, BigInt, Map, Set and undefined survive', async () => {
    const key = freshKey();
    const rich = {
      at: new Date(1.7e12),
      cents: 2n ** 70n,
      lines: new Map([['tea', { n: 1 }]]),
      tags: new Set(['a']),
      note: undefined,
    };
    const first = await op({}, {}, rich).execute({ key, payload: {} });
    const again = await op().execute({ key, payload: {} });
    expect(again).toMatchObject({ replayed: true });
    expect((again as { data: unknown }).data).toStrictEqual((first as { data: unknown }).data);
    expect((first as { data: unknown }).data).toStrictEqual(rich);
  });

  test('R1 a Decimal and a BigInt that Prisma read come back as themselves, at first and in each replay', async () => {
    const key = freshKey();
    const read = kit(database.client).operation({ name: 'checkout', schema: anything });
    const operation = read.handler(async ({ tx }) => {
      const [row] = await tx.$queryRaw<[{ price: Decimal; cents: bigint }]>`
        SELECT 1234567890.10::numeric AS price, 9007199254740993::int8 AS cents`;
      expect(row.price.constructor).toBe(Decimal); // the client's own
      return row;
    });
    for (const replayed of [false, true]) {
      const outcome = await operation.execute({ key, payload: {} });
      expect(outcome).toMatchObject({ ok: true, replayed, data: { cents: 9007199254740993n } });
      const { price } = (outcome as { data: { price: Decimal } }).data;
      expect(price).toBeInstanceOf(Decimal);
      expect(price.plus('0.05').toFixed(2)).toBe('1234567890.15');
    }
  });

  test('R1 a row that Prisma read survives', async () => {
    const key = freshKey();
    const read = kit(database.client).operation({ name: 'checkout', schema: anything });
    const operation = read.handler(({ tx }) =>
      tx.auditRecord.create({ data: { action: key, tenant: 't', principal: 'p', data: { a: [1] } } }),
    );
    const first = await operation.execute({ key, payload: {} });
    expect(withoutKeys(await operation.execute({ key, payload: {} }))).toStrictEqual({
      ...withoutKeys(first),
      replayed: true,
    });
  });

  test('R1 rows with computed fields survive, nested ones too, from a step and as a refusal’s data', async () => {
    const words = { compute: () => 'computed' };
    const extended = database.client.$extends({ result: { order: { words }, mail: { words } } }) as unknown as Client;
    const order = { tenant: 't', principal: 'p', sku: 'tea', quantity: 1, amountCents: 1, status: 'pending' };
    const mail = { kind: 'receipt', subjectId: crypto.randomUUID(), recipient: 'r', subject: 's', body: 'b' };
    const create = (tx: Tx) =>
      tx.order.create({
        data: { ...order, id: crypto.randomUUID(), paymentMethod: 'card', source: 'api', mails: { create: [mail] } },
        include: { mails: true },
      });
    const { operation } = kit(extended);
    const once = operation({ name: 'row', schema: anything }).handler(({ tx }) => create(tx));
    const refused = operation({ name: 'refused', schema: anything }).handler(async ({ tx, fail }) =>
      fail('no', await create(tx)),
    );
    const step = operation({ name: 'step', schema: anything }).phases(({ atomic }) => atomic('order', create));
    for (const each of [once, refused, step]) {
      const key = freshKey();
      mail.subjectId = crypto.randomUUID();
      const [first, again] = [await each.execute({ key, payload: {} }), await each.execute({ key, payload: {} })];
      expect(first).toMatchObject({ data: { sku: 'tea', words: 'computed', mails: [{ words: 'computed' }] } });
      expect(withoutKeys(again)).toStrictEqual({ ...withoutKeys(first), replayed: true });
    }
  });

  test('K5 the first answer and its replay say until when it is kept', async () => {
    const key = freshKey();
    const [row] = [await op().run({ key, payload: {} }), await rowsOf(database.client, key)][1] as {
      expiresAt: Date;
    }[];
    expect((await op().run({ key, payload: {} })).expiresAt).toEqual(row?.expiresAt);
  });
});

describe('payload_mismatch', () => {
  test('F1 another payload under the same key is refused, recorded, and tells nothing of the first answer', async () => {
    const key = freshKey();
    await op({}, {}, 'the first answer').execute({ key, payload: { a: 1 } });
    const other = op();
    const outcome = await other.execute({ key, payload: { a: 2 } });
    expect(outcome).toMatchObject({ ok: false, code: 'payload_mismatch', retry: 'never', executed: true });
    expect(JSON.stringify(outcome)).not.toContain('the first answer');
    expect(other.handle).not.toHaveBeenCalled();
    expect(await database.client.idempotencyEvent.findMany({ where: { key } })).toMatchObject([
      { type: 'payload_mismatch' },
    ]);
  });

  test('F3 `fingerprint` narrows what counts, F1 `volatile` and the bound `context` count as told', async () => {
    const narrow = op({}, { fingerprint: (payload: unknown) => (payload as { a: 1 }).a });
    const loose = op({}, { volatile: ['t'] });
    const [one, two, three] = [freshKey(), freshKey(), freshKey()];
    await narrow.execute({ key: one, payload: { a: 1, b: 1 } });
    expect(await narrow.execute({ key: one, payload: { a: 1, b: 2 } })).toMatchObject({ replayed: true });
    await loose.execute({ key: two, payload: { a: 1, t: 1 } });
    expect(await loose.execute({ key: two, payload: { a: 1, t: 2 } })).toMatchObject({ replayed: true });
    await loose.execute({ key: three, payload: {}, context: ['order-1'] });
    expect(await loose.execute({ key: three, payload: {}, context: ['order-1'] })).toMatchObject({ replayed: true });
    expect(await loose.execute({ key: three, payload: {}, context: ['order-2'] })).toMatchObject({
      code: 'payload_mismatch',
    });
    expect(await loose.execute({ key: three, payload: {} })).toMatchObject({ code: 'payload_mismatch' });
  });

  describe('F1 with a field that changes by itself', () => {
    const sent = (token?: string, sku = 'tea') => ({ sku, ...(token && { 'g-recaptcha-response': token }) });
    type Sent = Record<string, unknown>;
    /** Sends two payloads under one key, and tells what was heard and what is stored. */
    async function then(first: Sent, second: Sent, more: object = {}) {
      const key = freshKey();
      const heard: unknown[] = [];
      for (const payload of [first, second]) {
        const { handle, execute } = op({}, more);
        const { ok, code, replayed } = (await execute({ key, payload })) as {
          ok: boolean;
          code?: string;
          replayed?: boolean;
        };
        heard.push(ok ? { replayed } : code, ...handle.mock.calls.map(([{ input }]) => input));
      }
      const [row] = await rowsOf(database.client, key);
      return { heard, version: row?.fingerprintVersion, effects: await effects(database.client, key) };
    }
    const [RAN, REPLAYED] = [{ replayed: false }, { replayed: true }];

    test('F1 another token is the same intent, and the handler gets the token; another value is none', async () => {
      const ran = { heard: [RAN, sent('a')], version: 4, effects: 1 };
      expect(await then(sent('a'), sent('b'))).toEqual({ ...ran, heard: [...ran.heard, REPLAYED] });
      expect(await then(sent('a'), sent())).toEqual({ ...ran, heard: [...ran.heard, REPLAYED] });
      expect(await then(sent('a'), sent('a', 'mug'))).toEqual({ ...ran, heard: [...ran.heard, 'payload_mismatch'] });
    });

    test('F1 a token that comes with the retry alone changes nothing either', async () => {
      expect(await then(sent(), sent('a'))).toEqual({ heard: [RAN, sent(), REPLAYED], version: 2, effects: 1 });
      expect((await then(sent(), sent('a', 'mug'))).heard.at(-1)).toBe('payload_mismatch');
    });

    test('F1 a name of the operation’s own counts as before, under the version of before', async () => {
      const [first, second] = [
        { ...sent(), stamp: 1 },
        { ...sent(), stamp: 2 },
      ];
      const told = { heard: [RAN, first, REPLAYED], version: 2, effects: 1 };
      expect(await then(first, second, { volatile: 'stamp' })).toEqual(told);
      expect((await then(first, second)).heard.at(-1)).toBe('payload_mismatch');
    });

    test('F1 two calls at once share one flight', async () => {
      const key = freshKey();
      const { execute, handle } = op();
      const both = await Promise.all(['a', 'b', undefined].map((token) => execute({ key, payload: sent(token) })));
      expect(both.map(({ ok }) => ok)).toEqual([true, true, true]);
      expect(handle).toHaveBeenCalledTimes(1);
    });
  });

  test('K4 the same key under another operation is another intent', async () => {
    const key = freshKey();
    const checkout = op();
    await checkout.execute({ key, payload: { a: 1 } });
    expect(await checkout.as('refund').execute({ key, payload: { a: 2 } })).toMatchObject({
      ok: true,
      replayed: false,
    });
    expectCounted(await effects(database.client, key)).toBe(2);
  });
});

describe('R3 an operation that is naturally idempotent', () => {
  const older = async (key: string) => {
    await op({}, {}, 'v1').execute({ key, payload: {} });
    return { naturallyIdempotent: true, schemaVersion: 2 };
  };

  test('R3 runs again in place of an answer it cannot read, once, and replays the new one', async () => {
    const key = freshKey();
    const newer = op({}, await older(key), 'v2');
    const calls = await Promise.all([1, 2, 3].map(() => newer.execute({ key, payload: {} })));
    expect(calls.map((outcome) => outcome.ok && outcome.data)).toEqual(['v2', 'v2', 'v2']);
    expect(newer.handle).toHaveBeenCalledTimes(1);
    expectCounted(await effects(database.client, key)).toBe(2);
    expect(await newer.execute({ key, payload: {} })).toMatchObject({ data: 'v2', replayed: true });
    expectCounted(await rowsOf(database.client, key)).toMatchObject([{ state: 'succeeded', schemaVersion: 2 }]);
  });

  test('R3 leaves the old answer alone when running again fails', async () => {
    const key = freshKey();
    const newer = op({}, await older(key));
    newer.handle.mockRejectedValueOnce(new Error('not now'));
    expect(await newer.execute({ key, payload: {} })).toMatchObject({ code: 'internal', retry: 'same-key' });
    expectCounted(await rowsOf(database.client, key)).toMatchObject([{ schemaVersion: 1 }]);
    expect(await newer.execute({ key, payload: {} })).toMatchObject({ ok: true });
  });
});

describe('R3 stored answers of other versions', () => {
  const upcasts = { 1: (data: string) => ({ name: data }), 2: (data: { name: string }) => ({ ...data, v: 3 }) };

  test('R3 an older answer is led up step by step', async () => {
    const key = freshKey();
    await op().execute({ key, payload: {} });
    const newer = op({}, { schemaVersion: 3, upcasts });
    expect(await newer.execute({ key, payload: {} })).toMatchObject({
      ok: true,
      replayed: true,
      data: { name: 'v1', v: 3 },
    });
    expect(newer.handle).not.toHaveBeenCalled();
    expect((await newer.status({ key })) as object).toMatchObject({ outcome: { data: { name: 'v1', v: 3 } } });
  });

  test.each([
    ['a step is missing', { schemaVersion: 3, upcasts: { 2: upcasts[2] } }, ''],
    ['it was erased', {}, 'UPDATE idempotency_keys SET result = NULL WHERE key = $1'],
    ['it is damaged', {}, `UPDATE idempotency_keys SET result = '[' WHERE key = $1`],
  ])('R3 where %s: result_unreadable, never a second execution', async (_, options, sql) => {
    const key = freshKey();
    await op().execute({ key, payload: {} });
    if (sql) await database.client.$executeRawUnsafe(sql, key);
    const reader = op({}, options);
    expect(await reader.execute({ key, payload: {} })).toMatchObject({
      ok: false,
      code: 'result_unreadable',
      executed: true,
    });
    expectCounted([reader.handle.mock.calls.length, await effects(database.client, key)]).toEqual([0, 1]);
  });

  test.each([
    ['schema version', {}, { schemaVersion: 2 }, ''],
    ['secret', { secret: ['n'.repeat(32)] }, {}, ''],
    ['fingerprint version', {}, {}, 'UPDATE idempotency_keys SET fingerprint_version = 4 WHERE key = $1'],
  ])('R3 a row of a newer deploy (%s) is unavailable with the same key', async (_, writer, more, sql) => {
    const key = freshKey();
    await op(writer, more).execute({ key, payload: {} });
    if (sql) await database.client.$executeRawUnsafe(sql, key);
    const reader = op({ secret: [SECRET] });
    const outcome = await reader.execute({ key, payload: {} });
    expect(outcome).toMatchObject({
      code: 'unavailable',
      retry: 'same-key',
      executed: 'unknown',
      retryAfterMs: expect.any(Number),
    });
    expect(reader.handle).not.toHaveBeenCalled();
  });
});

test('R3 a row as version 0.1 first wrote it: its answer is replayed, and another payload refused', async () => {
  const key = freshKey();
  await database.client.idempotencyKey.create({
    data: {
      ...{ ...ANN, operation: 'checkout', key, state: 'succeeded', settledAt: new Date() },
      expiresAt: new Date(Date.now() + 25 * HOUR),
      // Of { n: 1 }, under SECRET.
      fingerprint: Buffer.from('573de606ad7838392bac73cc7710feb994608ceae642353190b4052aded2b2a4', 'hex'),
      fingerprintVersion: 1,
      secretId: '58a6cc9d2402ec66',
      result: '[{"kind":1,"data":2},"data",{"id":3},"o1"]',
    },
  });
  const reader = op({ secret: [SECRET] });
  const data = { id: 'o1' };
  expect(await reader.execute({ key, payload: { n: 1 } })).toMatchObject({ ok: true, replayed: true, data });
  expect(await reader.execute({ key, payload: { n: 2 } })).toMatchObject({ code: 'payload_mismatch', executed: true });
  expect(await reader.status({ key })).toMatchObject({ state: 'succeeded', outcome: { ok: true, data } });
  expect(reader.handle).not.toHaveBeenCalled();
});

test('R3 a row as this version writes it', async () => {
  const key = freshKey();
  await op({ secret: [SECRET] }, {}, { id: 'o1' }).execute({ key, payload: { n: 1 } });
  expectCounted(await rowsOf(database.client, key)).toMatchObject([
    { fingerprintVersion: 2, secretId: 'WKbM', result: 'd[{"id":1},"o1"]' },
  ]);
  const [row] = await rowsOf(database.client, key);
  expect(Buffer.from(row?.fingerprint ?? []).toString('hex')).toBe('573de606ad7838392bac73cc7710feb9');
});

describe('K2 and X1 whose key it is', () => {
  const as = (who: object) => op({ secret: [SECRET], scope: () => who as typeof ANN });
  const mint = async (who: typeof ANN) => (await as(who).mintKey()) as string;

  test('K2 a key that was signed for an alias runs and replays in the scope of the alias', async () => {
    const anonymous = { tenant: 'acme', principal: 'guest-1' };
    const key = await mint(anonymous);
    const signedIn = as({ ...ANN, aliases: ['guest-0', 'guest-1'] });
    expect(await signedIn.execute({ key, payload: {} })).toMatchObject({ ok: true, replayed: false });
    expectCounted(await rowsOf(database.client, key)).toMatchObject([{ principal: 'guest-1' }]);
    expect(await as(anonymous).execute({ key, payload: {} })).toMatchObject({ ok: true, replayed: true });
    expect(await signedIn.status({ key })).toMatchObject({ state: 'succeeded' });
    const next = ((await signedIn.execute({ key, payload: {} })) as { nextKey: string }).nextKey;
    expect(await as(ANN).execute({ key: next, payload: {} })).toMatchObject({ ok: true, replayed: false });
    expectCounted(await rowsOf(database.client, next)).toMatchObject([{ principal: 'ann' }]);
  });

  test('X1 another principal’s key, used or never seen, is told the same', async () => {
    const [used, unused] = [await mint(BOB), await mint(BOB)];
    await as(BOB).execute({ key: used, payload: {} });
    const ann = as(ANN);
    const answers = await Promise.all(
      [used, unused].map(async (key) => [
        withoutKeys(await ann.execute({ key, payload: {} })),
        { ...(await ann.status({ key })), nextKey: 0 },
        { ...(await ann.fence({ key })), nextKey: 0 },
      ]),
    );
    expect(answers[0]).toEqual(answers[1]);
    expect(answers[0]?.[0]).toMatchObject({ code: 'key_invalid', executed: 'unknown', retry: 'never' });
    expect(ann.handle).not.toHaveBeenCalled();
    expectCounted(await rowsOf(database.client, unused)).toEqual([]);
  });

  test('X1 an unsigned key of another principal is a new one here', async () => {
    const key = freshKey();
    await op().execute({ key, payload: { a: 1 }, scope: BOB });
    expect(await op().status({ key })).toMatchObject({ state: 'absent' });
    expect(await op().execute({ key, payload: { a: 2 }, scope: ANN })).toMatchObject({ ok: true, replayed: false });
  });

  test('K2 `minted` accepts signed keys alone; `any` accepts others, but verifies what looks signed', async () => {
    const ann = as(ANN);
    const key = await mint(ANN);
    const forged = key.slice(0, -1) + (key.endsWith('A') ? 'Q' : 'A');
    const code = async (key: string, acceptKeys?: 'minted') => {
      const outcome = await ann.execute({ key, payload: {}, acceptKeys });
      return outcome.ok ? 'ok' : outcome.code;
    };
    expect(await code(freshKey(), 'minted')).toBe('key_invalid');
    expect(await code(key.split('.')[0] as string, 'minted')).toBe('key_invalid');
    expect(await code(forged, 'minted')).toBe('key_invalid');
    expect(await code(forged)).toBe('key_invalid');
    expect(await code(freshKey())).toBe('ok');
    expect(await code(key, 'minted')).toBe('ok');
  });

  test('K2 nobody signed in: unauthorized, and no key is minted', async () => {
    const nobody = op({ scope: () => null });
    expect(await nobody.execute({ key: freshKey(), payload: {}, attempt: 1 })).toMatchObject({
      code: 'unauthorized',
      executed: false,
    });
    expect(await nobody.mintKey()).toBeNull();
  });
});
