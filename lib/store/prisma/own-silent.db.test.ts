import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { bound } from '../../../scripts/testing/patience.ts';
import { type TestDatabase, testDatabase } from '../../../scripts/testing/test-database.ts';
import { createClient } from '../../../shop/db.ts';
import { claimOf, DONE, HOW } from '../contract-harness.fixture.ts';
import type { HeldKey, LeasedClaim } from '../leases.ts';
import type { Store } from '../store.ts';
import { Db } from './db.ts';
import { lostKeysOn } from './keys/lost-keys.ts';
import { inboxOn, outboxOn } from './messages/store.ts';
import { storeOf, type Tx } from './prisma-harness.fixture.ts';
import { silentProxy } from './wire/silent-proxy.fixture.ts';

/** A network that says nothing any more: every question ends all the same, and its connection is not used again. */

const PATIENCE_MS = 300;
/** Looked at every 20 ms, on a machine that has other things to do. */
const LATE_MS = bound(3000);

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database?.drop());

/** Each question, on connections that fall silent right before it; then the same pool answers. */
async function askInSilence<S>(
  ask: (store: S, over: number) => Promise<unknown>,
  storeOn: (client: TestDatabase['client'], over: number) => S,
) {
  const proxy = await silentProxy(database.url);
  const client = createClient(proxy.url, { max: 2 });
  const isThere = () => Promise.all([1, 2].map(() => client.$queryRawUnsafe('SELECT 1')));
  try {
    await isThere();
    proxy.silence();
    const asked = performance.now();
    const said = await ask(storeOn(client, asked + PATIENCE_MS), asked + PATIENCE_MS).catch((error) => error);
    // Bounded: LATE_MS grows with a slow machine.
    expect(performance.now() - asked).toBeLessThan(PATIENCE_MS + LATE_MS);
    // Of the two silent connections one is gone. The other one answers nobody, and is destroyed by the next question.
    const again = () =>
      storeOf(client)
        .until(performance.now() + PATIENCE_MS)
        .find(claimOf());
    await vi.waitFor(again);
    return said;
  } finally {
    proxy.close();
    await client.$disconnect();
  }
}

const unavailable = expect.objectContaining({ name: 'StoreUnavailableError' });
const id = { tenant: 'acme', principal: 'ann', operation: 'pay', key: 'silent' };
const seen = { ...id, fencingToken: 1, revision: '' };
const leased = (): LeasedClaim => ({
  ...claimOf(),
  waitMs: 0,
  leaseMs: 30_000,
  firstToken: 1,
  input: new Uint8Array([1]),
});
const held: HeldKey = {
  id,
  state: 'in_progress',
  fencingToken: 1,
  attempts: 1,
  needsAttention: false,
  schemaVersion: 1,
  input: null,
  traceParent: null,
  steps: [],
};
const step = { name: 'charged', position: 1, result: '1' };
const put = { pauseMs: 1000, attentionAfterMs: 1000 };
const page = { limit: 1, offset: 0 };
const howUntil = (deadline: number) => ({ ...HOW, timeoutMs: PATIENCE_MS, maxWaitMs: PATIENCE_MS, deadline });

/** Transactions say by a value what became of them. */
const TRANSACTIONS: Record<string, (store: Store<Tx>, over: number) => Promise<unknown>> = {
  execute: (store, over) => store.execute({ ...claimOf(), waitMs: 0 }, async () => DONE, howUntil(over)),
  rerun: (store, over) => store.rerun({ ...id, schemaVersion: 2 }, async () => DONE, howUntil(over)),
  begin: (store, over) => store.begin(leased(), async () => ({}), howUntil(over)),
  transact: (store, over) => store.transact(held, 1000, async () => ({}), howUntil(over)),
};

