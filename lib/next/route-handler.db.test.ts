import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { Decimal } from '@prisma/client/runtime/client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { expectCounted } from '../../scripts/testing/expect-counted.ts';
import { type TestDatabase, testDatabase } from '../../scripts/testing/test-database.ts';
import type { CrashPoint, HandlerContext, OperationOptions, Options } from '../index.ts';
import {
  ANN,
  anything,
  BOB,
  effect,
  effects,
  freshKey,
  gate,
  HOUR,
  kit,
  rowsOf,
  SECRET,
  type Tx,
  watchOf,
} from '../integration/kit.fixture.ts';
import { rollbackAndRedirect } from './rollback-redirect.ts';
import { type RouteHandlerOptions, routeHandler } from './route-handler.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database?.drop());

const ORIGIN = 'https://shop.test';

type Context = HandlerContext<Record<string, unknown>, Tx>;
type How = RouteHandlerOptions<unknown> & {
  work?: (context: Context) => unknown;
  kit?: Partial<Options>;
  operation?: Partial<OperationOptions<typeof anything, Tx>>;
};

/** A route whose operation writes one row for its key, and returns what `work` does. */
function route({ work = () => ({ id: 'o1' }), kit: options, operation, ...how }: How = {}) {
  const orders = kit(database.client, options)
    .operation({ name: 'orders.create', schema: anything, ...operation })
    .handler(async (context) => {
      await effect(context.tx, context.key);
      return await work(context as Context);
    });
  return routeHandler(orders, how);
}

test('a result with a BigInt and a Decimal is JSON, with text for both', async () => {
  const handler = route({ work: () => ({ price: new Decimal('12.50'), cents: 5n, lines: new Map([['a', 1n]]) }) });
  const request = () => handler(requestOf({ key: 'rich-result' }));
  for (const response of [await request(), await request()]) {
    expect(response.headers.get('content-type')).toBe('application/json');
    expect(await response.json()).toEqual({ price: '12.5', cents: '5', lines: [['a', '1']] });
  }
});

type Sent = { key?: string | null; body?: unknown; method?: string; path?: string; headers?: Record<string, string> };

function requestOf({ key, body = { sku: 'mug' }, method = 'POST', path = '/api/orders', headers }: Sent): Request {
  const isBare = method === 'GET' || method === 'HEAD';
  const text = typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body);
  return new Request(`${ORIGIN}${path}`, {
    method,
    headers: {
      ...(isBare ? {} : { 'Content-Type': 'application/json' }),
      ...(typeof key === 'string' ? { 'Idempotency-Key': key } : {}),
      ...headers,
    },
    ...(isBare ? {} : { body: text as BodyInit }),
  });
}

/** Everything of an answer that a client can see. */
async function seen(response: Response) {
  const {
    'idempotency-status': status,
    'idempotency-key-expires': expires,
    'idempotency-next-key': next,
    ...headers
  } = Object.fromEntries(response.headers);
  const body = Buffer.from(await response.arrayBuffer()).toString('latin1');
  return { line: response.status, headers, body, status, expires, hasNext: next !== undefined };
}

async function twice(handler: ReturnType<typeof route>, sent: Sent = {}) {
  const key = sent.key ?? freshKey();
  const first = await seen(await handler(requestOf({ ...sent, key })));
  const second = await seen(await handler(requestOf({ ...sent, key })));
  return { key, first, second };
}

