/**
 * Decides what to do about a foreign call whose outcome is not recorded. Pure: the engine asks before each step it takes.
 */

/** How a call may be treated whose outcome cannot be told from its error. */
export type Indeterminate =
  /** Send it again under the same derived key: the provider honours keys. */
  | 'retry'
  /** Ask the provider first. */
  | 'lookup'
  /** Neither: it ends in `unknown`, and a person finds out. */
  | 'unknown';

/** The provider's answer to a look-up. */
export type Answered = 'absent' | 'pending';

export interface Situation {
  readonly indeterminate: Indeterminate;
  readonly canLookUp: boolean;
  /** For how long the provider remembers a key, in milliseconds; 0: it knows no keys. */
  readonly providerKeyTtlMs: number;
  /** How long after a send "absent" may still mean "not yet", in milliseconds. */
  readonly settleMs: number;
  /** Times since the first and the last send, in milliseconds; null: it was never sent. */
  readonly sinceFirstSentMs: number | null;
  readonly sinceLastSentMs: number | null;
  /** True if another executor may have sent it. */
  readonly tookOver: boolean;
  /** The provider says that it cannot tell by a send: "already done", a replayed error. */
  readonly mustLookUp: boolean;
  /** The provider's answer since the last send. */
  readonly answered: Answered | undefined;
}

export type Move = 'send' | 'look up' | 'ask later' | 'give up';

/** P2 and P3 as one table, read from the top. */
export function nextMove(now: Situation): Move {
  const { sinceFirstSentMs, sinceLastSentMs, providerKeyTtlMs, indeterminate } = now;
  if (sinceFirstSentMs === null || sinceLastSentMs === null) return 'send';
  if (indeterminate === 'unknown' && !(now.mustLookUp && now.answered === undefined)) return 'give up';
  if (now.answered === 'pending') return 'ask later';
  if (now.answered === 'absent') {
    if (sinceLastSentMs < now.settleMs) return 'ask later';
    // Without keys the earlier send may still be on its way from an executor that we cannot see (P3).
    return providerKeyTtlMs > 0 || !now.tookOver ? 'send' : 'give up';
  }
  const isRemembered = sinceFirstSentMs < providerKeyTtlMs - marginMs(providerKeyTtlMs);
  if (indeterminate === 'retry' && isRemembered && !now.mustLookUp) return 'send';
  return now.canLookUp ? 'look up' : 'give up';
}

/** How long before its end a provider's memory is no longer relied on: a tenth, at most an hour. */
function marginMs(ttlMs: number): number {
  return Math.min(3_600_000, ttlMs / 10);
}
