import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { expectCounted } from '../../scripts/testing/expect-counted.ts';
import { type TestDatabase, testDatabase } from '../../scripts/testing/test-database.ts';
import { ConfigurationError } from '../index.ts';
import { conflict, effect, effects, freshKey, type Tx } from '../integration/kit.fixture.ts';
import { inboxOn, pausesEnd } from './messaging.fixture.ts';
import type { ReceivedEvent } from './reception.ts';

let database: TestDatabase;
let client: TestDatabase['client'];
beforeAll(async () => {
  database = await testDatabase();
  client = database.client;
});
beforeEach(() => client.$executeRaw`DELETE FROM inbox_events`);
afterAll(() => database?.drop());

interface Payment {
  amount: number;
}
const payment = (eventId: string) => ({ source: 'stripe', eventId, payload: { amount: 5000 } as Payment });
const rowOf = (eventId: string) =>
  client.inboxEvent.findUnique({ where: { source_eventId: { source: 'stripe', eventId } } });
const fails = () => Promise.reject(new Error('told to fail'));

describe('M3 what was received is what is compared, kept and tried', () => {
  test('an effect that is given at the call, and changes what it was called with', async () => {
    const inbox = inboxOn(client, { sources: { stripe: { handle: fails } } });
    const event = payment(freshKey());
    const received = await inbox.receiveOnce(event, async () => {
      event.payload.amount /= 100;
      throw new Error('told to fail');
    });
    expect(received).toMatchObject({ kind: 'failed', isKept: true });
    expect(await rowOf(event.eventId)).toMatchObject({ payload: '{"amount":5000}' });
    // The sender's unchanged repetition is no other payload.
    await pausesEnd(client);
    const paid: unknown[] = [];
    const again = await inbox.receiveOnce(payment(event.eventId), async (_, { payload }) => void paid.push(payload));
    expect(again).toMatchObject({ kind: 'processed' });
    expect(paid).toEqual([{ amount: 5000 }]);
    expect(await rowOf(event.eventId)).toMatchObject({ mismatches: 0 });
  });

  test('each try of a conflict, whatever the one before has done to event and payload', async () => {
    const id = freshKey();
    const event = payment(id);
    const seen: unknown[] = [];
    const received = await inboxOn(client).receiveOnce(event, async (tx, given) => {
      seen.push(structuredClone(given));
      for (const one of [event, given]) {
        (one.payload as Payment).amount = 1;
        one.eventId = 'another';
      }
      if (seen.length < 3) await conflict(tx);
    });
    expect(received).toMatchObject({ kind: 'processed' });
    expect(seen).toEqual(Array(3).fill(payment(id)));
  });

  test('each try of a form', async () => {
    const form = new FormData();
    form.append('amount', '5000');
    form.append('receipt', new File(['paid'], 'receipt.txt'));
    const seen: unknown[] = [];
    const event = { source: 'stripe', eventId: freshKey(), payload: form };
    await inboxOn(client).receiveOnce(event, async (tx, { payload }) => {
      const given = payload as FormData;
      seen.push([given.getAll('amount'), await (given.get('receipt') as File).text()]);
      for (const one of [given, form]) one.set('amount', '1');
      if (seen.length < 3) await conflict(tx);
    });
    expect(seen).toEqual(Array(3).fill([['5000'], 'paid']));
  });

  test('an event that makes its parts when they are asked for', async () => {
    const id = freshKey();
    class Delivery {
      get source() {
        return 'stripe';
      }
      get eventId() {
        return id;
      }
      get payload() {
        return payment(id).payload;
      }
    }
    const seen: unknown[] = [];
    const received = await inboxOn(client).receiveOnce(new Delivery(), async (_, event) => void seen.push(event));
    expect(received).toMatchObject({ kind: 'processed' });
    expect(seen).toEqual([payment(id)]);
  });

  test('behind a `compare` that changes it', async () => {
    const compare = (payload: Payment) => {
      payload.amount = Math.round(payload.amount / 100);
      return payload;
    };
    const seen: unknown[] = [];
    const handle = async (_: Tx, { payload }: ReceivedEvent) => {
      seen.push(payload);
      throw new Error('told to fail');
    };
    const inbox = inboxOn(client, { sources: { stripe: { compare, handle } } });
    const event = payment(freshKey());
    await inbox.receiveOnce(event);
    await pausesEnd(client);
    expect(await inbox.retryDue()).toMatchObject({ failed: 1 });
    expect(seen).toEqual([{ amount: 5000 }, { amount: 5000 }]);
    expect([event.payload, await rowOf(event.eventId)]).toMatchObject([
      { amount: 5000 },
      { payload: '{"amount":5000}', mismatches: 0 },
    ]);
  });

  test('while its caller goes on with the object', async () => {
    const inbox = inboxOn(client, { sources: { stripe: { handle: fails } } });
    const event = payment(freshKey());
    const { eventId } = event;
    const receiving = inbox.receiveOnce(event);
    Object.assign(event, { eventId: 'another', source: 'other' });
    event.payload.amount = 1;
    await receiving;
    expect(await rowOf(eventId)).toMatchObject({ payload: '{"amount":5000}' });
  });
});

describe('M3 a payload is kept for whoever runs it again', () => {
  test('without a `handle` that is its sender: nothing is kept, also of a dead letter', async () => {
    const inbox = inboxOn(client, { attempts: 2, sources: { stripe: { compare: ({ amount }: Payment) => amount } } });
    const id = freshKey();
    for (const kind of ['failed', 'dead', 'dead'] as const) {
      expect(await inbox.receiveOnce(payment(id), fails)).toMatchObject({ kind, isKept: false });
      await pausesEnd(client);
    }
    expect(await rowOf(id)).toMatchObject({ payload: null });
    // The sender was told to repeat it, and its next delivery is the next try.
    expect(await inbox.requeue({ source: 'stripe', eventId: id }, 'ann')).toBe(true);
    expect(await inbox.receiveOnce(payment(id), (tx) => effect(tx, id))).toMatchObject({ kind: 'processed' });
    expectCounted(await effects(client, id)).toBe(1);
  });

  test('what an older kit has kept without one is not requeued for nobody: the error says what to do, and it helps', async () => {
    const id = freshKey();
    const without = inboxOn(client, { attempts: 1, sources: {} });
    await without.receiveOnce(payment(id), fails);
    await client.$executeRaw`UPDATE inbox_events SET payload = '{"amount":5000}' WHERE event_id = ${id}`;
    expect(await without.receiveOnce(payment(id), fails)).toMatchObject({ kind: 'dead', isKept: false });
    const requeue = without.requeue({ source: 'stripe', eventId: id }, 'ann');
    await expect(requeue).rejects.toThrow(ConfigurationError);
    await expect(requeue).rejects.toThrow('`handle`');
    expect(await rowOf(id)).toMatchObject({ state: 'dead' });
    expect(await without.requeue({ source: 'stripe', eventId: 'unknown' }, 'ann')).toBe(false);

    const handle = (tx: Tx) => effect(tx, id);
    const inbox = inboxOn(client, { sources: { stripe: { handle } } });
    expect(await inbox.requeue({ source: 'stripe', eventId: id }, 'ann')).toBe(true);
    expect(await inbox.retryDue()).toMatchObject({ processed: 1 });
    expectCounted(await effects(client, id)).toBe(1);
  });
});
