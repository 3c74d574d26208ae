import { redirect } from 'next/navigation.js';
import { NextRequest } from 'next/server.js';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { expectCounted } from '../../scripts/testing/expect-counted.ts';
import { type TestDatabase, testDatabase } from '../../scripts/testing/test-database.ts';
import { createClient } from '../../shop/db.ts';
import { ADVICE, type Code } from '../core/codes.ts';
import { ANN, anything, BOB, freshKey, kit, rowsOf, SECRET, stopping } from '../integration/kit.fixture.ts';
import { type StatusRouteOptions, statusRoute } from './index.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database?.drop());

const ORIGIN = 'https://shop.test';

function op(ends: (context: { fail: (code: string) => never }) => unknown = () => 'done', options = {}) {
  return kit(database.client, options)
    .operation({ name: 'checkout', schema: anything })
    .handler(async (context): Promise<unknown> => ends(context));
}

/** An operation whose result leads there. */
function leading(redirectTo: string) {
  return kit(database.client)
    .operation({ name: 'checkout', schema: anything })
    .handler(async () => ({ order: 7 }), { redirectTo: () => redirectTo });
}

/** Asks the route as a browser does; `path` as it is written in the URL. */
function asking(operations: Parameters<typeof statusRoute>[0], options?: StatusRouteOptions) {
  const route = statusRoute(operations, options);
  return async (method: 'GET' | 'DELETE', path: string) => {
    const response = await route[method](new Request(`${ORIGIN}/api/idempotency/${path}`, { method }));
    // H2 and X1: no cache may keep an answer, whatever it says.
    expect(response.headers.get('Cache-Control')).toBe('no-store');
    const problem = (response.headers.get('Content-Type') ?? '') === 'application/problem+json';
    if (!problem) expect(response.headers.get('Content-Type')).toBe('application/json');
    return {
      status: response.status,
      body: await response.json(),
      problem,
      retryAfter: response.headers.get('Retry-After'),
    };
  };
}

/** A question proves nothing of the effect. */
const problem = (status: number, code: Code) => ({
  status,
  problem: true,
  body: expect.objectContaining({
    code,
    status,
    type: 'about:blank',
    executed: 'unknown',
    retry: ADVICE[code].retry,
  }),
});

test('K4 two operations of one name are refused by it, where the route is made', () => {
  const one = op();
  expect(() => statusRoute([one, op()])).toThrow(/Two operations of the status route have the name checkout/);
  expect(() => statusRoute([one, one.as('refund'), one])).not.toThrow();
});

test("a stored redirect leads under Next's basePath, and an address elsewhere stays", async () => {
  for (const [stored, told] of [
    ['/orders/1', '/shop/orders/1'],
    ['//other.test/1', '//other.test/1'],
    ['https://other.test/1', 'https://other.test/1'],
  ]) {
    const options = { nextConfig: { basePath: '/shop' } };
    for (const checkout of [op(() => redirect(String(stored))), leading(String(stored))]) {
      const key = freshKey();
      await checkout.execute({ key, payload: {} });
      const url = `${ORIGIN}/shop/api/idempotency/checkout/${key}`;
      for (const method of ['GET', 'DELETE'] as const) {
        const answer = await statusRoute([checkout])[method](new NextRequest(url, { method, ...options }));
        expect(await answer.json()).toMatchObject({ state: 'succeeded', redirect: told });
      }
    }
  }
});

