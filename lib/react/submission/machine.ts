import type { Outcome } from '../../core/outcome.ts';
import { type Asker, type Cause, enter, isLocked, isOpen, type KeyAnswer, openKey, type State } from './state.ts';
import type { KeyRecord } from './storage.ts';

export type Event<R> =
  /** A person submits. */
  | { type: 'submitted' }
  | { type: 'wentOffline' }
  /** An attempt goes out, as soon as storage holds its key (B3). `record`: what storage held until now. */
  | { type: 'sent'; again: boolean; record: KeyRecord | null }
  /** `again`: the retry budget allows another attempt. `isLate`: no submit waits for this answer any more. */
  | { type: 'answered'; outcome: Outcome<R>; again: boolean; isLate?: boolean | undefined }
  /** No answer to an attempt: the connection broke, or what came is none of ours. */
  | { type: 'lost'; again: boolean }
  /** No answer to a check, for too long. */
  | { type: 'unanswered'; cause?: Cause | undefined }
  /** The router goes elsewhere. A success as a rule, though "sign in first" looks alike. */
  | { type: 'navigated'; again?: boolean; isLate?: boolean }
  /** The router has gone, and the form is still there. */
  | { type: 'arrived' }
  /** The submit ran out of patience (`run`), or a person asks (`person`) or starts over (`fence`). */
  | { type: 'asked'; by: 'run' | 'person' | 'fence'; again?: boolean; isLate?: boolean }
  /** `cause`: why the key may be absent. `visitKey`: the key of a page that was made for another visit. */
  | { type: 'found'; answer: KeyAnswer<R>; again: boolean; cause?: Cause | undefined; visitKey?: string | undefined }
  /** Other values were entered, or are submitted. */
  | { type: 'edited'; isSubmitted?: boolean }
  /** A person submits unchanged values behind a success: are they to be sent once more? */
  | { type: 'repeated' }
  | { type: 'reset' }
  /** Mounted, or visible again: the memory of this page may be older than storage. */
  | { type: 'shown'; record: KeyRecord | null }
  /** The server rendered the form again, with another key. */
  | { type: 'issued'; key: string }
  /** Another tab says that a key of this intent has ended. A hint. */
  | { type: 'otherTabSettled'; key: string };

/** True for events that change what is seen, not what is known: storage keeps what it has. */
export function isViewEvent(type: Event<unknown>['type']): boolean {
  return /^(s[uh]|[oier])/.test(type); // submitted, shown, otherTabSettled, issued, edited, repeated, reset
}

/** The first state: no key is made here, it comes with the page. `native` is the answer to a POST without JavaScript. */
export function initialState<R>(initialKey: string, native: Outcome<R> | null): State<R> {
  if (!native) return createState(initialKey);
  // Without storage nobody knows whether that POST was the key's first, so it does not count as such.
  return applyOutcome({ ...createState<R>(native.key ?? initialKey), attempt: 2 }, native);
}

/**
 * The whole behaviour of a form, without effects. A key that was sent changes in `unlock` only. `recovery`: the handlers of
 * recovery/machine.ts, once they are loaded. Undefined for an event that needs them.
 */
export function reduce<R>(
  state: State<R>,
  event: Event<R>,
  recovery?: Partial<Handlers<Event<R>['type']>>,
): State<R> | undefined {
  const handler = { ...HANDLERS, ...recovery }[event.type] as Handler<R> | undefined;
  return handler?.(state, event);
}

type Handler<R> = (state: State<R>, event: Event<R>) => State<R> | undefined;
export type Handlers<T extends Event<unknown>['type']> = {
  [E in T]: (state: State<unknown>, event: Extract<Event<unknown>, { type: E }>) => State<unknown> | undefined;
};

