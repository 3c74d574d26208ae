import { MISMATCH_MESSAGES, type Outcome } from '../core/outcome.ts';
import type { Operation } from '../engine/operation.ts';

/**
 * Adds to a `payload_mismatch` what the first submission came to: in words, and as `data.first` where it has its answer, so
 * that the page can show it, with and without JavaScript (B1). The key is the caller's own: a foreign one never gets this far.
 */
export async function withFirstAnswer<Result>(
  outcome: Outcome<Result>,
  operation: Pick<Operation<never, Result>, 'status'>,
): Promise<Outcome<Result>> {
  if (outcome.ok || outcome.code !== 'payload_mismatch' || outcome.key === undefined) return outcome;
  const status = await operation.status({ key: outcome.key });
  if (!('state' in status)) return outcome;
  const told = { ...outcome, message: MISMATCH_MESSAGES[status.state] };
  return status.outcome ? { ...told, data: { first: status.outcome } } : told;
}