const QUESTIONS: Record<string, (store: Store<Tx>, over: number) => Promise<unknown>> = {
  find: (store) => store.find(id),
  findObstacle: (store) => store.findObstacle(id),
  probe: (store) => store.probe(id),
  fence: (store) => store.fence({ ...id, mintedAt: null, windowMs: 1000, retentionMs: 1000, waitMs: 0 }),
  awaitReplication: (store, over) => store.awaitReplication(howUntil(over)),
  recordEvent: (store) => store.recordEvent(id, { type: 'wake' as never, actor: 'a', detail: null }),
  recordFollower: (store) => store.recordFollower(id, { principal: 'ann', key: 'second' }),
  events: (store) => store.events(id),
  thingOf: (store) => store.thingOf(id),
  readSchema: (store) => store.readSchema(),
  tryClaim: (store) => store.tryClaim(),
  takeOver: (store) => store.takeOver(id, 1000, true),
  takeDue: (store) => store.takeDue([{ operation: 'pay', most: 1 }], 1000),
  renew: (store) => store.renew(held, 1000),
  recordCapture: (store) => store.recordCapture(held, 1000, step),
  startForeign: (store) =>
    store.startForeign(held, 1000, { name: 'a', position: 1, arguments: new Uint8Array(), derivedKey: 'k' }),
  finishForeign: (store) => store.finishForeign(held, 1000, { ...step, knownBy: 'answer' }),
  resolve: (store) => store.resolve(held, 1000, { name: 'a', result: null }),
  recordNotExecuted: (store) => store.recordNotExecuted(held, 1000, 'charged'),
  suspend: (store) => store.suspend(held, put),
  postpone: (store) => store.postpone(held, put),
  markUnknown: (store) => store.markUnknown(held, { askAfterMs: null, attentionAfterMs: 1 }),
  recordLateAnswer: (store) => store.recordLateAnswer(id, { step: 'charged', token: 1, isResult: true }),
  steps: (store) => store.steps(id),
  asSeen: (store) => store.asSeen(id),
  recordVerdict: (store) => store.recordVerdict(seen, { kind: 'failed' }, 'eve'),
  retryNow: (store) => store.retryNow(seen, 'eve'),
  countOpen: (store) => store.countOpen(1000),
  reapKeys: (store) => store.reapKeys(1),
  list: (store) => store.list(page),
  databaseFacts: (store) => store.databaseFacts(),
  overview: (store) => store.overview(1000),
  flagUnlisted: (store) => store.flagUnlisted(['pay'], { overdueMs: 1000, why: 'nobody lists it' }),
  addTallies: (store) => store.addTallies([{ operation: 'pay', outcome: 'created', count: 1 }]),
  tallies: (store) => store.tallies(new Date()),
  reapTallies: (store) => store.reapTallies(),
  announced: (store) => store.announced({ claimedAt: new Date(), settledAt: null }, new Uint8Array([1])),
  release: (store) => store.release(seen, 'eve'),
  forget: (store) => store.forget(seen, 'eve'),
  acknowledge: (store) => store.acknowledge(seen, 'eve'),
  erasePrincipal: (store) =>
    store.erasePrincipal({ tenant: 'acme', names: ['ann'] }, 'eve', async () => {
      throw new Error('reached');
    }),
  record: (store) => store.record({ type: 'seen', actor: 'eve' }),
  audit: (store) => store.audit(page),
  reapAudit: (store) => store.reapAudit(1000, 1),
};

/** They ask nothing, or ask in a transaction of the caller's. */
const ASK_NOTHING = ['until', 'isUnavailable', 'violatedConstraint', 'recordEvidence'];

describe('A3 no question to a database that has gone silent waits without an end', () => {
  const storeUntil = (client: TestDatabase['client'], over: number) => storeOf(client).until(over);

  test('each function of the store is asked here', () => {
    const asked = [...Object.keys(TRANSACTIONS), ...Object.keys(QUESTIONS), ...ASK_NOTHING];
    expect(asked.sort()).toEqual(Object.keys(storeOf(database.client)).sort());
  });

  test.concurrent.each(Object.entries(QUESTIONS))('%s', async (_, ask) => {
    expect(await askInSilence(ask, storeUntil)).toEqual(unavailable);
  });

  test.concurrent.each(Object.entries(TRANSACTIONS))('%s: nothing was committed', async (_, run) => {
    expect(await askInSilence(run, storeUntil)).toMatchObject({ kind: 'rolled_back', why: 'unavailable' });
  });
});

/** The only connection that there is. */
test.concurrent.each(['erasePrincipal', 'tryClaim'])(
  '%s goes through the client, and its connection is destroyed too',
  async (name) => {
    const proxy = await silentProxy(database.url);
    const client = createClient(proxy.url, { max: 1 });
    try {
      const find = () =>
        storeOf(client)
          .until(performance.now() + 5000)
          .find(claimOf());
      await find();
      proxy.silence();
      const over = performance.now() + PATIENCE_MS;
      const asked = QUESTIONS[name]?.(storeOf(client).until(over), over);
      await expect(asked).rejects.toEqual(unavailable);
      expect(await find()).toBeUndefined();
    } finally {
      proxy.close();
      await client.$disconnect();
    }
  },
);

