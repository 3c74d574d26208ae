import { IllegalTransitionError } from './errors.ts';
import type { Outcome } from './outcome.ts';

/** The states of a committed key row. */
export const KEY_STATES = ['in_progress', 'succeeded', 'failed', 'unknown', 'abandoned'] as const;

/** The state in a key’s row. `succeeded`, `failed` and `abandoned` never change again. */
export type KeyState = (typeof KEY_STATES)[number];

/** `absent` is the lack of a committed row. */
export type KeyStateOrAbsent = KeyState | 'absent';

/** The one table of legal transitions (contract S1–S5). Anything that is not here is a bug. */
const TRANSITIONS: Record<KeyStateOrAbsent, readonly KeyState[]> = {
  absent: ['in_progress', 'abandoned'],
  in_progress: ['succeeded', 'failed', 'unknown', 'in_progress'], // the last under a higher fencing token
  unknown: ['in_progress', 'failed'],
  succeeded: [],
  failed: [],
  abandoned: [],
};

/** Throws `IllegalTransitionError` unless the table allows it. */
export function assertTransition(from: KeyStateOrAbsent, to: KeyState): void {
  if (TRANSITIONS[from].includes(to)) return;
  throw new IllegalTransitionError(`A key cannot go from ${from} to ${to}.`, {
    existing: from,
    expected: TRANSITIONS[from].length > 0 ? TRANSITIONS[from] : 'nothing: this state is final',
  });
}

/** A settled key never changes again: it is replayed, refused or reaped. */
export function isSettled(state: KeyStateOrAbsent): state is 'succeeded' | 'failed' | 'abandoned' {
  return state !== 'absent' && TRANSITIONS[state].length === 0;
}

/** The state of a key. `absent` is a hint: only a fence proves that it will never run. */
export interface KeyStatus<T> {
  operation: string;
  key: string;
  state: KeyStateOrAbsent;
  /** The stored answer, where there is one. */
  outcome?: Outcome<T>;
  /** Where the stored answer leads: a redirect, or the address that `redirectTo` of the operation made. */
  redirect?: string;
  /** When its end was written, by the database's clock, in ISO 8601. There once it has one: succeeded, failed, abandoned. */
  settledAt?: string;
  /** When to ask again, where the key is still running. */
  retryAfterMs?: number;
  /** The thing that it is done once for, where it holds one: see `oncePer`. */
  thing?: string;
  /** Of an absent key: the caller's key by which it was answered, because that one holds the thing. Ask about that one. */
  by?: string;
  nextKey: string;
}