/** The handlers of events that need no recovery. An event that does not concern a state leaves it as it is. */
const HANDLERS = {
  // Keeps the result: fields may take their default values from it.
  submitted: (state) => (isLocked(state) ? state : enter(unlock(state), 'executing', { result: state.result })),

  sent(state, { again, record }) {
    if (!state.isPending || state.by) return state;
    // Another tab has sent this intent: under one key, the two submits have one effect. Nothing may be behind our own.
    const other = openKey(record);
    const joined = other && !state.doubt && (other !== state.key || !state.attempt) ? resumeKey(other) : state;
    return enter(joined, again ? 'retrying' : 'executing', { attempt: joined.attempt + 1, isOut: true });
  },

  answered: (state, { outcome }) => (isOpen(state) ? applyOutcome(state, outcome) : state),

  lost: (state) => (isOpen(state) ? (state.attempt ? becomeUnknown : unlock)(state) : state),

  navigated: (state) => (isOpen(state) ? enter(state, 'hasNavigated', { result: null }) : state),

  shown(state, { record }) {
    const open = openKey(record);
    // A submit that was under way has ended with the page's visibility, or a cached page brings a key that has had its answer.
    if (state.status !== 'idle' || (!open && record?.key === state.key)) return undefined;
    return open ? startCheck(resumeKey(open), 'shown') : state;
  },
} satisfies Partial<Handlers<Event<unknown>['type']>>;

/** Those that do need it. */
export type RecoveryEvent = Exclude<Event<unknown>['type'], keyof typeof HANDLERS>;

/** Under a key that was sent by an earlier page, or by another tab. */
export function resumeKey(key: string): State<never> {
  return { ...createState<never>(key), attempt: 1, doubt: true };
}

/** Idle, under the next key where an acknowledged answer has named one, else under the same key. */
export function unlock<R>({ key, nextKey, attempt, doubt }: State<R>): State<R> {
  return nextKey ? createState(nextKey) : { ...createState(key), attempt, doubt };
}

export function createState<R>(key: string): State<R> {
  return { status: 'idle', isPending: false, key, attempt: 0, doubt: false, result: null, recovered: false };
}

export function becomeUnknown<R>(state: State<R>, more?: Partial<State<R>>): State<R> {
  return enter(state, 'unknown', { doubt: true, nextKey: undefined, ...more });
}

export function startCheck<R>(state: State<R>, by: Asker, result = state.result): State<R> {
  return enter(state, 'checking', { by, result, notice: state.notice, isOut: by === 'edit' && state.isOut });
}

/**
 * Applies an answer to the key that it was given for, as far as nothing follows by itself. A code that no pattern matches
 * turns away this attempt only, which does not tell what an earlier one has done. The patterns abridge `MEANINGS` of
 * core/codes.ts, which is too large for the first load; code-patterns.test.ts compares
 * the two.
 */
export function applyOutcome<R>(state: State<R>, outcome: Outcome<R>): State<R> {
  const known = { ...state, result: outcome };
  if (!outcome.ok) {
    const { code, message: notice } = outcome;
    // The first submission is not over, or it was for other values: its answer is to be asked for.
    if (/^(in_|ou|payload_m)/.test(code)) return startCheck(known, 'sent');
    const isTransient = /^(unav|int|ra|de)/.test(code);
    const isFinal = /^(fa|key_a|result_u)|y_d/.test(code);
    if (isTransient || (state.doubt && !isFinal)) return becomeUnknown(known, { notice });
  }
  const nextKey = nextKeyAfter(outcome, state.attempt <= 1);
  return enter(known, outcome.ok ? 'hasSucceeded' : 'hasErrored', { doubt: false, nextKey });
}

/**
 * The key that a person's next gesture may use after this answer, or nothing where the old one must stay. An expired or
 * foreign key gives way only if this was its first attempt: after an earlier one, an effect may hide behind it.
 */
function nextKeyAfter(outcome: Outcome<unknown>, isFirstAttempt: boolean): string | undefined {
  const mayGo = outcome.ok || outcome.retry === 'new-key' || (isFirstAttempt && /^key_[ei]/.test(outcome.code));
  return mayGo ? outcome.nextKey : undefined;
}
