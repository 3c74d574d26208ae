import { MEANINGS } from '../../core/codes.ts';
import type { Outcome } from '../../core/outcome.ts';
import {
  applyOutcome,
  becomeUnknown,
  createState,
  type Handlers,
  type RecoveryEvent,
  resumeKey,
  startCheck,
  unlock,
} from '../submission/machine.ts';
import {
  type Asker,
  canCheck,
  enter,
  type Found,
  fieldKey,
  isFence,
  isOpen,
  isSending,
  type KeyAnswer,
  openKey,
  type State,
} from '../submission/state.ts';

/** The handlers of news about a key: from the status route, from other tabs, and late. */
export const RECOVERY_HANDLERS: Handlers<RecoveryEvent | 'answered' | 'lost' | 'shown'> = {
  answered(state, { outcome, again, isLate }) {
    // While another attempt is out, and after an answer about an attempt, only what ends the key is news.
    const isNews = endsKey(outcome) ? !isOver(state) : isOpen(state) && !(isLate && isSending(state));
    return isNews ? applyAnswer({ ...state, isOut: false }, outcome, again && isSending(state)) : state;
  },

  lost(state, { again }) {
    // A check goes on: the attempt's end says nothing about the key.
    if (state.by) return { ...state, doubt: true };
    return isOpen(state) ? becomeUnknownUnlessFound(state, { isPending: again && isSending(state) }) : state;
  },

  // What the server has said of the key stays true when it says no more.
  unanswered: (state, { cause }) =>
    state.by ? becomeUnknownUnlessFound(state, { cause: state.cause ?? cause }) : state,

  wentOffline: (state) => (state.isPending && !state.by ? enter(state, 'offline') : state),

  asked(state, { by }) {
    const { status, isPending, nextKey, attempt } = state;
    // An edit has begun a check meanwhile: now it need not wait for the attempt.
    if (by === 'run' && state.by) return { ...state, isOut: false };
    const helps = by === 'run' ? isSending(state) : by === 'fence' ? !isPending : status === 'unknown';
    if (!helps) return state;
    // Nothing can come of a key whose end is known, or that was never sent.
    return by === 'fence' && (nextKey || !attempt) ? unlock(state) : checkOn(state, by, null);
  },

  found(state, { answer, again, cause = 'absent', visitKey }) {
    const { by } = state;
    const { outcome, redirect, nextKey } = answer;
    const given = { ...state, nextKey };
    // It comes late: an answer to an attempt has ended the check. What ends the key is news all the same.
    if (!by) {
      if (isOver(state)) return state;
      if (outcome) return applyStoredAnswer(state, { outcome, redirect });
      return answer.state === 'abandoned' ? enter(given, 'hasErrored', { doubt: false }) : state;
    }
    if (answer.state === 'absent') {
      if (by === 'otherTab') return unlock(state);
      if (by !== 'edit') return becomeUnknownUnlessFound(state, { isPending: again, cause });
      // The first attempt may not have got there yet, and most likely will. Else only a fence proves that an absent key
      // never runs (S5): other values, another intent, so give the first one up.
      return state.isOut && !state.doubt ? state : startCheck(state, 'replace');
    }
    if (answer.state === 'elsewhere') return becomeUnknownUnlessFound(state, { cause: answer.state });
    // Past its age a key gives way to nothing but a person who was told so and starts over all the same (ADR 7).
    if (answer.state === 'expired') {
      const { message: notice } = answer;
      return by === 'fence' && state.notice === notice ? unlock(given) : becomeUnknownUnlessFound(state, { notice });
    }
    if (answer.state === 'abandoned' && isFence(by)) return unlock(given);
    if (!outcome) return isUnsettled(answer) ? tellUnsettled(state, answer) : state;
    if (visitKey) return createState(visitKey);
    // The redirect was the answer.
    if (by === 'arrived' && outcome.ok) {
      return { ...applyOutcome(state, outcome), result: null, recovered: false, redirect: undefined };
    }
    // The submit that waits is sent once more: its replay brings what the status route cannot, such as cookies.
    if (again && by === 'run') return enter(state, 'retrying', { found: { outcome, redirect } });
    const next = applyStoredAnswer(state, { outcome, redirect });
    // A person who waits for the answer follows its redirect; one who has just come back is only told.
    return outcome.ok && redirect && (by === 'run' || by === 'person') ? enter(next, 'hasNavigated') : next;
  },

  reset: (state) => (state.isPending ? state : unlock(state)),

  shown(state, { record }) {
    const { status, key, attempt } = state;
    if (status === 'hasNavigated') return startCheck(state, 'shown');
    // All that was under way has ended with the page's visibility.
    if (isOpen(state)) {
      const { by, result } = state;
      const isPast = by === 'shown' || by === 'arrived';
      return attempt
        ? checkOn({ ...state, doubt: true }, isPast ? 'shown' : 'sent', by ? result : null)
        : unlock(state);
    }
    if (status !== 'idle' || !record) return state;
    const open = openKey(record);
    if (open) return startCheck(resumeKey(open), 'shown');
    // A cached page brings a key that has had its answer.
    if (record.key !== key) return state;
    return record.nextKey ? createState(record.nextKey) : startCheck({ ...state, attempt: 1 }, 'sent');
  },

  issued(state, { key }) {
    // A key that was never sent can be replaced freely, such as after signing in.
    if (state.status === 'idle' && !state.attempt) return { ...state, key };
    return arrive(state);
  },

  arrived: arrive,

  edited(state, { isSubmitted }) {
    const { status, by, attempt, recovered, doubt, canSendAgain } = state;
    // A success that is news stays: a person who types on would wipe the words away, and order again unawares.
    // A submit that is not out yet must not go out any more: only the values that the person sees now.
    const isFree = status === 'hasSucceeded' ? !recovered || isSubmitted : !attempt && (isOpen(state) || canSendAgain);
    if (isFree) return unlock(state);
    // Other values are another intent, once the fate of this one is known. It is not sent again meanwhile.
    const asksAlready = by === 'edit' || by === 'otherTab' || by === 'arrived' || isFence(by);
    return (isOpen(state) || (isSubmitted && doubt)) && !asksAlready ? checkOn(state, 'edit', null) : state;
  },

  repeated: (state) => enter(state, state.status, { canSendAgain: true }),

  otherTabSettled(state, { key }) {
    const { status, doubt } = state;
    // The end may be a tombstone, too, so nothing is sent again by itself.
    if (isRepeating(state)) return startCheck(state, 'sent');
    // Nothing has come of our own key, and the intent is done: so show that, and do not do it again.
    const isFree = status === 'idle' || status === 'hasErrored' || status === 'offline';
    return isFree && key !== state.key && !doubt
      ? startCheck({ ...resumeKey(key), nextKey: fieldKey(state) }, 'otherTab')
      : state;
  },
};

