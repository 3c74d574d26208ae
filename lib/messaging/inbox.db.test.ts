import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { expectCounted } from '../../scripts/testing/expect-counted.ts';
import { type TestDatabase, testDatabase } from '../../scripts/testing/test-database.ts';
import { createClient } from '../../shop/db.ts';
import { ConfigurationError } from '../index.ts';
import { effect, effects, freshKey, type Tx } from '../integration/kit.fixture.ts';
import type { FailedEvent } from '../store/messages.ts';
import { Db } from '../store/prisma/db.ts';
import { inboxOn as inboxStoreOn } from '../store/prisma/messages/store.ts';
import { StoreUnavailableError } from '../store/store.ts';
import { makeInbox } from './inbox.ts';
import { gate, inboxOn, pausesEnd, watchOf } from './messaging.fixture.ts';
import type { Received, ReceivedEvent } from './reception.ts';

let database: TestDatabase;
let client: TestDatabase['client'];
let second: TestDatabase['client'];
let watch: Awaited<ReturnType<typeof watchOf>>;
beforeAll(async () => {
  database = await testDatabase();
  client = database.client;
  second = createClient(database.url);
  watch = await watchOf(database.url);
});
beforeEach(() => client.$executeRaw`DELETE FROM inbox_events`);
afterAll(async () => {
  await watch?.close();
  await second?.$disconnect();
  await database?.drop();
});

type Client = TestDatabase['client'];

const event = (eventId: string, payload: unknown = { amount: 5 }) => ({ source: 'stripe', eventId, payload });
const rowOf = (eventId: string) =>
  client.inboxEvent.findUnique({ where: { source_eventId: { source: 'stripe', eventId } } });
const kinds = (received: Received<unknown>[]) => received.map(({ kind }) => kind).sort();

const timePasses = () => pausesEnd(client);

/** An effect that fails so often, and then takes place. */
function failing(id: string, times: number) {
  let runs = 0;
  return async (tx: Tx) => {
    await effect(tx, id);
    if (++runs <= times) throw new Error('told to fail');
    return { runs };
  };
}

