import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { expectCounted } from '../../scripts/testing/expect-counted.ts';
import { type TestDatabase, testDatabase } from '../../scripts/testing/test-database.ts';
import { type Client, createClient } from '../../shop/db.ts';
import { effect, effects, freshKey, gate, kit } from '../integration/kit.fixture.ts';
import { routeHandler } from './route-handler.ts';
import { serverAction } from './server-action.ts';

/** Refuses every connection: nothing listens there. */
const NOWHERE = 'postgresql://nobody@127.0.0.1:1/none';

let database: TestDatabase;
let full: Client;
let away: Client;
const letGo = gate();
let held: Promise<unknown>;
beforeAll(async () => {
  database = await testDatabase();
  away = createClient(NOWHERE);
  full = createClient(database.url, { max: 1 });
  const taken = gate();
  held = full.$transaction(
    async () => {
      taken.open();
      await letGo.opened;
    },
    { timeout: 600_000 },
  );
  await taken.opened;
});
afterAll(async () => {
  letGo.open();
  await held;
  await Promise.all([full.$disconnect(), away.$disconnect()]);
  await database?.drop();
});

const schema = z.looseObject({ sku: z.string() });
const atomic = (client: Client, more: object = {}) =>
  kit(client, { waitMs: 0 })
    .operation({ name: 'checkout', schema, maxWaitMs: client === full ? 100 : 20_000, ...more })
    .handler(async ({ tx, key }) => {
      await effect(tx, key);
      return 'done';
    });
const phased = (client: Client, more: object = {}) =>
  kit(client, { waitMs: 0 })
    .operation({ name: 'pay', schema, maxWaitMs: client === full ? 100 : 20_000, ...more })
    .phases(async ({ atomic: phase, key }) => {
      await phase('paid', (tx) => effect(tx, key));
      return 'done';
    });

type Operation = ReturnType<typeof atomic>;

/** Each sends as a caller does who does not say how often the key was sent; `sku` alone may be wrong. */
const SURFACES: Record<string, [make: typeof atomic, send: (operation: Operation, key: string) => Promise<unknown>]> = {
  'a route': [atomic, (operation, key) => posted(operation, key, JSON.stringify({ sku: 'tea' }))],
  'an action without JavaScript': [
    atomic,
    async (operation, key) => {
      const form = new FormData();
      form.append('idempotency_key', key);
      form.append('sku', 'tea');
      return await (serverAction(operation) as (form: FormData) => Promise<unknown>)(form);
    },
  ],
  'a job': [atomic, (operation, key) => operation.execute({ key, payload: { sku: 'tea' } })],
  phases: [phased, (operation, key) => operation.execute({ key, payload: { sku: 'tea' } })],
};

async function posted(operation: Operation, key: string | undefined, body: BodyInit): Promise<unknown> {
  const headers = { 'Content-Type': 'application/json', ...(key ? { 'Idempotency-Key': key } : {}) };
  const init = { method: 'POST', headers, body, duplex: 'half' };
  const response = await routeHandler(operation)(new Request('https://shop.test/api/orders', init as RequestInit));
  const told = (await response.json()) as object;
  return response.ok ? { ...told, code: 'ok' } : told;
}

describe.each(Object.entries(SURFACES))('executed, after it was committed: %s', (_, [make, send]) => {
  test('the database is away: not known', async () => {
    const key = freshKey();
    await send(make(database.client), key);
    expectCounted(await effects(database.client, key)).toBe(1);
    expect(await send(make(away), key)).toMatchObject({ code: 'unavailable', executed: 'unknown', retry: 'same-key' });
    // A read that fails before the claim is no proof either.
    const looking = make(away, { admit: () => true as const });
    expect(await send(looking, key)).toMatchObject({ code: 'unavailable', executed: 'unknown', retry: 'same-key' });
  });

  test('the pool is full: not known', async () => {
    const key = freshKey();
    await send(make(database.client), key);
    expect(await send(make(full), key)).toMatchObject({ code: 'unavailable', executed: 'unknown', retry: 'same-key' });
  });
});

test('executed, after it was committed: a body that breaks off: not known', async () => {
  const key = freshKey();
  const operation = atomic(database.client);
  await posted(operation, key, JSON.stringify({ sku: 'tea' }));
  const cut = new ReadableStream<Uint8Array>({
    pull(controller) {
      controller.enqueue(Buffer.from('{"sku":'));
      controller.error(new Error('aborted'));
    },
  });
  expect(await posted(operation, key, cut)).toMatchObject({ code: 'malformed_body', executed: 'unknown' });
  expect(await posted(operation, key, '{"sku":')).toMatchObject({ code: 'malformed_body', executed: 'unknown' });
});

test('executed, after it was committed: a retry whose key was lost on the way: not known', async () => {
  const operation = atomic(database.client);
  await posted(operation, freshKey(), JSON.stringify({ sku: 'tea' }));
  expect(await posted(operation, undefined, '{}')).toMatchObject({ code: 'key_missing', executed: 'unknown' });
  expect(await posted(operation, 'a,b', '{}')).toMatchObject({ code: 'key_malformed', executed: 'unknown' });
});
