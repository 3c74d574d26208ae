import type { Executed } from './outcome.ts';

/**
 * The knowledge of a key's effect, by its source. A read that found no row is not among it: a claim may be on its way, so
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

/** Decides what a refusal may say of its key's effect; the one place that does. */
export function executedBy(proof: Proof): Executed {
  return EXECUTED[proof];
}

/** The proof that a call brings by itself. An attempt that is not said proves nothing: it may be a retry. */
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
