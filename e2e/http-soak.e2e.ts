import { setTimeout as wait } from 'node:timers/promises';
import { SEED } from '../scripts/testing/tier.ts';
import { MUG } from './fixtures/api-client.ts';
import { insist } from './fixtures/api-insist.ts';
import { ALICE, BOB, ordersOf } from './fixtures/api-orders.ts';
import { expect, type Pair, test } from './fixtures/api-pair.ts';
import { expectCounted } from './fixtures/expect-counted.ts';
import { random } from './fixtures/random.ts';

/** Clients that repeat themselves to two processes which are killed at random. What counts is in the database and the ledger. */

/** `npm run test:soak` sets SOAK; without it, a short one. */
const ROUNDS = process.env.SOAK ? 60 : 3;
const KEYS = 5;
const SENDERS = 4;
/** A charge takes a while, so that it is there to be interrupted. */
const CHARGE_MS = 150;

test(`${ROUNDS} rounds of ${KEYS} orders, each by ${SENDERS} senders to two processes that are killed`, {
  tag: '@chaos',
}, async ({ pair }) => {
  test.setTimeout(30_000 + ROUNDS * 20_000);
  const { apps, db, gateway } = pair;
  const next = random(SEED);
  const before = (await gateway.ledger()).charges.length;
  await gateway.break({ path: '/v1/payment_intents', kind: 'latency', ms: CHARGE_MS, times: 1_000_000 });
  let sends = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const keys = Array.from({ length: KEYS }, () => crypto.randomUUID());
    const killing = wait(next() * 2 * CHARGE_MS).then(() => oneOf(apps, next).kill());
    const answered = await Promise.all(keys.map((key) => sendAtOnce(pair, key, next)));
    await killing;
    for (const [index, answers] of answered.entries()) {
      expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size, 'one answer for all').toBe(1);
      expect(answers[0]).toMatchObject({ status: 201 });
      expectCounted(await ordersOf(keys[index] as string, db, gateway)).toBe(1);
      sends += answers.reduce((sum, answer) => sum + answer.sends, 0);
    }
    await Promise.all(apps.map((app) => app.untilHealthy()));
  }
  const charges = (await gateway.ledger()).charges.length - before;
  console.log(`${sends} requests, ${ROUNDS} kills, ${charges} charges`);
  // Of all there is, whoever has made it: a charge that belongs to no order shows, too.
  expect(charges).toBe(ROUNDS * KEYS);
});

/** One intent of one principal, sent by several who do not know of each other. */
function sendAtOnce({ apps }: Pair, key: string, next: () => number) {
  const as = next() < 0.5 ? ALICE : BOB;
  const body = { ...MUG, quantity: 1 + Math.floor(next() * 3) };
  return Promise.all(
    Array.from({ length: SENDERS }, () => insist(() => oneOf(apps, next).url, { key, body, as }, 60_000)),
  );
}

function oneOf<T>(all: readonly T[], next: () => number): T {
  return all[Math.floor(next() * all.length)] as T;
}
