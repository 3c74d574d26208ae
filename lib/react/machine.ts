import type { Outcome } from '../core/outcome.ts';
import {
  type Asker,
  fieldKey,
  go,
  isFence,
  isLocked,
  isOpen,
  isRepeating,
  isSending,
  openKey,
  type State,
} from './state.ts';
import type { KeyAnswer } from './status-client.ts';
import type { KeyRecord } from './storage.ts';
import { successorOf } from './verdict.ts';

export type Event<R> =
  /** A person submits. */
  | { type: 'submitted' }
  | { type: 'wentOffline' }
  /** An attempt goes out, as soon as storage holds its key (B3). `record`: what storage held until now. */
  | { type: 'sent'; again: boolean; record: KeyRecord | null }
  /** `again`: the retry budget allows another attempt. */
  | { type: 'answered'; outcome: Outcome<R>; again: boolean }
  /** No answer: the connection broke, what came is none of ours, or a check has led nowhere for too long. */
  | { type: 'lost'; again: boolean }
  /** The router goes elsewhere. A success as a rule, though "sign in first" looks alike. */
  | { type: 'navigated'; again?: boolean }
  /** The submit ran out of patience (`run`), or a person asks (`person`) or starts over (`fence`). */
  | { type: 'asked'; by: 'run' | 'person' | 'fence'; again?: boolean }
  | { type: 'found'; answer: KeyAnswer<R>; again: boolean }
  | { type: 'edited' }
  | { type: 'reset' }
  /** Mounted, or visible again: the memory of this page may be older than storage. */
  | { type: 'shown'; record: KeyRecord | null }
  /** The server rendered the form again, with another key. */
  | { type: 'issued'; key: string }
  /** Another tab says that a key of this intent has ended. A hint. */
  | { type: 'told'; key: string };

/** The first state: no key is made here, it comes with the page. `native` is the answer to a POST without JavaScript. */
export function initialState<R>(initialKey: string, native: Outcome<R> | null): State<R> {
  if (!native) return fresh(initialKey);
  // Without storage nobody knows whether that POST was the key's first, so it does not count as such.
  return judge(go(fresh<R>(native.key ?? initialKey), 'executing', { attempt: 2 }), native, false);
}

/** The whole behaviour of a form, without effects. A key that was sent changes in `unlock` only. */
export function reduce<R>(state: State<R>, event: Event<R>): State<R> {
  return (HANDLERS[event.type] as Handler<R>)(state, event);
}

type Handler<R> = (state: State<R>, event: Event<R>) => State<R>;
type Handlers<R> = { [T in Event<R>['type']]: (state: State<R>, event: Extract<Event<R>, { type: T }>) => State<R> };

