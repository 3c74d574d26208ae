import { IllegalTransitionError } from './errors.ts';

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
