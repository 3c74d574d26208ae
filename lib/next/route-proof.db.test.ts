import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { type TestDatabase, testDatabase } from '../../scripts/testing/test-database.ts';
import { type Client, createClient } from '../../shop/db.ts';
import { effect, freshKey, kit } from '../integration/kit.fixture.ts';
import { cuttingProxy } from '../store/prisma/wire/cutting-proxy.fixture.ts';
import { type RouteHandlerOptions, routeHandler } from './route-handler.ts';

let database: TestDatabase;
const closers: (() => unknown)[] = [];
beforeAll(async () => {
  database = await testDatabase();
});
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});
afterAll(() => database?.drop());

function connect(url: string): Client {
  const client = createClient(url, { max: 1 });
  closers.push(() => client.$disconnect());
  return client;
}
const nowhere = () => connect('postgresql://nobody@127.0.0.1:1/none');

const schema = z.looseObject({ sku: z.string() });

interface Given {
  client?: Client;
  more?: object;
  settings?: Parameters<typeof kit>[1];
  work?: () => unknown;
  route?: RouteHandlerOptions<unknown>;
}

function atomic({ client = database.client, more = {}, settings = {}, work = () => 'done', route }: Given) {
  const operation = kit(client, { waitMs: 0, ...settings })
    .operation({ name: 'checkout', schema, ...more })
    .handler(async ({ tx, key }): Promise<unknown> => {
      await effect(tx, key);
      return work();
    });
  return routeHandler(operation, { key: 'optional', ...route });
}

function phased({ client = database.client, work = () => 'done', route }: Given) {
  const operation = kit(client, { waitMs: 0 })
    .operation({ name: 'pay', schema })
    .phases(async ({ atomic: phase, key }): Promise<unknown> => {
      await phase('paid', (tx) => effect(tx, key));
      return work();
    });
  return routeHandler(operation, { key: 'optional', ...route });
}

interface Sent {
  key?: string;
  body?: BodyInit;
  method?: string;
}

/** The problem that a request is answered with, and when it says to come back. */
async function problemOf(handler: ReturnType<typeof atomic>, { key, body = '{"sku":"tea"}', method = 'POST' }: Sent) {
  const headers = { 'Content-Type': 'application/json', ...(key ? { 'Idempotency-Key': key } : {}) };
  const init: RequestInit = { method, headers, body };
  const response = await handler(new Request('https://shop.test/api/orders', init));
  expect(response.headers.get('Content-Type')).toBe('application/problem+json');
  return { ...((await response.json()) as object), retryAfter: response.headers.get('Retry-After') };
}

const boom = () => {
  throw new Error('boom');
};

/** Refusals before anything could be executed: the code, and whether it helps to send the same again. */
const BEFORE: Record<string, [given: () => Given, sent: Sent, code: string, retry: string, retryAfter: string | null]> =
  {
    'nobody acts': [() => ({ settings: { scope: () => null } }), {}, 'unauthorized', 'same-key', null],
    'who acts cannot be found out': [() => ({ settings: { scope: boom } }), {}, 'internal', 'same-key', null],
    'the body cannot be read': [() => ({}), { body: '{"sku":' }, 'malformed_body', 'never', null],
    'the body is too large': [() => ({}), { body: ' '.repeat(1_100_000) }, 'payload_too_large', 'never', null],
    'the schema refuses it': [() => ({}), { body: '{}' }, 'validation', 'same-key', null],
    'it is not admitted': [() => ({ more: { admit: () => 1500 } }), {}, 'rate_limited', 'same-key', '2'],
    'the counter is away': [() => ({ more: { admit: boom } }), {}, 'internal', 'same-key', null],
    'the database is away': [() => ({ client: nowhere() }), {}, 'unavailable', 'same-key', '1'],
  };

describe.each(Object.entries(BEFORE))(
  'before anything is executed: %s',
  (_, [given, sent, code, retry, retryAfter]) => {
    const told = { code, retry, retryAfter };

    test('without a key the caller has sent none before: not executed', async () => {
      const problem = await problemOf(atomic(given()), sent);
      expect(problem).toMatchObject({ ...told, executed: false });
      expect(problem).not.toHaveProperty('key');
    });

    test('with a key nobody knows what came before: it is not known', async () => {
      const problem = await problemOf(atomic(given()), { ...sent, key: freshKey() });
      expect(problem).toMatchObject({ ...told, executed: 'unknown' });
    });
  },
);

describe('behind the claim', () => {
  test('phases that could not even begin: without a key the caller has sent none before', async () => {
    const told = { code: 'unavailable', retry: 'same-key', retryAfter: '1' };
    const handler = phased({ client: nowhere() });
    expect(await problemOf(handler, {})).toMatchObject({ ...told, executed: false });
    expect(await problemOf(handler, { key: freshKey() })).toMatchObject({ ...told, executed: 'unknown' });
  });

  test('what is rolled back was not executed, with a key and without', async () => {
    const handler = atomic({ work: boom });
    for (const sent of [{}, { key: freshKey() }]) {
      const problem = await problemOf(handler, sent);
      expect(problem).toMatchObject({ code: 'internal', executed: false, retry: 'same-key' });
    }
  });

  /** The answer to COMMIT gets lost. */
  async function losing(): Promise<Given> {
    const proxy = await cuttingProxy(database.url);
    const client = connect(proxy.url);
    closers.push(proxy.close);
    return { client, work: () => proxy.cutAfter(0, 'to the client') };
  }

  const suspended = () => phased({ work: boom });
  test.each([
    ['a COMMIT without an answer', async () => atomic(await losing()), 'unavailable', '1'],
    ['phases that go on later', async () => suspended(), 'internal', null],
    ['phases whose first COMMIT gets no answer', async () => phased(await losing()), 'unavailable', '1'],
  ])('%s: not known, and without a key it must not be sent again', async (_, make, code, retryAfter) => {
    const keyed = await problemOf(await make(), { key: freshKey() });
    expect(keyed).toMatchObject({ code, executed: 'unknown', retry: 'same-key', retryAfter });
    const keyless = await problemOf(await make(), {});
    expect(keyless).toMatchObject({ code, executed: 'unknown', retry: 'never', retryAfter: null });
    // A method that may be repeated anyway needs no key for it (H1).
    const put = await problemOf(await make(), { method: 'PUT' });
    expect(put).toMatchObject({ code, executed: 'unknown', retry: 'same-key', retryAfter });
  });
});

describe('what a row proves', () => {
  test('another payload than the one that was executed', async () => {
    const handler = atomic({});
    const key = freshKey();
    await handler(new Request('https://shop.test/api/orders', sentOnce(key)));
    const problem = await problemOf(handler, { key, body: '{"sku":"mug"}' });
    expect(problem).toMatchObject({ code: 'payload_mismatch', executed: true, retry: 'never' });
  });

  test('a key that was given up', async () => {
    const operation = kit(database.client)
      .operation({ name: 'checkout', schema, acceptKeys: 'any' })
      .handler(async () => 'done');
    const key = freshKey();
    expect(await operation.fence({ key })).toMatchObject({ fenced: true });
    const problem = await problemOf(routeHandler(operation), { key });
    expect(problem).toMatchObject({ code: 'key_abandoned', executed: false, retry: 'new-key' });
  });
});

function sentOnce(key: string): RequestInit {
  const headers = { 'Content-Type': 'application/json', 'Idempotency-Key': key };
  return { method: 'POST', headers, body: '{"sku":"tea"}' };
}
