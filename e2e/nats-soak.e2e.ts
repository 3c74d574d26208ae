import { expect, test } from '@playwright/test';
import { testDatabase } from '../scripts/testing/test-database.ts';
import { SEED } from '../scripts/testing/tier.ts';
import { isWithout } from '../scripts/testing/without.ts';
import { natsStorm, onceEach } from './fixtures/nats-storm.ts';
import { random } from './fixtures/random.ts';

/** `npm run test:soak` sets SOAK; without it there is nothing here. The short one is `shop/nats/storm.db.test.ts`. */
const LONG = Boolean(process.env.SOAK);
const EVENTS = 10_000;
/** A process dies behind so many events of its life: few enough for all its deaths to come. */
const LIFE = { least: 400, most: 1200 };
const LIVES = 7;
const SERVER_DEATHS = [2000, 4500, 7000];

test.skip(isWithout('nats'), 'nats');

if (LONG) {
  test(`${EVENTS} events through JetStream, relay and consumer killed ${LIVES} times, the server ${SERVER_DEATHS.length} times`, async () => {
    test.setTimeout(900_000);
    const next = random(SEED);
    const lives = () => Array.from({ length: LIVES }, () => Math.floor(LIFE.least + next() * (LIFE.most - LIFE.least)));
    const plan = { events: EVENTS, deaths: { relay: lives(), consumer: lives() }, serverDeaths: SERVER_DEATHS };
    const database = await testDatabase({ max: 8 });
    try {
      const { seconds, stored, replayed, sentAgain, ...came } = await natsStorm({
        client: database.client,
        databaseUrl: database.url,
        aggregates: 100,
        ...plan,
        timeoutMs: 840_000,
      });
      console.log(`${seconds} s; ${stored} stored, ${sentAgain} sent again, ${replayed} replayed`);
      expect(came).toEqual(onceEach(plan));
      expect(stored, 'events were stored again, outside of the window').toBeGreaterThan(EVENTS);
      expect(replayed, 'events came again whose effect was there').toBeGreaterThan(0);
    } finally {
      await database.drop();
    }
  });
}
