import { Decimal } from '@prisma/client/runtime/client';
import { forbidden, notFound, redirect, unauthorized } from 'next/navigation.js';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { type TestDatabase, testDatabase } from '../../scripts/testing/test-database.ts';
import { issuedText } from '../core/issued-key.ts';
import { redirectOf } from '../core/redirect.ts';
import type { HandlerContext, OperationOptions, Options, PhasesContext, Refusal } from '../index.ts';
import {
  ANN,
  anything,
  BOB,
  effect,
  effects,
  freshKey,
  gate,
  kit,
  rowsOf,
  SECRET,
  type Tx,
} from '../integration/kit.fixture.ts';
import { rollbackAndRedirect, type ServerActionOptions, serverAction } from './index.ts';

let database: TestDatabase;
beforeAll(async () => {
  // `forbidden()` and `unauthorized()` are behind a flag, which `next build` sets from the configuration.
  vi.stubEnv('__NEXT_EXPERIMENTAL_AUTH_INTERRUPTS', 'true');
  database = await testDatabase();
});
afterAll(() => database?.drop());

const log = vi.spyOn(console, 'error').mockImplementation(() => {});
beforeEach(() => void log.mockClear());
afterEach(() => expect(log).not.toHaveBeenCalled());

type Context = HandlerContext<Record<string, unknown>, Tx>;
type Ends = (context: Context) => unknown;

/** An operation that writes its effect and then ends as told, and the ways to call it as a server action. */
function op(ends: Ends = () => 'done', options: Partial<Options> = {}, more: object = {}) {
  const handle = vi.fn(async (context: Context): Promise<unknown> => {
    await effect(context.tx, context.key);
    return ends(context);
  });
  const operation = kit(database.client, options)
    .operation({ name: 'checkout', schema: anything, ...more } as OperationOptions<typeof anything, Tx>)
    .handler(handle);
  const action = (how?: ServerActionOptions<unknown>) => serverAction(operation, how);
  return { ...operation, operation, handle, action };
}

function formOf(key: string, fields: Record<string, string> = { sku: 'tea' }): FormData {
  const form = new FormData();
  for (const [name, value] of Object.entries({ idempotency_key: key, ...fields })) form.append(name, value);
  return form;
}

const thrownBy = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    (value) => expect.unreachable(`resolved to ${JSON.stringify(value)}`),
    (thrown) => thrown,
  );
const redirectedBy = async (call: Promise<unknown>) => redirectOf(await thrownBy(call))?.url;

/** The rows of a key in the database. */
const left = async (key: string) => ({
  effects: await effects(database.client, key),
  states: (await rowsOf(database.client, key)).map(({ state }) => state),
});
const NOTHING = { effects: 0, states: [] };
const ONCE = { effects: 1, states: ['succeeded'] };

test('a Decimal is one for onSettled and redirectTo, and text for the browser, which React could not send it to', async () => {
  const heard: unknown[] = [];
  const { action } = op(() => ({ price: new Decimal('12.50'), cents: 5n }));
  const submit = action({ onSettled: (outcome) => void heard.push(outcome.ok && outcome.data) });
  const key = freshKey();
  for (const replayed of [false, true]) {
    expect(await submit(null, formOf(key))).toMatchObject({ replayed, data: { price: '12.5', cents: 5n } });
  }
  for (const data of heard) expect((data as { price: unknown }).price).toBeInstanceOf(Decimal);
  expect(heard).toHaveLength(2);
});