describe('R1 H3 the first answer and its replay', () => {
  const bytes = new Uint8Array([0, 255, 128, 10]);
  test.each<[string, () => Response, number, string]>([
    [
      'JSON',
      () => Response.json({ id: 'o1' }, { status: 201, headers: { Location: '/api/orders/o1', ETag: '"1"' } }),
      201,
      '{"id":"o1"}',
    ],
    ['text', () => new Response('Grüße'), 200, Buffer.from('Grüße').toString('latin1')],
    ['text with a byte order mark', () => new Response('\ufeffa'), 200, Buffer.from('\ufeffa').toString('latin1')],
    [
      'bytes',
      () => new Response(bytes, { headers: { 'Content-Type': 'image/png' } }),
      200,
      Buffer.from(bytes).toString('latin1'),
    ],
    ['an empty text', () => new Response(''), 200, ''],
    ['no content', () => new Response(null, { status: 204 }), 204, ''],
    ['a redirect', () => Response.redirect(`${ORIGIN}/orders/o1`, 303), 303, ''],
    ['a refusal of its own', () => Response.json({ no: 'stock' }, { status: 409 }), 409, '{"no":"stock"}'],
  ])('are the same: %s', async (_, make, line, body) => {
    for (const how of [{ respond: make }, { work: make }]) {
      const { key, first, second } = await twice(route(how));
      expect(first).toMatchObject({ line, body, status: 'stored', hasNext: true });
      expect(second).toEqual({ ...first, status: 'replayed' });
      expect(Date.parse(String(first.expires))).toBeGreaterThan(Date.now());
      expect(first.expires).toMatch(/^\w{3}, \d{2} \w{3} \d{4} \d{2}:\d{2}:\d{2} GMT$/);
      expectCounted(await effects(database.client, key)).toBe(1);
    }
  });

  test('cookies and undeclared headers belong to the first delivery alone; declared ones are repeated', async () => {
    const respond = () =>
      new Response('a', { headers: { 'Set-Cookie': 'a=1', 'X-Order': 'o1', 'X-Trace': 't1', ETag: '"1"' } });
    const { first, second } = await twice(route({ respond, headers: ['X-Order'] }));
    expect(first.headers).toMatchObject({ 'set-cookie': 'a=1', 'x-order': 'o1', 'x-trace': 't1', etag: '"1"' });
    expect(second.headers).toMatchObject({ 'x-order': 'o1', etag: '"1"' });
    expect(Object.keys(second.headers)).not.toContain('set-cookie');
    expect(Object.keys(second.headers)).not.toContain('x-trace');
    expect(() => route({ headers: ['Set-Cookie'] })).toThrow('never sets a cookie');
  });

  test.each([
    ['gzip', gzipSync],
    ['deflate', deflateSync],
    ['br', brotliCompressSync],
  ])(
    'a body in %s says so, each time; of one that fetch has decoded, the header is left out',
    async (encoding, encode) => {
      const headers = { 'Content-Encoding': encoding };
      const text = '{"id":"o1"}';
      const { first, second } = await twice(
        route({ respond: () => new Response(new Uint8Array(encode(text)), { headers }) }),
      );
      expect(first).toMatchObject({ headers: { 'content-encoding': encoding }, body: encode(text).toString('latin1') });
      expect(second).toEqual({ ...first, status: 'replayed' });
      const decoded = await twice(route({ respond: () => new Response(text, { headers }) }));
      expect(decoded.first).toMatchObject({ body: text, status: 'stored' });
      expect(decoded.first.headers).not.toHaveProperty('content-encoding');
      expect(decoded.second).toEqual({ ...decoded.first, status: 'replayed' });
    },
  );

  test('a redirect that was thrown is a success, and leads with See Other', async () => {
    const work = () => {
      throw Object.assign(new Error('NEXT_REDIRECT'), { digest: 'NEXT_REDIRECT;push;/orders/o1;307;' });
    };
    const { key, first, second } = await twice(route({ work }));
    expect(first).toMatchObject({ line: 303, headers: { location: '/orders/o1' }, status: 'stored' });
    expect(second).toEqual({ ...first, status: 'replayed' });
    expectCounted(await effects(database.client, key)).toBe(1);
  });

  test('S2 a stored refusal is the same problem each time', async () => {
    const work = ({ fail }: Context) =>
      fail('card_declined', { code: 'generic' }, { status: 402, message: 'Declined.' });
    const { first, second } = await twice(route({ work }));
    expect(first).toMatchObject({
      line: 402,
      status: 'stored',
      headers: { 'content-type': 'application/problem+json' },
    });
    expect(second).toEqual({ ...first, status: 'replayed' });
    expect(JSON.parse(first.body)).toMatchObject({
      code: 'failed',
      reason: 'card_declined',
      data: { code: 'generic' },
    });
  });

  test('R3 an older stored response is played as it was; an older result without one is led here', async () => {
    const old = route({ work: () => ({ id: 'o1' }), respond: () => new Response('as version 1 said it') });
    const key = freshKey();
    await old(requestOf({ key }));
    const upcasts = { 1: ({ id }: { id: string }) => ({ number: id }) } as never;
    // Another process each time: one that has seen the row would remember it for a moment.
    const newer = (request: Request) =>
      route({ operation: { schemaVersion: 2, upcasts }, respond: (order) => Response.json(order) })(request);
    expect(await seen(await newer(requestOf({ key })))).toMatchObject({ body: 'as version 1 said it' });
    // A caller who wants the result, and not the response, needs the upcast: there is none here.
    const bare = route({ operation: { schemaVersion: 2 } });
    expect(await seen(await bare(requestOf({ key })))).toMatchObject({ body: 'as version 1 said it' });
    // Finished by a worker, or by code: nothing has rendered it yet.
    await database.client.$executeRaw`
      UPDATE idempotency_keys SET result = '[{"kind":1,"data":2},"data",{"id":3},"o1"]' WHERE key = ${key}`;
    expect(await seen(await newer(requestOf({ key })))).toMatchObject({ body: '{"number":"o1"}', status: 'replayed' });
    // A rolling deploy: the older instance must neither guess nor run again.
    await database.client.$executeRaw`UPDATE idempotency_keys SET schema_version = 3 WHERE key = ${key}`;
    const refused = await seen(await newer(requestOf({ key })));
    expect(refused).toMatchObject({ line: 503, headers: { 'retry-after': '1' } });
    expectCounted(await effects(database.client, key)).toBe(1);
  });
});

