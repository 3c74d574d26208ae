import type { Outcome } from '../core/outcome.ts';
import { type Asker, isFence, isLocked, isOpen, isPending, type State } from './state.ts';
import type { KeyAnswer } from './status-client.ts';
import type { KeyRecord } from './storage.ts';
import { successorOf, verdictOf } from './verdict.ts';

export type Event<R> =
  /** A person submits. */
  | { type: 'submitted' }
  | { type: 'wentOffline' }
  /** An attempt goes out. Storage must hold the key by now (B3). */
  | { type: 'sent'; again: boolean }
  /** `again`: the retry budget allows another attempt. */
  | { type: 'answered'; outcome: Outcome<R>; again: boolean }
  /** No answer: the connection broke, or what came is none of ours. */
  | { type: 'lost'; again: boolean }
  /** The router goes elsewhere. A success as a rule, though "sign in first" looks alike. */
  | { type: 'navigated'; again?: boolean }
  /** The submit ran out of patience (`run`), or a person asks (`person`) or starts over (`fence`). */
  | { type: 'asked'; by: 'run' | 'person' | 'fence'; again?: boolean }
  | { type: 'found'; answer: KeyAnswer<R>; again: boolean }
  /** The status route gave no answer, or "still running" for too long. */
  | { type: 'unanswered' }
  | { type: 'edited' }
  | { type: 'reset' }
  /** Mounted, or visible again: the memory of this page may be older than storage. */
  | { type: 'shown'; record: KeyRecord | null }
  /** The server rendered the form again, with another key. */
  | { type: 'issued'; key: string };

/** The first state: no key is made here, it comes with the page. `native` is the answer to a POST without JavaScript. */
export function initialState<R>(initialKey: string, native: Outcome<R> | null): State<R> {
  if (!native) return fresh(initialKey);
  // Without storage nobody knows whether that POST was the key's first, so it does not count as such.
  return judge({ ...fresh<R>(native.key ?? initialKey), status: 'executing', attempt: 2 }, native, false);
}

/** The whole behaviour of a form, without effects. The key changes in `unlock`, `shown` and `issued` only. */
export function reduce<R>(state: State<R>, event: Event<R>): State<R> {
  switch (event.type) {
    case 'submitted': // keeps the result: fields may take their default values from it
      return isLocked(state) ? state : { ...unlock(state), result: state.result, status: 'executing' };
    case 'wentOffline':
      return isPending(state) ? { ...state, status: 'offline' } : state;
    case 'sent':
      if (!isPending(state)) return state;
      return { ...state, status: event.again ? 'retrying' : 'executing', attempt: state.attempt + 1 };
    case 'answered':
      return isOpen(state) ? judge({ ...state, recovered: false }, event.outcome, event.again) : state;
    case 'lost':
      return isOpen(state) ? wonder(state, { automatic: event.again }) : state;
    case 'navigated':
      return isOpen(state) ? { ...state, status: 'hasNavigated', result: null } : state;
    case 'asked':
      return asked(state, event.by);
    case 'found':
      return state.status === 'checking' ? found(state, event.answer, event.again) : state;
    case 'unanswered':
      return state.status === 'checking' ? wonder(state) : state;
    case 'edited':
      return edited(state);
    case 'reset':
      return isPending(state) ? state : unlock(state);
    case 'shown':
      return shown(state, event.record);
    case 'issued':
      return issued(state, event.key);
  }
}

/** Idle, under the successor where an acknowledged answer has named one, else under the same key. */
function unlock<R>(state: State<R>): State<R> {
  const { key, nextKey, attempt, doubt } = state;
  return nextKey ? fresh(nextKey) : { ...fresh(key), attempt, doubt };
}

function fresh<R>(key: string): State<R> {
  return { status: 'idle', key, attempt: 0, doubt: false, result: null, recovered: false };
}

interface Unknown {
  automatic?: boolean;
  absent?: boolean;
  notice?: string;
}

function wonder<R>(state: State<R>, { automatic = false, absent = false, notice }: Unknown = {}): State<R> {
  return { ...state, status: 'unknown', doubt: true, automatic, absent, notice };
}

