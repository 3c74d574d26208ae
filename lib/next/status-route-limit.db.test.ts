import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { expectCounted } from '../../scripts/testing/expect-counted.ts';
import { type TestDatabase, testDatabase } from '../../scripts/testing/test-database.ts';
import type { Principal } from '../core/scope.ts';
import { anything, freshKey, kit, rowsOf, SECRET } from '../integration/kit.fixture.ts';
import { type StatusRouteOptions, statusRoute } from './index.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database?.drop());

let guests = 0;
/** A shop that gives each request a name of its own, as to a browser that sends no cookie back. */
function shop({ acceptKeys }: { acceptKeys?: 'any' } = {}, secret: string[] = [SECRET]) {
  let who: Principal = { tenant: 'acme', principal: 'nobody-yet' };
  const operation = kit(database.client, { secret, scope: () => who, addressHeader: 'x-real-ip' })
    .operation({ name: 'checkout', schema: anything, ...(acceptKeys ? { acceptKeys } : {}) })
    .handler(async () => 'done');
  const arrive = () => {
    who = { tenant: 'acme', principal: `guest-${++guests}`, isAnonymous: true };
  };
  const signIn = (principal: string) => {
    who = { tenant: 'acme', principal };
  };
  const ask = (options?: StatusRouteOptions) => {
    const route = statusRoute([operation], options);
    return async (method: 'GET' | 'DELETE', key: string, headers: Record<string, string> = {}) =>
      (await route[method](new Request(`https://shop.test/api/idempotency/checkout/${key}`, { method, headers })))
        .status;
  };
  return { operation, arrive, signIn, ask };
}

const tombstones = () => database.client.idempotencyKey.count({ where: { state: 'abandoned' } });

describe('S5 which keys of a form can be given up', () => {
  test('those that this app has signed; for others no row is written', async () => {
    const { operation, ask } = shop();
    const minted = (await operation.mintKey()) as string;
    const made = [freshKey(), minted.split('.')[0] as string, 'x'.repeat(255)];
    for (const key of made) {
      expect(await ask()('DELETE', key)).toBe(400);
      expectCounted(await rowsOf(database.client, key)).toEqual([]);
    }
    expect(await ask()('DELETE', minted)).toBe(200);
    expectCounted(await rowsOf(database.client, minted)).toMatchObject([{ state: 'abandoned' }]);
  });

  test('any, where clients make their own, and where nothing can be signed', async () => {
    for (const { ask } of [shop({ acceptKeys: 'any' }), shop({}, [])]) {
      const key = freshKey();
      expect(await ask()('DELETE', key)).toBe(200);
      expectCounted(await rowsOf(database.client, key)).toMatchObject([{ state: 'abandoned' }]);
    }
  });

  test('to ask about a key that nobody signed costs no row, and is answered', async () => {
    const key = freshKey();
    expect(await shop().ask()('GET', key)).toBe(200);
    expectCounted(await rowsOf(database.client, key)).toEqual([]);
  });
});

describe('the limit that is there unless one says otherwise', () => {
  test('strangers write 120 tombstones in 30 s, however many names they take', async () => {
    const { operation, arrive, ask } = shop();
    const before = await tombstones();
    const fence = ask();
    const statuses: number[] = [];
    for (let at = 0; at < 125; at++) {
      arrive();
      statuses.push(
        await fence('DELETE', (await operation.mintKey()) as string, { 'X-Forwarded-For': `10.0.0.${at}` }),
      );
    }
    expect(statuses).toEqual([...Array(120).fill(200), ...Array(5).fill(429)]);
    expect(await tombstones()).toBe(before + 120);
  });

  test('by address, where the proxy tells it', async () => {
    const { operation, arrive, ask } = shop();
    arrive();
    const key = (await operation.mintKey()) as string;
    const asking = ask({ limit: { requests: 1 } });
    const from = async (address: string) => await asking('GET', key, { 'X-Real-IP': address });
    expect([await from('1.1.1.1'), await from('1.1.1.1'), await from('2.2.2.2')]).toEqual([200, 429, 200]);
  });

  test('by name, where somebody is signed in: also who only asks, and from wherever', async () => {
    const { signIn, ask } = shop();
    const asking = ask({ limit: { requests: 1 } });
    const from = async (address: string) => await asking('GET', freshKey(), { 'X-Real-IP': address });
    signIn('ann');
    expect([await from('1.1.1.1'), await from('2.2.2.2')]).toEqual([200, 429]);
    signIn('bob');
    expect(await from('1.1.1.1')).toBe(200);
  });

  test('none, where it is said', async () => {
    const { operation, ask } = shop();
    const key = (await operation.mintKey()) as string;
    const fence = ask({ limit: false });
    const statuses = new Set<number>();
    for (let at = 0; at < 125; at++) statuses.add(await fence('DELETE', key));
    expect([...statuses]).toEqual([200]);
  });
});