describe('R1 what a run has made that was rolled back is never sent', () => {
  test('another has committed the key meanwhile: the headers are of its answer', async () => {
    const key = freshKey();
    const watch = await watchOf(database.url);
    const other = route({ respond: () => new Response('B', { headers: { Location: '/orders/B' } }) });
    let late: Promise<Response> | undefined;
    const onPoint = async (point: CrashPoint) => {
      if (point !== 'before-commit' || late) return;
      late = other(requestOf({ key })); // waits for the claim of this one, which now conflicts
      await watch.untilWaiting(1);
      throw Object.assign(new Error('a conflict'), { code: 'P2034' });
    };
    const headers = { Location: '/orders/A', 'Set-Cookie': 'x=A' };
    const handler = route({ kit: { onPoint }, respond: () => new Response('A', { headers }) });
    const answer = await seen(await handler(requestOf({ key })));
    await watch.close();
    expect(answer).toMatchObject({ body: 'B', status: 'replayed', headers: { location: '/orders/B' } });
    expect(answer.headers).not.toHaveProperty('set-cookie');
    expect((await late)?.headers.get('idempotency-status')).toBe('stored');
    expectCounted(await effects(database.client, key)).toBe(1);
  });

  test('a response of 500 goes to the one call that made it; those that waited hear a problem', async () => {
    const making = gate();
    const go = gate();
    const pay = kit(database.client)
      .operation({ name: 'pay', schema: anything })
      .phases(async () => 'done');
    const handler = routeHandler(pay, {
      respond: async () => {
        making.open();
        await go.opened;
        return new Response('come back', { status: 503, headers: { 'Set-Cookie': 'a=1' } });
      },
    });
    const key = freshKey();
    const first = handler(requestOf({ key }));
    await making.opened;
    const second = handler(requestOf({ key }));
    go.open();
    expect(await seen(await first)).toMatchObject({ line: 503, body: 'come back' });
    const follower = await seen(await second);
    expect(follower.headers).not.toHaveProperty('set-cookie');
    expect([409, 500]).toContain(follower.line);
  });

  test('P3 a response that is never made ends with the time of the run', async () => {
    const pay = kit(database.client)
      .operation({ name: 'pay', schema: anything, maxRunMs: 300 })
      .phases(async () => 'done');
    const handler = routeHandler(pay, { respond: () => new Promise<Response>(() => {}) });
    expect((await handler(requestOf({ key: freshKey() }))).status).toBe(503);
  });
});

