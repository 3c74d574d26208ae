import type { Outcome } from '../core/outcome.ts';
import type { KeyRecord } from './storage.ts';

/** What we hold about an intent, whatever its state. */
export interface Facts<R> {
  readonly key: string;
  /** How often this browser has sent the key; 0 means never. */
  readonly attempt: number;
  /** Some attempt of the key ended without an answer. Only a definite answer about the *key* clears it (B5). */
  readonly doubt: boolean;
  readonly result: Outcome<R> | null;
  /** The result was found by asking about the key, not given to this submit. */
  readonly recovered: boolean;
  /** An acknowledged answer's successor. It becomes the key on a person's next gesture, never by itself (B4). */
  readonly nextKey?: string | undefined;
  /** Where a recovered answer wants the person to go. */
  readonly redirect?: string | undefined;
}

/**
 * Who started a check decides how it ends: see `found`. `fence` and `replace` ask for the tombstone, for a person who
 * starts over and for one who has entered other values.
 */
export type Asker = 'run' | 'person' | 'edit' | 'replace' | 'fence' | 'shown';

/** Whether a check gives the key up. */
export function isFence(by: Asker): boolean {
  return by === 'fence' || by === 'replace';
}

/** The state of one form, in the vocabulary of contract B5. */
export type State<R> = Facts<R> &
  (
    | {
        readonly status: 'idle' | 'executing' | 'retrying' | 'offline' | 'hasSucceeded' | 'hasErrored' | 'hasNavigated';
      }
    | {
        readonly status: 'unknown';
        /** We try again by ourselves. */
        readonly automatic: boolean;
        /** The server says it has not seen the key; a hint (S5). */
        readonly absent: boolean;
        /** Why the latest attempt was turned away. */
        readonly notice?: string | undefined;
      }
    | { readonly status: 'checking'; readonly by: Asker }
  );

export type Status = State<unknown>['status'];

export function isIn(state: State<unknown>, ...statuses: Status[]): boolean {
  return statuses.includes(state.status);
}

/** An attempt is out, and nothing definite is known yet. Late answers count, answers after the end do not. */
export function isOpen(state: State<unknown>): boolean {
  return isIn(state, 'executing', 'retrying', 'unknown', 'checking');
}

/** Something is under way, or will be without a person. */
export function isPending(state: State<unknown>): boolean {
  if (state.status === 'unknown') return state.automatic;
  return isIn(state, 'executing', 'retrying', 'offline', 'checking');
}

/** A submit is swallowed (B2): while pending, and after success, so that a late second click cannot order again. */
export function isLocked(state: State<unknown>): boolean {
  return isPending(state) || isIn(state, 'hasSucceeded', 'hasNavigated');
}

/** A person can ask again. */
export function canCheck(state: State<unknown>): boolean {
  if (state.status === 'unknown') return !state.automatic;
  return state.status === 'checking' && (state.by === 'person' || isFence(state.by));
}

/** A person can give the key up: in doubt, where an old answer stands in the way, or where the key leads nowhere. */
export function canStartOver(state: State<unknown>): boolean {
  const { status, result } = state;
  const stuck = status === 'hasErrored' && result?.ok === false && result.retry === 'never' && !state.nextKey;
  return canCheck(state) || stuck || (status === 'hasSucceeded' && state.recovered);
}

/** The intent has its final answer: done, or refused for good. */
export function isSettled({ status, result }: State<unknown>): boolean {
  return status === 'hasSucceeded' || (status === 'hasErrored' && result?.ok === false && result.code === 'failed');
}

/**
 * What stands in the form. Without JavaScript the field is all there is: on the page that shows a final refusal it
 * already holds the key of the person's next gesture; after a success it does not, for a late second click.
 */
export function fieldKey(state: State<unknown>): string {
  return (state.status === 'hasErrored' && state.nextKey) || state.key;
}

/** Whether what storage says of an earlier state can go. Another tab may be sending under the same key. */
export function mayForget(record: KeyRecord | null, { key }: State<unknown>, now: State<unknown>): boolean {
  return record?.key === key && (now.key !== key || record.state === 'executing');
}

/** What storage must say about the key in this state; null: nothing. */
export function recordedAs(state: State<unknown>): KeyRecord['state'] | null {
  // Also after a redirect: to the sign-in page, perhaps, and that does not answer an earlier attempt.
  if (state.doubt) return 'unknown';
  if (state.status === 'hasSucceeded' || state.nextKey) return 'settled';
  // A redirect may have rolled back: "sign in first". Whoever comes back asks.
  return state.attempt > 0 && (isPending(state) || state.status === 'hasNavigated') ? 'executing' : null;
}
