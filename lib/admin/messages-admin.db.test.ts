import { afterAll, beforeAll, expect, test } from 'vitest';
import { type TestDatabase, testDatabase } from '../../scripts/testing/test-database.ts';
import { pastTriggers } from '../integration/kit.fixture.ts';
import { createInbox } from '../messaging/index.ts';
import { announce, destination, outboxOn, timePasses } from '../messaging/messaging.fixture.ts';
import { type AuditLogEntry, createMessagesAdmin } from './index.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database?.drop());

/** A destination that refuses its first event, and one that takes everything. */
function shop(name: string, how = {}) {
  const refusing = destination(name, { attempts: 1, ...how });
  refusing.behave = ({ sequence }) => {
    if (sequence === 1) throw Object.assign(new Error('secret-error'), { code: 'EREFUSED' });
  };
  const taking = destination(`${name}-well`);
  const outbox = outboxOn(database.client, [refusing.route, taking.route]);
  const sources = { bank: { handle: async () => {} } };
  const inbox = createInbox({ prisma: database.client, attempts: 1, sources, onReport: () => {} });
  return { refusing, outbox, inbox, admin: createMessagesAdmin({ outbox, inbox }) };
}

const recordsOf = (peer: string) => database.client.messageEvent.count({ where: { peer } });

test('X3 an event is shown without its values; what waits says for which dead letter, and the dead letter for how many', async () => {
  const { outbox, admin } = shop('crm');
  const told = await database.client.$transaction((tx) =>
    outbox.enqueue(tx, {
      type: 'order.paid',
      aggregate: 'order:1',
      payload: { total: 'secret-total', to: { name: 'secret-name' }, lines: ['secret-line'] },
      headers: { traceparent: 'secret-trace' },
    }),
  );
  const [second = '', third = ''] = await announce(database.client, outbox, 'order:1', 2);
  await outbox.relayDue();

  const first = await admin.outbox.find(told.eventId);
  expect(first).toMatchObject({
    payload: { total: 'string', to: { name: 'string' }, lines: 'list of 1' },
    headerNames: ['traceparent'],
    deliveries: [
      { destination: 'crm', state: 'dead', behind: 2, waitsFor: null, lastError: 'Error EREFUSED' },
      { destination: 'crm-well', state: 'delivered', behind: 0, waitsFor: null },
    ],
  });
  const waitsFor = { eventId: told.eventId, sequence: 1, state: 'dead' };
  expect((await admin.outbox.find(third))?.deliveries[0]).toMatchObject({ state: 'pending', behind: 0, waitsFor });
  const filter = { destination: 'crm', limit: 2 };
  expect(await admin.outbox.list({ ...filter, offset: 0 })).toMatchObject({
    rows: [
      { eventId: third, waitsFor },
      { eventId: second, waitsFor },
    ],
    hasMore: true,
  });
  const rest = await admin.outbox.list({ ...filter, offset: 2 });
  expect(rest).toMatchObject({ rows: [{ eventId: told.eventId, waitsFor: null }], hasMore: false });
  expect(JSON.stringify([first, rest])).not.toContain('secret');

  // What went out stands in nobody's way; what is under way does, without being a dead letter.
  await admin.outbox.skip({ destination: 'crm', eventId: told.eventId }, 'ann');
  expect((await admin.outbox.find(third))?.deliveries[0]?.waitsFor).toEqual({
    ...waitsFor,
    eventId: second,
    sequence: 2,
    state: 'pending',
  });
});

test('X3 each operation changes and records once, however often it is asked for', async () => {
  const { outbox, admin } = shop('twice');
  const [eventId = ''] = await announce(database.client, outbox, 'order:2');
  await outbox.relayDue();
  const dead = { destination: 'twice', eventId };
  const settledAt = (await admin.outbox.find(eventId))?.deliveries[0]?.settledAt ?? undefined;
  const seen = { ...dead, settledAt };
  expect(settledAt).toBeInstanceOf(Date);
  const both = (work: () => Promise<unknown>) => Promise.all([work(), work()]).then((all) => all.sort());
  expect(await both(() => admin.outbox.skip(seen, 'ann'))).toEqual(['changed', 'recorded']);
  // Who has looked before it was skipped asks for something else: it would now go out behind later events.
  for (const work of [admin.outbox.requeue, admin.outbox.skip]) expect(await work(seen, 'bob')).toBe('changed');
  expect(await both(() => admin.outbox.requeue(dead, 'ann'))).toEqual(['changed', 'recorded']);
  expect(await recordsOf('twice')).toBe(2);
  await timePasses(database.client);
  await outbox.relayDue();
  expect(await both(() => admin.outbox.requeueAll('twice', 'bob'))).toEqual([0, 1]);
  expect(await admin.outbox.skip(dead, 'bob')).toBe('changed');
  await database.client.outboxStop.create({ data: { destination: 'twice', reason: 'HTTP 410' } });
  expect((await admin.outbox.overview()).stops).toMatchObject([{ destination: 'twice', reason: 'HTTP 410' }]);
  expect(await both(() => admin.outbox.resume('twice', 'bob'))).toEqual(['changed', 'recorded']);
  expect((await admin.outbox.find(eventId))?.records.map(({ type, actor }) => `${type} ${actor}`)).toEqual([
    'skipped ann',
    'requeued ann',
    'requeued bob',
  ]);
  expect(await recordsOf('twice')).toBe(4);
});

