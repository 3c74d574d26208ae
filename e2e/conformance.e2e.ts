import { casesFor } from 'oncekit/testing';
import { ordersOf } from './fixtures/api-orders.ts';
import { ORDERS, REFUNDS, refundsPath } from './fixtures/api-targets.ts';
import { test } from './fixtures/test.ts';

/** The published conformance suite, on the demo's API: each case is a test. */

/** Differences between operations; how a request is read does not. */
const RULES_OF_REFUNDS = new Set([
  'scope',
  'fingerprint',
  'order of checks',
  'used keys',
  'duplicates',
  'replay',
  'refusal',
  'first answer',
  'time budget',
]);

test.describe('POST /api/orders', () => {
  for (const { rule, name, run } of casesFor({ ...ORDERS, otherOperation: { path: '', body: REFUNDS.body } })) {
    test(`${rule}: ${name}`, async ({ app, db, gateway }) => {
      await run({
        ...ORDERS,
        origin: app.url,
        effects: (key) => ordersOf(key, db, gateway),
        otherOperation: { path: rule === 'scope' ? await refundsPath(app.url) : '', body: REFUNDS.body },
      });
    });
  }
});

test.describe('POST /api/orders/<id>/refunds', { tag: '@all' }, () => {
  for (const { rule, name, run } of casesFor({ ...REFUNDS, otherPath: '', otherOperation: ORDERS })) {
    if (!RULES_OF_REFUNDS.has(rule)) continue;
    test(`${rule}: ${name}`, async ({ app, db }) => {
      await run({
        ...REFUNDS,
        origin: app.url,
        path: await refundsPath(app.url),
        otherPath: await refundsPath(app.url),
        otherOperation: ORDERS,
        effects: (key) => db.refund.count({ where: { idempotencyKey: key } }),
      });
    });
  }
});