describe('F1 fields that change by themselves', () => {
  const volatile = { volatile: ['stamp'] };
  /** As a form without the hook sends it: its field has all that `issueKey` has given. */
  async function issued() {
    const made = op(({ input }) => input, { secret: [SECRET] }, volatile);
    const key = (await made.mintKey()) as string;
    return { ...made, key, text: issuedText(key, made.volatile) };
  }

  test('another captcha token and another stamp are the same submit, whose handler got both', async () => {
    const { action, handle, key, text } = await issued();
    const [submit, sent] = [action(), { sku: 'tea', 'stamp.at': '1', 'cf-turnstile-response': 'a' }];
    const data = { sku: 'tea', stamp: { at: '1' }, 'cf-turnstile-response': 'a' };
    expect(await submit(null, formOf(text, sent))).toMatchObject({ ok: true, key, data });
    for (const form of [{ ...sent, 'stamp.at': '2', 'cf-turnstile-response': 'b' }, { sku: 'tea' }]) {
      expect(await submit(null, formOf(key, form))).toMatchObject({ ok: true, replayed: true, key, data });
    }
    expect(await submit(null, formOf(key, { ...sent, sku: 'mug' }))).toMatchObject({ code: 'payload_mismatch' });
    expect(handle).toHaveBeenCalledTimes(1);
    expect(await left(key)).toEqual(ONCE);
  });

  test('values from code, too; the next key has no names behind it', async () => {
    const { action, key, text } = await issued();
    const [submit, sent] = [action(), { sku: 'tea', stamp: 1, csrfToken: 'a' }];
    const first = await submit(sent, { key: text });
    expect(first).toMatchObject({ ok: true, replayed: false, key, nextKey: expect.stringMatching(/^[\w.-]+$/) });
    const second = await submit({ ...sent, stamp: 2, csrfToken: 'b' }, { key });
    expect(second).toMatchObject({ ok: true, replayed: true });
    expect(await left(key)).toEqual(ONCE);
  });

  test('K1 a text with a space that was not issued is no key', async () => {
    const { action } = op(undefined, {}, { ...volatile, acceptKeys: 'any' });
    expect(await action()(null, formOf('order 1'))).toMatchObject({ code: 'key_malformed' });
  });
});

describe('the input of a form', () => {
  const order = z.object({ lines: z.array(z.object({ sku: z.string(), quantity: z.number() })), express: z.boolean() });
  const schema = { schema: order };

  test('nested fields, numbers and boxes come as the schema has them', async () => {
    const { action, handle } = op(({ input }) => input, {}, schema);
    const form = formOf(freshKey(), { 'lines.0.sku': 'tea', 'lines.0.quantity': '2', express: 'on' });
    const input = { lines: [{ sku: 'tea', quantity: 2 }], express: true };
    expect(await action()(null, form)).toMatchObject({ ok: true, data: input });
    expect(handle).toHaveBeenCalledTimes(1);
  });

  test('a refused field is named as the form has it', async () => {
    const { action } = op(undefined, {}, schema);
    const form = formOf(freshKey(), { 'lines[0].sku': 'tea', 'lines[0].quantity': 'two' });
    expect(await action()(null, form)).toMatchObject({
      code: 'validation',
      fieldErrors: { 'lines[0].quantity': [expect.any(String)] },
      values: { 'lines[0].quantity': 'two' },
    });
  });

  test('`input` makes it of the form and the bound arguments; the form is what submits are compared by', async () => {
    const { action } = op(({ input }) => input, {}, schema);
    const input = (form: FormData, [gift]: readonly unknown[]) => ({
      ...JSON.parse(String(form.get('order'))),
      express: gift === 'gift',
    });
    const key = freshKey();
    const submit = action({ input }) as (...args: unknown[]) => Promise<unknown>;
    const data = { lines: [{ sku: 'tea', quantity: 1 }], express: true };
    const order = JSON.stringify({ lines: data.lines });
    expect(await submit('gift', null, formOf(key, { order }))).toMatchObject({ ok: true, replayed: false, data });
    expect(await submit('gift', null, formOf(key, { order }))).toMatchObject({ ok: true, replayed: true, data });
    expect(await submit('gift', null, formOf(key, { order: ` ${order}` }))).toMatchObject({ code: 'payload_mismatch' });
  });

  test('an `input` that throws is an error of the app: reported, and nothing is lost', async () => {
    const onError = vi.fn();
    const { action, handle } = op(undefined, { onError } as never, schema);
    const key = freshKey();
    const broken = action({ input: (form) => JSON.parse(String(form.get('order'))) });
    expect(await broken(null, formOf(key, { order: '{' }))).toMatchObject({ code: 'internal', values: { order: '{' } });
    expect([handle.mock.calls.length, onError.mock.calls.length]).toEqual([0, 1]);
    expect(await left(key)).toEqual(NOTHING);
    // A promise is no input that the client could mend.
    const late = action({ input: async (form) => JSON.parse(String(form.get('order'))) });
    await expect(late(null, formOf(key, { order: '{}' }))).rejects.toThrow('input of');
    expect(await left(key)).toEqual(NOTHING);
  });
});

