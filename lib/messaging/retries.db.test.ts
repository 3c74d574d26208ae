import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { type TestDatabase, testDatabase } from '../../scripts/testing/test-database.ts';
import { createClient } from '../../shop/db.ts';
import type { Tx } from '../integration/kit.fixture.ts';
import { Db } from '../store/prisma/db.ts';
import { inboxOn as inboxStoreOn } from '../store/prisma/messages/store.ts';
import { statementsOfRoom } from '../store/prisma/statements.fixture.ts';
import { makeInbox } from './inbox.ts';
import { gate, inboxOn, pausesEnd } from './messaging.fixture.ts';
import { handOn } from './put-aside.fixture.ts';
import type { ReceivedEvent } from './reception.ts';

let database: TestDatabase;
let client: TestDatabase['client'];
beforeAll(async () => {
  database = await testDatabase();
  client = database.client;
});
beforeEach(() => client.$executeRaw`DELETE FROM inbox_events`);
afterAll(() => database?.drop());

const WAITS = { timeout: 20_000, interval: 5 };
const LONG = { baseMs: 3_600_000, capMs: 3_600_000 };
const nothing = { taken: 0, processed: 0, failed: 0, dead: 0 };

/** Lets so many events of a source fail once, and become due in their order. */
async function failed(source: string, count: number): Promise<void> {
  const inbox = inboxOn(client, { sources: { [source]: { handle: () => Promise.reject(new Error('no')) } } });
  for (let n = 1; n <= count; n++) await inbox.receiveOnce({ source, eventId: `${source} ${n}`, payload: { n } });
  await client.$executeRaw`UPDATE inbox_events SET next_attempt_at = received_at WHERE source = ${source}`;
}

/** A source whose events begin and stay there until they may go on. */
function slow() {
  const [begun, mayEnd] = [[] as string[], gate()];
  onTestFinished(() => mayEnd.open());
  const handle = async (_: Tx, { eventId }: ReceivedEvent) => {
    begun.push(eventId);
    await mayEnd.opened;
  };
  return { begun, handle, end: mayEnd.open };
}

const untilBegun = (begun: string[], count: number) => vi.waitFor(() => expect(begun).toHaveLength(count), WAITS);
const states = async (source: string) => {
  const rows = await client.inboxEvent.findMany({ where: { source }, orderBy: { eventId: 'asc' } });
  return rows.map(({ state, attempts }) => `${state} ${attempts}`);
};

describe('M3 sources do not wait for each other', () => {
  const later = 'fills its places alone, and what others have due later is run meanwhile, by this pass and the next';
  test.each([3, 7])(`a slow one of %i due events ${later}`, async (count) => {
    const { begun, handle, end } = slow();
    const quick: string[] = [];
    const run = async (_: Tx, { eventId }: ReceivedEvent) => void quick.push(eventId);
    const inbox = inboxOn(client, { timeoutMs: 60_000, sources: { slow: { handle }, quick: { handle: run } } });
    await failed('slow', count);
    await failed('quick', 2);
    await failed('later', 1);
    const first = inbox.retryDue();
    await untilBegun(begun, 3);
    await vi.waitFor(() => expect(quick).toEqual(['quick 1', 'quick 2']), WAITS);
    await client.$executeRaw`UPDATE inbox_events SET source = 'quick' WHERE source = 'later'`;
    let taken = 0;
    const next = async () => {
      taken += (await inbox.retryDue()).taken; // which does not wait for the slow ones
      expect(quick).toEqual(['quick 1', 'quick 2', 'later 1']);
    };
    await vi.waitFor(next, WAITS);
    expect(begun).toHaveLength(3);
    end();
    expect(taken + (await first).taken).toBe(3 + count);
  });

  test.each([
    [1, 3],
    [2, 6],
    [4, 4],
    [8, 8],
  ])('of %i slow sources %i events run at once: the pool is left to others', async (sources, running) => {
    const { begun, handle, end } = slow();
    const names = Array.from({ length: sources }, (_, n) => `slow-${n}`);
    const on = createClient(database.url, { max: 20 });
    const inbox = inboxOn(on, {
      timeoutMs: 60_000,
      sources: Object.fromEntries(names.map((name) => [name, { handle }])),
    });
    for (const name of names) await failed(name, 4);
    const [first, second] = [inbox.retryDue(), inbox.retryDue()];
    await untilBegun(begun, running);
    expect(await inbox.retryDue({ signal: AbortSignal.abort() })).toEqual(nothing);
    expect((await Promise.all(names.map(states))).flat().filter((state) => state.endsWith('2'))).toHaveLength(running);
    end();
    expect((await first).taken + (await second).taken).toBe(4 * sources);
    await on.$disconnect();
  });

  test.each(['until', 'signal'])('nothing begins behind `%s`, and what has begun goes on', async (which) => {
    const { begun, handle, end } = slow();
    const inbox = inboxOn(client, { timeoutMs: 60_000, sources: { slow: { handle } } });
    await failed('slow', 5);
    const stop = new AbortController();
    const pass = inbox.retryDue({ [which]: stop.signal });
    await untilBegun(begun, 3);
    stop.abort();
    end();
    expect(await pass).toEqual({ ...nothing, taken: 3, processed: 3 });
    expect(await inbox.retryDue({ limit: 1 })).toEqual({ ...nothing, taken: 1, processed: 1 });
  });
});

