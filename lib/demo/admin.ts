import { createAdmin } from 'oncekit/admin';
import { ANSWER_KEPT_HOURS, KEY_WINDOW_HOURS } from './api-windows.ts';
import { db } from './db.ts';
import { idempotencySecrets } from './env.ts';
import { idempotency } from './idempotency.ts';
// An operation can be driven on once its module was imported, and the page of one key imports none.
import { operations } from './operations.ts';
import { TENANT } from './visitor.ts';

// An app that has installed the admin pages (scripts/registry.ts) has the same names in a file of its own.

/** What the forms offer first. */
export const defaultTenant = TENANT;

/** The operations that the filter and the forms offer. */
export const operationNames: readonly string[] = operations.map(({ name }) => name);

/** For how long keys are taken and kept: the kit's defaults. */
export const keptFor = {
  windowHours: KEY_WINDOW_HOURS,
  keptHours: KEY_WINDOW_HOURS + 1,
  paidKeptHours: ANSWER_KEPT_HOURS,
};

/** The admin view's reads and operations, on the demo's database. */
export function admin() {
  const { completeKey: complete, dropRecent } = idempotency;
  return createAdmin({
    prisma: db(),
    complete,
    dropRecent,
    secret: idempotencySecrets(),
    window: `${KEY_WINDOW_HOURS}h`,
  });
}