describe('an answer', () => {
  test('a success, then its replay; the handler is given the fields', async () => {
    const key = freshKey();
    const checkout = op(({ input }) => input);
    const submit = checkout.action();
    expect(await submit(null, formOf(key))).toMatchObject({ ok: true, replayed: false, data: { sku: 'tea' }, key });
    expect(await submit(null, formOf(key))).toMatchObject({ ok: true, replayed: true, data: { sku: 'tea' }, key });
    expect([await left(key), checkout.handle.mock.calls.length]).toEqual([ONCE, 1]);
  });

  test('however it is called, it is one intent', async () => {
    const key = freshKey();
    const submit = op().action();
    const first = await submit(null, formOf(key));
    expect(await submit(formOf(key))).toMatchObject({ ok: true, replayed: true });
    expect(await submit(first, formOf(key))).toMatchObject({ ok: true, replayed: true });
    expect(await left(key)).toEqual(ONCE);
  });

  test('from code, with plain data', async () => {
    const key = freshKey();
    const submit = op(({ input }) => input.n).action();
    expect(await submit({ n: 1 }, { key })).toMatchObject({ ok: true, replayed: false, data: 1 });
    expect(await submit({ n: 1 }, { key, attempt: 2 })).toMatchObject({ ok: true, replayed: true, data: 1 });
    expect(await submit({ n: 2 }, { key })).toMatchObject({ code: 'payload_mismatch' });
  });

  test.each([
    ['1', false],
    ['2', 'unknown'],
    ['', 'unknown'],
  ])(
    'the attempt field %j is heard: only of a first attempt it is said that nothing ran',
    async (attempt, executed) => {
      const submit = op(() => 'done', {}, { admit: () => 1000 }).action();
      const form = formOf(freshKey(), attempt ? { idempotency_attempt: attempt } : {});
      expect(await submit(null, form)).toMatchObject({ code: 'rate_limited', executed });
    },
  );

  test.each([[[]], [[{ sku: 'tea' }]], [[new FormData()]]])('called without a key (%j), it says so', async (args) => {
    const call = op().action() as unknown as (...args: unknown[]) => Promise<unknown>;
    expect(await call(...args)).toMatchObject({ ok: false, code: 'key_missing', executed: 'unknown' });
  });
});

