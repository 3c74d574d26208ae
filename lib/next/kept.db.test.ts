import { redirect } from 'next/navigation';
import { describe, expect, test } from 'vitest';
import { database, expire, provider, rowOf, usePhases } from '../engine/phases/shop.fixture.ts';
import type { AnswerToKeep, HandlerContext, Outcome } from '../index.ts';
import { anything, effect, effects, freshKey, kit, type Tx } from '../integration/kit.fixture.ts';
import { routeHandler } from './route-handler.ts';
import { serverAction } from './server-action.ts';

usePhases();

/** In one transaction; in phases, before a charge and behind it. */
type Way = 'plain' | 'before' | 'behind';
type End = (context: Pick<HandlerContext<never, Tx>, 'fail' | 'defer'>) => unknown;

interface How {
  keep?: (answer: AnswerToKeep) => boolean;
  /** The end is a step's, and not the function's. */
  inStep?: boolean;
}

/** Ends so the first time, or as often as is said, and then well. */
function serving(way: Way, first: End, { keep, inStep = false }: How = {}, times = 1) {
  const errors: Error[] = [];
  const ends: End[] = Array.from({ length: times }, () => first);
  const idempotency = kit(database.client, { onError: (error) => void errors.push(error as Error) });
  const operation = idempotency.operation({ name: 'pay', schema: anything, ...(keep && { keep }) });
  const end: End = async (context) => await (ends.shift() ?? (() => 'done'))(context);
  const pay =
    way === 'plain'
      ? operation.handler(async ({ tx, key, ...context }) => {
          await effect(tx, key);
          return (await end(context)) as string;
        })
      : operation.phases(async ({ atomic, foreign, key, ...context }) => {
          if (way === 'behind') await foreign('charge', provider.call(key));
          const paid = await atomic('paid', async (tx) => {
            await effect(tx, key);
            return inStep ? await end(context) : 'paid';
          });
          return (inStep ? paid : await end(context)) as string;
        });
  const key = freshKey();
  const handler = routeHandler(pay);
  const post = async () => {
    const init = {
      method: 'POST',
      headers: { ...json, 'Idempotency-Key': key },
      body: '{}',
    };
    const answer = await handler(new Request('https://shop.test/api/orders', init));
    const [retryAfter, stored] = [answer.headers.get('retry-after'), answer.headers.get('idempotency-status')];
    return { status: answer.status, retryAfter, stored, body: await answer.text() };
  };
  const json = { 'Content-Type': 'application/json' };
  const keyless = () =>
    routeHandler(pay, { key: 'optional' })(
      new Request('https://shop.test/', { method: 'POST', headers: json, body: '{}' }),
    );
  return { key, pay, idempotency, errors, post, keyless, written: () => effects(database.client, key) };
}

const response = (status: number, headers: HeadersInit = {}) => new Response('as it is', { status, headers });
const thrown = (make: () => Response) => () => {
  throw make();
};

interface Expected {
  status: number;
  retryAfter?: string | null;
  /** The code of the same answer to `execute`, where there is no route. */
  code: string;
}

/** Each kind of answer that is not for good. */
const PASSED_ON: Record<string, [End, Expected]> = {
  'a returned 429': [() => response(429, { 'Retry-After': '7' }), { status: 429, retryAfter: '7', code: 'deferred' }],
  'a returned 408': [() => response(408), { status: 408, code: 'deferred' }],
  'a returned 423': [() => response(423), { status: 423, code: 'deferred' }],
  'a returned 425': [() => response(425), { status: 425, code: 'deferred' }],
  'a returned 503': [() => response(503, { 'Retry-After': '9' }), { status: 503, retryAfter: '9', code: 'internal' }],
  'a thrown 404': [thrown(() => response(404)), { status: 404, code: 'not_kept' }],
  'a thrown 200': [thrown(() => response(200)), { status: 200, code: 'not_kept' }],
  'a thrown 429': [thrown(() => response(429)), { status: 429, code: 'deferred' }],
  'a thrown 502': [thrown(() => response(502)), { status: 502, code: 'internal' }],
  defer: [({ defer }) => defer('busy'), { status: 503, retryAfter: '1', code: 'deferred' }],
  'defer, and when': [
    ({ defer }) => defer('locked', { status: 423, retryAfterMs: 5000, message: 'Somebody else has it.' }),
    { status: 423, retryAfter: '5', code: 'deferred' },
  ],
};