test('a body that a wrapper has read is its mistake: reported, a 500, and the key stays usable', async () => {
  const errors: unknown[] = [];
  const handler = route({ kit: { onError: (error) => void errors.push(error) } });
  const key = freshKey();
  const request = requestOf({ key });
  await request.text();
  const answer = await seen(await handler(request));
  expect(answer).toMatchObject({ line: 500, body: expect.stringContaining('"code":"internal"') });
  expect(errors).toMatchObject([{ name: 'IdempotencyError', message: expect.stringContaining('request.clone()') }]);
  expect(await seen(await handler(requestOf({ key })))).toMatchObject({ line: 200, status: 'stored' });
});

describe('what cannot be stored rolls back', () => {
  const endless = () => new Response(new ReadableStream({ pull: () => new Promise(() => {}) }));
  test.each<[string, () => Response, number, string]>([
    ['R1 a streamed response', endless, 500, 'internal'],
    [
      'R1 server-sent events',
      () => new Response('data: 1\n\n', { headers: { 'Content-Type': 'text/event-stream' } }),
      500,
      'internal',
    ],
    [
      'an encoding of which nobody can tell whether the body has it',
      () => new Response('done', { headers: { 'Content-Encoding': 'zstd' } }),
      500,
      'internal',
    ],
    ['an error for an answer', () => Response.error(), 500, 'internal'],
    ['R4 a response over 256 KiB', () => new Response('a'.repeat(262_145)), 500, 'result_too_large'],
  ])('%s', async (_, respond, line, code) => {
    const errors: unknown[] = [];
    const handler = route({ respond, kit: { onError: (error) => void errors.push(error) } });
    const key = freshKey();
    const answer = await handler(requestOf({ key }));
    expect([answer.status, (await answer.json()).code]).toEqual([line, code]);
    expectCounted(await effects(database.client, key)).toBe(0);
    expectCounted(await rowsOf(database.client, key)).toEqual([]);
    expect(String(errors[0])).toMatch(/cannot be stored|too large to be stored|could be sent/);
  });

  test('S2 a response of 500 or above is passed on, and the key stays usable', async () => {
    let runs = 0;
    const respond = () => (++runs === 1 ? new Response('come back', { status: 503 }) : new Response('done'));
    const { key, first, second } = await twice(route({ respond }));
    expect(first).toMatchObject({ line: 503, body: 'come back', status: undefined });
    expect(second).toMatchObject({ line: 200, body: 'done', status: 'stored' });
    expectCounted(await effects(database.client, key)).toBe(1);
  });

  test.each([204, 0, 600, 402.5])('a refusal with the status %j is a mistake of the handler', async (status) => {
    const key = freshKey();
    const handler = route({ work: ({ fail }) => fail('no', undefined, { status }) });
    expect((await handler(requestOf({ key }))).status).toBe(500);
    expectCounted(await effects(database.client, key)).toBe(0);
  });

  test('R2 rollbackAndRedirect sends elsewhere without an effect', async () => {
    const { key, first } = await twice(route({ work: () => rollbackAndRedirect('/sign-in') }));
    expect(first).toMatchObject({ line: 303, headers: { location: '/sign-in' } });
    expectCounted(await effects(database.client, key)).toBe(0);
  });
});

describe('phases', () => {
  test('R1 the response is stored with the key, and made for one that a worker has finished', async () => {
    const idempotency = kit(database.client);
    let goes = false;
    const pay = idempotency.operation({ name: 'pay', schema: anything }).phases(async ({ atomic, key }) =>
      atomic('paid', async (tx) => {
        if (!goes) throw new Error('not yet');
        await effect(tx, key);
        return { key };
      }),
    );
    let made = 0;
    const handler = routeHandler(pay, { respond: (paid) => Response.json({ ...paid, made: ++made }, { status: 201 }) });
    const key = freshKey();
    expect((await handler(requestOf({ key }))).status).toBe(500);
    goes = true;
    await database.client
      .$executeRaw`UPDATE idempotency_keys SET next_attempt_at = now() - interval '1 s' WHERE key = ${key}`;
    expect((await idempotency.completeDue()).settled).toBeGreaterThanOrEqual(1);
    const late = await seen(await handler(requestOf({ key })));
    expect(late).toMatchObject({ line: 201, status: 'replayed', body: `{"key":"${key}","made":1}` });

    const { first, second } = await twice(handler);
    expect(first).toMatchObject({ line: 201, status: 'stored' });
    expect(second).toEqual({ ...first, status: 'replayed' });
    expect(made).toBe(2);
  });
});

