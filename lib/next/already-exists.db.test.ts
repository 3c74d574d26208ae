import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { type TestDatabase, testDatabase } from '../../scripts/testing/test-database.ts';
import { createRetryingFetch } from '../http/client/retrying-fetch.ts';
import type { Outcome } from '../index.ts';
import { freshKey, kit, rowsOf } from '../integration/kit.fixture.ts';
import { routeHandler } from './route-handler.ts';
import { serverAction } from './server-action.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database?.drop());

const addProduct = () =>
  kit(database.client)
    .operation({ name: 'product.add', schema: z.object({ sku: z.string() }) })
    .handler(async ({ input, tx }) => {
      const data = { ...input, name: '', description: '', priceCents: 1, stock: 1 };
      return (await tx.product.create({ data })).sku;
    });

test('S8 a form keeps its values and its key, and is sent again with another value', async () => {
  const key = freshKey();
  const submit = serverAction(addProduct());
  const send = async (sku: string): Promise<Outcome<string>> => {
    const form = new FormData();
    form.append('idempotency_key', key);
    form.append('sku', sku);
    return await submit(null, form);
  };
  expect(await send('mug')).toMatchObject({
    ...{ ok: false, code: 'already_exists', retry: 'same-key', executed: false, key },
    ...{ values: { sku: 'mug' }, message: expect.stringContaining('products_pkey') },
  });
  expect(await send(`mug-of-${key}`)).toMatchObject({ ok: true, data: `mug-of-${key}`, key });
});

test('S8 H2 H5 a route answers 409 without Retry-After, and a retrying client sends it once', async () => {
  const handler = routeHandler(addProduct());
  const sent: Response[] = [];
  const send = createRetryingFetch({
    fetch: async (...args: ConstructorParameters<typeof Request>) => {
      const answer = await handler(new Request(...args));
      sent.push(answer);
      return answer;
    },
  });
  const key = freshKey();
  const post = (sku: string) =>
    send('https://shop.test/api/products', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', 'Idempotency-Key': key },
      body: JSON.stringify({ sku }),
    });
  const refused = await post('mug');
  expect(refused.status).toBe(409);
  expect(refused.headers.has('retry-after')).toBe(false);
  expect(refused.headers.has('idempotency-status')).toBe(false);
  expect(await refused.json()).toMatchObject({ code: 'already_exists', retry: 'same-key', executed: false, key });
  expect(sent).toHaveLength(1);
  expect(await rowsOf(database.client, key)).toEqual([]);
  expect((await post(`mug-of-${key}`)).headers.get('idempotency-status')).toBe('stored');
});
