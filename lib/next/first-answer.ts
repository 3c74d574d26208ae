import type { Outcome } from '../core/outcome.ts';
import type { Operation } from '../engine/operation.ts';

/**
 * Adds to a `payload_mismatch` what the first submission came to, as `data.first`, so that the page can show it, with
 * and without JavaScript (B1). The key is the caller's own: a foreign one never gets this far.
 */
export async function withFirstAnswer<Result>(
  outcome: Outcome<Result>,
  operation: Pick<Operation<never, Result>, 'status'>,
): Promise<Outcome<Result>> {
  if (outcome.ok || outcome.code !== 'payload_mismatch' || outcome.key === undefined) return outcome;
  const status = await operation.status({ key: outcome.key });
  return 'state' in status && status.outcome ? { ...outcome, data: { first: status.outcome } } : outcome;
}