describe('an operation that is not there', () => {
  const quiet = () => vi.spyOn(console, 'error').mockReturnValue();
  afterEach(() => {
    vi.unstubAllEnvs();
    vi.restoreAllMocks();
  });

  test('of the whole kit it knows those that were imported, also later than the route was made', async () => {
    const idempotency = kit(database.client);
    const ask = asking(idempotency);
    const key = freshKey();
    expect(await ask('GET', `checkout/${key}`)).toMatchObject(problem(404, 'not_found'));
    idempotency.operation({ name: 'checkout', schema: anything }).handler(async () => 'done');
    expect(await ask('GET', `checkout/${key}`)).toMatchObject({ status: 200, body: { state: 'absent' } });
    expect(idempotency.operations().map(({ name }) => name)).toEqual(['checkout']);
  });

  test('one alone will do', async () => {
    expect(await asking(op())('GET', `checkout/${freshKey()}`)).toMatchObject({ status: 200 });
  });

  test.each([
    ['not imported', true, /its bundle has no operation of that name\. Import the module/],
    ['not in the list', false, /is not in its list\. Add it there/],
  ])(
    '%s: said once, on the console and to the log, of keys that this app has signed',
    async (_, isElsewhere, words) => {
      const said = quiet();
      const log = vi.fn();
      const name = isElsewhere ? 'refund' : 'cancel';
      const here = kit(database.client, { secret: [SECRET], log });
      const define = (on: typeof here) => on.operation({ name, schema: anything }).handler(async () => 'done');
      const missing = define(isElsewhere ? kit(database.client, { secret: [SECRET] }) : here);
      const ask = asking([here.operation({ name: 'checkout', schema: anything }).handler(async () => 'done')]);
      const key = await missing.mintKey();
      for (let times = 0; times < 2; times++) {
        expect(await ask('GET', `${name}/${key}`)).toMatchObject(problem(404, 'not_found'));
      }
      expect(said.mock.calls).toEqual([[expect.stringMatching(words)]]);
      expect(log.mock.calls).toEqual([[expect.objectContaining({ level: 'error', operation: name, key })]]);
      vi.stubEnv('NODE_ENV', 'development');
      expect((await ask('GET', `${name}/${key}`)).body.detail).toMatch(words);
    },
  );

  test('who asks for it is counted by address before the scope is asked who acts', async () => {
    const scope = vi.fn(() => ANN);
    const checkout = op(undefined, { secret: [SECRET], scope, addressHeader: 'x-real-ip' });
    const { GET } = statusRoute([checkout], { limit: { requests: 1 } });
    const url = `${ORIGIN}/api/idempotency/made-up/${await checkout.mintKey()}`;
    scope.mockClear();
    const headers = { 'X-Real-IP': '1.1.1.1' };
    const statuses: number[] = [];
    for (let times = 0; times < 3; times++) statuses.push((await GET(new Request(url, { headers }))).status);
    expect(statuses).toEqual([404, 429, 429]);
    expect(scope).toHaveBeenCalledOnce();
  });

  test('of an address that asks and asks, nobody is asked who it is', async () => {
    const scope = vi.fn(() => ANN);
    const checkout = op(undefined, { secret: [SECRET], scope, addressHeader: 'x-real-ip' });
    const { GET } = statusRoute([checkout], { limit: { requests: 1 } });
    const url = `${ORIGIN}/api/idempotency/checkout/${await checkout.mintKey()}`;
    scope.mockClear();
    const from = (address: string) => GET(new Request(url, { headers: { 'X-Real-IP': address } }));
    for (let times = 0; times < 20; times++) await from('2001:db8::1');
    expect(scope.mock.calls.length, 'ten times the limit of one caller').toBe(10);
    await from('192.0.2.1');
    expect(scope.mock.calls.length).toBe(11);
  });

  test('it is not found where the scope throws, either', async () => {
    const throwing = () => {
      throw new Error('No session.');
    };
    const key = await op(undefined, { secret: [SECRET] }).mintKey();
    for (const scope of [throwing, async () => throwing()]) {
      const ask = asking(op(undefined, { secret: [SECRET], scope }));
      for (const method of ['GET', 'DELETE'] as const) {
        expect(await ask(method, `made-up/${key}`)).toMatchObject(problem(404, 'not_found'));
      }
    }
  });

  test('after a hundred names nothing more is said, and the scope is not asked', async () => {
    const said = quiet();
    const scope = vi.fn(() => ANN);
    const { GET } = statusRoute(kit(database.client, { secret: [SECRET], scope }));
    const elsewhere = kit(database.client, { secret: [SECRET] });
    for (let n = 0; n < 102; n++) {
      const name = `missing-${n}`;
      const missing = elsewhere.operation({ name, schema: anything }).handler(async () => 'done');
      const { status } = await GET(new Request(`${ORIGIN}/api/idempotency/${name}/${await missing.mintKey()}`));
      expect(status).toBe(404);
    }
    expect([said.mock.calls.length, scope.mock.calls.length]).toEqual([100, 100]);
  });

  test('nothing is said of a name that a stranger has made up, nor of another person’s key', async () => {
    const said = quiet();
    const elsewhere = kit(database.client, { secret: [SECRET] });
    const other = elsewhere.operation({ name: 'ship', schema: anything }).handler(async () => 'done');
    const ask = asking(kit(database.client, { secret: [SECRET] }));
    const keys = [freshKey(), await other.mintKey(BOB), 'not a key', `${await op().mintKey()}.AAAAAAAAAAAAAAAAAAAAAA`];
    for (const key of keys) {
      expect(await ask('GET', `ship/${encodeURIComponent(String(key))}`)).toMatchObject(problem(404, 'not_found'));
    }
    expect(said).not.toHaveBeenCalled();
  });
});

