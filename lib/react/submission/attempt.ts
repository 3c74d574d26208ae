import { ATTEMPT_FIELD, KEY_FIELD } from '../../core/fields.ts';
import { callAction, type PendingAttempt } from './action.ts';
import type { SubmissionContext } from './context.ts';
import { isSending } from './state.ts';

/** Sends the form once, as soon as storage holds its key. */
export async function sendAttempt<R>(
  form: SubmissionContext<R>,
  values: FormData,
  again: boolean,
  signal: AbortSignal,
): PendingAttempt<R> {
  const { action, intent, records } = form.settings();
  const isSent = await records.withLock(intent, () => {
    if (!signal.aborted) form.dispatch({ type: 'sent', again, record: records.read(intent) });
    return isSending(form.state()); // an edit may have called it off while it waited for its turn
  });
  if (!isSent || signal.aborted) return;
  const { key, attempt } = form.state();
  values.set(KEY_FIELD, key);
  values.set(ATTEMPT_FIELD, String(attempt));
  const reply = await callAction(action, values);
  // An answer for a key that was given up meanwhile says nothing about the present one.
  return form.state().key === key ? reply : undefined;
}