describe('M3 an attempt is counted when it begins, and each failure has its pause', () => {
  test('three inboxes at once over slow events: what is counted runs, and nothing twice before its pause is over', async () => {
    const others = [createClient(database.url), createClient(database.url)];
    const { begun, handle, end } = slow();
    const fail = async (tx: Tx, event: ReceivedEvent) => {
      await handle(tx, event);
      throw new Error('no');
    };
    const inboxes = [client, ...others].map((on) =>
      inboxOn(on, { timeoutMs: 60_000, backoff: LONG, sources: { slow: { handle: fail } } }),
    );
    await failed('slow', 20);
    const passes = inboxes.map((inbox) => inbox.retryDue());
    await untilBegun(begun, 9);
    // As many have been counted as run.
    expect((await states('slow')).sort()).toEqual([...Array(11).fill('failed 1'), ...Array(9).fill('failed 2')]);
    end();
    const taken = (await Promise.all(passes)).map((sum) => sum.taken);
    expect(taken.reduce((sum, one) => sum + one)).toBe(20);
    expect([begun.length, new Set(begun).size]).toEqual([20, 20]);
    expect(await states('slow')).toEqual(Array(20).fill('failed 2'));
    await Promise.all(others.map((on) => on.$disconnect()));
  });

  test('an event that another inbox has taken since, or whose lease is over, does not begin', async () => {
    const ran: string[] = [];
    const inboxNamed = (name: string, before = async () => {}) => {
      const store = inboxStoreOn<Tx>(new Db(client, { part: 'messaging' }));
      const receive: typeof store.receive = async (...how) => {
        await before();
        return await store.receive(...how);
      };
      const handle = async () => {
        ran.push(name);
        throw new Error('no');
      };
      return makeInbox({ ...store, receive }, { backoff: LONG, sources: { slow: { handle } }, onReport: () => {} });
    };
    await failed('slow', 1);
    const late = inboxNamed('late', () => pausesEnd(client).then(() => {}));
    expect(await late.retryDue({ limit: 1 })).toEqual({ ...nothing, taken: 1 });
    expect([ran, await states('slow')]).toEqual([[], ['failed 1']]);

    const other = inboxNamed('other');
    const overtaken = inboxNamed('overtaken', async () => {
      await pausesEnd(client);
      await other.retryDue();
    });
    expect(await overtaken.retryDue({ limit: 1 })).toEqual({ ...nothing, taken: 1 });
    expect(ran).toEqual(['other']);
  });

  test('what was taken is no other payload where a deploy compares another part of it', async () => {
    const store = inboxStoreOn<Tx>(new Db(client, { part: 'messaging' }));
    const receive: typeof store.receive = async (...how) => {
      await pausesEnd(client);
      return await store.receive(...how);
    };
    const reports: string[] = [];
    const sources = { slow: { compare: ({ n }: { n: number }) => n, handle: async () => {} } };
    await failed('slow', 1);
    const late = makeInbox({ ...store, receive }, { sources, onReport: ({ kind }) => void reports.push(kind) });
    expect(await late.retryDue({ limit: 1 })).toEqual({ ...nothing, taken: 1 });
    expect(reports).toEqual([]);
    expect(await client.inboxEvent.findMany()).toMatchObject([{ mismatches: 0 }]);
  });

  test.each<[string, (payload: { n: number }) => unknown, string | RegExp]>([
    ['throws', ({ n }) => (n as never as string).trim(), 'TypeError'],
    ['is async', async ({ n }) => n, /compare of slow/],
    ['gives what has no one meaning', () => new (class Part {})(), /cannot be compared/],
  ])(
    'a kept payload whose `compare` %s by now has failed: paused, at last a dead letter, and run when that is mended',
    async (_, compare, words) => {
      const ran: unknown[] = [];
      const handle = async (_: Tx, { payload }: ReceivedEvent) => void ran.push(payload);
      await failed('slow', 1);
      const sources = { slow: { compare, handle } };
      const inbox = inboxOn(client, { attempts: 3, backoff: LONG, random: () => 0, sources });
      expect(await inbox.retryDue()).toEqual({ ...nothing, taken: 1, failed: 1 });
      expect(await inbox.retryDue()).toEqual(nothing);
      const [row] = await client.inboxEvent.findMany();
      expect(row).toMatchObject({ state: 'failed', attempts: 2, lastError: expect.stringMatching(words) });
      expect(Number(row?.nextAttemptAt) - Date.now()).toBeGreaterThan(1_000_000); // longer than the lease
      await pausesEnd(client);
      expect(await inbox.retryDue()).toEqual({ ...nothing, taken: 1, dead: 1 });
      expect(await client.inboxEvent.findMany()).toMatchObject([
        { state: 'dead', attempts: 3, lastError: row?.lastError, payload: '{"n":1}', mismatches: 0 },
      ]);
      expect(inbox.reports.map(({ kind }) => kind)).toEqual(['not-processed', 'not-processed-dead']);
      expect(ran).toEqual([]);

      const mended = inboxOn(client, { sources: { slow: { handle } } });
      expect(await mended.requeue({ source: 'slow', eventId: 'slow 1' }, 'ann')).toBe(true);
      expect(await mended.retryDue()).toEqual({ ...nothing, taken: 1, processed: 1 });
      expect(ran).toEqual([{ n: 1 }]);
    },
  );

  test.each<[string, object, string]>([
    ['no name', { name: undefined }, 'undefined'],
    ['a symbol for a name', { name: Symbol('lost') }, 'Symbol(lost)'],
  ])('an effect that throws an error of %s has failed as any other', async (_, odd, lastError) => {
    const thrown = Object.assign(new Error('no'), odd);
    const inbox = inboxOn(client, { attempts: 3, sources: { slow: { handle: () => Promise.reject(thrown) } } });
    const event = { source: 'slow', eventId: 'slow 1', payload: { n: 1 } };
    expect(await inbox.receiveOnce(event)).toMatchObject({ kind: 'failed', attempts: 1, isKept: true });
    for (const sum of [{ failed: 1 }, { dead: 1 }]) {
      await pausesEnd(client);
      expect(await inbox.retryDue()).toEqual({ ...nothing, taken: 1, ...sum });
    }
    expect(await client.inboxEvent.findMany()).toMatchObject([{ state: 'dead', attempts: 3, lastError }]);
  });

  test('a try that could not begin is not counted', async () => {
    const store = inboxStoreOn<Tx>(new Db(client, { part: 'messaging' }));
    const inTheWay = async () => ({ kind: 'failed' as const, error: new Error('in the way'), isConflict: true });
    const sources = { slow: { handle: async () => {} } };
    await failed('slow', 1);
    await expect(makeInbox({ ...store, receive: inTheWay }, { sources }).retryDue()).rejects.toThrow('in the way');
    expect(await states('slow')).toEqual(['failed 1']);
  });

  test('what was taken at one moment by a process that dies is due again at different ones', async () => {
    const { begun, handle, end } = slow();
    let turn = 0;
    const random = () => turn++ % 2;
    const inbox = inboxOn(client, { timeoutMs: 5000, random, sources: { slow: { handle } } });
    await failed('slow', 2);
    turn = 0;
    const pass = inbox.retryDue();
    await untilBegun(begun, 2);
    const rows = await client.inboxEvent.findMany({ orderBy: { nextAttemptAt: 'asc' } });
    const [first, second] = rows.map(({ nextAttemptAt }) => Number(nextAttemptAt));
    // One lease of 45 s, and one of 90 s.
    expect(Number(second) - Number(first)).toBeGreaterThan(30_000);
    end();
    await pass;
  });
});

