import type { TriedClaim } from '../../store/store.ts';
import { checkNamed, type Finding } from './finding.ts';

const check = checkNamed('Transaction');

const SAYS = {
  own: "The kit's own, which whatever a handler asks of the client is part of.",
  interactive: "Prisma's interactive one, as createIdempotency is told.",
};

/** Tells whose transaction an execution is, and what is lost where it is Prisma's though nobody has asked for that. */
export function checkTransaction({ transactions, whyNotOwn }: Pick<TriedClaim, 'transactions' | 'whyNotOwn'>): Finding {
  if (!whyNotOwn) return check.ok(SAYS[transactions]);
  const fix = `Where the client is made, use ${whyNotOwn.expected}.`;
  return check.warning(
    `Prisma's interactive one: what a handler asks of the client by its global name, and not of tx, is no part of it. ${whyNotOwn.message}`,
    fix,
  );
}