describe('M3 an event takes effect once', () => {
  test('however often it comes: each repetition is acknowledged with the result that is kept', async () => {
    const inbox = inboxOn(client);
    const id = freshKey();
    const run = async (tx: Tx) => {
      await effect(tx, id);
      return { order: 7, at: new Date(0), cents: 5n, lines: new Map([['tea', 1n]]) };
    };
    expect(await inbox.receiveOnce(event(id), run)).toEqual({
      kind: 'processed',
      result: { order: 7, at: new Date(0), cents: 5n, lines: new Map([['tea', 1n]]) },
    });
    const kept = { order: 7, at: '1970-01-01T00:00:00.000Z', cents: '5', lines: [['tea', '1']] };
    const again = { kind: 'replayed', result: kept, differs: false };
    expect(await inbox.receiveOnce(event(id), run)).toEqual(again);
    expectCounted(await effects(client, id)).toBe(1);
    // Another sender's event of the same name is another event.
    expect(await inbox.receiveOnce({ ...event(id), source: 'other' }, run)).toMatchObject({ kind: 'processed' });
  });

  test.each([
    ['commits: the second replays', false, ['processed', 'replayed'], 1],
    ['rolls back: the second processes', true, ['failed', 'processed'], 1],
  ])('of two deliveries at once the second waits until the first %s', async (_, fails, outcome, count) => {
    const id = freshKey();
    const [claimed, end] = [gate(), gate()];
    const first = inboxOn(client, { timeoutMs: 20_000 }).receiveOnce(event(id), async (tx) => {
      await effect(tx, id);
      claimed.open();
      await end.opened;
      if (fails) throw new Error('told to fail');
    });
    await claimed.opened;
    let runs = 0;
    const later = inboxOn(second, { timeoutMs: 20_000 }).receiveOnce(event(id), async (tx) => {
      runs++;
      await effect(tx, id);
    });
    await watch.untilWaiting(1);
    expect(runs).toBe(0);
    end.open();
    const [one, two] = await Promise.all([first, later]);
    expect(two.kind).toBe(outcome[1]);
    // The first one's failure is counted after the fact: it may find that the second has processed the event.
    expect(fails ? ['failed', 'replayed'] : ['processed']).toContain(one.kind);
    expectCounted(await effects(client, id)).toBe(count);
    expect(await rowOf(id)).toMatchObject({ state: 'processed' });
  });

  test('of 30 at once in two processes one takes effect', async () => {
    const id = freshKey();
    const [one, two] = [inboxOn(client, { timeoutMs: 20_000 }), inboxOn(second, { timeoutMs: 20_000 })];
    const all = Array.from({ length: 30 }, (_, n) =>
      (n % 2 ? one : two).receiveOnce(event(id), (tx) => effect(tx, id)),
    );
    const received = await Promise.all(all);
    expect(kinds(received).filter((kind) => kind === 'processed')).toHaveLength(1);
    expect(kinds(received).filter((kind) => kind === 'replayed')).toHaveLength(29);
    expectCounted(await effects(client, id)).toBe(1);
  });

  test('20 deliveries of a slow event leave the pool to others', async () => {
    const small = createClient(database.url, { max: 2 });
    const inbox = inboxOn(small, { timeoutMs: 20_000 });
    const [claimed, end] = [gate(), gate()];
    const id = freshKey();
    const slow = async (tx: Tx) => {
      await effect(tx, id);
      claimed.open();
      await end.opened;
    };
    const all = Array.from({ length: 20 }, () => inbox.receiveOnce(event(id), slow));
    await claimed.opened;
    // The slow one is not finished, so an answer proves that there was a connection for it.
    expect(await inbox.receiveOnce(event(freshKey()), async () => 'there')).toMatchObject({ result: 'there' });
    end.open();
    expect(kinds(await Promise.all(all)).filter((kind) => kind === 'processed')).toHaveLength(1);
    expectCounted(await effects(client, id)).toBe(1);
    await small.$disconnect();
  });

  test('a process that is gone at any point leaves an event that the next delivery lets take effect once', async () => {
    for (const point of ['claimed', 'handled', 'committed'] as const) {
      const id = freshKey();
      const dying = inboxOn(client, {
        onPoint: (at) => {
          if (at === point) throw new Error('gone');
        },
      });
      await dying.receiveOnce(event(id), (tx) => effect(tx, id)).catch(() => {});
      expectCounted(await effects(client, id)).toBe(point === 'committed' ? 1 : 0);
      await inboxOn(second).receiveOnce(event(id), (tx) => effect(tx, id));
      expectCounted(await effects(client, id)).toBe(1);
    }
  });

  test('an effect whose query is not awaited and fails is not acknowledged', async () => {
    const id = freshKey();
    let unawaited: Promise<unknown> = Promise.resolve();
    const inbox = inboxOn(client, {
      onPoint: async (at) => {
        if (at === 'handled') await unawaited;
      },
    });
    const received = await inbox.receiveOnce(event(id), async (tx) => {
      await effect(tx, id);
      unawaited = Promise.resolve(tx.$queryRawUnsafe('SELECT 1/0')).catch(() => {});
    });
    expect(received).toMatchObject({ kind: 'failed' });
    expectCounted(await effects(client, id)).toBe(0);
  });

  test('an effect may send several commands at once, each time, and return rows with computed fields', async () => {
    const words = { compute: () => 'computed' };
    const inbox = inboxOn(client.$extends({ result: { auditRecord: { words } } }) as unknown as Client);
    for (let times = 1; times <= 3; times++) {
      const id = freshKey();
      const received = await inbox.receiveOnce(event(id), async (tx) => {
        await tx.$executeRawUnsafe("SET LOCAL oncekit.a = '1'; SET LOCAL oncekit.b = '2'");
        await effect(tx, id);
        return await tx.auditRecord.findFirstOrThrow({ where: { action: id } });
      });
      expect(received).toMatchObject({ kind: 'processed', result: { action: id } });
      const again = await inbox.receiveOnce(event(id), async () => 'never');
      expect(again).toMatchObject({ kind: 'replayed', result: { action: id, words: 'computed' } });
    }
  });

  test.each([
    ['a Response', () => new Response(null, { status: 500 })],
    ['an Error', () => new Error('declined')],
    ['a function', () => () => 5],
  ])('an effect that returns %s has not said that it is done: rolled back, and tried again', async (_, made) => {
    const id = freshKey();
    const received = await inboxOn(client).receiveOnce(event(id), async (tx) => {
      await effect(tx, id);
      return made();
    });
    expect(received).toMatchObject({ kind: 'failed', error: expect.any(ConfigurationError) });
    expect(received).toMatchObject({ error: { message: expect.stringContaining('effect of stripe') } });
    expectCounted(await effects(client, id)).toBe(0);
  });
});