describe('what is stored can be sent', () => {
  test('a redirect to an address that is no ASCII', async () => {
    const work = () => {
      throw Object.assign(new Error('NEXT_REDIRECT'), { digest: 'NEXT_REDIRECT;push;/注文/1?a=b#c;307;' });
    };
    const { second } = await twice(route({ work }));
    expect(second).toMatchObject({ line: 303, headers: { location: '/%E6%B3%A8%E6%96%87/1?a=b#c' } });
  });

  test('a refusal whose data refers to itself', async () => {
    const data: Record<string, unknown> = {};
    data.self = data;
    const { second } = await twice(route({ work: ({ fail }) => fail('no', data) }));
    expect(second).toMatchObject({ line: 422, status: 'replayed' });
  });

  test('an answer of another server, without what was said of its connection', async () => {
    const headers = { 'Content-Encoding': 'gzip', 'Content-Length': '99', 'X-Trace': 't1' };
    const { first } = await twice(route({ respond: () => new Response('plain', { headers }) }));
    expect(first).toMatchObject({ body: 'plain', headers: { 'x-trace': 't1' } });
    expect(Object.keys(first.headers)).not.toContain('content-encoding');
    expect(Object.keys(first.headers)).not.toContain('content-length');
  });

  test('bytes without a type get none', async () => {
    const { first, second } = await twice(route({ respond: () => new Response(Buffer.from('a')) }));
    expect([first, second].map(({ headers }) => headers['content-type'])).toEqual([undefined, undefined]);
  });

  test('what cannot be rendered, of a key that a worker has finished, is told as done', async () => {
    const errors: unknown[] = [];
    const key = freshKey();
    const idempotency = kit(database.client, { onError: (error) => void errors.push(error) });
    const pay = idempotency.operation({ name: 'pay', schema: anything }).phases(async () => 'done');
    expect(await pay.execute({ key, payload: { sku: 'mug' }, context: ['/api/orders'] })).toMatchObject({ ok: true });
    const handler = routeHandler(pay, { respond: () => Promise.reject(new Error('no template')) });
    const answer = await handler(requestOf({ key }));
    expect([answer.status, (await answer.json()).code]).toEqual([500, 'internal']);
    expect(String(errors)).toContain('no template');
  });
});

describe('H1 methods', () => {
  test.each(['POST', 'PATCH'])('%s needs a key', async (method) => {
    const answer = await route()(requestOf({ method }));
    expect([answer.status, (await answer.json()).code]).toEqual([400, 'key_missing']);
  });

  test.each(['GET', 'PUT', 'DELETE'])('%s runs each time, whatever key it brings', async (method) => {
    const key = freshKey();
    let runs = 0;
    const handler = route({ work: () => ({ run: ++runs }), input: () => ({}) });
    for (const run of [1, 2]) {
      const answer = await handler(requestOf({ method, key }));
      expect(await answer.json()).toEqual({ run });
      expect(answer.headers.has('idempotency-status')).toBe(false);
    }
  });

  test('DELETE is guarded where that is asked for', async () => {
    const handler = route({ guardDelete: true });
    expect((await handler(requestOf({ method: 'DELETE' }))).status).toBe(400);
    const { key, second } = await twice(handler, { method: 'DELETE' });
    expect(second.status).toBe('replayed');
    expectCounted(await effects(database.client, key)).toBe(1);
  });

  test('a key may be optional: each request without one is an intent of its own', async () => {
    const keys: string[] = [];
    const handler = route({ key: 'optional', work: ({ key }) => keys.push(key) });
    for (const key of [undefined, undefined, 'mine', 'mine']) await handler(requestOf(key ? { key } : {}));
    expect(new Set(keys).size).toBe(3);
    const nobody = route({ key: 'optional', kit: { scope: () => null } });
    expect((await nobody(requestOf({}))).status).toBe(401);
    const broken = route({ key: 'optional', kit: { scope: () => Promise.reject(new Error('no session store')) } });
    expect((await (await broken(requestOf({}))).json()).code).toBe('internal');
  });

  test('without a key, what may have been done is not advised to be sent again', async () => {
    const pay = kit(database.client)
      .operation({ name: 'pay', schema: anything })
      .phases(async ({ atomic }) => {
        await atomic('a', async () => 'done');
        throw new Error('and then this');
      });
    const handler = routeHandler(pay, { key: 'optional' });
    expect(await (await handler(requestOf({}))).json()).toMatchObject({ code: 'internal', retry: 'never' });
    expect(await (await handler(requestOf({ key: freshKey() }))).json()).toMatchObject({ retry: 'same-key' });
  });
});

