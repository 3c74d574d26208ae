import { createIdempotency } from 'oncekit';
import { ERROR_PAGES } from './api/problem.ts';
import { clientOrNone } from './db.ts';
import { idempotencySecrets } from './env.ts';
import { faultPoints } from './lab/faults.ts';
import { logKey } from './log.ts';
import { currentPrincipal } from './session/visitor.ts';

function setUp() {
  const { DEMO_FAULTS_DIR: faults, DEMO_LEASE_MS: leaseMs } = process.env;
  return createIdempotency({
    prisma: clientOrNone(),
    secret: idempotencySecrets(),
    scope: currentPrincipal,
    errorPages: ERROR_PAGES,
    addressHeader: process.env.ADDRESS_HEADER,
    log: logKey,
    redefine: true, // by the second evaluation, see below
    // The tests' is short: they wait for the leases of the executors they kill.
    ...(leaseMs ? { leaseMs: Number(leaseMs) } : {}),
    ...(faults ? { onPoint: faultPoints(faults) } : {}),
  });
}

const held = globalThis as { oncekitDemoIdempotency?: ReturnType<typeof setUp> };

/**
 * The kit, set up once for the demo. Kept on `globalThis`, because Next evaluates a module once for pages and actions
 * and once more for route handlers: one set-up sees all duplicates that reach this process.
 */
held.oncekitDemoIdempotency ??= setUp();
export const idempotency = held.oncekitDemoIdempotency;
