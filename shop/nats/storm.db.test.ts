/**
 * @module-tag nats
 * @module-tag all
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { natsStorm, onceEach } from '../../e2e/fixtures/nats-storm.ts';
import { type TestDatabase, testDatabase } from '../../scripts/testing/test-database.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase({ max: 8 });
});
afterAll(() => database?.drop());

/** A process dies behind so many events of its life, the server behind so many of all. */
const PLAN = { events: 500, deaths: { relay: [150], consumer: [60, 120] }, serverDeaths: [250] };

test(`${PLAN.events} events through JetStream, relay, consumer and server killed: each takes effect once, in order`, async () => {
  const { seconds, stored, replayed, sentAgain, ...came } = await natsStorm({
    client: database.client,
    databaseUrl: database.url,
    aggregates: 20,
    ...PLAN,
    timeoutMs: 110_000,
  });
  console.log(`${seconds} s; ${stored} stored, ${sentAgain} sent again, ${replayed} replayed`);
  expect(came).toEqual(onceEach(PLAN));
  expect(replayed, 'events came again whose effect was there').toBeGreaterThan(0);
  expect(sentAgain, 'events were sent again').toBeGreaterThan(0);
});
