import type { TriedClaim } from '../../store/store.ts';
import { checkNamed, type Finding } from './finding.ts';

const check = checkNamed('Transaction');

const SAYS = {
  own: "The kit's own, which whatever a handler asks of the client is part of.",
  interactive: "Prisma's interactive one, as createIdempotency is told.",
};

/** Tells whose transaction an execution is, and what is lost where it is Prisma's though nobody has asked for that, or unseen. */
export function checkTransaction({
  transactions,
  whyNotOwn,
  whyUnproven,
}: Pick<TriedClaim, 'transactions' | 'whyNotOwn' | 'whyUnproven'>): Finding {
  if (whyUnproven)
    return check.warning(`Prisma's interactive one. ${whyUnproven.message}`, `Use ${whyUnproven.expected}.`);
  if (!whyNotOwn) return check.ok(SAYS[transactions]);
  return check.warning(
    `Prisma's interactive one: what a handler writes by the client's global name, and not by tx, is refused. ${whyNotOwn.message}`,
    `Where the client is made, use ${whyNotOwn.expected}.`,
  );
}