describe('the key', () => {
  test('K1 as a string of structured fields and as a bare token it is one key', async () => {
    const handler = route();
    const key = freshKey();
    const first = await handler(requestOf({ key: `"${key}"` }));
    const second = await handler(requestOf({ key }));
    expect([first, second].map(({ headers }) => headers.get('idempotency-status'))).toEqual(['stored', 'replayed']);
  });

  test('K1 the bare token is refused where the header is strict', async () => {
    const handler = route({ strictHeader: true });
    expect((await handler(requestOf({ key: freshKey() }))).status).toBe(400);
    expect((await handler(requestOf({ key: `"${freshKey()}"` }))).status).toBe(200);
  });

  test('F1 the path and the query are part of the intent', async () => {
    const handler = route();
    const key = freshKey();
    await handler(requestOf({ key, path: '/api/orders/1/refunds?dry=0' }));
    for (const path of ['/api/orders/2/refunds?dry=0', '/api/orders/1/refunds?dry=1']) {
      const answer = await handler(requestOf({ key, path }));
      expect([answer.status, (await answer.json()).code]).toEqual([422, 'payload_mismatch']);
    }
    expectCounted(await effects(database.client, key)).toBe(1);
  });

  describe('F1 the method is part of the intent', () => {
    const ask = async (handler: ReturnType<typeof route>, sent: Sent) => {
      const answer = await handler(requestOf(sent));
      return answer.headers.get('idempotency-status') ?? (await answer.json()).code;
    };

    test.each<[string, How]>([
      ['a result', {}],
      ['a Response', { work: () => new Response('made') }],
      [
        'a redirect',
        {
          work: () => {
            throw Object.assign(new Error('NEXT_REDIRECT'), { digest: 'NEXT_REDIRECT;push;/orders/o1;307;' });
          },
        },
      ],
      ['a refusal', { work: ({ fail }) => fail('declined') }],
    ])('%s: another method is a mismatch in any process, the same one a replay', async (_, how) => {
      for (const [method, other] of [
        ['POST', 'DELETE'],
        ['DELETE', 'POST'],
        ['PATCH', 'POST'],
        ['PATCH', 'DELETE'],
      ] as const) {
        const key = freshKey();
        const [here, elsewhere] = [route({ ...how, guardDelete: true }), route({ ...how, guardDelete: true })];
        const beside = [ask(here, { key, method }), ask(here, { key, method: other })];
        expect(await Promise.all(beside)).toEqual(['stored', 'payload_mismatch']);
        expect(await ask(here, { key, method: other })).toBe('payload_mismatch');
        expect(await ask(elsewhere, { key, method: other })).toBe('payload_mismatch');
        expect(await ask(elsewhere, { key, method })).toBe('replayed');
        expectCounted(await effects(database.client, key)).toBe(1);
      }
    });

    test('a token that changes by itself makes no difference to that, whichever request brings it', async () => {
      for (const [method, other] of [
        ['POST', 'DELETE'],
        ['DELETE', 'POST'],
        ['PATCH', 'DELETE'],
      ] as const) {
        const bodies = ['a', 'b', undefined].map((_csrf) => ({ sku: 'mug', _csrf }));
        for (const first of bodies) {
          const key = freshKey();
          expect(await ask(route({ guardDelete: true }), { key, method, body: first })).toBe('stored');
          for (const body of bodies) {
            const handler = route({ guardDelete: true });
            expect(await ask(handler, { key, method, body })).toBe('replayed');
            expect(await ask(handler, { key, method: other, body })).toBe('payload_mismatch');
            expect(await ask(handler, { key, method, body: { ...body, sku: 'tea' } })).toBe('payload_mismatch');
          }
          expectCounted(await effects(database.client, key)).toBe(1);
        }
      }
    });

    const whole =
      '[{"kind":1,"data":2,"response":4},"data",{"id":3},"o1",{"status":5,"headers":6,"body":7},200,[],"{\\"id\\":\\"o1\\"}"]';
    test.each([
      ['that says no method, as all before', whole],
      ['that a worker or `reconcile` has made', 'd[{"id":1},"o1"]'],
    ])('R3 a row of POST’s version %s is compared without it', async (_, result) => {
      for (const method of ['POST', 'PATCH', 'DELETE']) {
        const key = freshKey();
        await database.client.idempotencyKey.create({
          data: {
            ...{ ...ANN, operation: 'orders.create', key, state: 'succeeded', settledAt: new Date(), result },
            expiresAt: new Date(Date.now() + HOUR),
            // As version 2 wrote it of any method.
            fingerprint: Buffer.from('924174d5de433a9eba87f414d0266bfa', 'hex'),
            fingerprintVersion: 2,
            secretId: 'WKbM',
          },
        });
        const handler = route({ guardDelete: true, kit: { secret: [SECRET] } });
        expect(await ask(handler, { key, method })).toBe('replayed');
        expect(await ask(handler, { key, method, path: '/api/others' })).toBe('payload_mismatch');
        const fresh = freshKey();
        expect(await ask(handler, { key: fresh, method })).toBe('stored');
        const [row] = await rowsOf(database.client, fresh);
        const isSame = Buffer.from(row?.fingerprint ?? []).toString('hex') === '924174d5de433a9eba87f414d0266bfa';
        // An older kit can read POST's alone, and says "unavailable, same key" of the others.
        expectCounted([row?.fingerprintVersion, isSame]).toEqual(method === 'POST' ? [2, true] : [3, false]);
      }
    });

    test.each(['a request of another method', 'a worker'])('in phases, where %s finishes the key', async (who) => {
      const key = freshKey();
      const [running, go] = [gate(), gate()];
      let runs = 0;
      const idempotency = kit(database.client, { waitMs: 0 });
      const pay = idempotency.operation({ name: 'pay.method', schema: anything }).phases(async ({ atomic }) => {
        await atomic('paid', (tx) => effect(tx, key));
        if (++runs === 1) throw new Error('it breaks off');
        running.open();
        await go.opened;
        return 'paid';
      });
      const post = routeHandler(pay, { respond: () => new Response('paid') });
      const remove = routeHandler(pay, { guardDelete: true, respond: () => new Response('removed') });
      expect(await ask(post, { key })).toBe('internal');
      if (who === 'a worker') {
        go.open();
        await database.client.$executeRaw`UPDATE idempotency_keys SET next_attempt_at = now() WHERE key = ${key}`;
        expect(await idempotency.completeDue()).toMatchObject({ settled: 1 });
      } else {
        const removed = ask(remove, { key, method: 'DELETE' });
        await Promise.race([running.opened, removed]);
        // Nobody knows yet that it is another intent, so neither is told that it is.
        expect(await ask(post, { key })).toBe('in_flight');
        go.open();
        expect(await removed).toBe('payload_mismatch');
      }
      expect(await ask(remove, { key, method: 'DELETE' })).toBe('payload_mismatch');
      expect(await seen(await post(requestOf({ key })))).toMatchObject({ body: 'paid', status: 'replayed' });
      expectCounted(await effects(database.client, key)).toBe(1);
    });
  });

  test('a mismatch is 409 where clients expect that', async () => {
    const handler = route({ mismatchStatus: 409 });
    const key = freshKey();
    await handler(requestOf({ key }));
    const answer = await handler(requestOf({ key, body: { sku: 'lamp' } }));
    expect([answer.status, (await answer.json()).status]).toEqual([409, 409]);
  });

  test('H3 a mismatch tells a first request that was refused from one that was done by `executed` alone', async () => {
    const told = async (first: string) => {
      const handler = routeHandler(
        kit(database.client)
          .operation({ name: 'checkout', schema: anything, acceptKeys: 'any' })
          .handler(async ({ fail }) => (first === 'refused' ? fail('declined') : 'done')),
      );
      const key = freshKey();
      await handler(requestOf({ key }));
      const {
        key: _,
        nextKey,
        instance,
        ...same
      } = await (await handler(requestOf({ key, body: { sku: 'lamp' } }))).json();
      return same;
    };
    const done = await told('done');
    expect(await told('refused')).toEqual({ ...done, executed: false });
    expect(done).toMatchObject({
      code: 'payload_mismatch',
      executed: true,
      detail: 'This was first sent with other content, so this request was not executed.',
    });
  });

  test('X1 of another principal it is another key', async () => {
    const key = freshKey();
    for (const who of [ANN, BOB]) {
      const answer = await route({ kit: { scope: () => who } })(requestOf({ key }));
      expect(answer.headers.get('idempotency-status')).toBe('stored');
    }
    expectCounted(await effects(database.client, key)).toBe(2);
  });
});