/** The redirect was there: after a success, or to sign in first, which did nothing. Ask. */
function arrive<R>(state: State<R>): State<R> {
  return state.status === 'hasNavigated' ? startCheck(state, 'arrived') : state;
}

/** Asks on about a key of which the server has said that it is there. */
function checkOn<R>(state: State<R>, by: Asker, result: State<R>['result']): State<R> {
  const cause = state.cause === 'unsettled' ? state.cause : undefined;
  return { ...startCheck(state, by, result), cause };
}

/** The key is at the server, and has no end yet. */
function isUnsettled({ state }: KeyAnswer<unknown>): boolean {
  return state === 'in_progress' || state === 'unknown';
}

/**
 * Tells a person that nobody knows yet, and asks on behind it: at once where the server does not know either, and with the second
 * answer where somebody has come back, or asks, and it is still at work. Who waits for the answer of their own submit goes on waiting.
 */
function tellUnsettled<R>(state: State<R>, answer: KeyAnswer<R>): State<R> {
  const { by, cause, status } = state;
  const asks = by === 'shown' || by === 'person' || isFence(by);
  const isTold = by !== 'otherTab' && (answer.state === 'unknown' || (asks && cause === 'unsettled'));
  if (status === 'unknown' || (cause && !isTold)) return state;
  if (!isTold) return { ...state, cause: 'unsettled' };
  // A key that is there cannot be given up, so that is not asked for any more.
  return becomeUnknown(state, { cause: 'unsettled', by: isFence(by) ? 'sent' : by });
}

/** Nobody knows, unless the status route has already said it. */
function becomeUnknownUnlessFound<R>(state: State<R>, more?: Partial<State<R>>): State<R> {
  return state.found && !more?.isPending ? applyStoredAnswer(state, state.found) : becomeUnknown(state, more);
}

/** By the stored answer. */
function applyStoredAnswer<R>(state: State<R>, { outcome, redirect }: Found<R>): State<R> {
  return applyAnswer({ ...state, recovered: true, redirect }, outcome, false);
}

/** Applies an answer where an attempt or a check may follow, or is under way. */
function applyAnswer<R>(state: State<R>, outcome: Outcome<R>, again: boolean): State<R> {
  if (outcome.ok || endsKey(outcome)) return applyOutcome(state, outcome);
  const known = { ...state, result: outcome };
  const { by } = state;
  switch (MEANINGS[outcome.code]) {
    // The status route is asked. A late answer has no submit waiting for it.
    case 'running':
      return startCheck(known, isSending(state) ? 'run' : (by ?? 'sent'));
    // The first result is news: it is shown, not followed.
    case 'mismatch':
      return startCheck(known, by === 'edit' || isFence(by) ? (by as Asker) : 'sent');
    case 'transient':
      if (by) return { ...state, doubt: true };
      if (state.doubt || outcome.executed === 'unknown') return becomeUnknownUnlessFound(known, { isPending: again });
      // Chromium may have sent it twice by itself, and the other one may run: so it stays on record.
      return enter(known, again ? 'retrying' : 'hasErrored', { doubt: !again });
  }
  // This attempt was turned away, which does not tell what an earlier attempt has done: a check goes on.
  if (by && state.doubt) return { ...state, notice: outcome.message };
  return state.found ? applyStoredAnswer(state, state.found) : applyOutcome(state, outcome);
}

/** Nothing about the key will change any more. */
function endsKey(outcome: Outcome<unknown>): boolean {
  return outcome.ok || MEANINGS[outcome.code] === 'settled';
}

/** The key has had its end, so nothing that still comes of it is news. */
function isOver({ status, nextKey }: State<unknown>): boolean {
  return status === 'hasSucceeded' || status === 'hasNavigated' || (status === 'hasErrored' && !!nextKey);
}

/** It was sent, and may be sent again by itself, or by a person who sees that nobody knows what became of it. */
function isRepeating({ status, attempt }: State<unknown>): boolean {
  return (status === 'offline' && attempt > 0) || status === 'retrying' || status === 'unknown';
}

/**
 * A person can give the key up: in doubt, where an old answer stands in the way, or where the key leads nowhere. Not while the server has
 * it and knows no end: it would not give it up.
 */
export function canStartOver(state: State<unknown>): boolean {
  const { status, result, nextKey, recovered, canSendAgain, cause } = state;
  const isStuck = status === 'hasErrored' && result?.ok === false && result.retry === 'never' && !nextKey;
  return (
    (canCheck(state) && cause !== 'unsettled') || isStuck || (status === 'hasSucceeded' && recovered && !canSendAgain)
  );
}