describe('redirects', () => {
  test('redirectTo is for first and replayed successes, and for no refusal', async () => {
    const [key, refused] = [freshKey(), freshKey()];
    const to = { redirectTo: (data: unknown) => `/orders/${data}` };
    const submit = op(() => 7).action(to);
    expect(await redirectedBy(submit(formOf(key)))).toBe('/orders/7');
    expect(await redirectedBy(submit(formOf(key)))).toBe('/orders/7');
    expect(await left(key)).toEqual(ONCE);
    const refuses = op(({ fail }) => fail('sold_out')).action(to);
    expect(await refuses(null, formOf(refused))).toMatchObject({ code: 'failed', reason: 'sold_out' });
  });

  test("R2 the operation's is for first and replayed successes of every action without one of its own", async () => {
    const key = freshKey();
    const calls: string[] = [];
    const define = (redirectTo: (data: number) => string) =>
      kit(database.client)
        .operation({ name: 'checkout', schema: anything })
        .handler(
          async ({ tx }) => {
            await effect(tx, key);
            return 7;
          },
          { redirectTo },
        );
    const onSettled = () => void calls.push('settled');
    const submit = serverAction(
      define((data) => `/orders/${data}`),
      { onSettled },
    );
    expect(await redirectedBy(submit(formOf(key)))).toBe('/orders/7');
    expect(calls).toEqual(['settled']);
    expect(await left(key)).toEqual(ONCE);
    // Another process, whose operation leads elsewhere by now: what was stored counts.
    const later = define(() => '/elsewhere');
    const replaying = serverAction(later);
    expect(await redirectedBy(replaying(formOf(key)))).toBe('/orders/7');
    expect(await redirectedBy(replaying(null, formOf(key)))).toBe('/orders/7');
    const own = serverAction(later, { redirectTo: (data) => `/thanks/${data}` });
    expect(await redirectedBy(own(formOf(key)))).toBe('/thanks/7');
    const staying = serverAction(later, { redirectTo: () => '' });
    expect(await staying(null, formOf(key))).toMatchObject({ ok: true, data: 7, replayed: true });
    expect(await later.status({ key })).toMatchObject({ redirect: '/orders/7' });
  });

  test('R2 redirect() in the handler commits, and redirects again on replay', async () => {
    const key = freshKey();
    const to = vi.fn(() => '/elsewhere');
    const checkout = op(() => redirect('/thanks?a=1;b=2'));
    const submit = checkout.action({ redirectTo: to });
    expect(await redirectedBy(submit(formOf(key)))).toBe('/thanks?a=1;b=2');
    expect(await left(key)).toEqual(ONCE);
    expect(await redirectedBy(submit(formOf(key)))).toBe('/thanks?a=1;b=2');
    expect([checkout.handle.mock.calls.length, to.mock.calls.length]).toEqual([1, 0]);
  });

  test('a redirectTo that throws does not hide a success, and is reported; control flow in it passes', async () => {
    const [key, onError] = [freshKey(), vi.fn()];
    const checkout = op(undefined, { onError });
    const broken = checkout.action({ redirectTo: () => (undefined as never as { id: string }).id });
    expect(await broken(null, formOf(key))).toMatchObject({ ok: true, data: 'done' });
    expect(onError.mock.calls).toEqual([
      [expect.any(TypeError), expect.objectContaining({ key, during: 'redirectTo' })],
    ]);
    const steers = checkout.action({ redirectTo: () => notFound() });
    expect(await thrownBy(steers(formOf(key)))).toMatchObject({ digest: 'NEXT_HTTP_ERROR_FALLBACK;404' });
    expect([await left(key), onError.mock.calls.length]).toEqual([ONCE, 1]);
  });

  test('a refusedTo that throws hides no refusal, and is reported; of an async one the address counts', async () => {
    const onError = vi.fn();
    const refuses = op(({ fail }) => fail('sold_out'), { onError });
    const broken = refuses.action({ refusedTo: () => (undefined as never as { id: string }).id });
    const told = (broken as (form: FormData) => Promise<unknown>)(formOf(freshKey()));
    expect(await told).toMatchObject({ code: 'failed', reason: 'sold_out', executed: false });
    expect(onError).toHaveBeenCalledExactlyOnceWith(
      expect.any(TypeError),
      expect.objectContaining({ during: 'redirectTo' }),
    );
    const late = refuses.action({ refusedTo: (async () => '/refused') as never });
    expect(await redirectedBy(late(formOf(freshKey())))).toBe('/refused');
  });

  test('R2 its type is replayed too', async () => {
    const key = freshKey();
    const submit = op(() => redirect('/thanks', 'push' as never)).action();
    expect(redirectOf(await thrownBy(submit(formOf(key))))?.type).toBe('push');
    expect(redirectOf(await thrownBy(submit(formOf(key))))?.type).toBe('push');
  });

  test.each([
    ['notFound', notFound, 'NEXT_HTTP_ERROR_FALLBACK;404'],
    ['forbidden', forbidden, 'NEXT_HTTP_ERROR_FALLBACK;403'],
    ['unauthorized', unauthorized, 'NEXT_HTTP_ERROR_FALLBACK;401'],
  ])('R2 %s() rolls back, is passed on, and leaves the key usable', async (_, leave, digest) => {
    const key = freshKey();
    const onSettled = vi.fn();
    const leaves = op(() => leave()).action({ onSettled });
    expect(await thrownBy(leaves(formOf(key)))).toMatchObject({ digest });
    expect([await left(key), onSettled.mock.calls]).toEqual([NOTHING, []]);
    expect(await op().action()(null, formOf(key))).toMatchObject({ ok: true, replayed: false });
  });

  test('R2 rollbackAndRedirect leaves nothing, redirects, and leaves the key usable', async () => {
    const key = freshKey();
    const [onSettled, onError] = [vi.fn(), vi.fn()];
    const leaves = op(() => rollbackAndRedirect('/sign-in?next=/checkout'), { onError }).action({ onSettled });
    expect(await redirectedBy(leaves(formOf(key)))).toBe('/sign-in?next=/checkout');
    expect([await left(key), onSettled.mock.calls, onError.mock.calls]).toEqual([NOTHING, [], []]);
    expect(await op().action()(null, formOf(key))).toMatchObject({ ok: true, replayed: false });
  });

  test('R2 a redirect in `scope` or `admit` is passed on and claims nothing', async () => {
    const key = freshKey();
    const away = () => redirect('/sign-in');
    expect(await redirectedBy(op(undefined, { scope: away }).action()(formOf(key)))).toBe('/sign-in');
    expect(await redirectedBy(op(undefined, {}, { admit: away }).action()(formOf(key)))).toBe('/sign-in');
    expect(await left(key)).toEqual(NOTHING);
  });
});