describe('M3 payloads', () => {
  test('a compare that is async is the mistake of the app, and says so', async () => {
    const compare = async (payload: { amount: number }) => payload.amount;
    const inbox = inboxOn(client, { sources: { stripe: { compare } } });
    const received = inbox.receiveOnce(event(freshKey()), async () => 'never');
    await expect(received).rejects.toThrow(ConfigurationError);
    await expect(received).rejects.toThrow('compare of stripe');
  });

  test('another payload under a known id is acknowledged, recorded once and reported; the first one counts', async () => {
    const inbox = inboxOn(client);
    const id = freshKey();
    await inbox.receiveOnce(event(id), async () => 'first');
    const other = event(id, { amount: 500 });
    for (let times = 0; times < 2; times++) {
      expect(await inbox.receiveOnce(other, async () => 'second')).toEqual({
        kind: 'replayed',
        result: 'first',
        differs: true,
      });
    }
    expect(inbox.reports.map(({ kind }) => kind)).toEqual(['mismatch', 'mismatch']);
    expect(await rowOf(id)).toMatchObject({ mismatches: 2, attempts: 1 });
    expect(await inbox.find({ source: 'stripe', eventId: id })).toMatchObject({
      result: '"first"',
      records: [{ peer: 'stripe', type: 'payload_mismatch', actor: 'inbox' }],
    });
  });

  test('another payload under the id of a failed event is a mismatch: the first one stays, and is run again', async () => {
    const paid: unknown[] = [];
    let fails = true;
    const handle = async (tx: Tx, { eventId, payload }: ReceivedEvent) => {
      await effect(tx, eventId);
      if (fails) throw new Error('told to fail');
      paid.push(payload);
    };
    const inbox = inboxOn(client, { sources: { stripe: { handle } } });
    const id = freshKey();
    await inbox.receiveOnce(event(id));
    const other = event(id, { amount: 500 });
    for (let times = 0; times < 2; times++) {
      await timePasses();
      expect(await inbox.receiveOnce(other)).toMatchObject({ kind: 'failed', attempts: 1, isKept: true });
    }
    fails = false;
    expect(await inbox.receiveOnce(other)).toMatchObject({ kind: 'failed', attempts: 1 });
    expect(await rowOf(id)).toMatchObject({ mismatches: 3, attempts: 1, payload: '{"amount":5}' });
    expect(inbox.reports.map(({ kind }) => kind)).toEqual(['not-processed', 'mismatch', 'mismatch', 'mismatch']);
    expectCounted(await effects(client, id)).toBe(0);
    expect(await inbox.retryDue()).toMatchObject({ processed: 1 });
    expect(paid).toEqual([{ amount: 5 }]);
    expect(await inbox.find({ source: 'stripe', eventId: id })).toMatchObject({
      state: 'processed',
      records: [{ type: 'payload_mismatch' }],
    });
  });

  test('of two payloads under one id that fail at the same time the one that is written down first stays', async () => {
    const id = freshKey();
    // Due again at once: the other payload is not counted for being early either, but for being another one.
    const backoff = { baseMs: 0, capMs: 0 };
    const inbox = inboxOn(client, { backoff });
    const [isRunning, mayFail] = [gate(), gate()];
    const first = inboxOn(client, { backoff }).receiveOnce(event(id), async () => {
      isRunning.open();
      await mayFail.opened;
      throw new Error('told to fail');
    });
    await isRunning.opened;
    const second = inbox.receiveOnce(event(id, { amount: 500 }), async () => {
      throw new Error('told to fail, too');
    });
    // The claim of the second waits for the transaction of the first, so both have failed before either is counted.
    await watch.untilWaiting(1);
    mayFail.open();
    expect(kinds(await Promise.all([first, second]))).toEqual(['failed', 'failed']);
    const row = await rowOf(id);
    expect([row?.mismatches, row?.attempts]).toEqual([1, 1]);
  });

  test('of what is not compared, too, the payload that failed first is the one that is run again', async () => {
    const seen: unknown[] = [];
    let fails = true;
    const handle = async (_: Tx, { payload }: ReceivedEvent) => {
      if (fails) throw new Error('told to fail');
      seen.push(payload);
    };
    const compare = ({ amount }: { amount: number }) => amount;
    const inbox = inboxOn(client, { sources: { stripe: { handle, compare } } });
    const id = freshKey();
    for (const note of ['first', 'second']) {
      await inbox.receiveOnce(event(id, { amount: 5, note }));
      await timePasses();
    }
    expect(await rowOf(id)).toMatchObject({ attempts: 2, mismatches: 0 });
    fails = false;
    expect(await inbox.retryDue()).toMatchObject({ processed: 1 });
    expect(seen).toEqual([{ amount: 5, note: 'first' }]);
  });

  test('what is declared is compared, in whatever order its fields come', async () => {
    const compare = ({ id, data }: { id: string; data: unknown }) => ({ id, data });
    const inbox = inboxOn(client, { sources: { stripe: { compare } } });
    const id = freshKey();
    await inbox.receiveOnce(event(id, { id, data: { a: 1, b: 2 }, pending_webhooks: 2 }), async () => {});
    const again = await inbox.receiveOnce(event(id, { pending_webhooks: 1, data: { b: 2, a: 1 }, id }), async () => {});
    expect(again).toMatchObject({ kind: 'replayed', differs: false });
  });
});