test('X3 a received event is shown without its values, as long as it has a payload and when it has a result', async () => {
  const { inbox, admin } = shop('none');
  const event = { source: 'bank', eventId: 'evt_1' };
  const payload = { iban: 'secret-iban', cents: 5 };
  await inbox.receiveOnce({ ...event, payload }, () => Promise.reject(new Error('secret-error')));
  const dead = await admin.inbox.find(event);
  expect(dead).toMatchObject({ state: 'dead', payload: { iban: 'string', cents: 'number' }, result: null });
  expect(dead?.hashPrefix).toMatch(/^[0-9a-f]{12}$/);
  expect(await admin.inbox.requeue(event, 'ann')).toBe('recorded');
  expect(await admin.inbox.requeue(event, 'ann')).toBe('changed');
  await inbox.receiveOnce({ ...event, payload }, async () => ({ booked: 'secret-booking' }));
  const processed = await admin.inbox.find(event);
  expect(processed).toMatchObject({ state: 'processed', payload: null, result: { booked: 'string' } });
  expect(processed?.records).toMatchObject([{ type: 'requeued', actor: 'ann' }]);
  const listed = await admin.inbox.list({ source: 'bank', limit: 5, offset: 0 });
  expect(listed).toMatchObject({ rows: [{ state: 'processed', attempts: 1 }], hasMore: false });
  const shown = JSON.stringify([dead, processed, listed]);
  for (const secret of ['secret', 'payloadHash']) expect(shown).not.toContain(secret);
  expect(await admin.inbox.find({ ...event, eventId: 'evt_2' })).toBeNull();
});

test('A7 what people did to messages outlives them, is reaped after a year, and leaves a line each', async () => {
  const { outbox, inbox, refusing } = shop('outlived');
  const lines: AuditLogEntry[] = [];
  const admin = createMessagesAdmin({ outbox, inbox, log: (entry) => void lines.push(entry) });
  const [eventId = ''] = await announce(database.client, outbox, 'order:outlived', 1);
  await outbox.relayDue();
  const given = { destination: 'outlived', eventId };
  expect(await admin.outbox.requeue(given, 'eve')).toBe('recorded');
  expect(await admin.outbox.requeue(given, 'eve')).toBe('changed');
  await outbox.relayDue();
  expect(refusing.sent.length).toBeGreaterThan(0);
  expect(await admin.outbox.skip(given, 'eve')).toBe('recorded');
  const event = { source: 'bank', eventId: 'evt_outlived' };
  await inbox.receiveOnce({ ...event, payload: {} }, () => Promise.reject(new Error('secret-error')));
  expect(await admin.inbox.requeue(event, 'eve')).toBe('recorded');
  await inbox.receiveOnce({ ...event, payload: {} }, async () => 'done');
  const about = { level: 'info', actor: 'eve', peer: 'outlived', event: eventId };
  expect(lines).toEqual([
    { ...about, msg: 'audit: requeued' },
    { ...about, msg: 'audit: skipped' },
    { ...about, msg: 'audit: requeued', peer: 'bank', event: 'evt_outlived' },
  ]);

  const age = (table: string, column: string, by: string) =>
    pastTriggers(database.client, `UPDATE ${table} SET ${column} = ${column} - interval '${by}'`);
  await age('outbox_events', 'created_at', '60 days');
  await age('outbox_deliveries', 'settled_at', '60 days');
  await age('inbox_events', 'expires_at', '60 days');
  await outbox.reap();
  await inbox.reap();
  expect([await outbox.find(eventId), await inbox.find(event)]).toEqual([undefined, undefined]);
  const kept = async () =>
    (
      await database.client.messageEvent.findMany({
        where: { eventId: { in: [eventId, 'evt_outlived'] } },
        orderBy: { id: 'asc' },
      })
    ).map(({ type, box }) => `${box} ${type}`);
  expect(await kept()).toEqual(['outbox requeued', 'outbox skipped', 'inbox requeued']);
  await age('message_events', 'at', '367 days');
  await outbox.reap({ batch: 1 });
  expect(await kept()).toEqual(['inbox requeued']);
  await inbox.reap({ batch: 1 });
  expect(await kept()).toEqual([]);
});

test('X3 an act on many is logged where the outbox that was given says nothing of batches', async () => {
  const { outbox, inbox } = shop('quiet');
  await announce(database.client, outbox, 'order:quiet');
  await outbox.relayDue();
  const lines: AuditLogEntry[] = [];
  const quiet = { ...outbox, requeueAll: (to: string, actor: string) => outbox.requeueAll(to, actor) };
  const admin = createMessagesAdmin({ outbox: quiet, inbox, log: (line) => void lines.push(line) });
  expect(await admin.outbox.requeueAll('quiet', 'eve')).toBe(1);
  expect(lines.map(({ msg, detail }) => [msg, detail])).toEqual([['audit: requeued', { messages: '1' }]]);
});
