import { afterAll, beforeAll, expect, test } from 'vitest';
import { type TestDatabase, testDatabase } from '../../scripts/testing/test-database.ts';
import { announce, deliveries, destination, outboxOn } from './messaging.fixture.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database?.drop());

test('M2 a destination that is stopped while one of its events is on its way gets no other one of that aggregate', async () => {
  const { client } = database;
  const sink = destination();
  // Another relay has heard meanwhile that it wants nothing more.
  sink.behave = async ({ sequence }) => {
    if (sequence === 1) await client.outboxStop.create({ data: { destination: 'sink', reason: 'gone' } });
  };
  const outbox = outboxOn(client, [sink.route]);
  await announce(client, outbox, 'a', 3);
  expect(await outbox.relayDue()).toMatchObject({ delivered: 1, failed: 0, dead: 0 });
  expect(sink.order('a')).toEqual([1]);
  expect((await deliveries(client)).map(({ state, attempts }) => [state, attempts])).toEqual([
    ['delivered', 1],
    ['pending', 0],
    ['pending', 0],
  ]);
  await outbox.resume('sink', 'eve');
  expect(await outbox.relayDue()).toMatchObject({ delivered: 2 });
  expect(sink.order('a')).toEqual([1, 2, 3]);
});