describe('M3 failures', () => {
  test('attempts are counted though their transactions roll back; after N it is a dead letter', async () => {
    const backoff = { baseMs: 1000, capMs: 1500 };
    const id = freshKey();
    const run = failing(id, 9);
    const sources = { stripe: { handle: run } };
    const inbox = inboxOn(client, { attempts: 3, backoff, random: () => 1, sources });
    const outcomes: Received<unknown>[] = [];
    for (let times = 0; times < 4; times++) {
      outcomes.push(await inbox.receiveOnce(event(id), run));
      await timePasses();
    }
    expect(outcomes).toMatchObject([
      { kind: 'failed', attempts: 1, retryAfterMs: 1000 },
      { kind: 'failed', attempts: 2, retryAfterMs: 1500 },
      { kind: 'dead', attempts: 3, error: { message: 'told to fail' }, isKept: true },
      { kind: 'dead', attempts: 3, isKept: true },
    ]);
    expectCounted(await effects(client, id)).toBe(0);
    expect(await rowOf(id)).toMatchObject({ state: 'dead', attempts: 3, lastError: 'Error', nextAttemptAt: null });
    expect(inbox.reports.map(({ kind }) => kind)).toEqual(['not-processed', 'not-processed', 'not-processed-dead']);

    expect((await inbox.open()).filter(({ state }) => state === 'dead')).toMatchObject([{ peer: 'stripe', count: 1 }]);
    expect(await inbox.list({ state: 'dead', limit: 9, offset: 0 })).toMatchObject([{ eventId: id, result: null }]);
    const clicks = [1, 2].map(() => inbox.requeue({ source: 'stripe', eventId: id }, 'alice'));
    expect((await Promise.all(clicks)).sort()).toEqual([false, true]);
    expect(await inbox.receiveOnce(event(id), (tx) => effect(tx, id))).toMatchObject({ kind: 'processed' });
    expect(await rowOf(id)).toMatchObject({ state: 'processed', payload: null, lastError: null, attempts: 1 });
  });

  test('what failed is run again when it is due, with the payload it came with, by one of many', async () => {
    const id = freshKey();
    const seen: unknown[] = [];
    const fails = failing(id, 1);
    const handle = async (tx: Tx, { payload }: { payload: unknown }) => {
      seen.push(payload);
      return await fails(tx);
    };
    const backoff = { baseMs: 60_000, capMs: 60_000 };
    const [one, two] = [client, second].map((on) => inboxOn(on, { sources: { stripe: { handle } }, backoff }));
    if (!one || !two) return;
    expect(await one.receiveOnce(event(id))).toMatchObject({ kind: 'failed', attempts: 1 });
    expect(await one.retryDue(), 'not before its time').toMatchObject({ taken: 0 });
    await timePasses();
    const sums = await Promise.all([one.retryDue(), two.retryDue(), one.retryDue()]);
    expect(sums.reduce((sum, { processed }) => sum + processed, 0)).toBe(1);
    expect(seen).toEqual([{ amount: 5 }, { amount: 5 }]);
    expectCounted(await effects(client, id)).toBe(1);
    expect(await one.receiveOnce(event(id))).toMatchObject({ kind: 'replayed', result: { runs: 2 } });
  });

  test('what fails again before it is due is tried, and not counted: ten deliveries at once make no dead letter', async () => {
    const inboxes = [client, second].map((on) =>
      inboxOn(on, { attempts: 3, backoff: { baseMs: 60_000, capMs: 60_000 } }),
    );
    const id = freshKey();
    const run = failing(id, 99);
    const ten = Array.from({ length: 10 }, (_, n) => inboxes[n % 2]?.receiveOnce(event(id), run));
    expect(new Set((await Promise.all(ten)).map((received) => received?.kind))).toEqual(new Set(['failed']));
    expect(await rowOf(id)).toMatchObject({ state: 'failed', attempts: 1 });
    expect(await inboxes[0]?.receiveOnce(event(id), (tx) => effect(tx, id))).toMatchObject({ kind: 'processed' });
  });

  test('an effect whose statement runs out of time is counted, and others have their turn', async () => {
    const ran: string[] = [];
    const handle = async (tx: Tx, { eventId }: { eventId: string }) => {
      ran.push(eventId);
      if (eventId !== 'slow') return;
      await tx.$queryRaw`SELECT set_config('statement_timeout', '10ms', true)`;
      await tx.$queryRaw`SELECT pg_sleep(10)::text`;
    };
    const inbox = inboxOn(client, { sources: { stripe: { handle } } });
    expect(await inbox.receiveOnce(event('slow'))).toMatchObject({ kind: 'failed', attempts: 1 });
    const fails = () => Promise.reject(new Error('no'));
    for (const id of ['s1', 's2']) await inbox.receiveOnce(event(id), fails);
    await timePasses();
    expect(await inbox.retryDue()).toEqual({ taken: 3, processed: 2, failed: 1, dead: 0 });
    expect(await rowOf('slow')).toMatchObject({ state: 'failed', attempts: 2 });
  });

  test('a statement that outlasts the time of the effect is ended by the server', async () => {
    const inbox = inboxOn(client, { timeoutMs: 50 });
    const sleeps = (tx: Tx) => tx.$queryRaw`SELECT pg_sleep(60)::text`;
    expect(await inbox.receiveOnce(event('asleep'), sleeps)).toMatchObject({ kind: 'failed', attempts: 1 });
  });

  test('a payload that JSON would change is not kept: it is never run again as something else', async () => {
    const handle = () => Promise.reject(new Error('no'));
    const inbox = inboxOn(client, { attempts: 2, sources: { stripe: { handle } } });
    const form = new FormData();
    form.set('From', '+15550100');
    expect(await inbox.receiveOnce(event('form', form))).toMatchObject({ kind: 'failed', isKept: false });
    expect(await inbox.receiveOnce(event('map', { lines: new Map([['a', 1]]) }))).toMatchObject({ isKept: false });
    expect(await inbox.receiveOnce(event('json', { lines: [['a', 1]] }))).toMatchObject({ isKept: true });
    const kept = await client.inboxEvent.findMany({ orderBy: { eventId: 'asc' } });
    expect(kept.map(({ eventId, payload }) => [eventId, payload])).toEqual([
      ['form', null],
      ['json', '{"lines":[["a",1]]}'],
      ['map', null],
    ]);
    await timePasses();
    expect(await inbox.retryDue()).toMatchObject({ taken: 1 });
    // The last attempt, and what comes behind it.
    for (let times = 1; times <= 2; times++) {
      expect(await inbox.receiveOnce(event('form', form))).toMatchObject({ kind: 'dead', isKept: false });
    }
  });

  test.each<[string, object]>([
    ['a pause of NaN', { backoff: { baseMs: Number.NaN, capMs: 1000 } }],
    ['a pause without end', { backoff: { baseMs: 1000, capMs: Number.POSITIVE_INFINITY } }],
    ['pauses that are texts', { backoff: { baseMs: '1000', capMs: '2000' } }],
    ['a time of NaN', { timeoutMs: Number.NaN }],
    ['a time without end', { timeoutMs: Number.POSITIVE_INFINITY }],
    ['no time', { timeoutMs: 0 }],
    ['no attempt', { attempts: 0 }],
  ])('settings that no failure could be written down with are refused at set-up: %s', (_, settings) => {
    expect(() => inboxOn(client, settings)).toThrow(ConfigurationError);
  });

  test('an attempt whose failure cannot be written down is counted all the same', async () => {
    let runs = 0;
    const handle = async () => {
      runs++;
      throw new Error('no');
    };
    const settings = { attempts: 2, sources: { stripe: { handle } } };
    const inbox = inboxOn(client, settings);
    await inbox.receiveOnce(event('unwritten'));
    const failed = () => Promise.reject(new StoreUnavailableError('away'));
    const store = inboxStoreOn<Tx>(new Db(client, { part: 'messaging' }));
    const forgetful = makeInbox({ ...store, recordFailure: failed }, settings);
    for (let times = 0; times < 3; times++) {
      await timePasses();
      await expect(forgetful.retryDue()).rejects.toThrow('away');
    }
    expect(await rowOf('unwritten')).toMatchObject({ state: 'failed', attempts: 2 });
    await timePasses();
    expect(await inbox.retryDue()).toMatchObject({ dead: 1 });
    expect(runs).toBe(2);
  });

  test('an effect that changes its payload leaves the next try, and what is kept, as it was received', async () => {
    const seen: unknown[] = [];
    const handle = async (_: Tx, { payload }: { payload: unknown }) => {
      const paid = payload as { amount: number };
      seen.push(paid.amount);
      paid.amount /= 100;
      throw new Error('no');
    };
    const inbox = inboxOn(client, { sources: { stripe: { handle } } });
    await inbox.receiveOnce(event('changing', { amount: 5000 }));
    expect(await rowOf('changing')).toMatchObject({ payload: '{"amount":5000}' });
    await timePasses();
    expect(await inbox.retryDue()).toMatchObject({ failed: 1 });
    expect(await rowOf('changing')).toMatchObject({ payload: '{"amount":5000}' });
    expect(seen).toEqual([5000, 5000]);
  });

  test('with fewer attempts than it has failed it is dead when it is due, and does not run', async () => {
    const id = freshKey();
    const handle = failing(id, 9);
    const inbox = (attempts: number) => inboxOn(client, { attempts, sources: { stripe: { handle } } });
    for (let times = 0; times < 4; times++) {
      await inbox(10).receiveOnce(event(id));
      await timePasses();
    }
    expect(await inbox(3).retryDue()).toMatchObject({ taken: 1, dead: 1 });
    expect(await rowOf(id)).toMatchObject({
      state: 'dead',
      lastError: 'It was taken more often than it may be tried.',
    });
  });

  test('a worker that was overtaken counts nothing of what another one has taken since', async () => {
    const fails = () => Promise.reject(new Error('no'));
    await inboxOn(client, { sources: { stripe: { handle: fails } } }).receiveOnce(event('overtaken'));
    const store = inboxStoreOn<Tx>(new Db(client, { part: 'messaging' }));
    const takes: (FailedEvent | undefined)[] = [];
    for (let times = 0; times < 2; times++) {
      await timePasses();
      takes.push(await store.takeFailed('stripe', 60_000));
    }
    expect(takes.map((taken) => taken?.attempts)).toEqual([2, 3]);
    const receipt = { source: 'stripe', eventId: 'overtaken', payloadHash: new Uint8Array(32) };
    const failure = { payload: null, pausesMs: [1, 1], error: 'no' };
    expect(await store.recordFailure(receipt, { ...failure, taken: 2 })).toMatchObject({
      state: 'failed',
      attempts: 3,
    });
    if (takes[0]) await store.giveBack(takes[0]);
    expect(await rowOf('overtaken')).toMatchObject({ state: 'failed', attempts: 3 });
    expect(await store.recordFailure(receipt, { ...failure, taken: 3 })).toMatchObject({ state: 'dead', attempts: 3 });
  });

  test('an effect that takes too long is rolled back and counted', async () => {
    const id = freshKey();
    const inbox = inboxOn(client, { timeoutMs: 50 });
    const late = gate();
    const received = await inbox.receiveOnce(event(id), async (tx) => {
      await effect(tx, id);
      await late.opened;
      await effect(tx, id);
    });
    late.open();
    expect(received).toMatchObject({ kind: 'failed', attempts: 1 });
    expectCounted(await effects(client, id)).toBe(0);
  });

  test('a result that cannot be kept rolls the effect back', async () => {
    const id = freshKey();
    const inbox = inboxOn(client);
    const circle: { self?: unknown } = {};
    circle.self = circle;
    for (const result of ['x'.repeat(262_143), circle]) {
      const run = async (tx: Tx) => {
        await effect(tx, id);
        return result;
      };
      expect(await inbox.receiveOnce(event(id), run)).toMatchObject({ kind: 'failed' });
    }
    expectCounted(await effects(client, id)).toBe(0);
  });

  test('C6 a database that is away is an error: nobody acknowledges', async () => {
    const nowhere = createClient('postgresql://postgres@127.0.0.1:1/none');
    await expect(inboxOn(nowhere).receiveOnce(event('e'), async () => {})).rejects.toThrow(StoreUnavailableError);
    await nowhere.$disconnect();
  });
});

