import { startTransition } from 'react';
import { ATTEMPT_FIELD, KEY_FIELD, type KeyedCall } from '../../core/fields.ts';
import type { Outcome } from '../../core/outcome.ts';
import type { SubmitAction, ValuesAction } from '../idempotent-submit.ts';
import type { ActionReply, PendingAttempt, Send, SubmissionContext } from './context.ts';
import { assertSendable } from './development.ts';
import { isSending } from './state.ts';

/** Prepares what each attempt sends: a form with its key in a field, or a copy of values, which the page may go on to change. */
export function sendingOf<R>(action: SubmitAction<R>, values: object): Send<R> {
  if (values instanceof FormData) {
    return ({ key, attempt }) => {
      values.set(KEY_FIELD, key);
      values.set(ATTEMPT_FIELD, `${attempt}`);
      return action(null, values);
    };
  }
  if (process.env.NODE_ENV !== 'production') assertSendable(values);
  const copy = structuredClone(values);
  return (call) => (action as ValuesAction<R, unknown>)(copy, call);
}

/** Sends once, as soon as storage holds its key. */
export async function sendAttempt<R>(
  form: SubmissionContext<R>,
  send: Send<R>,
  again: boolean,
  signal: AbortSignal,
): PendingAttempt<R> {
  const { intent, records } = form.settings();
  const isSent = await records.withLock(intent, () => {
    if (!signal.aborted) form.dispatch({ type: 'sent', again, record: records.read(intent) });
    return isSending(form.state()); // an edit may have called it off while it waited for its turn
  });
  if (!isSent || signal.aborted) return;
  const { key, attempt } = form.state();
  const reply = await callAction(send, { key, attempt });
  // An answer for a key that was given up meanwhile says nothing about the present one.
  return form.state().key === key ? reply : undefined;
}

/**
 * Sends once, and never throws.
 *
 * A redirect rejects the action's promise, and Next's router has begun to navigate by then: it marks the error as
 * `handled` and goes on by itself (server-action-reducer.js), so the error need not be thrown into React.
 */
async function callAction<R>(send: Send<R>, call: Required<KeyedCall>): Promise<ActionReply<R>> {
  try {
    let sent: Promise<Outcome<R>> | undefined;
    const begin = () => {
      sent = (async () => send(call))();
    };
    // What an action of the page's own calls may need a transition, such as the setter of `useOptimistic`. The first has one.
    if (call.attempt > 1) startTransition(begin);
    else begin();
    const outcome = await sent;
    return isOutcome(outcome) ? { type: 'answered', outcome } : { type: 'lost' };
  } catch (thrown) {
    return /^NEXT_RED/.test(Object(thrown).digest) ? { type: 'navigated' } : { type: 'lost', thrown };
  }
}

/** Recognizes an outcome among values from outside. */
export function isOutcome(value: unknown): value is Outcome<never> {
  return typeof (value as Outcome<never> | null | undefined)?.ok === 'boolean';
}
