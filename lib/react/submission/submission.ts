import { startTransition } from 'react';
import type { Outcome, Refusal } from '../../core/outcome.ts';
import { sendAttempt, sendingOf } from './attempt.ts';
import type { ActionReply, PendingAttempt, Send, Settings, SubmissionContext } from './context.ts';
import { passOnComplaints } from './development.ts';
import { type Event, isViewEvent, reduce } from './machine.ts';
import { loadRecovery, recoveryModule } from './recovery-loader.ts';
import {
  hasFinalAnswer,
  isLocked,
  isOpen,
  isSending,
  mayWriteRecord,
  openKey,
  type State,
  toRecordState,
} from './state.ts';

/** The submission of one form, for the component that renders it. */
interface Submission<R> extends SubmissionContext<R> {
  /** Submits values from code. */
  execute(values: object): Promise<Outcome<R> | null>;
  subscribe(listener: () => void): () => void;
}

/**
 * Holds the state of one form and does what the machine decides. The state is plain and changes synchronously, so the second
 * submit of a double click meets the lock in the same tick (B2). Once stopped, nothing changes any more: the record stays,
 * and the next `start` asks about it.
 */
export function createSubmission<R>(initial: State<R>, settings: () => Settings<R>): Submission<R> {
  let state = initial;
  let lifetime = new AbortController();
  let turn = new AbortController(); // of the latest submit
  let notify: (() => void) | undefined;
  let endPending = () => {};
  const form: Submission<R> = {
    state: () => state,
    lifetime: () => lifetime.signal,
    settings,
    show(next) {
      state = next;
      notify?.();
      if (next.status !== 'executing') endPending();
    },
    endPending: () => endPending(),
    execute: (values) => form.submit(values),
    sendAgain: () => form.recovery?.sendAgain(),
    dispatch: (event) => applyEvent(form, event),
    start() {
      stop(); // what was under way cannot have survived
      lifetime = new AbortController();
      resumeRecord(form);
      return stop;
    },
    subscribe(listener) {
      notify = listener;
      return () => {};
    },
    async submit(values, element, button) {
      const next = { values, element, button };
      // The recovery decides behind an earlier submit, and where the lock is of an earlier page. A lock of this one stays.
      if (!form.recovery && !form.sent === isLocked(state)) await obtainRecovery(form);
      const verdict = form.recovery?.judge(next);
      const answer = verdict && (await verdict); // what goes out at once locks in the same tick
      if (answer !== undefined) return answer;
      if (isLocked(state)) return null;
      if (process.env.NODE_ENV === 'development') passOnComplaints(values, settings());
      const send = sendingOf(settings().action, values);
      form.sent = next;
      form.meta = { ...(state.attempt && form.meta), submittedAt: Date.now(), page: location.href };
      // Ends an earlier run that an edit has called off but that still waits for the network.
      turn.abort();
      turn = new AbortController();
      const { signal } = turn;
      form.dispatch({ type: 'submitted' });
      // Pending for React until the first attempt has ended, as with a bare form. Not for longer: it holds up every `<Link>`.
      startTransition(() => new Promise((resolve) => (endPending = resolve)));
      await runSubmit(form, send, signal);
      if (signal.aborted) return null;
      return state.status === 'hasSucceeded' || state.status === 'hasErrored' ? state.result : null;
    },
  };

  function stop(): void {
    lifetime.abort();
    turn.abort();
    endPending();
  }

  return form;
}

/** Goes to the next state, and does what follows from the step. */
function applyEvent<R>(form: SubmissionContext<R>, event: Event<R>): void {
  const before = form.state();
  form.waiting = undefined;
  const next = reduce(before, event, form.recovery?.handlers);
  if (!next) return void continueLater(form, event);
  if (next === before) return;
  if (!isViewEvent(event.type)) writeRecord(form, before, next);
  form.show(next);
  callHooks(form, event, before, next);
  form.recovery?.follow(event, before);
  // A submit that waits asks by itself; every other check begins here.
  const { by } = next;
  if (by && by !== 'run' && (!before.by || event.type === 'shown')) void continueLater(form);
}

