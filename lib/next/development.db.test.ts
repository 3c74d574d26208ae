import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { type TestDatabase, testDatabase } from '../../scripts/testing/test-database.ts';
import { ConfigurationError } from '../core/errors.ts';
import { redirectOf } from '../core/redirect.ts';
import { anything, kit, SECRET } from '../integration/kit.fixture.ts';
import { type ServerActionOptions, serverAction } from './index.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database?.drop());

const told = vi.spyOn(console, 'error').mockImplementation(() => {});
afterEach(() => {
  vi.unstubAllEnvs();
  told.mockClear();
});

function action(options?: ServerActionOptions<unknown>) {
  const operation = kit(database.client, { secret: [SECRET] })
    .operation({ name: 'checkout', schema: anything })
    .handler(async () => expect.unreachable('it has no key'));
  return serverAction(operation, options) as (...args: unknown[]) => Promise<unknown>;
}

const form = () => new FormData();
const thrownBy = (call: Promise<unknown>) =>
  call.then(
    () => expect.unreachable('it was answered'),
    (error: unknown) => error,
  );
const WORDS = /form of checkout .* without its key.*IdempotentForm.*IdempotencyKeyField.*issueKey\(checkout\)/;

describe('a form without the field of its key, in development', () => {
  test.each([
    ['alone', [form()]],
    ['behind what was bound to its action', ['order-1', form()]],
  ])('a bare <form action> is an error that names the operation and the remedy: %s', async (_, args) => {
    vi.stubEnv('NODE_ENV', 'development');
    const error = await thrownBy(action()(...args));
    expect(error).toBeInstanceOf(ConfigurationError);
    expect((error as Error).message).toMatch(WORDS);
  });

  test('with useActionState the page has the remedy each time, and the console once', async () => {
    vi.stubEnv('NODE_ENV', 'development');
    for (const _ of [1, 2]) {
      const refusal = { ok: false, code: 'key_missing', message: expect.stringMatching(WORDS) };
      expect(await action()(null, form())).toMatchObject(refusal);
    }
    expect(told.mock.calls).toEqual([[expect.stringMatching(WORDS)]]);
  });

  test('neither a call from code nor a form whose key is a wrong one is meant', async () => {
    vi.stubEnv('NODE_ENV', 'development');
    expect(await action()({})).toMatchObject({ code: 'key_missing' });
    const wrong = form();
    wrong.append('idempotency_key', 'x');
    expect(await action()(wrong)).toMatchObject({ code: 'key_invalid' });
    expect(told).not.toHaveBeenCalled();
  });
});

describe('a form whose intent names another operation', () => {
  const named = (operation: string) => {
    const sent = form();
    sent.append('idempotency_operation', operation);
    return sent;
  };
  const OTHER = /names the operation refund, and its action runs checkout.*"checkout:"/;

  test('is refused in development, with the remedy in the page each time, and on the console once', async () => {
    vi.stubEnv('NODE_ENV', 'development');
    for (const _ of [1, 2]) {
      const refusal = { code: 'key_invalid', message: expect.stringMatching(OTHER) };
      expect(await action()(null, named('refund'))).toMatchObject(refusal);
    }
    expect(told.mock.calls).toEqual([[expect.stringMatching(OTHER)]]);
  });

  test('the right name, and any in production, is no matter', async () => {
    expect(await action()(null, named('refund'))).toMatchObject({ code: 'key_missing' });
    vi.stubEnv('NODE_ENV', 'development');
    expect(await action()(null, named('checkout'))).toMatchObject({ code: 'key_missing' });
    expect(told.mock.calls.flat().join()).not.toMatch(OTHER);
  });
});

test("what a browser has found is said on the server's console, once, and in development alone", async () => {
  const sent = form();
  sent.append('idempotency_complaint', 'No route.');
  await action()(null, sent);
  expect(told).not.toHaveBeenCalled();
  vi.stubEnv('NODE_ENV', 'development');
  for (const _ of [1, 2]) await action()(null, sent);
  expect(told.mock.calls.filter(([words]) => words === '[oncekit] No route.')).toHaveLength(1);
});

describe('in production', () => {
  test('a person is told that nothing was done, and what to do', async () => {
    vi.stubEnv('NODE_ENV', 'production');
    expect(await action()(null, form())).toMatchObject({
      code: 'key_missing',
      executed: 'unknown', // it may be a second sending that has lost its key
      message: 'This form was not complete, so nothing was done just now. Reload the page, then send it again.',
    });
    expect(told).not.toHaveBeenCalled();
  });

  test('where a bare form would drop that, the refusal leads to a page that says it', async () => {
    vi.stubEnv('NODE_ENV', 'production');
    const refusedTo = vi.fn(({ code }: { code: string }) => `/refused?why=${code}`);
    const submit = action({ refusedTo });
    const leadsTo = async (...args: unknown[]) => redirectOf(await thrownBy(submit(...args)))?.url;
    expect([await leadsTo(form()), await leadsTo('order-1', form())]).toEqual(
      Array(2).fill('/refused?why=key_missing'),
    );
    expect(await submit(null, form())).toMatchObject({ code: 'key_missing' });
    expect(await submit({})).toMatchObject({ code: 'key_missing' });
    expect(refusedTo).toHaveBeenCalledTimes(2);
  });
});
