import type { Outcome } from '../../core/outcome.ts';
import type { SubmitAction } from './action.ts';
import type { Status } from './state.ts';
import type { Records } from './storage.ts';

/** How patiently a lost attempt is repeated, always under the same key. All times in milliseconds. */
export interface RetryPolicy {
  attempts: number;
  baseMs: number;
  capMs: number;
  /** No retry begins later than this after the submit, or after the network came back. Polling has its own limit. */
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
  /** The machine's event, such as `submitted`, `lost`, `found`. */
  event: string;
}

export const DEFAULT_POLICY: RetryPolicy = {
  // Long enough for a killed server to be started again.
  attempts: 8,
  baseMs: 400,
  capMs: 4000,
  totalMs: 30_000,
  timeoutMs: 10_000,
  pollMs: 60_000,
};

export function policyOf<R>({ policy }: Settings<R>): RetryPolicy {
  return { ...DEFAULT_POLICY, ...policy };
}

/** The settings of a submission. They are read anew at each use, since a component may render with other props. */
export interface Settings<R> {
  intent: string;
  action: SubmitAction<R>;
  statusUrl?: string | undefined;
  operation?: string | undefined;
  records: Records;
  policy?: Partial<RetryPolicy> | undefined;
  onSettled?: ((outcome: Outcome<R>, info: { recovered: boolean }) => void) | undefined;
  onTransition?: ((transition: Transition) => void) | undefined;
  /** Gets an error that steers Next (`notFound()`), to throw it while rendering. */
  rethrow: (thrown: unknown) => void;
}

/** The operation that the status route is asked about. */
export function askedOperation({ operation, intent }: Pick<Settings<unknown>, 'operation' | 'intent'>): string {
  return operation ?? intent.replace(/:.*/s, '');
}
