import type { Principal } from 'oncekit';
import { db } from '../db.ts';
import { namesOf } from '../session/adoption.ts';
import { chargesOf, type LabCharge } from './gateway.ts';
import { PROOF_PREFIX } from './proof.ts';
import type { LabRun } from './run.ts';

/** An order row. Times are ISO 8601. */
export interface LabOrder {
  id: string;
  at: string;
}

/** A key row of the run's. */
export interface LabKey {
  key: string;
  state: string;
  /** Null where the row was written once, with its answer: it knows the second alone. */
  claimedAt: string | null;
  settledAt: string | null;
  attempts: number;
}

interface SideReport {
  orders: LabOrder[];
  /** Null: there is no ledger to be asked. */
  charges: LabCharge[] | null;
}

/** The results of a run: from the database and from the gateway's ledger. */
export interface LabReport {
  with: SideReport & { keys: LabKey[] };
  without: SideReport;
}

/** More than a person clicks in a run. */
const MOST = 200;

/** The results so far of a run of this visitor's own. */
export async function reportOf(who: Principal | null, run: LabRun | null): Promise<LabReport | null> {
  if (!who || !run) return null;
  const owner = { tenant: who.tenant, principal: { in: await namesOf(who) } };
  const [orders, keys] = await Promise.all([
    db().order.findMany({
      where: {
        ...owner,
        createdAt: { gte: run.since },
        source: { in: ['lab', 'api', 'plain'] },
        // The proof counts for itself.
        OR: [{ idempotencyKey: null }, { NOT: { idempotencyKey: { startsWith: PROOF_PREFIX } } }],
      },
      orderBy: { createdAt: 'asc' },
      take: MOST,
    }),
    db().idempotencyKey.findMany({
      where: {
        ...owner,
        operation: { in: ['lab.order', 'orders.create'] },
        // A row that is written once was claimed within the second behind that time.
        claimedAt: { gte: new Date(run.since.getTime() - 1000) },
        OR: [{ claimedAt: { gte: run.since } }, { settledAt: { gte: run.since } }],
        NOT: { key: { startsWith: PROOF_PREFIX } },
      },
      orderBy: { claimedAt: 'asc' },
      take: MOST,
    }),
  ]);
  const charges = await chargesOf(orders.map(({ id }) => id));
  const side = (isPlain: boolean): SideReport => {
    const own = orders.filter(({ source }) => (source === 'plain') === isPlain);
    const ids = new Set(own.map(({ id }) => id));
    return {
      orders: own.map(({ id, createdAt }) => ({ id, at: createdAt.toISOString() })),
      charges: charges?.filter(({ orderId }) => ids.has(orderId)) ?? null,
    };
  };
  return {
    with: {
      ...side(false),
      keys: keys.map(({ key, state, claimedAt, settledAt, attempts }) => ({
        key,
        state,
        claimedAt: claimedAt.getMilliseconds() === 0 ? null : claimedAt.toISOString(),
        settledAt: settledAt?.toISOString() ?? null,
        attempts,
      })),
    },
    without: side(true),
  };
}