describe.each(Object.entries(PASSED_ON))('%s', (_, [end, { code, ...expected }]) => {
  const told = { retryAfter: null, stored: null, ...expected };

  test('R5 in one transaction it is passed on, rolls back, and the key is free', async () => {
    const { key, post, errors, written } = serving('plain', end);
    expect(await post()).toMatchObject(told);
    expect([await rowOf(key), await written()]).toEqual([undefined, 0]);
    expect(errors).toHaveLength(code === 'internal' ? 1 : 0);
    expect(await post()).toMatchObject({ status: 200, stored: 'stored' });
    expect(await written()).toBe(1);
  });

  test('by a call and by an action its code says the same, and that nothing was done', async () => {
    const { key, pay } = serving('plain', end);
    expect(await pay.execute({ key, payload: {} })).toMatchObject({ code, retry: 'same-key', executed: false });
    const { pay: action } = serving('plain', end);
    const form = new FormData();
    form.append('idempotency_key', freshKey());
    const send = serverAction(action) as unknown as (form: FormData) => Promise<Outcome<unknown>>;
    expect(await send(form)).toMatchObject({ code, retry: 'same-key', executed: false });
  });

  test('in phases it suspends the key, which goes on', async () => {
    const { key, post, errors, written } = serving('before', end);
    // The key goes on by itself, so nothing is told that would be an end.
    const isOpenEnd = code !== 'not_kept';
    expect(await post()).toMatchObject(isOpenEnd ? told : { status: 503, retryAfter: '1', stored: null });
    expect([(await rowOf(key))?.state, await written()]).toEqual(['in_progress', 1]);
    expect(errors).toHaveLength(code === 'internal' ? 1 : 0);
    expect(await post()).toMatchObject({ status: 200, stored: 'stored' });
    expect(await written()).toBe(1);
  });

  test('R5 behind a charge it is kept whatever it is, and reported', async () => {
    const { key, post, errors } = serving('behind', end);
    const isRefusal = expected.retryAfter !== undefined && /^defer/.test(_);
    const status = isRefusal ? 422 : expected.status;
    expect(await post()).toMatchObject({ status, stored: 'stored' });
    const again = await post();
    expect(again).toMatchObject({ status, stored: 'replayed' });
    expect(again.body).not.toMatch(/again|just now/);
    expect((await rowOf(key))?.state).toBe(isRefusal ? 'failed' : 'succeeded');
    expect(errors).toMatchObject([{ message: expect.stringContaining('is kept for good') }]);
    expect(provider.sends).toBe(1);
  });
});

test('defer says why, when and in which words; in phases, too, where a worker waits for as long', async () => {
  const put: End = ({ defer }) => defer('locked', { retryAfterMs: 60_000, message: 'Somebody else has it.' });
  const told = { code: 'deferred', reason: 'locked', message: 'Somebody else has it.', retryAfterMs: 60_000 };
  const { key, pay } = serving('plain', put);
  expect(await pay.execute({ key, payload: {} })).toMatchObject({ ...told, executed: false });
  expect(JSON.parse((await serving('plain', put).post()).body)).toMatchObject({
    code: 'deferred',
    reason: 'locked',
    detail: told.message,
    retry: 'same-key',
    executed: false,
  });
  const phased = serving('before', put);
  expect(await phased.pay.execute({ key: phased.key, payload: {} })).toMatchObject({ ...told, executed: 'unknown' });
  const row = await rowOf(phased.key);
  expect(Number(row?.nextAttemptAt) - Number(row?.claimedAt)).toBeGreaterThan(50_000);
  await expire(phased.key);
  expect(await phased.idempotency.completeDue({ limit: 100 })).toMatchObject({ settled: 1 });
  expect(phased.errors).toEqual([]);
});

test('a worker that meets one reports nothing, and comes again', async () => {
  const { key, pay, idempotency, errors } = serving('before', ({ defer }) => defer('busy'), {}, 2);
  expect(await pay.execute({ key, payload: {} })).toMatchObject({ code: 'deferred' });
  await expire(key);
  expect(await idempotency.completeDue({ limit: 100 })).toMatchObject({ unfinished: 1 });
  await expire(key);
  expect(await idempotency.completeDue({ limit: 100 })).toMatchObject({ settled: 1 });
  expect(errors).toEqual([]);
});

test('what a function makes of a call that has ended its run is no answer, so it is not passed on', async () => {
  const pay = kit(database.client)
    .operation({ name: 'pay', schema: anything })
    .phases(async ({ foreign, key }) => {
      provider.faults = ['refused'];
      await foreign('charge', provider.call(key, { maxTries: 1 })).catch(() => {});
      return response(429) as never;
    });
  expect(await pay.execute({ key: freshKey(), payload: {} })).toMatchObject({ code: 'unavailable' });
});