test('an action that code calls outside of a request has no address, whatever header would tell it', async () => {
  const admit = vi.fn((_: unknown) => true);
  const submit = op(undefined, { addressHeader: 'x-real-ip' }, { admit }).action();
  expect(await submit(null, formOf(freshKey()))).toMatchObject({ ok: true });
  expect(admit).toHaveBeenCalledExactlyOnceWith(expect.objectContaining({ address: undefined, isAnonymous: false }));
});

describe('R2 onSettled', () => {
  test('is not told an answer that whoever asks for it may no longer see, and nor is the page of another payload', async () => {
    const key = freshKey();
    const onSettled = vi.fn();
    await op().action()(null, formOf(key));
    const submit = op(undefined, {}, { mayReplay: () => false }).action({ onSettled });
    for (const sku of ['tea', 'mug']) {
      expect(await submit(null, formOf(key, { sku }))).toMatchObject({
        ok: false,
        code: 'unauthorized',
        executed: 'unknown',
      });
    }
    expect(onSettled).not.toHaveBeenCalled();
  });

  test('runs for a first success and its replay', async () => {
    const key = freshKey();
    const onSettled = vi.fn();
    const submit = op().action({ onSettled });
    for (const replayed of [false, true]) {
      await submit(null, formOf(key));
      expect(onSettled).toHaveBeenLastCalledWith(expect.objectContaining({ ok: true, data: 'done', replayed }));
    }
    expect(onSettled).toHaveBeenCalledTimes(2);
  });

  test('runs for a stored refusal and its replay', async () => {
    const key = freshKey();
    const onSettled = vi.fn();
    const submit = op(({ fail }) => fail('sold_out')).action({ onSettled });
    for (const calls of [1, 2]) {
      expect(await submit(null, formOf(key))).toMatchObject({ code: 'failed', replayed: calls === 2 });
      expect(onSettled).toHaveBeenCalledTimes(calls);
      expect(onSettled).toHaveBeenLastCalledWith(expect.objectContaining({ reason: 'sold_out' }));
    }
  });

  test('runs, and is awaited, before a redirect', async () => {
    const key = freshKey();
    const settled: string[] = [];
    const onSettled = async () => {
      await new Promise(setImmediate);
      settled.push('settled');
    };
    await thrownBy(op(() => redirect('/thanks')).action({ onSettled })(formOf(key)));
    await thrownBy(op().action({ onSettled, redirectTo: () => '/orders' })(formOf(freshKey())));
    expect(settled).toEqual(['settled', 'settled']);
  });

  test('does not run where nothing is settled', async () => {
    const onSettled = vi.fn();
    const how = { onSettled };
    const key = freshKey();
    await op().execute({ key, payload: { a: 1 } });
    expect(await op().action(how)({ a: 2 }, { key })).toMatchObject({ code: 'payload_mismatch' });
    expect(await op(() => Promise.reject(new Error('no'))).action(how)(null, formOf(freshKey()))).toMatchObject({
      code: 'internal',
    });
    expect(await op(undefined, { scope: () => null }).action(how)(null, formOf(freshKey()))).toMatchObject({
      code: 'unauthorized',
    });
    expect(onSettled).not.toHaveBeenCalled();
  });

  test.each([
    [
      'throws',
      () => {
        throw new Error('cache is down');
      },
    ],
    ['rejects', () => Promise.reject(new Error('cache is down'))],
  ])('that %s changes neither the outcome nor where it leads, and is reported to onError', async (_, onSettled) => {
    const [key, led, onError] = [freshKey(), freshKey(), vi.fn()];
    const checkout = op(undefined, { onError });
    expect(await checkout.action({ onSettled })(null, formOf(key))).toMatchObject({ ok: true, data: 'done' });
    expect(await redirectedBy(checkout.action({ onSettled, redirectTo: () => '/orders' })(formOf(led)))).toBe(
      '/orders',
    );
    expect(await left(key)).toEqual(ONCE);
    expect(onError.mock.calls).toEqual(
      [key, led].map((key) => [
        new Error('cache is down'),
        { operation: 'checkout', key, during: 'onSettled', instance: expect.stringMatching(/^urn:uuid:/) },
      ]),
    );
  });

  test('may steer Next: a control-flow error in it passes, and the effect stands', async () => {
    const key = freshKey();
    const onSettled = () => redirect('/from-settled');
    expect(await redirectedBy(op().action({ onSettled, redirectTo: () => '/orders' })(formOf(key)))).toBe(
      '/from-settled',
    );
    expect(await left(key)).toEqual(ONCE);
  });
});