describe('GET', () => {
  test('an absent key: a hint, and nothing is written', async () => {
    const key = freshKey();
    expect(await asking([op()])('GET', `checkout/${key}`)).toEqual({
      status: 200,
      problem: false,
      retryAfter: null,
      body: { operation: 'checkout', key, state: 'absent', nextKey: expect.any(String) },
    });
    expectCounted(await rowsOf(database.client, key)).toEqual([]);
  });

  test('a stored success and a stored refusal', async () => {
    const [good, bad] = [freshKey(), freshKey()];
    await op(() => ({ order: 7 })).execute({ key: good, payload: {} });
    await op(({ fail }) => fail('sold_out')).execute({ key: bad, payload: {} });
    const ask = asking([op()]);
    expect(await ask('GET', `checkout/${good}`)).toMatchObject({
      status: 200,
      body: { key: good, state: 'succeeded', outcome: { ok: true, data: { order: 7 }, replayed: true } },
    });
    expect(await ask('GET', `checkout/${bad}`)).toMatchObject({
      status: 200,
      body: { key: bad, state: 'failed', outcome: { ok: false, code: 'failed', reason: 'sold_out' } },
    });
  });

  test('S5 a key that runs elsewhere is in_progress, and says when to ask again', async () => {
    const key = freshKey();
    const held = stopping();
    const running = kit(database.client)
      .operation({ name: 'checkout', schema: anything })
      .handler(held.handle)
      .execute({ key, payload: {} });
    await held.started.opened;
    const ask = asking([op(undefined, { waitMs: 50 })]);
    const told = { retryAfter: '1', body: { key, state: 'in_progress', retryAfterMs: 1000 } };
    expect(await ask('GET', `checkout/${key}`)).toMatchObject({ status: 200, ...told });
    expect(await ask('DELETE', `checkout/${key}`)).toMatchObject({ status: 409, problem: false, ...told });
    held.end.open('commit');
    expect(await running).toMatchObject({ ok: true });
  });

  test('R1 what JSON has no words for is written in words it has', async () => {
    const key = freshKey();
    const rich = {
      cents: 2n ** 70n,
      at: new Date(1.7e12),
      lines: new Map<string, unknown>([['tea', { n: 1n }]]),
      tags: new Set(['a', new Map([[1, 2n]])]),
    };
    const operation = op(() => rich);
    await operation.execute({ key, payload: {} });
    expect((await asking([operation])('GET', `checkout/${key}`)).body.outcome.data).toEqual({
      cents: '1180591620717411303424',
      at: '2023-11-14T22:13:20.000Z',
      lines: [['tea', { n: '1' }]],
      tags: ['a', [[1, '2']]],
    });
  });

  test('a stored redirect says where it leads', async () => {
    const key = freshKey();
    const operation = op(() => {
      throw Object.assign(new Error(), { digest: 'NEXT_REDIRECT;push;/thanks;307;' });
    });
    await operation.run({ key, payload: {} });
    const { body } = await asking([operation])('GET', `checkout/${key}`);
    expect(body).toMatchObject({ state: 'succeeded', redirect: '/thanks' });
  });
});

test('an address of the operation is told beside the result that it was made of', async () => {
  const key = freshKey();
  const operation = leading('/orders/7');
  await operation.execute({ key, payload: {} });
  const { body } = await asking([operation])('GET', `checkout/${key}`);
  expect(body).toMatchObject({ outcome: { ok: true, data: { order: 7 } }, redirect: '/orders/7' });
});