describe('`fail` is for good', () => {
  test.each([408, 423, 425, 429, 500, 503, 599])(
    'so it takes no %d, and behind a charge it is told as 422',
    async (status) => {
      const end: End = ({ fail }) => fail('no', undefined, { status });
      for (const way of ['plain', 'before'] as const) {
        const { key, post, errors } = serving(way, end);
        expect(await post()).toMatchObject({ status: 500, stored: null });
        expect(errors).toMatchObject([{ name: 'ConfigurationError', message: expect.stringContaining('defer') }]);
        expect((await rowOf(key))?.state).toBe(way === 'plain' ? undefined : 'in_progress');
      }
      for (const inStep of [false, true]) {
        const { post, errors } = serving('behind', end, { inStep });
        expect(await post()).toMatchObject({ status: 422, stored: 'stored' });
        expect(errors).toMatchObject([{ message: expect.stringContaining('is kept for good') }]);
      }
    },
  );

  test.each(['plain', 'before', 'behind'] as const)('%s: any other is kept, and no error', async (way) => {
    const { post, errors } = serving(way, ({ fail }) => fail('gone', undefined, { status: 410 }));
    expect(await post()).toMatchObject({ status: 410, stored: 'stored' });
    expect(await post()).toMatchObject({ status: 410, stored: 'replayed' });
    expect(errors).toEqual([]);
  });
});

describe('in a step', () => {
  const ends: [string, End, number][] = [
    ['defer', ({ defer }) => defer('busy'), 503],
    ['a thrown 409', thrown(() => response(409)), 503],
    ['a thrown 423', thrown(() => response(423)), 423],
  ];
  test.each(ends)('%s rolls the step back, and suspends the key', async (_, end, status) => {
    const { key, post, written } = serving('before', end, { inStep: true });
    expect(await post()).toMatchObject({ status, stored: null });
    expect([(await rowOf(key))?.state, await written()]).toEqual(['in_progress', 0]);
    expect(await post()).toMatchObject({ status: 200, stored: 'stored' });
  });

  test('behind a charge defer is a refusal, and a thrown Response an error, for the key goes on', async () => {
    const put = serving('behind', ({ defer }) => defer('busy'), { inStep: true });
    expect(await put.post()).toMatchObject({ status: 422, stored: 'stored' });
    const { key, post, errors } = serving(
      'behind',
      thrown(() => response(409)),
      { inStep: true },
    );
    expect(await post()).toMatchObject({ status: 500, stored: null });
    expect(errors).toMatchObject([{ name: 'ConfigurationError', existing: 'a thrown Response' }]);
    expect((await rowOf(key))?.state).toBe('in_progress');
    expect(await post()).toMatchObject({ status: 200, stored: 'stored' });
    expect(provider.count(key)).toBe(1);
  });
});

describe('keep', () => {
  const asked: AnswerToKeep[] = [];
  const never = (answer: AnswerToKeep) => {
    asked.push(answer);
    return false;
  };

  test.each<[string, End, object, object]>([
    ['a success', () => ({ id: 'o1' }), { ok: true, data: { id: 'o1' } }, { status: 200 }],
    [
      'a refusal',
      ({ fail }) => fail('sold_out', { left: 0 }, { status: 409 }),
      { ok: false, reason: 'sold_out', status: 409, data: { left: 0 } },
      { status: 409 },
    ],
    ['a Response', () => response(409), { status: 409 }, { status: 409 }],
  ])('says no to %s: it is passed on, and rolled back', async (_, end, answer, told) => {
    asked.length = 0;
    const { key, post, written, errors } = serving('plain', end, { keep: never });
    expect(await post()).toMatchObject({ ...told, stored: null });
    expect(asked).toMatchObject([answer]);
    expect([await rowOf(key), await written(), errors]).toEqual([undefined, 0, []]);
    const { key: other, pay } = serving('plain', end, { keep: never });
    expect(await pay.execute({ key: other, payload: {} })).toMatchObject({ code: 'not_kept', executed: false });
  });

  test('says yes to a 429, and cannot to a 503, to what is thrown or to what is put off', async () => {
    const keep = () => true;
    expect(await serving('plain', () => response(429), { keep }).post()).toMatchObject({
      status: 429,
      stored: 'stored',
    });
    for (const end of [() => response(503), thrown(() => response(404)), (({ defer }) => defer('busy')) as End]) {
      expect(await serving('plain', end, { keep }).post()).toMatchObject({ stored: null });
    }
  });

  test('is not asked behind a charge, of a redirect, nor of a step that goes well', async () => {
    asked.length = 0;
    const { post } = serving('behind', () => 'done', { keep: never });
    expect(await post()).toMatchObject({ status: 200, stored: 'stored' });
    expect(asked).toEqual([]);
    expect(await serving('plain', () => redirect('/thanks'), { keep: never }).post()).toMatchObject({ status: 303 });
    expect(asked).toEqual([]);
    const { post: step } = serving('before', () => 'paid', { keep: never, inStep: true });
    await step();
    expect(asked).toMatchObject([{ ok: true, data: 'paid' }]);
  });

  test.each<[string, unknown]>([
    ['a promise', Promise.resolve(true)],
    ['nothing', undefined],
  ])('A11 returns %s: reported, rolled back', async (_, said) => {
    const { key, post, errors } = serving('plain', () => 'done', { keep: () => said as boolean });
    expect(await post()).toMatchObject({ status: 500, stored: null });
    expect(errors).toMatchObject([{ name: 'ConfigurationError', message: expect.stringContaining('keep of pay') }]);
    expect(await rowOf(key)).toBeUndefined();
  });
});