/** Goes on with what an earlier page, or this one before it was hidden, has left on record. */
function resumeRecord<R>(form: SubmissionContext<R>): void {
  const { intent, records } = form.settings();
  const record = records.read(intent);
  if (openKey(record)) form.meta = record;
  form.dispatch({ type: 'shown', record });
  if (!attachRecovery(form)) whenIdle(() => void obtainRecovery(form), form.lifetime());
}

/** Writes down what a later page must know of the key, before anything follows from the step. */
function writeRecord<R>(form: SubmissionContext<R>, before: State<R>, now: State<R>): void {
  const { intent, records } = form.settings();
  const { key, nextKey } = now;
  const state = toRecordState(now);
  form.meta ??= { submittedAt: Date.now() };
  if (mayWriteRecord(records.read(intent), before, now)) {
    records.write(intent, state && { ...form.meta, version: 1, key, intent, state, nextKey });
  }
}

/** Calls the page's hooks in microtasks, so that an error of theirs does not stop the form. */
function callHooks<R>(form: SubmissionContext<R>, { type }: Event<R>, before: State<R>, now: State<R>): void {
  const { intent, onSettled, onTransition } = form.settings();
  const { key, attempt, status, result, recovered } = now;
  queueMicrotask(() => onTransition?.({ intent, key, attempt, event: type, from: before.status, to: status }));
  // None where a redirect was the answer.
  if (result && hasFinalAnswer(now) && !hasFinalAnswer(before))
    queueMicrotask(() => onSettled?.(result, { recovered }));
}

/** Sends until there is an answer, the budget is spent, or a person must decide. */
async function runSubmit<R>(form: SubmissionContext<R>, send: Send<R>, signal: AbortSignal): Promise<void> {
  let first: PendingAttempt<R> | undefined;
  if (!form.recovery) {
    first = sendAttempt(form, send, false, signal);
    await Promise.race([first, obtainRecovery(form)]);
  }
  if (!form.recovery) {
    form.endPending(); // nobody ends an attempt that hangs
    const reply = await first;
    if (!reply || signal.aborted) return;
    if (isFinal(reply) || !(await obtainRecovery(form))) {
      // Without the part that goes on after a loss, the person decides. Unless it comes before that.
      const isWaitedFor = isSending(form.state()); // an edit may have called it off
      form.dispatch({ ...reply, again: false });
      if (reply.type === 'lost' && isWaitedFor) form.waiting = [send, signal];
      return;
    }
  }
  await form.recovery?.run(send, signal, first);
}

/** Dispatches an event that only the recovery has a handler for, or without one asks about the key. */
async function continueLater<R>(form: SubmissionContext<R>, event?: Event<R>): Promise<void> {
  const lifetime = form.lifetime();
  const before = form.state();
  await obtainRecovery(form);
  if (lifetime.aborted) return;
  const now = form.state();
  // Nothing is lost where the recovery does not come: the key stays on record, and a person can ask again.
  if (!form.recovery) form.dispatch({ type: 'lost', again: false });
  else if (!event) void form.recovery.poll();
  // A state that has ended meanwhile is no longer the one that the event was about.
  else if (now.status === before.status || (isOpen(before) && isOpen(now))) form.dispatch(event);
}

async function obtainRecovery<R>(form: SubmissionContext<R>): Promise<boolean> {
  if (!attachRecovery(form)) await loadRecovery();
  return attachRecovery(form);
}

/** Runs it while the page has nothing else to do, and whenever the browser is back online. */
function whenIdle(work: () => void, signal: AbortSignal): void {
  window.addEventListener('online', work, { signal });
  const soon: (work: () => void) => void = window.requestIdleCallback ?? setTimeout; // Safari has no idle callback
  soon(work);
}

/** Gives the form its recovery, if it is loaded by now. */
function attachRecovery<R>(form: SubmissionContext<R>): boolean {
  if (!form.recovery && recoveryModule) {
    form.recovery = recoveryModule.createRecovery(form);
    form.show({ ...form.state() });
  }
  form.recovery?.listen();
  return !!form.recovery;
}

/** Nothing can follow this reply by itself. */
function isFinal({ type, outcome }: ActionReply<unknown>): boolean {
  const { retry, fieldErrors } = (outcome ?? {}) as Partial<Refusal>; // only a refusal has them
  return type !== 'lost' && (retry !== 'same-key' || !!fieldErrors);
}