describe('K2 acceptKeys', () => {
  const signed = { secret: [SECRET] };

  test('minted, the default, refuses what this app did not sign for this person and operation', async () => {
    const checkout = op(undefined, signed);
    const minted = (await checkout.mintKey()) as string;
    const others = [
      freshKey(),
      minted.split('.')[0] as string,
      (await checkout.mintKey(BOB)) as string,
      (await checkout.as('refund').mintKey()) as string,
    ];
    for (const key of others) {
      const outcome = await checkout.action()(null, formOf(key));
      expect(outcome).toMatchObject({ code: 'key_invalid', executed: 'unknown', nextKey: expect.any(String) });
      expect(await left(key)).toEqual(NOTHING);
    }
    expect(checkout.handle).not.toHaveBeenCalled();
    expect(await checkout.action()(null, formOf(minted))).toMatchObject({ ok: true });
  });

  test('any accepts them, but not what is signed for another', async () => {
    const checkout = op(undefined, signed, { acceptKeys: 'any' });
    const submit = checkout.action();
    expect(await submit(null, formOf(freshKey()))).toMatchObject({ ok: true });
    expect(await submit(null, formOf((await checkout.mintKey(BOB)) as string))).toMatchObject({ code: 'key_invalid' });
  });

  test.each([[[123]], [[['key-in-a-list']]], [[{ toString: 'x' }]]])(
    'K1 a key that is no text (%j) is a refusal of the key, and nothing runs',
    async ([key]) => {
      const checkout = op(undefined, signed, { acceptKeys: 'any' });
      const outcome = await checkout.action()({}, { key: key as never });
      expect(checkout.handle).not.toHaveBeenCalled();
      expect(outcome).toMatchObject({ ok: false, code: expect.stringMatching(/^key_(missing|malformed)$/) });
    },
  );
});

