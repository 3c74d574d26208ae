import type { KeyState } from '../core/key-state.ts';
import type { KeyId } from '../core/scope.ts';
import type { Step } from '../store/leases.ts';
import type { PrismaClientLike } from '../store/prisma/client.ts';
import { prismaStore } from '../store/prisma/store.ts';
import type { KeyEvent, KeyFilter, KeyRow } from '../store/store.ts';
import { type Complete, type Operations, operationsOn } from './operate.ts';
import { type PhaseView, phaseView } from './phase-view.ts';
import { type RedactedAnswer, redactAnswer } from './redact.ts';

export type { KeyEvent, KeyFilter };

/** A key as the list shows it: nothing of what was sent or answered. */
export type KeySummary = Omit<KeyRow, 'result' | 'fingerprint'>;

export interface KeyPage {
  rows: KeySummary[];
  hasMore: boolean;
}

/** Everything about one key that an admin may see. */
export interface KeyDetail extends KeySummary {
  /** The first bytes of the fingerprint in hex, as logs show them; null on a tombstone. */
  fingerprintPrefix: string | null;
  /** The stored answer without its values; null while there is none. */
  answer: RedactedAnswer | null;
  /** Its steps, in their order; none where the operation runs in one transaction. */
  phases: PhaseView[];
  events: KeyEvent[];
}

/** What stands behind an admin view of key states. Whoever calls it has checked that an admin asks. */
export interface Admin extends Operations {
  /** How many keys there are in each state; a state without keys is left out. */
  countByState(): Promise<Partial<Record<KeyState, number>>>;
  /** Keys, newest first. */
  listKeys(filter: KeyFilter): Promise<KeyPage>;
  findKey(id: KeyId): Promise<KeyDetail | null>;
}

export interface AdminOptions {
  prisma: PrismaClientLike;
  /**
   * Drives a key on after an admin's word, so that the page shows the effect: `idempotency.completeKey`, in a process
   * that has imported the operations. Without it a worker does. What it throws is not the admin's.
   */
  complete?: Complete | undefined;
}

/**
 * The admin view's reads and operations. Arguments, payloads and results stay redacted; every operation is audited and
 * may be repeated (X3).
 *
 * @throws StoreUnavailableError from each of them when the database cannot be asked
 */
export function createAdmin({ prisma, complete }: AdminOptions): Admin {
  const store = prismaStore(prisma);
  return {
    ...operationsOn(store, complete),
    countByState: () => store.countByState(),
    listKeys: async (filter) => {
      const { rows, hasMore } = await store.list(filter);
      return { rows: rows.map(summaryOf), hasMore };
    },
    findKey: async (id) => {
      const [row, steps, events] = await Promise.all([store.find(id), store.steps(id), store.events(id)]);
      return row ? detailOf(row, steps, events) : null;
    },
  };
}

function summaryOf({ result: _, fingerprint: __, ...summary }: KeyRow): KeySummary {
  return summary;
}

function detailOf(row: KeyRow, steps: Step[], events: KeyEvent[]): KeyDetail {
  const isAnswered = row.state === 'succeeded' || row.state === 'failed';
  return {
    ...summaryOf(row),
    fingerprintPrefix: row.fingerprint ? Buffer.from(row.fingerprint.hash).toString('hex', 0, 6) : null,
    answer: isAnswered ? redactAnswer(row.result) : null,
    phases: steps.map(phaseView),
    events,
  };
}
