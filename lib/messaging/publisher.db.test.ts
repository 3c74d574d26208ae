import { runInNewContext } from 'node:vm';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { type TestDatabase, testDatabase } from '../../scripts/testing/test-database.ts';
import { type Destination, PublishError } from './destination.ts';
import { announce, deliveries, destination, outboxOn } from './messaging.fixture.ts';

let database: TestDatabase;
let client: TestDatabase['client'];
beforeAll(async () => {
  database = await testDatabase();
  client = database.client;
});
afterAll(() => database?.drop());
beforeEach(async () => {
  await client.$executeRaw`DELETE FROM outbox_events`;
  await client.$executeRaw`DELETE FROM outbox_aggregates`;
});

/** An outbox whose publisher answers so. */
function answering(behave: () => unknown, options: Partial<Destination> = {}) {
  const sink = destination('sink', options);
  Object.assign(sink.route.publisher, { publish: async () => await behave() });
  return outboxOn(client, [sink.route]);
}

describe('M2 a pause that a publisher asks for', () => {
  test.each<[string, unknown, number]>([
    ['NaN', Number.NaN, 60],
    ['negative', -5000, 60],
    ['a text', '5000', 60],
    ['an object', {}, 60],
    ['without end', Number.POSITIVE_INFINITY, 3600],
    ['two hours', 7_200_000, 3600],
  ])('%s: the failure is written down, and others go on', async (_, retryAfterMs, seconds) => {
    const outbox = answering(
      () => {
        throw new PublishError('HTTP 429', { retryAfterMs: retryAfterMs as number });
      },
      { backoff: { baseMs: 60_000, capMs: 60_000 } },
    );
    for (const aggregate of ['a', 'b']) await announce(client, outbox, aggregate);
    expect(await outbox.relayDue()).toMatchObject({ failed: 2 });
    const rows = await client.$queryRaw<{ isFit: boolean }[]>`
      SELECT next_attempt_at - clock_timestamp() BETWEEN ${seconds / 2 - 5} * interval '1 s' AND ${seconds} * interval '1 s'
             AS "isFit" FROM outbox_deliveries`;
    expect(rows).toEqual([{ isFit: true }, { isFit: true }]);
  });
});

describe('M2 a publisher that returns what says nothing of an acknowledgement', () => {
  test.each<[string, () => unknown]>([
    ['a Response', () => new Response(null, { status: 500 })],
    ['an Error', () => new Error('down')],
    ['a function', () => () => {}],
    ['an Error of another realm, as under Jest', () => runInNewContext(`new TypeError('down')`)],
    // As the ones of undici and node-fetch say of themselves.
    ['a Response of another fetch', () => ({ status: 500, [Symbol.toStringTag]: 'Response' })],
  ])('%s: a failed attempt, and its words say what to write', async (_, made) => {
    const outbox = answering(made);
    await announce(client, outbox, 'a');
    expect(await outbox.relayDue()).toMatchObject({ delivered: 0, failed: 1 });
    const [row] = await deliveries(client);
    expect(row).toMatchObject({ state: 'pending', attempts: 1 });
    expect(row?.lastError).toMatch(/publish .*returned.* Throw /);
  });

  test.each<[string, unknown]>([
    ['nothing', undefined],
    ['an id of the broker', { seq: 17 }],
    ['false', false],
  ])('%s is none of these: it has resolved', async (_, made) => {
    const outbox = answering(() => made);
    await announce(client, outbox, 'a');
    expect(await outbox.relayDue()).toMatchObject({ delivered: 1 });
  });
});

test.each<[string, { name: unknown }]>([
  ['no name', { name: undefined }],
  ['a symbol for a name', { name: Symbol('lost') }],
])('M2 a publisher that throws an error of %s: the failure is written down, and others go on', async (_, odd) => {
  const outbox = answering(() => Promise.reject(Object.assign(new Error('down'), odd)));
  for (const aggregate of ['a', 'b']) await announce(client, outbox, aggregate);
  expect(await outbox.relayDue({ limit: 1 })).toMatchObject({ failed: 2 });
  expect((await deliveries(client)).map(({ lastError }) => lastError)).toEqual(Array(2).fill(String(odd.name)));
});

describe('M2 an onDead that says neither block nor skip', () => {
  test.each<[string, () => unknown]>([
    ['a promise', async () => 'skip'],
    ['a promise that fails', () => Promise.reject(new Error('no'))],
    ['another word', () => 'Skip'],
  ])('%s: the dead letter blocks, and its words say so', async (_, onDead) => {
    const unhandled = vi.fn();
    process.on('unhandledRejection', unhandled);
    const down = () => {
      throw new PublishError('HTTP 500');
    };
    const outbox = answering(down, { attempts: 1, onDead: onDead as never });
    await announce(client, outbox, 'a', 2);
    expect(await outbox.relayDue()).toMatchObject({ dead: 1 });
    const [dead, behind] = await deliveries(client);
    expect([dead?.state, behind?.state]).toEqual(['dead', 'pending']);
    expect(dead?.lastError).toBe('HTTP 500 (and onDead failed: onDead has returned what it cannot mean.)');
    await new Promise((resolve) => setImmediate(resolve));
    process.off('unhandledRejection', unhandled);
    expect(unhandled).not.toHaveBeenCalled();
  });
});

describe('M2 settings that no relay could use are refused at set-up', () => {
  test.each<[string, object]>([
    ['a timeout of NaN', { timeoutMs: Number.NaN }],
    ['a timeout that is a text', { timeoutMs: '5000' }],
    ['no time', { timeoutMs: 0 }],
    ['a pause without end', { backoff: { baseMs: 1000, capMs: Number.POSITIVE_INFINITY } }],
    ['a pause of NaN', { backoff: { baseMs: Number.NaN, capMs: 1000 } }],
    ['pauses that are texts', { backoff: { baseMs: '1000', capMs: '2000' } }],
    ['a factor of NaN', { backoff: { baseMs: 1000, capMs: 2000, factor: Number.NaN } }],
    ['a factor that shrinks pauses', { backoff: { baseMs: 1000, capMs: 2000, factor: 0 } }],
    ['another word for a dead letter', { onDead: 'Skip' }],
  ])('%s', (_, options) => {
    const { route } = destination('sink', options as Partial<Destination>);
    expect(() => outboxOn(client, [route])).toThrow(expect.objectContaining({ name: 'ConfigurationError' }));
  });

  test('a lease without end', () => {
    const endless = { leaseMs: Number.POSITIVE_INFINITY };
    expect(() => outboxOn(client, [], endless)).toThrow('leaseMs cannot be used');
  });

  test('a timeout without end is the lease’s', async () => {
    const outbox = answering(() => {}, { timeoutMs: Number.POSITIVE_INFINITY });
    await announce(client, outbox, 'a');
    expect(await outbox.relayDue()).toMatchObject({ delivered: 1 });
  });
});