test('of each end it is told when it was written, by the clock of the database, and of nothing else', async () => {
  const [done, refused, fenced, absent] = [freshKey(), freshKey(), freshKey(), freshKey()];
  const operation = op();
  await operation.execute({ key: done, payload: {} });
  await op(({ fail }) => fail('sold_out')).execute({ key: refused, payload: {} });
  const ask = asking([operation]);
  await ask('DELETE', `checkout/${fenced}`);
  for (const [key, state] of [
    [done, 'succeeded'],
    [refused, 'failed'],
    [fenced, 'abandoned'],
  ] as const) {
    const [row] = await rowsOf(database.client, key);
    const told = { key, state, settledAt: row?.settledAt?.toISOString() ?? expect.unreachable() };
    expect((await ask('GET', `checkout/${key}`)).body).toMatchObject(told);
    if (key !== fenced) expect(await ask('DELETE', `checkout/${key}`)).toMatchObject({ status: 409, body: told });
  }
  expect((await ask('GET', `checkout/${absent}`)).body).not.toHaveProperty('settledAt');
});

describe('DELETE', () => {
  test('S5 fences an absent key for good, and says so again', async () => {
    const key = freshKey();
    const operation = op();
    const ask = asking([operation]);
    for (let n = 0; n < 2; n++) {
      expect(await ask('DELETE', `checkout/${key}`)).toEqual({
        status: 200,
        problem: false,
        retryAfter: null,
        body: { state: 'abandoned', nextKey: expect.any(String) },
      });
    }
    expect(await operation.execute({ key, payload: {} })).toMatchObject({ code: 'key_abandoned' });
    expect(await ask('GET', `checkout/${key}`)).toMatchObject({ status: 200, body: { state: 'abandoned' } });
  });

  test('S5 loses to a settled key, whose state and answer it tells', async () => {
    const key = freshKey();
    const operation = op();
    await operation.execute({ key, payload: {} });
    const answer = await asking([operation])('DELETE', `checkout/${key}`);
    expect(answer).toMatchObject({
      status: 409,
      problem: false,
      body: { operation: 'checkout', key, state: 'succeeded', outcome: { ok: true, data: 'done' } },
    });
    expect(answer.body).not.toHaveProperty('fenced');
    expectCounted(await rowsOf(database.client, key)).toMatchObject([{ state: 'succeeded' }]);
  });
});

describe('the address', () => {
  test('a key is percent-encoded, whatever K1 allows in it', async () => {
    const operation = op();
    const ask = asking([operation]);
    for (const key of [`a/b/${freshKey()}`, `%41${freshKey()}`, `a?b#c&${freshKey()}`, `a+b=~${freshKey()}`]) {
      await operation.execute({ key, payload: {} });
      expect(await ask('GET', `checkout/${encodeURIComponent(key)}`)).toMatchObject({
        status: 200,
        body: { key, state: 'succeeded' },
      });
    }
  });

  test.each(['GET', 'DELETE'] as const)('%s: percent-encoding that cannot be read is not found', async (method) => {
    expect(await asking([op()])(method, 'checkout/%E0%A4%A')).toMatchObject(problem(404, 'not_found'));
    expect(await asking([op()])(method, '%E0%A4%A/key')).toMatchObject(problem(404, 'not_found'));
  });

  test.each(['GET', 'DELETE'] as const)('%s: an operation that is not listed is not found', async (method) => {
    const key = freshKey();
    const refund = op().as('refund');
    for (const name of ['refund', 'constructor', '__proto__', 'Checkout']) {
      expect(await asking([op()])(method, `${name}/${key}`)).toMatchObject(problem(404, 'not_found'));
    }
    expectCounted(await rowsOf(database.client, key)).toEqual([]);
    expect(await asking([op(), refund])('GET', `refund/${key}`)).toMatchObject({ body: { operation: 'refund' } });
  });

  test('a trailing slash, as `trailingSlash` adds it, changes nothing', async () => {
    const key = freshKey();
    expect(await asking([op()])('GET', `checkout/${key}/`)).toMatchObject({ status: 200, body: { key } });
    expect(await asking([op()])('DELETE', `checkout/${key}/`)).toMatchObject({ body: { state: 'abandoned' } });
  });

  test('without a key there is nothing here', async () => {
    expect(await asking([op()])('GET', 'checkout/')).toMatchObject(problem(404, 'not_found'));
  });

  test('K1 a key that is none is a problem of its own', async () => {
    expect(await asking([op()])('GET', 'checkout/a%20b')).toMatchObject(problem(400, 'key_malformed'));
    expect(await asking([op()])('GET', 'checkout/a%2Cb')).toMatchObject(problem(400, 'key_malformed'));
  });
});

