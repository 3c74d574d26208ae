import type { KeyId } from '../core/scope.ts';

/** The answer to a send for which nobody waited any more, and the receipt of a result. */
export interface LateAnswer {
  reference?: string | undefined;
  amount?: string | undefined;
  step: string;
  /** The fencing token of the executor that has sent it. */
  token: number;
  /** The send has succeeded; else the call was refused for good. */
  isResult: boolean;
}

/** A key's foreign call as a person saw it: the `revision` tells whether more is known of it since. */
export type SeenCall = KeyId & { revision: string };

/** A person's verdict: it happened (with its reference), it did not and shall not, or: send it again. These name what they overrule. */
export type Verdict =
  | { kind: 'succeeded'; reference: string }
  | { kind: 'failed' | 'retry'; overrules?: string | undefined };

/**
 * Words, which end nothing, or a proof that a step's call has succeeded, with the provider's reference of it. `said` is a line of
 * at most 1000 characters for whoever looks at the key; no secrets.
 */
export type Evidence = string | { said: string; step: string; succeeded: string };

export type Heard =
  /** An event of a key that is not settled, which looks at once. */
  | 'recorded'
  /** So it is, and it is the proof of a call that is not known to be done: the key's next run makes the result of it. */
  | 'ends'
  /** The key has ended otherwise, or the step has another reference. It is recorded, and the key is flagged for a person. */
  | 'contradicts'
  /** Nothing was recorded: there is no such key, or it has settled and nothing contradicts that. */
  | 'none';
