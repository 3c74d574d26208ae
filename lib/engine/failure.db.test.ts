import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { expectCounted } from '../../scripts/testing/expect-counted.ts';
import { type TestDatabase, testDatabase } from '../../scripts/testing/test-database.ts';
import { type Client, createClient } from '../../shop/db.ts';
import type { ErrorContext, HandlerContext, OperationOptions, Options } from '../index.ts';
import { anything, effect, effects, freshKey, kit, type Tx, watchOf } from '../integration/kit.fixture.ts';

let database: TestDatabase;
let server: Awaited<ReturnType<typeof watchOf>>;
const clients: Client[] = [];
/** Roles are the server's, and other tests' too. */
const GUEST = `guest_${process.pid}`;
beforeAll(async () => {
  database = await testDatabase({ ownsTables: true });
  server = await watchOf(database.url);
});
afterAll(async () => {
  await server?.query(`DROP OWNED BY ${GUEST}`).catch(() => {});
  await server?.query(`DROP ROLE IF EXISTS ${GUEST}`);
  await server?.close();
  await Promise.all(clients.map((client) => client.$disconnect()));
  await database?.drop();
});

/** A client whose sessions begin with this setting. */
function clientWith(setting: string): Client {
  const url = new URL(database.url);
  url.searchParams.set('options', `-c ${setting}`);
  const client = createClient(url.href);
  clients.push(client);
  return client;
}

interface Given {
  client?: Client;
  options?: Partial<Options>;
  more?: Partial<OperationOptions<typeof anything, Tx>>;
  handle?: (tx: Tx, fail: HandlerContext<never, Tx>['fail']) => unknown;
}

/** An operation, what was reported of it, and how often its handler ran. */
function op({ client = database.client, options, more, handle = () => 'done' }: Given) {
  const onError = vi.fn<(error: unknown, context: ErrorContext) => void>();
  const handled = vi.fn();
  const operation = kit(client, { onError, waitMs: 0, ...options })
    .operation({ name: 'checkout', schema: anything, ...more })
    .handler(async ({ tx, key, fail }) => {
      handled();
      await effect(tx, key);
      return handle(tx, fail);
    });
  const during = () => onError.mock.calls.map(([, context]) => context.during);
  return { ...operation, during, handled, reported: () => onError.mock.calls.map(([error]) => error) };
}

const boom = () => {
  throw new Error('boom');
};

test.each<[string, Given]>([
  ['scope', { options: { scope: boom } }],
  ['admit', { more: { admit: boom } }],
  ['the schema', { more: { schema: z.looseObject({}).refine(boom) } }],
])('what %s throws is not said to be the handler’s', async (_, given) => {
  const { execute, during, handled } = op(given);
  const key = freshKey();
  expect(await execute({ key, payload: {} })).toMatchObject({ code: 'internal', executed: 'unknown' });
  expect(await execute({ key, payload: {}, attempt: 1 })).toMatchObject({ code: 'internal', executed: false });
  expect(during()).toEqual(['checks', 'checks']);
  expect(handled).not.toHaveBeenCalled();
});

test('what the handler throws is, and whatever the attempt, the rolled back claim proves that nothing was executed', async () => {
  const { execute, during } = op({ handle: boom });
  const key = freshKey();
  for (const attempt of [undefined, 1, 2]) {
    expect(await execute({ key, payload: {}, attempt })).toMatchObject({ code: 'internal', executed: false });
  }
  expect(during()).toEqual(['handler', 'handler', 'handler']);
  expectCounted(await effects(database.client, key)).toBe(0);
});

test('what comes behind the handler is not said to be its own', async () => {
  const rendered = op({});
  const response = { headers: [], render: boom };
  const { outcome } = await rendered.run({ key: freshKey(), payload: {}, response });
  expect(outcome).toMatchObject({ code: 'internal', executed: false });
  expect([rendered.during(), rendered.handled.mock.calls.length]).toEqual([['answer'], 1]);

  const refused = op({ more: { onRefused: boom }, handle: (_, fail) => fail('sold_out') });
  expect(await refused.execute({ key: freshKey(), payload: {} })).toMatchObject({ code: 'internal', executed: false });
  expect([refused.during(), refused.handled.mock.calls.length]).toEqual([['answer'], 1]);
});

test('a COMMIT that the server refuses is not said to be the handler’s', async () => {
  await server.query('CREATE TABLE late (id int, UNIQUE (id) DEFERRABLE INITIALLY DEFERRED)');
  const { execute, during } = op({
    handle: async (tx) => {
      await tx.$executeRaw`INSERT INTO late VALUES (1), (1)`;
    },
  });
  expect(await execute({ key: freshKey(), payload: {} })).toMatchObject({ code: 'already_exists', executed: false });
  expect(during()).toEqual(['answer']);
});

