import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { random } from '../../e2e/fixtures/random.ts';
import { expectCounted } from '../../scripts/testing/expect-counted.ts';
import { type TestDatabase, testDatabase } from '../../scripts/testing/test-database.ts';
import { createClient } from '../../shop/db.ts';
import { effects } from '../integration/kit.fixture.ts';
import type { Destination } from './destination.ts';
import { FAULTS, type Fault, ODD, SECRET, startPartner, well } from './destination-faults.fixture.ts';
import { announce, deliveries, destination, gate, outboxOn, timePasses } from './messaging.fixture.ts';
import { webhook } from './webhook.ts';

let database: TestDatabase;
let client: TestDatabase['client'];
let second: TestDatabase['client'];
beforeAll(async () => {
  database = await testDatabase();
  client = database.client;
  second = createClient(database.url);
});
afterAll(async () => {
  await second?.$disconnect();
  await database?.drop();
});
beforeEach(async () => {
  await client.$executeRaw`DELETE FROM outbox_events`;
  await client.$executeRaw`DELETE FROM outbox_aggregates`;
  await client.$executeRaw`DELETE FROM outbox_stops`;
});

const ATTEMPTS = 3;
const upTo = (count: number) => Array.from({ length: count }, (_, n) => n + 1);

/** A partner that may be broken, and another destination, which is well. */
async function world(options: Partial<Destination> = {}) {
  const partner = await startPartner(client, crypto.randomUUID());
  onTestFinished(partner.down);
  const other = destination('other');
  const publisher = webhook({ url: partner.url, secrets: [SECRET] });
  const relay = (more: Partial<Destination> = {}, on = client) =>
    outboxOn(on, [{ name: 'partner', publisher, attempts: ATTEMPTS, ...more }, other.route]);
  const outbox = relay(options);
  const ids = { a: await announce(client, outbox, 'a', 3), b: await announce(client, outbox, 'b', 2) };
  return { partner, other, outbox, relay, ids };
}

const now = async () => {
  const [row] = await client.$queryRaw<{ at: Date }[]>`SELECT clock_timestamp() AS at`;
  return row?.at.getTime() ?? Number.NaN;
};

/** The partner's open deliveries, by aggregate and sequence. */
const rows = async () => (await deliveries(client)).filter(({ destination }) => destination === 'partner');

async function expectOnce(ids: string[]): Promise<void> {
  expectCounted(await Promise.all(ids.map((id) => effects(client, id)))).toEqual(ids.map(() => 1));
  expect(new Set((await deliveries(client)).map(({ state }) => state))).toEqual(new Set(['delivered']));
}

interface Story {
  /** Of the events of one aggregate; left out: nobody is there at all. */
  fault?: Fault;
  error: string | RegExp;
  pauseMs?: (attempt: number) => { least: number; most: number };
  timeoutMs?: number;
}

/** Half of the growing cap for certain, the other half at random: each pause is longer than the one before. */
const equalJitter = (attempt: number) => ({ least: 500 * 2 ** (attempt - 1), most: 1000 * 2 ** (attempt - 1) });

const STORIES: Record<string, Story> = {
  'refuses connections': { error: 'No answer: ECONNREFUSED.' },
  // Events of the other aggregate go with the same limit, and are answered behind a transaction of the partner's: not within 200 ms
  // where the machine is busy.
  'never answers': { fault: FAULTS['never answers'], error: /^No answer (in time|within 2000 ms)\.$/, timeoutMs: 2000 },
  'hangs up': { fault: FAULTS['hangs up'], error: 'No answer: UND_ERR_SOCKET.' },
  'takes the event and hangs up': {
    fault: FAULTS['takes the event and hangs up'],
    error: 'No answer: UND_ERR_SOCKET.',
  },
  'answers 500': { fault: FAULTS['answers 500'], error: 'HTTP 500' },
  'answers 503 with Retry-After': {
    fault: FAULTS['answers 503 with Retry-After'],
    error: 'HTTP 503',
    pauseMs: () => ({ least: 120_000, most: 120_000 }),
  },
  'redirects to elsewhere': { fault: FAULTS['redirects to elsewhere'], error: 'HTTP 307' },
  'speaks no HTTP': { fault: FAULTS['speaks no HTTP'], error: /^No answer: (HPE_|HTTPParserError)/ },
  'breaks off in its headers': { fault: FAULTS['breaks off in its headers'], error: /^No answer: / },
  'answers 500 with two megabytes': { fault: FAULTS['answers 500 with two megabytes'], error: 'HTTP 500' },
  'answers 500 in broken chunks': {
    fault: FAULTS['answers 500 in broken chunks'],
    error: /^(HTTP 500|No answer: .*)$/,
  },
};

