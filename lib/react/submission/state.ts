import type { KeyStateOrAbsent, KeyStatus } from '../../core/key-state.ts';
import type { Outcome, Refusal } from '../../core/outcome.ts';
import type { KeyRecord } from './storage.ts';

/** The states of a form. */
export type Status =
  | 'idle'
  | 'executing'
  | 'retrying'
  | 'offline'
  | 'unknown'
  | 'checking'
  | 'hasSucceeded'
  | 'hasErrored'
  | 'hasNavigated';

/**
 * The starter of a check decides how it ends: see `found`. `fence` and `replace` ask for the tombstone, for a person who
 * starts over and for one who has entered other values. `otherTab`: about another tab's key; `nextKey` is then our own.
 * `sent`: about what this page has sent. `shown`: about what is on record, by a page that a person has come to, or come back to.
 * `arrived`: by a form that is still there behind a redirect.
 */
export type Asker = 'run' | 'person' | 'edit' | 'replace' | 'fence' | 'otherTab' | 'sent' | 'shown' | 'arrived';

/**
 * Tells why there is no answer, where that is known. `absent`: the server has not seen the key; a hint (S5). `late`: nor has the
 * attempt ended. `unsettled`: the server has the key, and does not know its end yet. `unreadable`: a file of what was sent is gone, or
 * has changed. `elsewhere`: something else answers in the server's place, or leads away.
 */
export type Cause = 'absent' | 'late' | 'unsettled' | 'unreadable' | 'elsewhere';

/** The form's knowledge of its intent. */
export interface State<R> {
  readonly status: Status;
  /** Something is under way, or will be without a person. `unknown` is pending while we try again by ourselves. */
  readonly isPending: boolean;
  readonly key: string;
  /** How often this browser has sent the key; 0 means never. */
  readonly attempt: number;
  /** Some attempt of the key ended without an answer. Only a definite answer about the *key* clears it (B5). */
  readonly doubt: boolean;
  readonly result: Outcome<R> | null;
  /** The result was found by asking about the key, not given to this submit. */
  readonly recovered: boolean;
  /** The next key of an acknowledged answer. It becomes the key on a person's next gesture, never by itself (B4). */
  readonly nextKey?: string | undefined;
  /** The address that a recovered answer leads to. */
  readonly redirect?: string | undefined;
  /** Of `checking`, and of an `unknown` that is still asked about. */
  readonly by?: Asker | undefined;
  /** Of `unknown`, and of a check of what the server has said that it is `unsettled`. */
  readonly cause?: Cause | undefined;
  /** What was submitted last would do once more what has been done. A person decides. */
  readonly canSendAgain?: boolean | undefined;
  /** Of `unknown` and `checking`: why the latest attempt was turned away. */
  readonly notice?: string | undefined;
  /** The latest attempt is on its way, and is still waited for. */
  readonly isOut?: boolean | undefined;
  /** The status route's answer about the key, while the submit is sent once more for its replay. */
  readonly found?: Found<R> | undefined;
}

/** The stored answer of a key, and where it wants the person to go. */
export interface Found<R> {
  readonly outcome: Outcome<R>;
  readonly redirect?: string | undefined;
}

/** The status route's answer about a key. */
export interface KeyAnswer<R>
  extends Partial<Pick<KeyStatus<R>, 'outcome' | 'redirect' | 'settledAt' | 'retryAfterMs' | 'nextKey' | 'by'>> {
  /**
   * `expired`: it cannot be fenced, being too old (K3), or not this person's. It will not run for them; whether it ever
   * did, nobody can tell any more. `elsewhere`: it is not the status route that answers.
   */
  state: KeyStateOrAbsent | 'expired' | 'elsewhere';
  /** Tells a person why there is no answer about this key. */
  message?: string | undefined;
}

/** The next state. What belongs to one status only does not outlive it. */
export function enter<R>(state: State<R>, status: Status, more?: Partial<State<R>>): State<R> {
  const isPending = /ing$|offline/.test(status); // executing, retrying, checking
  return {
    ...state,
    by: undefined,
    isOut: false,
    cause: undefined,
    canSendAgain: false,
    notice: undefined,
    status,
    isPending,
    ...more,
  };
}

/** True for a check that gives the key up. */
export function isFence(by: Asker | undefined): boolean {
  return by === 'fence' || by === 'replace';
}

/** An attempt is out, and nothing definite is known yet. */
export function isOpen({ isPending, status }: State<unknown>): boolean {
  return isPending || status === 'unknown';
}

/** The submit waits for its attempt. Nothing has called it off, such as an edit, so it may send again by itself. */
export function isSending({ status }: Pick<State<unknown>, 'status'>): boolean {
  return status === 'executing' || status === 'retrying';
}

/** A submit is swallowed (B2): while pending, and after success, so that a late second click cannot order again. */
export function isLocked({ isPending, status }: State<unknown>): boolean {
  return isPending || status === 'hasSucceeded' || status === 'hasNavigated';
}

/** A person can ask again. */
export function canCheck({ by, isPending, status }: State<unknown>): boolean {
  return /person|fence|replace/.test(by ?? '') || (status === 'unknown' && !isPending);
}

/** The intent has its final answer: done, or refused for good. */
export function hasFinalAnswer({ status, result }: State<unknown>): boolean {
  return status === 'hasSucceeded' || (status === 'hasErrored' && (result as Refusal | null)?.code === 'failed');
}

/**
 * The key in the form's field. Without JavaScript the field is all there is: on the page that shows a final refusal it
 * already holds the key of the person's next gesture; after a success it does not, for a late second click.
 */
export function fieldKey({ status, nextKey, key }: State<unknown>): string {
  return (status === 'hasErrored' && nextKey) || key;
}

/** The key of a submit whose end was not seen. */
export function openKey(record: KeyRecord | null): string | undefined {
  return record?.state === 'settled' ? undefined : record?.key;
}

/** True where storage is ours to change. A key that another tab is sending stays on record until its end is known. */
export function mayWriteRecord(record: KeyRecord | null, before: State<unknown>, now: State<unknown>): boolean {
  const open = openKey(record);
  if (before.by === 'otherTab' && now.key !== before.key) return false; // the other tab's hint was not true
  const as = toRecordState(now);
  // A key that has ended stays so, whatever a tab that cannot reach the server thinks of it; and a doubt, which may be
  // another tab's, until then.
  if (as) return open ? as !== 'executing' && (open === now.key || open === before.key) : record?.key !== now.key;
  return open === before.key && (now.key !== before.key || record?.state === 'executing');
}

/** The state that storage must hold of the key; null: no record. */
export function toRecordState({
  doubt,
  status,
  nextKey,
  attempt,
  isPending,
}: State<unknown>): KeyRecord['state'] | null {
  // Also after a redirect: to the sign-in page, perhaps, and that does not answer an earlier attempt.
  if (doubt) return 'unknown';
  if (status === 'hasSucceeded' || nextKey) return 'settled';
  // A redirect may have rolled back: "sign in first". A person who comes back asks.
  return attempt > 0 && (isPending || status === 'hasNavigated') ? 'executing' : null;
}
