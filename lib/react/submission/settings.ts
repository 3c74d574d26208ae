import type { Outcome } from '../../core/outcome.ts';
import type { SubmitAction } from './action.ts';
import type { Status } from './state.ts';
import type { Records } from './storage.ts';

/** How patiently a lost attempt is repeated, always under the same key. All times in milliseconds. */
export interface RetryPolicy {
  attempts: number;
  baseMs: number;
  capMs: number;
  /** No retry begins later than this after the submit, or after the network came back. Polling has its own patience. */
  totalMs: number;
  /** An attempt without an answer for so long is asked about at the status route. */
  timeoutMs: number;
  /** For how long a running key is asked about before a person must ask again. */
  pollMs: number;
}

/** One step of a form, for a log: no values, no answers. */
export interface Transition {
  intent: string;
  key: string;
  /** How often this browser has sent the key. */
  attempt: number;
  from: Status;
  to: Status;
  /** What happened, such as `submitted`, `lost`, `found`. */
  event: string;
}

/** What a submission works with; read anew at each use, since a component may render with other props. */
export interface Settings<R> {
  intent: string;
  action: SubmitAction<R>;
  statusUrl?: string | undefined;
  operation?: string | undefined;
  records: Records;
  policy?: Partial<RetryPolicy> | undefined;
  onSettled?: ((outcome: Outcome<R>, info: { recovered: boolean }) => void) | undefined;
  onTransition?: ((transition: Transition) => void) | undefined;
  /** Gets what steers the framework (`notFound()`), to be thrown while rendering. */
  onSteered: (thrown: unknown) => void;
}