function judge<R>(state: State<R>, outcome: Outcome<R>, again: boolean): State<R> {
  const known = { ...state, result: outcome };
  const settled = { ...known, doubt: false, nextKey: successorOf(outcome, state.attempt <= 1) };
  switch (verdictOf(outcome)) {
    case 'done':
      return { ...settled, status: 'hasSucceeded' };
    case 'final':
      return { ...settled, status: 'hasErrored' };
    case 'running': // a late answer has no submit waiting for it
      return check(known, state.status === 'executing' || state.status === 'retrying' ? 'run' : 'shown');
    case 'mismatch': // the first result is news: it is shown, not followed
      return check(known, 'shown');
    case 'transient': {
      const doubt = state.doubt || (!outcome.ok && outcome.executed === 'unknown');
      if (doubt) return wonder(known, { automatic: again });
      return { ...known, status: again ? 'retrying' : 'hasErrored' };
    }
    case 'rejected': // being turned away now does not tell what an earlier attempt has done
      if (state.doubt) return wonder(known, outcome.ok ? {} : { notice: outcome.message });
      return { ...settled, status: 'hasErrored' };
  }
}

function check<R>(state: State<R>, by: Asker, result = state.result): State<R> {
  return { ...state, status: 'checking', by, result };
}

function asked<R>(state: State<R>, by: 'run' | 'person' | 'fence'): State<R> {
  if (by === 'run') return check(state, by, null);
  if (by === 'person') return state.status === 'unknown' ? check(state, by, null) : state;
  if (isPending(state)) return state;
  return state.nextKey || state.attempt === 0 ? unlock(state) : check(state, by, null);
}

function found<R>(state: State<R> & { status: 'checking' }, answer: KeyAnswer<R>, again: boolean): State<R> {
  const { outcome, redirect } = answer;
  const { by } = state;
  // Only a fence proves that an absent key never runs (S5): other values, another intent, so give the first one up.
  if (answer.state === 'absent')
    return by === 'edit' ? check(state, 'replace') : wonder(state, { automatic: again, absent: true });
  // Past its age a key gives way to nothing but a person who was told so and starts over all the same (ADR 7).
  const givesWay = answer.state === 'expired' ? by === 'fence' : answer.state === 'abandoned' && isFence(by);
  if (givesWay) return unlock({ ...state, nextKey: answer.nextKey });
  if (answer.state === 'expired') return wonder(state);
  if (!outcome) return state; // still running
  // The submit that waits is sent once more: its replay brings what the status route cannot, such as cookies.
  if (again) return { ...state, status: 'retrying' };
  const next = judge({ ...state, recovered: true, redirect }, outcome, false);
  // Whoever waits for the answer follows its redirect; whoever has just come back is only told.
  const follows = outcome.ok && redirect && (by === 'run' || by === 'person');
  return follows ? { ...next, status: 'hasNavigated' } : next;
}

function edited<R>(state: State<R>): State<R> {
  const { status } = state;
  if (status === 'hasSucceeded') return unlock(state);
  // Nothing is out yet, so nothing but what the person sees now may be sent.
  if (status === 'offline' && state.attempt === 0) return unlock(state);
  // Other values are another intent, once the fate of this one is known.
  if (status === 'unknown' && !state.automatic) return check(state, 'edit', null);
  return status === 'checking' && (state.by === 'shown' || state.by === 'person') ? check(state, 'edit') : state;
}

function issued<R>(state: State<R>, key: string): State<R> {
  // A key that was never sent can be replaced freely, such as after signing in.
  if (state.status === 'idle' && state.attempt === 0) return { ...state, key };
  // The redirect led back to this form: after a success, or to sign in first, which did nothing. Ask.
  if (state.status === 'hasNavigated') return check(state, 'shown');
  return state;
}

function shown<R>(state: State<R>, record: KeyRecord | null): State<R> {
  const { status, attempt } = state;
  if (status === 'hasNavigated') return check(state, 'shown');
  if (isOpen(state) || status === 'offline') {
    // Whatever was under way has ended with the page's visibility.
    if (attempt === 0) return unlock(state);
    return check({ ...state, doubt: true }, 'shown', status === 'checking' ? state.result : null);
  }
  if (status !== 'idle' || !record) return state;
  if (record.state !== 'settled') return check({ ...state, key: record.key, attempt: 1, doubt: true }, 'shown');
  // A cached page brings a key that has had its answer.
  if (record.key !== state.key) return state;
  return record.nextKey ? { ...state, key: record.nextKey, attempt: 0 } : check({ ...state, attempt: 1 }, 'shown');
}
