import type { TriedClaim } from '../store/store.ts';
import { checkNamed, type Finding } from './finding.ts';
import { ADAPTER_LINE } from './plan-adapter.ts';
import { callAt } from './source.ts';

/** As `createIdempotency` is told it in plain words; undefined where nothing is said. */
export type Transaction = 'interactive' | 'ambient' | undefined;

/** By the source of the app's set-up, without its comments. */
export function readTransaction(source: string): Transaction {
  const [, , said] =
    /\btransaction\s*:\s*(['"`])(interactive|ambient)\1/.exec(callAt(source, 'createIdempotency') ?? '') ?? [];
  return said as Transaction;
}

const check = checkNamed('Transaction');
const FIX = `Change one line where the client is made: ${ADAPTER_LINE} For a pool of your own: new PrismaPg(oncekitPool(pool)).`;

/** Whose transaction an execution is, and what is lost where the client's pool is not the kit's. */
export function checkTransaction({ isOnKitPool }: Pick<TriedClaim, 'isOnKitPool'>, asked: Transaction): Finding {
  if (asked === 'interactive') return check.ok("Prisma's interactive one, as createIdempotency is told.");
  if (isOnKitPool) {
    return check.ok(
      asked === 'ambient'
        ? "The kit's own, which whatever a handler asks of the client is part of."
        : "The kit's own: the client's pool is the kit's.",
    );
  }
  return asked === 'ambient'
    ? check.problem(
        "transaction: 'ambient' needs a pool of the kit's, and the client has another: nothing executes.",
        FIX,
      )
    : check.warning(
        "Prisma's interactive one, for the client's pool is not the kit's: an execution waits for the database more often than it must, with the same guarantees.",
        FIX,
      );
}