const taken = { eventId: '0193a1b2-0000-7000-8000-000000000000', destination: 'hook', fencingToken: 1 };
const receipt = { source: 'stripe', eventId: 'evt', payloadHash: new Uint8Array(32) };
type Lost = ReturnType<typeof lostKeysOn>;
type Outbox = ReturnType<typeof outboxOn>;
type Inbox = ReturnType<typeof inboxOn>;

const LOST_KEYS: Record<string, (lostKeys: Lost) => Promise<unknown>> = {
  enterLost: (lostKeys) =>
    lostKeys.enterLost(
      { ...id, fingerprint: null, schemaVersion: 1, retentionMs: 1000, is: { result: '1' } },
      { actor: 'eve', detail: {} },
    ),
  knownEvents: (lostKeys) => lostKeys.knownEvents([taken.eventId]),
};

const OUTBOX: Record<string, (store: Outbox) => Promise<unknown>> = {
  takeHeads: (store) => store.takeHeads('hook', 1000, { limit: 1, ofDue: 1, after: '' }),
  markDelivered: (store) => store.markDelivered(taken, 1000),
  postponeDelivery: (store) => store.postponeDelivery(taken, 1000, 'HTTP 500'),
  giveUp: (store) => store.giveUp(taken, 'dead', 'HTTP 500'),
  giveBack: (store) => store.giveBack(taken, null),
  requeue: (store) => store.requeue('hook', taken.eventId, 'eve'),
  requeueDead: (store) => store.requeueDead('hook', 'eve', 1),
  skip: (store) => store.skip('hook', taken.eventId, 'eve'),
  abandon: (store) => store.abandon('hook', 'eve', 1),
  resume: (store) => store.resume('hook', 'eve'),
  stops: (store) => store.stops(),
  list: (store) => store.list(page),
  find: (store) => store.find(taken.eventId),
  open: (store) => store.open(),
  reap: (store) => store.reap(1000, 1),
  reapRecords: (store) => store.reapRecords(1),
};

const INBOX: Record<string, (store: Inbox) => Promise<unknown>> = {
  receive: (store) =>
    store.receive(receipt, async () => null, {
      timeoutMs: PATIENCE_MS,
      retentionMs: 1000,
      onPoint: async () => {},
    }),
  recordFailure: (store) => store.recordFailure(receipt, { payload: null, pausesMs: [], error: 'no' }),
  recordMismatch: (store) => store.recordMismatch(receipt),
  takeFailed: (store) => store.takeFailed('stripe', 1000),
  giveBack: (store) => store.giveBack({ source: 'stripe', eventId: 'evt', payload: '{}', attempts: 1 }),
  requeue: (store) => store.requeue('stripe', 'evt', 'eve'),
  list: (store) => store.list(page),
  find: (store) => store.find('stripe', 'evt'),
  open: (store) => store.open(),
  reap: (store) => store.reap(1),
  reapRecords: (store) => store.reapRecords(1),
};

describe('A3 the same of lost keys', () => {
  const lostKeysUntil = (client: TestDatabase['client'], over: number) => lostKeysOn(new Db(client).until(over));

  test('each function of them is asked here', () => {
    const asked = [...Object.keys(LOST_KEYS), 'announcedIn', 'recordIn'];
    expect(asked.sort()).toEqual(Object.keys(lostKeysUntil(database.client, 0)).sort());
  });

  test.concurrent.each(Object.entries(LOST_KEYS))('lostKeys.%s', async (_, ask) => {
    expect(await askInSilence(ask, lostKeysUntil)).toEqual(unavailable);
  });
});

describe('A3 the same of messages', () => {
  const dbUntil = (client: TestDatabase['client'], over: number) => new Db(client, { part: 'messaging' }).until(over);
  const outboxUntil = (client: TestDatabase['client'], over: number) => outboxOn(dbUntil(client, over));
  const inboxUntil = (client: TestDatabase['client'], over: number) => inboxOn(dbUntil(client, over));

  test('each function of outbox and inbox is asked here', () => {
    expect([...Object.keys(OUTBOX), 'insertEvent'].sort()).toEqual(Object.keys(outboxUntil(database.client, 0)).sort());
    expect(Object.keys(INBOX).sort()).toEqual(Object.keys(inboxUntil(database.client, 0)).sort());
  });

  test.concurrent.each(Object.entries(OUTBOX))('outbox.%s', async (_, ask) => {
    expect(await askInSilence(ask, outboxUntil)).toEqual(unavailable);
  });

  test.concurrent.each(Object.entries(INBOX))('inbox.%s', async (_, ask) => {
    expect(await askInSilence(ask, inboxUntil)).toEqual(unavailable);
  });
});