/** One for each event. Whatever does not concern a state leaves it as it is. */
const HANDLERS: Handlers<unknown> = {
  // Keeps the result: fields may take their default values from it.
  submitted: (state) => (isLocked(state) ? state : go(unlock(state), 'executing', { result: state.result })),

  wentOffline: (state) => (state.isPending ? go(state, 'offline') : state),

  sent(state, { again, record }) {
    if (!state.isPending || state.by) return state;
    // Another tab has sent this intent: under one key, the two submits have one effect. Nothing may be behind our own.
    const other = openKey(record);
    const joined = other && !state.doubt && (other !== state.key || !state.attempt) ? resume(other) : state;
    return go(joined, again ? 'retrying' : 'executing', { attempt: joined.attempt + 1 });
  },

  answered: (state, { outcome, again }) => (isOpen(state) ? judge(state, outcome, again && isSending(state)) : state),

  lost: (state, { again }) => (isOpen(state) ? wonder(state, { isPending: again && isSending(state) }) : state),

  navigated: (state) => (isOpen(state) ? go(state, 'hasNavigated', { result: null }) : state),

  asked(state, { by }) {
    const { status, isPending, nextKey, attempt } = state;
    const helps = by === 'run' ? isSending(state) : by === 'fence' ? !isPending : status === 'unknown';
    if (!helps) return state;
    // Nothing can come of a key whose end is known, or that was never sent.
    return by === 'fence' && (nextKey || !attempt) ? unlock(state) : check(state, by, null);
  },

  found(state, { answer, again }) {
    const { by } = state;
    if (!by) return state;
    const { outcome, redirect, nextKey } = answer;
    // Only a fence proves that an absent key never runs (S5): other values, another intent, so give the first one up.
    if (answer.state === 'absent') {
      if (by === 'told') return unlock(state);
      return by === 'edit' ? check(state, 'replace') : wonder(state, { isPending: again, isAbsent: true });
    }
    const given = { ...state, nextKey };
    // Past its age a key gives way to nothing but a person who was told so and starts over all the same (ADR 7).
    if (answer.state === 'expired') {
      const { detail: notice } = answer;
      return by === 'fence' && state.notice === notice ? unlock(given) : wonder(state, { notice });
    }
    if (answer.state === 'abandoned' && isFence(by)) return unlock(given);
    if (!outcome) return state; // still running
    // The submit that waits is sent once more: its replay brings what the status route cannot, such as cookies.
    if (again && by === 'run') return go(state, 'retrying');
    const next = judge({ ...state, recovered: true, redirect }, outcome, false);
    // Whoever waits for the answer follows its redirect; whoever has just come back is only told.
    return outcome.ok && redirect && (by === 'run' || by === 'person') ? go(next, 'hasNavigated') : next;
  },

  edited(state) {
    const { status, by, attempt, recovered } = state;
    // Not where the success is news: whoever types on would wipe the words away, and order again unawares.
    // While offline, nothing is out yet, so nothing but what the person sees now may be sent.
    if (status === 'hasSucceeded' ? !recovered : status === 'offline' && !attempt) return unlock(state);
    // Other values are another intent, once the fate of this one is known. It is not sent again meanwhile.
    const asksFirst = isRepeating(state) || by === 'run' || by === 'shown' || by === 'person';
    return asksFirst ? check(state, 'edit', null) : state;
  },

  reset: (state) => (state.isPending ? state : unlock(state)),

  shown(state, { record }) {
    const { status, key, attempt } = state;
    if (status === 'hasNavigated') return check(state, 'shown');
    // Whatever was under way has ended with the page's visibility.
    if (isOpen(state)) {
      return attempt ? check({ ...state, doubt: true }, 'shown', state.by ? state.result : null) : unlock(state);
    }
    if (status !== 'idle' || !record) return state;
    const open = openKey(record);
    if (open) return check(resume(open), 'shown');
    // A cached page brings a key that has had its answer.
    if (record.key !== key) return state;
    return record.nextKey ? fresh(record.nextKey) : check({ ...state, attempt: 1 }, 'shown');
  },

  issued(state, { key }) {
    // A key that was never sent can be replaced freely, such as after signing in.
    if (state.status === 'idle' && !state.attempt) return { ...state, key };
    // The redirect led back to this form: after a success, or to sign in first, which did nothing. Ask.
    return state.status === 'hasNavigated' ? check(state, 'shown') : state;
  },

  told(state, { key }) {
    const { status, doubt } = state;
    // Whatever it was, nothing is sent again by itself.
    if (isRepeating(state)) return check(state, 'shown');
    // Nothing has come of our own key, and the intent is done: so show that, and do not do it again.
    const isFree = status === 'idle' || status === 'hasErrored' || status === 'offline';
    return isFree && key !== state.key && !doubt ? check({ ...resume(key), nextKey: fieldKey(state) }, 'told') : state;
  },
};

/** Under a key that was sent by an earlier page, or by another tab. */
function resume(key: string): State<never> {
  return { ...fresh<never>(key), attempt: 1, doubt: true };
}

/** Idle, under the successor where an acknowledged answer has named one, else under the same key. */
function unlock<R>({ key, nextKey, attempt, doubt }: State<R>): State<R> {
  return nextKey ? fresh(nextKey) : { ...fresh(key), attempt, doubt };
}

function fresh<R>(key: string): State<R> {
  return { status: 'idle', isPending: false, key, attempt: 0, doubt: false, result: null, recovered: false };
}

function wonder<R>(state: State<R>, more?: Partial<State<R>>): State<R> {
  return go(state, 'unknown', { doubt: true, nextKey: undefined, ...more });
}

function check<R>(state: State<R>, by: Asker, result = state.result): State<R> {
  return go(state, 'checking', { by, result, notice: state.notice });
}

/** What an answer means for the key it was given for. A code that is not named here turns away this attempt only. */
function judge<R>(state: State<R>, outcome: Outcome<R>, again: boolean): State<R> {
  const known = { ...state, result: outcome };
  if (!outcome.ok) {
    switch (outcome.code) {
      // The first submission is not over: ask the status route. A late answer has no submit waiting for it.
      case 'in_flight':
      case 'outcome_unknown':
        return check(known, isSending(state) ? 'run' : 'shown');
      // The key was used for other values. The first result is news: it is shown, not followed.
      case 'payload_mismatch':
        return check(known, 'shown');
      // Nothing definite. The same key may be sent again without asking a person.
      case 'unavailable':
      case 'internal':
      case 'rate_limited':
        if (state.doubt || outcome.executed === 'unknown') return wonder(known, { isPending: again });
        return go(known, again ? 'retrying' : 'hasErrored');
      // A stored refusal, a tombstone, or a stored answer that cannot be read: nothing will change any more.
      case 'failed':
      case 'key_abandoned':
      case 'result_unreadable':
        break;
      // This attempt was turned away, which does not tell what an earlier attempt has done.
      default:
        if (state.doubt) return wonder(known, { notice: outcome.message });
    }
  }
  const nextKey = successorOf(outcome, state.attempt <= 1);
  return go(known, outcome.ok ? 'hasSucceeded' : 'hasErrored', { doubt: false, nextKey });
}
