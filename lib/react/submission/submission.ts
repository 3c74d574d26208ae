import { ATTEMPT_FIELD, KEY_FIELD } from '../../core/fields.ts';
import type { Outcome } from '../../core/outcome.ts';
import type { PendingAttempt, Recovery, SubmissionContext } from '../recovery/recovery.ts';
import { type ActionReply, callAction } from './action.ts';
import { type Event, reduce, VIEW_EVENTS } from './machine.ts';
import { loadRecovery, recoveryModule, whenIdle } from './recovery-loader.ts';
import type { Settings } from './settings.ts';
import { isLocked, isOpen, isSending, isSettled, mayWriteRecord, type State, toRecordState } from './state.ts';

/**
 * The edges of one form: runs what the machine decides. The state is plain and changes synchronously, so the second
 * submit of a double click meets the lock in the same tick (B2). Once stopped, nothing changes any more: the
 * record stays, and the next `start` asks about it.
 */
export function createSubmission<R>(initial: State<R>, settings: () => Settings<R>) {
  let state = initial;
  let life = new AbortController();
  let turn = new AbortController(); // of the latest submit
  let recovery: Recovery<R> | undefined;
  let notify: (() => void) | undefined;
  const form: SubmissionContext<R> = {
    state: () => state,
    dispatch,
    settings,
    attempt,
    restart: show,
    lifetime: () => life.signal,
  };

  function dispatch(event: Event<R>): void {
    const before = state;
    const next = reduce(state, event, recovery?.handlers);
    if (!next) return void defer(event);
    state = next;
    if (state === before) return;
    const { status, key, attempt, result, recovered, nextKey, by } = state;
    const { intent, records, onSettled, onTransition } = settings();
    const settled = isSettled(state) && !isSettled(before);
    if (!VIEW_EVENTS.includes(event.type)) {
      const as = toRecordState(state);
      form.meta ??= { submittedAt: Date.now() };
      if (mayWriteRecord(records.read(intent), before, state)) {
        records.write(intent, as && { ...form.meta, version: 1, key, intent, state: as, nextKey });
      }
    }
    notify?.();
    // Behind what happens here, which an error of theirs must not stop.
    queueMicrotask(() => onTransition?.({ intent, key, attempt, event: event.type, from: before.status, to: status }));
    if (settled) queueMicrotask(() => onSettled?.(result as Outcome<R>, { recovered }));
    recovery?.follow(event, before);
    // A submit that waits asks by itself; everybody else's check begins here.
    if (by && by !== 'run' && (!before.by || event.type === 'shown')) void defer();
  }

  async function attempt(values: FormData, again: boolean, signal: AbortSignal): PendingAttempt<R> {
    const { action, intent, records } = settings();
    const isSent = await records.withLock(intent, () => {
      if (!signal.aborted) dispatch({ type: 'sent', again, record: records.read(intent) });
      return isSending(state); // an edit may have called it off while it waited for its turn
    });
    if (!isSent || signal.aborted) return;
    const { key, attempt } = state;
    values.set(KEY_FIELD, key);
    values.set(ATTEMPT_FIELD, String(attempt));
    const reply = await callAction(action, values);
    // What comes of a key that was given up meanwhile is no news about another one.
    return state.key === key ? reply : undefined;
  }

  /** Until there is an answer, the budget is spent, or a person must decide. */
  async function run(values: FormData, { signal }: AbortController): Promise<void> {
    let first: PendingAttempt<R> | undefined;
    if (!recovery) {
      first = attempt(values, false, signal);
      await Promise.race([first, recover()]);
    }
    if (!recovery) {
      const reply = await first;
      if (!reply || signal.aborted) return;
      // Without the part that goes on after a loss, the person decides at once.
      if (isPlain(reply) || !(await recover())) return dispatch({ ...reply, again: false });
    }
    await recovery?.run(values, signal, first);
  }

  /** What an event means that only the part that comes later knows. */
  async function defer(event?: Event<R>): Promise<void> {
    const alive = life.signal;
    const before = state;
    await recover();
    if (alive.aborted) return;
    // Nothing is lost where it does not come: the key stays on record, and a person can ask again.
    if (!recovery) dispatch({ type: 'lost', again: false });
    else if (!event) void recovery.poll();
    // What has ended meanwhile is no longer what the event was about.
    else if (state.status === before.status || (isOpen(before) && isOpen(state))) dispatch(event);
  }

  async function recover(): Promise<boolean> {
    if (!adopt()) await loadRecovery();
    return adopt();
  }

  /** Takes what has been loaded by now. */
  function adopt(): boolean {
    if (!recovery && recoveryModule) {
      recovery = recoveryModule.createRecovery(form);
      state = { ...state }; // more can be done now
      notify?.();
    }
    recovery?.listen();
    return !!recovery;
  }

  function show(): void {
    stop(); // what was under way cannot have survived
    life = new AbortController();
    const { intent, records } = settings();
    const record = records.read(intent);
    if (record && record.state !== 'settled') form.meta = record;
    dispatch({ type: 'shown', record });
    if (!adopt()) whenIdle(() => void loadRecovery().then(adopt), life.signal);
  }

  function stop(): void {
    life.abort();
    turn.abort();
  }

  return {
    state: () => state,
    dispatch,
    subscribe(listener: () => void): () => void {
      notify = listener;
      return () => {};
    },
    /** Call when mounted. Returns how to stop. */
    start(): () => void {
      show();
      return stop;
    },
    /** Null when swallowed by the lock, or when it ended without an outcome. */
    async submit(values: FormData): Promise<Outcome<R> | null> {
      if (isLocked(state)) return null;
      form.meta = { ...(state.attempt ? form.meta : null), submittedAt: Date.now(), page: location.href };
      // Ends an earlier run that an edit has called off but that still waits for the network.
      turn.abort();
      turn = new AbortController();
      dispatch({ type: 'submitted' });
      await run(values, turn);
      return state.status === 'hasSucceeded' || state.status === 'hasErrored' ? state.result : null;
    },
  };
}

/** Nothing can follow it by itself. */
function isPlain({ type, outcome }: ActionReply<unknown>): boolean {
  return type === 'navigated' || (!!outcome && (outcome.ok || outcome.retry !== 'same-key' || !!outcome.fieldErrors));
}