describe('a claim that the database refuses', () => {
  test('the role may not write: thrown, for it is a set-up error', async () => {
    await server.query(`CREATE ROLE ${GUEST}`);
    await server.query(`GRANT SELECT ON ALL TABLES IN SCHEMA public TO ${GUEST}`);
    const { execute, status, handled } = op({ client: clientWith(`role=${GUEST}`) });
    const key = freshKey();
    await expect(execute({ key, payload: {} })).rejects.toMatchObject({
      name: 'ConfigurationError',
      message: expect.stringContaining('oncekit doctor'),
      existing: expect.stringContaining('permission denied'),
    });
    await expect(status({ key })).rejects.toMatchObject({ name: 'ConfigurationError' });
    expect(handled).not.toHaveBeenCalled();
  });

  test('read-only: unavailable, for a failover passes; and the log says what it is', async () => {
    const { execute, fence, during, handled, reported } = op({
      client: clientWith('default_transaction_read_only=on'),
    });
    const key = freshKey();
    const away = { code: 'unavailable', executed: 'unknown', retry: 'same-key', retryAfterMs: 1000 };
    expect(await execute({ key, payload: {} })).toMatchObject(away);
    expect(await fence({ key })).toMatchObject(away);
    expect(during()).toEqual(['database', 'database']);
    for (const error of reported()) expect(error).toMatchObject({ message: expect.stringContaining('25006') });
    expect(handled).not.toHaveBeenCalled();
  });

  test('its primary key is gone: thrown', async () => {
    const broken = await testDatabase({ ownsTables: true });
    await broken.client.$executeRaw`ALTER TABLE idempotency_keys DROP CONSTRAINT idempotency_keys_pkey CASCADE`;
    const { execute, handled } = op({ client: broken.client });
    await expect(execute({ key: freshKey(), payload: {} })).rejects.toMatchObject({ name: 'ConfigurationError' });
    expect(handled).not.toHaveBeenCalled();
    await broken.drop();
  });

  test('phases: the same, and not said of a phase', async () => {
    const onError = vi.fn<(error: unknown, context: ErrorContext) => void>();
    const pay = kit(clientWith(`role=${GUEST}`), { onError })
      .operation({ name: 'pay', schema: anything })
      .phases(async () => 'done');
    await expect(pay.execute({ key: freshKey(), payload: {} })).rejects.toMatchObject({ name: 'ConfigurationError' });
    expect(onError).not.toHaveBeenCalled();
  });
});

test('a set-up error that a handler comes upon is reported as one, and nobody is told to send it again at once', async () => {
  const { execute, during } = op({ handle: () => ({ total: () => 1 }) });
  const key = freshKey();
  expect(await execute({ key, payload: {} })).toMatchObject({
    code: 'internal',
    executed: false,
    message: 'Something is set up wrongly on our side. Once that is mended, it can be sent again.',
  });
  expect(during()).toEqual(['setup']);
  expectCounted(await effects(database.client, key)).toBe(0);
});

describe('the log says that the handler threw where it did, and nowhere else', () => {
  const THREW = /the handler threw/;
  const linesOf = async (given: Given, request: object = {}) => {
    const log = vi.fn();
    const { run, handled } = op({ ...given, options: { ...given.options, log } });
    await run({ key: freshKey(), payload: {}, ...request });
    const lines = log.mock.calls.map(([{ msg, detail = '' }]) => `${msg} ${detail}`);
    return { text: lines.join('\n'), runs: handled.mock.calls.length };
  };

  test.each<[string, Given, RegExp, number]>([
    ['scope', { options: { scope: boom } }, /a check before the claim threw; the handler did not run/, 0],
    ['admit', { more: { admit: boom } }, /a check before the claim threw; the handler did not run/, 0],
    ['the schema', { more: { schema: z.looseObject({}).refine(boom) } }, /a check before the claim threw/, 0],
    ['fingerprint', { more: { fingerprint: boom } }, /a check before the claim threw; the handler did not run/, 0],
    ['a payload that is refused', { more: { schema: z.looseObject({ a: z.string() }) } }, /^(?!.*threw)/s, 0],
    ['onRefused', { more: { onRefused: boom }, handle: (_, fail) => fail('no') }, /the answer could not be made/, 1],
    [
      'an answer that cannot be stored',
      { handle: () => ({ order: { pay: () => 1 } }) },
      /used wrongly.*\.order\.pay/s,
      1,
    ],
    ['an answer that is too large', { handle: () => 'x'.repeat(300_000) }, /the answer could not be made, stored/, 1],
    ['a stored refusal', { handle: (_, fail) => fail('no') }, /^(?!.*threw)/s, 1],
  ])('not of %s', async (_, given, words, runs) => {
    const { text, ...ran } = await linesOf(given);
    expect(text).toMatch(words);
    expect(text).not.toMatch(THREW);
    expect(ran.runs).toBe(runs);
  });

  test('not of the rendering of a response, nor of afterCommit', async () => {
    const { text } = await linesOf({}, { response: { headers: [], render: boom } });
    expect(text).toMatch(/the answer could not be made/);
    expect(text).not.toMatch(THREW);
    const log = vi.fn();
    const behind = kit(database.client, { log })
      .operation({ name: 'checkout', schema: anything })
      .handler(async ({ afterCommit }) => afterCommit(boom));
    expect(await behind.execute({ key: freshKey(), payload: {} })).toMatchObject({ ok: true });
    expect(log.mock.calls.map(([{ msg }]) => msg)).toContain('afterCommit threw; the answer stands');
  });

  test('of the handler', async () => {
    expect(await linesOf({ handle: boom })).toMatchObject({ text: expect.stringMatching(THREW), runs: 1 });
  });

  test('nor of a phase, where a run ended for another reason', async () => {
    const log = vi.fn();
    const onPoint = (point: string) => (point === 'before-finish' ? boom() : undefined);
    const pay = kit(database.client, { log, onPoint })
      .operation({ name: 'pay', schema: anything })
      .phases(({ atomic }) => atomic('first', async () => 'done'));
    await pay.execute({ key: freshKey(), payload: {} });
    const lines = log.mock.calls.map(([{ msg }]) => msg).join('\n');
    expect(lines).toMatch(/a run ended early; what was finished stands/);
    expect(lines).not.toMatch(/threw/);
  });
});
