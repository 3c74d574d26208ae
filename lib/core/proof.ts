import type { Executed } from './outcome.ts';

/**
 * What is known of a key's effect, and by what. A read that found no row is not among it: a claim may be on its way, so
 * that is only a hint.
 */
export type Proof =
  /** The key was made by this very call, so nobody else can have sent it. */
  | 'minted'
  /** The caller says that it sends the key for the first time. */
  | 'said_first'
  /** The claim was inserted, so no row stood; its COMMIT was never sent, or refused by the server. */
  | 'rolled_back'
  /** A committed row says that the key will never execute. */
  | 'tombstone'
  /** A committed row holds an answer. */
  | 'answer'
  | 'none';

const EXECUTED: Record<Proof, Executed> = {
  minted: false,
  said_first: false,
  rolled_back: false,
  tombstone: false,
  answer: true,
  none: 'unknown',
};

/** What a refusal may say of its key. The one place where that is decided. */
export function executedBy(proof: Proof): Executed {
  return EXECUTED[proof];
}

/** What a call proves by itself. An attempt that is not said proves nothing: it may be a retry. */
export function proofOfCall({
  keyless,
  attempt,
}: {
  keyless?: boolean | undefined;
  attempt?: number | undefined;
}): Proof {
  if (keyless) return 'minted';
  return attempt === 1 ? 'said_first' : 'none';
}