describe('X1 who asks', () => {
  test('nobody is unauthorized', async () => {
    const ask = asking([op(undefined, { scope: () => null })]);
    expect(await ask('GET', `checkout/${freshKey()}`)).toMatchObject(problem(401, 'unauthorized'));
    expect(await ask('DELETE', `checkout/${freshKey()}`)).toMatchObject(problem(401, 'unauthorized'));
  });

  test.each(['GET', 'DELETE'] as const)("X1 %s: another's key is told the same, used or never seen", async (method) => {
    const bob = op(undefined, { secret: [SECRET], scope: () => BOB });
    const [used, unused] = [(await bob.mintKey()) as string, (await bob.mintKey()) as string];
    await bob.execute({ key: used, payload: {} });
    const ask = asking([op(undefined, { secret: [SECRET], scope: () => ANN })]);
    const answers = await Promise.all([used, unused].map((key) => ask(method, `checkout/${key}`)));
    const told = answers.map(({ body: { instance, nextKey, ...body }, ...rest }) => ({ ...rest, body }));
    expect(told[0]).toEqual(told[1]);
    expect(told[0]).toMatchObject({ status: 400, body: { code: 'key_invalid' } });
  });
});

test('H2 problems lead to the pages that are configured, also that of an operation nobody knows', async () => {
  const ask = asking([op(undefined, { errorPages: '/help/errors' })]);
  for (const [path, code] of [
    ['checkout/a%20b', 'key_malformed'],
    ['nothing/k1', 'not_found'],
  ] as const) {
    const { body } = await ask('GET', path);
    expect(body).toMatchObject({ code, type: `${ORIGIN}/help/errors/${code}` });
  }
});

describe('admit', () => {
  test('a number refuses with 429 and says when to come back; nothing is asked and nothing written', async () => {
    const key = freshKey();
    const operation = { name: 'checkout', whoActs: vi.fn(), status: vi.fn(), fence: vi.fn() };
    const ask = asking([operation], { admit: async () => 1500 });
    for (const method of ['GET', 'DELETE'] as const) {
      expect(await ask(method, `checkout/${key}`)).toMatchObject({ ...problem(429, 'rate_limited'), retryAfter: '2' });
    }
    expect([operation.status.mock.calls, operation.fence.mock.calls]).toEqual([[], []]);
    expect(await asking([operation], { admit: () => 0 })('GET', `checkout/${key}`)).toMatchObject({ retryAfter: '1' });
  });

  test.each([[Number.NaN], [-1], [undefined], ['1000']])(
    '%s is no answer: the mistake of the app, and says so',
    async (said) => {
      const ask = asking([op()], { admit: async () => said as never });
      await expect(ask('GET', `checkout/${freshKey()}`)).rejects.toThrow('admit of statusRoute');
    },
  );

  test('true admits; it is asked before each answer, with the request', async () => {
    const admit = vi.fn((_: Request) => true as const);
    const ask = asking([op()], { admit });
    const key = freshKey();
    expect(await ask('GET', `checkout/${key}`)).toMatchObject({ status: 200 });
    expect(await ask('DELETE', `checkout/${key}`)).toMatchObject({ status: 200 });
    expect(admit.mock.calls.map(([{ method, url }]) => [method, url])).toEqual([
      ['GET', `${ORIGIN}/api/idempotency/checkout/${key}`],
      ['DELETE', `${ORIGIN}/api/idempotency/checkout/${key}`],
    ]);
  });
});

describe('C6 without a database', () => {
  test.each(['GET', 'DELETE'] as const)('%s is a 503 problem that says when to come back', async (method) => {
    const onError = vi.fn();
    const nowhere = createClient('postgresql://postgres@127.0.0.1:1/none');
    const operation = kit(nowhere, { onError })
      .operation({ name: 'checkout', schema: anything })
      .handler(async () => 'done');
    expect(await asking([operation])(method, `checkout/${freshKey()}`)).toMatchObject({
      ...problem(503, 'unavailable'),
      retryAfter: '1',
      body: expect.objectContaining({ code: 'unavailable', retry: 'same-key' }),
    });
    expect(onError).toHaveBeenCalledExactlyOnceWith(expect.anything(), expect.objectContaining({ during: 'database' }));
    await nowhere.$disconnect();
  });
});
