import type { Principal } from 'oncekit';
import { createAdmin, joinTransaction } from 'oncekit/admin';
import { ANSWER_KEPT_HOURS, KEY_WINDOW_HOURS } from '../api/windows.ts';
import { db } from '../db.ts';
import { idempotencySecrets } from '../env.ts';
import { idempotency } from '../idempotency.ts';
import { logAudit } from '../log.ts';
// An operation can be driven on once its module was imported, and the page of one key imports none.
import { operations } from '../operations.ts';
import { erasePerson } from '../orders/erase-person.ts';
import { allNamesOf } from '../session/adoption.ts';
import { TENANT } from '../session/visitor.ts';

// An app that has installed the admin pages (scripts/build-registry.ts) has the same names in a file of its own.

/** The forms' first choices. */
export const defaultTenant = TENANT;

/** The operations that the filter and the forms offer. */
export const operationNames: readonly string[] = [
  ...operations.map(({ name }) => name),
  'admin.keys',
  'admin.messages',
  'admin.payments',
];

/** For how long keys are taken and kept: the kit's defaults. */
export const keptFor = {
  windowHours: KEY_WINDOW_HOURS,
  keptHours: KEY_WINDOW_HOURS + 1,
  paidKeptHours: ANSWER_KEPT_HOURS,
};

/** The parts of the admin's own operations. */
export const kit = idempotency;

/** Who has passed the gate. */
export interface AdminAccount {
  /** Written beside what they do. */
  name: string;
  /** The one tenant whose keys they see and act on; null for all. */
  tenant: string | null;
}

/** The transaction of an operation, and what waits for its commit. */
export interface Within {
  tx: Parameters<typeof joinTransaction>[0];
  afterCommit: (run: () => void | Promise<void>) => void;
}

/**
 * The admin view's reads and operations, on the demo's database; or within a transaction on it. An account is erased with
 * all that was bought before its sign-ins: who asks for it need not know under which names that was.
 */
export function admin({ tenant }: Pick<AdminAccount, 'tenant'>, within?: Within) {
  const { completeKey: complete, dropRecent } = idempotency;
  const view = createAdmin({
    tenant,
    prisma: within ? joinTransaction(within.tx) : db(),
    afterCommit: within?.afterCommit,
    complete,
    operations,
    dropRecent,
    onErase: erasePerson,
    log: logAudit,
    secret: idempotencySecrets(),
    window: `${KEY_WINDOW_HOURS}h`,
  });
  return {
    ...view,
    erasePrincipal: async (who: Principal, actor: string) => {
      // Accounts are the shop's own: one of that name in another tenant has been nobody else.
      const [, ...shoppers] = who.tenant === TENANT ? await allNamesOf(who) : [];
      return await view.erasePrincipal({ ...who, aliases: [...(who.aliases ?? []), ...shoppers] }, actor);
    },
  };
}