describe('M3 order', () => {
  /** Each moves the order on from the state before it, or is too late: a guarded update, whatever came first. */
  const moves: Record<string, (tx: Tx, id: string) => Promise<unknown>> = {
    paid: (tx, id) => tx.$executeRaw`
      UPDATE orders SET status = 'paid', payment_intent = ${`pi_${id}`} WHERE id = ${id}::uuid AND status = 'paying'`,
    partially_refunded: (tx, id) => tx.$executeRaw`
      UPDATE orders SET status = 'partially_refunded', payment_intent = ${`pi_${id}`}
       WHERE id = ${id}::uuid AND status IN ('paying', 'paid')`,
    refunded: (tx, id) => tx.$executeRaw`
      UPDATE orders SET status = 'refunded', payment_intent = ${`pi_${id}`}
       WHERE id = ${id}::uuid AND status IN ('paying', 'paid', 'partially_refunded')`,
  };
  const orders = (list: string[]): string[][] =>
    list.length < 2
      ? [list]
      : list.flatMap((one) => orders(list.filter((other) => other !== one)).map((rest) => [one, ...rest]));

  test('events that come in any order, each of them twice, lead to one state', async () => {
    const handle = (tx: Tx, { payload }: { payload: unknown }) => {
      const { to, order } = payload as { to: string; order: string };
      return moves[to]?.(tx, order) ?? Promise.reject(new Error('no such event'));
    };
    const inbox = inboxOn(client, { sources: { stripe: { handle } } });
    for (const order of orders(Object.keys(moves))) {
      const id = crypto.randomUUID();
      const goods = { sku: 'mug', quantity: 1, amountCents: 1800, paymentMethod: 'pm_card_visa' };
      const who = { tenant: 'acme', principal: 'ann', source: 'api' };
      await client.order.create({ data: { ...who, ...goods, id, status: 'paying' } });
      for (const to of [...order, ...order]) {
        expect((await inbox.receiveOnce(event(`${id} ${to}`, { to, order: id }))).kind).toMatch(/processed|replayed/);
      }
      expect(await client.order.findUnique({ where: { id } })).toMatchObject({ status: 'refunded' });
    }
  });
});

describe('the reaper', () => {
  test('deletes processed events past their retention in batches, and never a failed or a dead one', async () => {
    const inbox = inboxOn(client, { attempts: 2, retention: '30d' });
    for (const id of ['r1', 'r2', 'r3', 'r4', 'r5']) await inbox.receiveOnce(event(id), async () => {});
    const fails = () => Promise.reject(new Error('no'));
    await inbox.receiveOnce(event('dead'), fails);
    await timePasses();
    for (const id of ['failed', 'dead']) await inbox.receiveOnce(event(id), fails);
    expect(await inbox.reap()).toBe(0);
    await client.$executeRaw`
      UPDATE inbox_events SET received_at = received_at - interval '31 days', expires_at = expires_at - interval '31 days'
       WHERE event_id <> 'r5'`;
    expect(await inbox.reap({ batch: 3 })).toBe(4);
    const left = await client.inboxEvent.findMany({ orderBy: { eventId: 'asc' } });
    expect(left.map(({ eventId, state }) => [eventId, state])).toEqual([
      ['dead', 'dead'],
      ['failed', 'failed'],
      ['r5', 'processed'],
    ]);
  });
});
