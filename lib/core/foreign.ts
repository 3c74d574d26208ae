/**
 * Decides what to do about a foreign call whose outcome is not recorded. Pure: the engine asks before each step it takes.
 */

/** How a call may be treated whose outcome cannot be told from its error. */
export type Indeterminate =
  /** Send it again under the same derived key: the provider honours keys. */
  | 'retry'
  /** Ask the provider first. */
  | 'lookup'
  /** Never send it again: it ends in `unknown` until it is found, by a look-up where there is one, or by a person. */
  | 'unknown';

/** The provider's answer to a look-up. */
export type Answered = 'absent' | 'pending';

export interface Situation {
  readonly indeterminate: Indeterminate;
  readonly canLookUp: boolean;
  /** A person's word on the sends so far. */
  readonly verdict: 'succeeded' | 'retry' | undefined;
  /** True if some send may have arrived. */
  readonly mayBeDone: boolean;
  /** True if the provider tells a repetition of such a send by its key: see `isRemembered`. */
  readonly isRemembered: boolean;
  /** True if such a send may still be on its way: another executor's, or one of our own that has not ended. */
  readonly isUnderWay: boolean;
  /** True if the last send was refused for good. */
  readonly isRefused: boolean;
  /** The provider says that it cannot tell by a send: "already done", a replayed error. */
  readonly mustLookUp: boolean;
  /** The provider's answer since the last send. */
  readonly answered: Answered | undefined;
  readonly sinceLastSentMs: number;
  /** How long after a send "absent" may still mean "not yet", in milliseconds. */
  readonly settleMs: number;
}

export type Move = 'send' | 'look up' | 'ask later' | 'refuse' | 'give up';

/** P2 and P3 as one table, read from the top. */
export function nextMove(now: Situation): Move {
  const { answered, canLookUp, isRefused } = now;
  if (answered === 'pending') return 'ask later';
  if (now.verdict) {
    if (canLookUp && !answered) return 'look up';
    return now.verdict === 'retry' ? 'send' : 'give up';
  }
  if (!now.mayBeDone) return isRefused ? 'refuse' : 'send';
  if (answered === 'absent') {
    if (now.sinceLastSentMs < now.settleMs) return 'ask later';
    // Without keys the earlier send may still be on its way (P3).
    if (now.isUnderWay && !now.isRemembered) return 'give up';
    if (isRefused) return 'refuse';
    return now.indeterminate === 'unknown' ? 'give up' : 'send';
  }
  const canTell = now.isRemembered && !now.mustLookUp && !isRefused;
  if (now.indeterminate === 'retry' && canTell) return 'send';
  return canLookUp ? 'look up' : 'give up';
}

/**
 * Tells whether a provider knows a send again by its key. Both the sends so far and the next one must go with a key: what
 * those relied on is written with them, and today's code may say otherwise.
 *
 * @param sinceFirstSentMs since the first send that may have arrived
 * @param rememberedForMs how long it remembers that one from now on, as was written down; null: some send had no key
 * @param providerKeyTtlMs for how long it remembers keys as the call says now; 0: it knows none
 */
export function isRemembered(
  sinceFirstSentMs: number,
  rememberedForMs: number | null,
  providerKeyTtlMs: number,
): boolean {
  if (rememberedForMs === null) return false;
  const ttlMs = Math.min(providerKeyTtlMs, sinceFirstSentMs + rememberedForMs);
  // The end of its memory is not relied on: a tenth, at most an hour.
  const marginMs = Math.min(3_600_000, ttlMs / 10);
  return sinceFirstSentMs < ttlMs - marginMs;
}