describe('payload_mismatch', () => {
  test('B1 carries what the first submission came to', async () => {
    const key = freshKey();
    const submit = op(() => ({ order: 7 })).action();
    await submit(null, formOf(key));
    expect(await submit(null, formOf(key, { sku: 'mug' }))).toMatchObject({
      ok: false,
      code: 'payload_mismatch',
      executed: true,
      retry: 'never',
      data: { first: { ok: true, data: { order: 7 }, replayed: true, key } },
      values: { sku: 'mug' },
    });
  });

  test('B1 also a stored refusal', async () => {
    const key = freshKey();
    const submit = op(({ fail }) => fail('sold_out', { left: 0 })).action();
    await submit(null, formOf(key));
    expect(await submit(null, formOf(key, { sku: 'mug' }))).toMatchObject({
      code: 'payload_mismatch',
      data: { first: { ok: false, code: 'failed', reason: 'sold_out', data: { left: 0 } } },
    });
  });

  describe('B1 says what has become of the first submission', () => {
    const OTHER = 'This form was already sent with other values';
    /** Whose call is never answered, so that nobody can tell whether it was made. */
    const unanswerable = async ({ foreign }: Pick<PhasesContext<unknown, Tx>, 'foreign'>) =>
      foreign('charged', {
        arguments: {},
        indeterminate: 'unknown',
        send: async () => {
          throw new Error('lost');
        },
      });
    const pay = (steps: (context: PhasesContext<unknown, Tx>) => Promise<unknown>) =>
      serverAction(kit(database.client).operation({ name: 'pay', schema: anything, acceptKeys: 'any' }).phases(steps));

    test('which counts', async () => {
      const key = freshKey();
      const submit = op().action();
      await submit(null, formOf(key));
      const { message } = (await submit(null, formOf(key, { sku: 'mug' }))) as Refusal;
      expect(message).toBe(`${OTHER}. The first submission counts.`);
    });

    test('which was refused, and counts for nothing', async () => {
      const key = freshKey();
      const submit = op(({ fail }) => fail('declined')).action();
      await submit(null, formOf(key));
      expect(await submit(null, formOf(key, { sku: 'mug' }))).toMatchObject({
        code: 'payload_mismatch',
        message: `${OTHER}, and was refused. Open it anew to send these.`,
        executed: false, // as a replay of the refusal says
      });
    });

    test('which still runs', async () => {
      const [started, end] = [gate(), gate()];
      const submit = pay(async ({ atomic }) => {
        await atomic('begun', async () => 'begun');
        started.open();
        await end.opened;
      });
      const key = freshKey();
      const running = submit(null, formOf(key));
      await started.opened;
      expect(await submit(null, formOf(key, { sku: 'mug' }))).toMatchObject({
        code: 'payload_mismatch',
        message: `${OTHER}, and is still being processed.`,
        executed: 'unknown',
      });
      end.open();
      expect(await running).toMatchObject({ ok: true });
    });

    test('of which nobody knows yet', async () => {
      const submit = pay(unanswerable);
      const key = freshKey();
      expect(await submit(null, formOf(key))).toMatchObject({ code: 'outcome_unknown' });
      expect(await submit(null, formOf(key, { sku: 'mug' }))).toMatchObject({
        code: 'payload_mismatch',
        message: `${OTHER}, which may have gone through. Please do not send it again: we are finding out.`,
        executed: 'unknown',
      });
    });
  });

  test('B1 X1 never another person’s: their unsigned key is a new one here', async () => {
    const key = freshKey();
    await op().execute({ key, payload: { sku: 'tea' }, scope: BOB });
    const outcome = await op(undefined, { scope: () => ANN }).action()({ sku: 'mug' }, { key });
    expect(outcome).toMatchObject({ ok: true, replayed: false });
  });

  test('no other refusal carries it', async () => {
    const outcome = await op(undefined, { scope: () => null }).action()(null, formOf(freshKey()));
    expect(outcome).not.toHaveProperty('data');
  });
});