describe('a destination that fails loses nothing', () => {
  test.each(Object.entries(STORIES))(
    'it %s: dead letters after N attempts, and all in order after a requeue',
    async (_, { fault, error, pauseMs = equalJitter, timeoutMs }) => {
      const { partner, other, outbox, relay, ids } = await world({ timeoutMs });
      if (fault) partner.faultFor = ({ aggregate }) => (aggregate === 'a' ? fault : undefined);
      else await partner.down();

      for (const attempt of upTo(ATTEMPTS)) {
        const from = await now();
        await outbox.relayDue();
        const to = await now();
        const [head, ...waiting] = await rows();
        expect(head).toMatchObject({ aggregate: 'a', attempts: attempt, lastError: expect.stringMatching(error) });
        expect(waiting.slice(0, 2), 'what comes behind it waits').toMatchObject(
          [2, 3].map((n) => ({ aggregate: 'a', sequence: BigInt(n), state: 'pending', attempts: 0 })),
        );
        if (attempt === ATTEMPTS) {
          expect(head).toMatchObject({ state: 'dead', nextAttemptAt: null });
        } else {
          const { least, most } = pauseMs(attempt);
          const at = head?.nextAttemptAt?.getTime();
          expect(at).toBeGreaterThanOrEqual(from + least);
          expect(at).toBeLessThanOrEqual(to + most + 1); // what is stored is rounded to a millisecond
        }
        await timePasses(client);
      }
      expect([other.order('a'), other.order('b')], 'the other destination').toEqual([upTo(3), upTo(2)]);
      expect(partner.firstArrivals('b'), 'the other aggregate').toEqual(fault ? upTo(2) : []);

      const [last = ''] = await announce(client, outbox, 'a');
      partner.faultFor = () => undefined;
      await partner.up();
      const healed = relay();
      await healed.relayDue();
      expect(partner.firstArrivals('a'), 'a dead letter waits for a person').toEqual(fault ? [1] : []);
      expect(await healed.requeueAll('partner', 'alice')).toBe(fault ? 1 : 2);
      await healed.relayDue();
      expect([partner.firstArrivals('a'), partner.firstArrivals('b')]).toEqual([upTo(4), upTo(2)]);
      expect(partner.times(ids.a[0] ?? ''), 'how often the first one came').toBe(fault ? ATTEMPTS + 1 : 1);
      expect(partner.unexpected, 'nobody else was told').toEqual([]);
      await expectOnce([...ids.a, ...ids.b, last]);
    },
  );

  test('it answers 410: nothing more goes there, and all of it in order when it is resumed', async () => {
    const { partner, other, outbox, ids } = await world();
    partner.faultFor = () => FAULTS['answers 410'];
    await outbox.relayDue({ limit: 1 });
    const [last = ''] = await announce(client, outbox, 'a');
    partner.faultFor = () => undefined;
    await outbox.relayDue();
    expect(partner.calls).toHaveLength(1);
    expect(await rows()).toMatchObject(Array(6).fill({ state: 'pending', attempts: 0 }));
    expect([other.order('a'), other.order('b')]).toEqual([upTo(4), upTo(2)]);
    expect(await outbox.resume('partner', 'alice')).toBe(true);
    await outbox.relayDue();
    expect([partner.firstArrivals('a'), partner.firstArrivals('b')]).toEqual([upTo(4), upTo(2)]);
    await expectOnce([...ids.a, ...ids.b, last]);
  });
});

describe('a destination that is odd, but takes what it is sent', () => {
  test('it is slow within its time: nothing is repeated, and all others are done before it answers', async () => {
    const { partner, other, outbox, ids } = await world();
    const rest = gate();
    const look = () => {
      if (partner.firstArrivals('b').length === 2 && other.sent.length === 5) rest.open();
    };
    other.behave = look;
    partner.faultFor = ({ aggregate }) => {
      look();
      if (aggregate === 'b') return undefined;
      return async (call) => {
        await rest.opened;
        await well(call);
      };
    };
    expect(await outbox.relayDue()).toEqual({ delivered: 10, failed: 0, dead: 0, unfinished: 0 });
    expect(partner.calls.filter(({ aggregate }) => aggregate === 'a').map(({ sequence }) => sequence)).toEqual(upTo(3));
    await expectOnce([...ids.a, ...ids.b]);
  });

  test.each(Object.entries(ODD))('it %s: that is a delivery, whatever comes behind it', async (_, fault) => {
    const { partner, outbox, ids } = await world();
    partner.faultFor = () => fault;
    expect(await outbox.relayDue()).toEqual({ delivered: 10, failed: 0, dead: 0, unfinished: 0 });
    expect([partner.firstArrivals('a'), partner.firstArrivals('b')]).toEqual([upTo(3), upTo(2)]);
    expect(partner.calls).toHaveLength(5);
    await expectOnce([...ids.a, ...ids.b]);
  });
});

test('a destination that flaps, in another way each time, under two relays: nothing lost, in order, each effect once', async () => {
  const { partner, other, relay, ids } = await world();
  const again = { attempts: 1000, backoff: { baseMs: 60_000, capMs: 60_000 } };
  const relays = [relay(again), relay(again, second)] as const;
  const all = [...ids.a, ...ids.b];
  for (const aggregate of ['a', 'b', 'c', 'd']) all.push(...(await announce(client, relays[0], aggregate, 4)));

  const { 'never answers': _slow, 'answers 410': _stops, ...faults } = { ...FAULTS, ...ODD };
  const ways: Fault[] = [...Object.values(faults), well, well];
  const next = random(7);
  // Out of a bag that is filled again when it is empty: in any order, and each of them comes.
  let bag: Fault[] = [];
  partner.faultFor = () => {
    if (bag.length === 0) bag = [...ways];
    return bag.splice(Math.floor(next() * bag.length), 1)[0];
  };
  for (let round = 1; (await relays[0].open()).length > 0; round++) {
    expect(round, 'it ends').toBeLessThan(500);
    if (next() < 0.3) await partner.down();
    await Promise.all(relays.map((one) => one.relayDue({ limit: 2 })));
    await partner.up();
    await timePasses(client);
  }
  for (const [aggregate, count] of Object.entries({ a: 7, b: 6, c: 4, d: 4 })) {
    expect(partner.firstArrivals(aggregate)).toEqual(upTo(count));
    expect(other.order(aggregate), 'the other destination').toEqual(upTo(count));
  }
  expect(partner.calls.length, 'every way was met').toBeGreaterThan(ways.length);
  await expectOnce(all);
});