describe('O1 the order of the checks', () => {
  const nobody = { kit: { scope: () => null } };
  const invalid = { operation: { schema: z.looseObject({ sku: z.literal('lamp') }) as unknown as typeof anything } };
  test.each<[string, How, Sent, string]>([
    ['the key before who asks', nobody, { key: 'a,b', body: '{' }, 'key_malformed'],
    ['who asks before the body', nobody, { body: '{' }, 'unauthorized'],
    ['the body before the schema', invalid, { body: '{' }, 'malformed_body'],
    ['the schema before the claim', invalid, {}, 'validation'],
  ])('%s', async (_, how, sent, code) => {
    const key = sent.key ?? freshKey();
    const answer = await route(how)(requestOf({ ...sent, key }));
    expect(await answer.json()).toMatchObject({ code });
    expectCounted(await rowsOf(database.client, key)).toEqual([]);
  });
});

describe('H4 the patience of the caller', () => {
  test('X-Request-Timeout ends what takes longer, and nothing of it stays', async () => {
    const go = gate();
    const handler = route({ work: () => go.opened });
    const key = freshKey();
    const answer = await handler(requestOf({ key, headers: { 'X-Request-Timeout': '200' } }));
    expect(answer.status).toBe(503);
    expectCounted(await effects(database.client, key)).toBe(0);
    go.open();
  });

  test.each([
    ['none', 1],
    ['all', 2],
  ])('X-Retry-Layer: %s leaves %d tries of a transaction that conflicts', async (layer, tries) => {
    let runs = 0;
    const work = async ({ tx }: Context) => {
      if (++runs === 1) await tx.$executeRaw`DO $$ BEGIN RAISE EXCEPTION 'a conflict' USING ERRCODE = '40001'; END $$`;
      return 'done';
    };
    const answer = await route({ work })(requestOf({ key: freshKey(), headers: { 'X-Retry-Layer': layer } }));
    expect(runs).toBe(tries);
    expect(answer.status).toBe(tries === 1 ? 503 : 200);
  });
});

test('the path and the body together make the input', async () => {
  const inputs: unknown[] = [];
  const handler = route({
    work: ({ input }) => inputs.push(input),
    input: (body, { params, url }) => ({ ...(body as object), order_id: params.id, dry: url.searchParams.get('dry') }),
  });
  const request = requestOf({ key: freshKey(), path: '/api/orders/7/refunds?dry=1', body: { amount: 5 } });
  await handler(request, { params: Promise.resolve({ id: '7' }) });
  expect(inputs).toEqual([{ amount: 5, order_id: '7', dry: '1' }]);
  // A promise is no input that the client could mend.
  const late = route({ input: async (body) => body });
  await expect(late(requestOf({ key: freshKey() }))).rejects.toThrow('input of');
});