describe('F1 what an intent is', () => {
  const bound = (submit: unknown, ...args: unknown[]) =>
    (submit as (...args: unknown[]) => Promise<unknown>).bind(null, ...args);

  test('one key on two bound ids is a mismatch, on the same one a replay, with and without JavaScript', async () => {
    const key = freshKey();
    const submit = op().action();
    const [one, two] = [bound(submit, 'order-1'), bound(submit, 'order-2')];
    const first = await one(null, formOf(key));
    expect(first).toMatchObject({ ok: true, replayed: false });
    expect(await one(formOf(key))).toMatchObject({ ok: true, replayed: true });
    expect(await one(first, formOf(key))).toMatchObject({ ok: true, replayed: true });
    for (const outcome of [await two(null, formOf(key)), await two(formOf(key)), await submit(null, formOf(key))]) {
      expect(outcome).toMatchObject({ code: 'payload_mismatch' });
    }
    expect(await left(key)).toEqual(ONCE);
  });

  test('from code as well', async () => {
    const key = freshKey();
    const submit = op().action();
    expect(await bound(submit, 'order-1')({ n: 1 }, { key })).toMatchObject({ ok: true, replayed: false });
    expect(await bound(submit, 'order-1')({ n: 1 }, { key })).toMatchObject({ ok: true, replayed: true });
    expect(await bound(submit, 'order-2')({ n: 1 }, { key })).toMatchObject({ code: 'payload_mismatch' });
  });

  test('a hydrated and a native submit of one form replay alike, whichever comes first', async () => {
    for (const nativeFirst of [true, false]) {
      const key = freshKey();
      const fields = { sku: 'tea', note: 'two\nlines' };
      const hydrated = formOf(key, fields);
      const native = formOf(key, { $ACTION_REF_1: '', '$ACTION_1:0': '{"id":"a"}', $ACTION_KEY: 'k', ...fields });
      native.set('note', 'two\r\nlines');
      const checkout = op();
      const sends = [() => checkout.action()(null, hydrated), () => checkout.action()(native) as Promise<unknown>];
      if (nativeFirst) sends.reverse();
      expect(await sends[0]?.()).toMatchObject({ ok: true, replayed: false });
      expect(await sends[1]?.()).toMatchObject({ ok: true, replayed: true });
      expect(checkout.handle.mock.calls[0]?.[0].input).toEqual(
        nativeFirst ? { sku: 'tea', note: 'two\r\nlines' } : fields,
      );
    }
  });

  test('the order of fields does not matter, that of values does', async () => {
    const key = freshKey();
    const submit = op().action();
    const form = (...fields: [string, string][]) => {
      const made = formOf(key, {});
      for (const [name, value] of fields) made.append(name, value);
      return made;
    };
    await submit(null, form(['a', '1'], ['a', '2'], ['b', '3']));
    expect(await submit(null, form(['b', '3'], ['a', '1'], ['a', '2']))).toMatchObject({ replayed: true });
    expect(await submit(null, form(['a', '2'], ['a', '1'], ['b', '3']))).toMatchObject({ code: 'payload_mismatch' });
  });
});

describe('called with values, as a form that sends values does', () => {
  const values = (sku = 'tea', content = 'x') => ({
    lines: [{ sku, quantity: 2, gift: false }],
    on: new Date('2026-02-28'),
    picture: new File([content], 'a.txt'),
  });

  test('F1 the same values are one intent, whoever sends them again', async () => {
    const { action, handle } = op();
    const key = freshKey();
    const first = await action()(values(), { key, attempt: 1 });
    const again = await action()(values(), { key, attempt: 2 });
    expect([first, again]).toMatchObject([
      { ok: true, replayed: false },
      { ok: true, replayed: true },
    ]);
    expect(handle).toHaveBeenCalledTimes(1);
    expect(handle.mock.calls[0]?.[0].input).toMatchObject({
      lines: [{ quantity: 2, gift: false }],
      on: new Date('2026-02-28'),
    });
  });

  test.each([
    ['another number of a row', { ...values(), lines: [{ sku: 'tea', quantity: 3, gift: false }] }],
    ['a row that was moved in', { ...values(), lines: [...values().lines, ...values().lines] }],
    ['another day', { ...values(), on: new Date('2026-03-01') }],
    ['a file of the same name with another content', values('tea', 'y')],
    ['text in place of a number', { ...values(), lines: [{ sku: 'tea', quantity: '2', gift: false }] }],
  ])('F1 %s under the same key is a mismatch', async (_, others) => {
    const { action, handle } = op();
    const key = freshKey();
    await action()(values(), { key });
    expect(await action()(others, { key })).toMatchObject({ ok: false, code: 'payload_mismatch' });
    expect(handle).toHaveBeenCalledTimes(1);
  });

  test('fieldErrors have the paths of the values, and a number that is none is its field’s error', async () => {
    const schema = z.object({ lines: z.array(z.object({ sku: z.string().min(1), quantity: z.number() })) });
    const { action } = op(undefined, {}, { schema });
    const outcome = await action()({ lines: [{ sku: '', quantity: Number.NaN }] }, { key: freshKey() });
    expect(outcome).toMatchObject({
      code: 'validation',
      fieldErrors: { 'lines.0.sku': [expect.any(String)], 'lines.0.quantity': [expect.any(String)] },
    });
  });

  test('a bound argument is a part of the intent', async () => {
    const { action } = op();
    const key = freshKey();
    const bound = (cart: string) => action().bind(null, cart as never) as unknown as ReturnType<typeof action>;
    expect(await bound('cart-1')(values(), { key })).toMatchObject({ ok: true });
    expect(await bound('cart-2')(values(), { key })).toMatchObject({ code: 'payload_mismatch' });
  });
});