test('M3 a look for what is due passes over nothing whose pause lasts, and nothing of another source', async () => {
  const take = (await statementsOfRoom()).find(({ name }) => name === 'messages/inbox.ts TAKE_FAILED')?.text;
  const hand = await handOn(database.url);
  const blocks: number[] = [];
  for (const count of [100, 5000]) {
    for (const [source, hours] of [
      ['put-off', 1],
      ['other', -1],
    ] as const) {
      await client.$executeRaw`
        INSERT INTO inbox_events (source, event_id, state, payload_hash, payload, next_attempt_at)
        SELECT ${source}, ${count} || ' ' || n, 'failed', sha256(''), '{}', now() + ${hours} * interval '1 h'
          FROM generate_series(1, ${count}::int) AS n`;
    }
    await failed('due', 1);
    await hand.run('ANALYZE inbox_events');
    await hand.run('BEGIN');
    await hand.run(`PREPARE look(text, float8) AS ${take}`);
    const [row] = await hand.run(`EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) EXECUTE look('put-off', 30000)`);
    await hand.run('ROLLBACK');
    await hand.run('DEALLOCATE look');
    const { Plan: plan } = row['QUERY PLAN'][0];
    blocks.push(plan['Shared Hit Blocks'] + plan['Shared Read Blocks']);
  }
  await hand.end();
  const [few = 0, many = 0] = blocks;
  expect(few).toBeGreaterThan(0);
  expect(many).toBeLessThanOrEqual(few * 1.5 + 2); // an index of more leaves is a level deeper
});