test('a client without a key is not asked to come again for what a worker goes on with: it would be done twice', async () => {
  const { keyless } = serving('before', () => response(429, { 'Retry-After': '1' }));
  const answer = await keyless();
  expect([answer.headers.get('retry-after'), await answer.json()]).toMatchObject([null, { retry: 'never' }]);
  const plain = await serving('plain', () => response(429, { 'Retry-After': '1' })).keyless();
  expect([plain.status, plain.headers.get('retry-after')]).toEqual([429, '1']);
});

test('a worker reports an answer that `keep` says no to: it may be the same each time', async () => {
  const { key, pay, idempotency, errors } = serving('before', ({ fail }) => fail('no'), { keep: () => false }, 2);
  expect(await pay.execute({ key, payload: {} })).toMatchObject({
    code: 'deferred',
    reason: 'no',
    executed: 'unknown',
  });
  expect(errors).toEqual([]);
  await expire(key);
  expect(await idempotency.completeDue({ limit: 100 })).toMatchObject({ unfinished: 1 });
  expect(errors).toMatchObject([{ name: 'UnkeptAnswer' }]);
});

test('Response.error() is no answer, thrown or returned', async () => {
  for (const end of [() => Response.error(), thrown(() => Response.error())]) {
    const { post, errors } = serving('plain', end);
    expect(await post()).toMatchObject({ status: 500 });
    expect(errors).toMatchObject([{ message: expect.stringContaining('Response.error()') }]);
  }
});

test('a step that nobody awaits is told as what it is, whatever the function ends in', async () => {
  const errors: unknown[] = [];
  const pay = kit(database.client, { onError: (error) => void errors.push(error) })
    .operation({ name: 'pay', schema: anything })
    .phases(async ({ foreign, key, defer }) => {
      void foreign('charge', provider.call(key)).catch(() => {});
      return defer('busy');
    });
  expect(await pay.execute({ key: freshKey(), payload: {} })).toMatchObject({ code: 'internal' });
  expect(errors).toMatchObject([{ name: 'ConfigurationError', message: expect.stringContaining('Await each step') }]);
});

test('an operation that runs again in place of an answer that cannot be read does not say that nothing was changed', async () => {
  const key = freshKey();
  const versions = [1, 2].map((schemaVersion) =>
    kit(database.client)
      .operation({
        ...{ name: 'pay', schema: anything, schemaVersion, naturallyIdempotent: true },
        ...(schemaVersion === 2 && { keep: () => false }),
      })
      .handler(async () => 'done'),
  );
  expect(await versions[0]?.execute({ key, payload: {} })).toMatchObject({ ok: true });
  expect(await versions[1]?.execute({ key, payload: {} })).toMatchObject({ code: 'result_unreadable', executed: true });
});

test('fifty at once hear of one that was put off, and do not each try', async () => {
  let runs = 0;
  const { key, pay } = serving('plain', ({ defer }) => {
    runs++;
    return defer('busy');
  });
  const told = await Promise.all(
    Array.from({ length: 50 }, () => pay.execute({ key, payload: {}, deadlineMs: 20_000 })),
  );
  expect(new Set(told.map((each) => !each.ok && each.code))).toEqual(new Set(['deferred']));
  expect(runs).toBe(1);
});
