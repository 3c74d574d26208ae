'use client';

import { type SubmitEvent, useActionState, useEffect, useId, useRef, useState, useSyncExternalStore } from 'react';
import { KEY_FIELD } from '../core/fields.ts';
import type { Outcome } from '../core/outcome.ts';
import type { IdempotentSubmit, IdempotentSubmitOptions, SubmitAction, ValuesAction } from './idempotent-submit.ts';
import { askedOperation, type Settings } from './submission/context.ts';
import { initialState } from './submission/machine.ts';
import { recoveryModule } from './submission/recovery-loader.ts';
import { canCheck, fieldKey, isLocked } from './submission/state.ts';
import { openRecords } from './submission/storage.ts';
import { createSubmission } from './submission/submission.ts';

/**
 * A form whose submit happens once per intent: double clicks are swallowed, lost answers are retried under the same
 * key, and after a reload the fate of an open submit is asked for, never guessed. Without JavaScript, and before
 * hydration, the form posts natively and the answer page renders the same states.
 *
 * Not for parallel intents: one form holds one key. A changed `intent`, with an `initialKey` of its own, starts afresh.
 */
export function useIdempotentSubmit<R, Reason extends string, I>(
  action: ValuesAction<R, I, Reason>,
  options: IdempotentSubmitOptions<R, Reason>,
): IdempotentSubmit<R, Reason, I>;
export function useIdempotentSubmit<R, Reason extends string = string>(
  action: SubmitAction<R, Reason>,
  options: IdempotentSubmitOptions<R, Reason>,
): IdempotentSubmit<R, Reason>;
export function useIdempotentSubmit<R>(
  action: SubmitAction<R>,
  options: IdempotentSubmitOptions<R>,
): IdempotentSubmit<R> {
  const { intent, initialKey } = options;
  const formId = useId();
  // The raw action: wrapped in a closure it would have no address that HTML can post to.
  const [native, formAction] = useActionState<Outcome<R> | null, FormData>(action, null);
  const [thrown, setThrown] = useState<unknown>();
  if (thrown) throw thrown; // for Next's not-found and forbidden boundaries

  const settings: Settings<R> = {
    ...(options as IdempotentSubmitOptions<R>),
    action,
    records: openRecords(options.storage),
    rethrow: setThrown,
  };
  const latest = useRef(settings);
  useEffect(() => {
    latest.current = settings;
  });

  const begin = (answer: Outcome<R> | null) => ({
    intent,
    ...createSubmission(initialState(initialKey, answer), () => latest.current),
  });
  const [previous, setSubmission] = useState(() => begin(native));
  let submission = previous;
  if (previous.intent !== intent) {
    submission = begin(null); // the answer of a native post belongs to the intent that the page came with
    setSubmission(submission);
  }
  const state = useSyncExternalStore(submission.subscribe, submission.state, submission.state);

  const issuedKey = useRef(initialKey);
  useEffect(() => {
    if (issuedKey.current !== initialKey) submission.dispatch({ type: 'issued', key: initialKey });
    issuedKey.current = initialKey;
  }, [submission, initialKey]);
  useEffect(() => submission.start(), [submission]);

  const onSubmit = (event: SubmitEvent<HTMLFormElement>) => {
    const { submitter } = event.nativeEvent;
    // A handler of the page's own has refused it, or the button goes somewhere else.
    if (event.defaultPrevented || submitter?.hasAttribute('formaction')) return;
    event.preventDefault();
    if (process.env.NODE_ENV === 'development') {
      const { currentTarget } = event;
      void import('./development.ts').then((words) =>
        words.complainOfMissingField(currentTarget, askedOperation(options)),
      );
    }
    void submission.submit(new FormData(event.currentTarget, submitter));
  };

  return {
    ...state,
    isLocked: isLocked(state),
    canCheck: canCheck(state),
    canStartOver: !!recoveryModule?.canStartOver(state),
    execute: submission.submit,
    executeAsync: submission.submit,
    check: () => submission.dispatch({ type: 'asked', by: 'person' }),
    startOver: () => submission.dispatch({ type: 'asked', by: 'fence' }),
    reset: () => submission.dispatch({ type: 'reset' }),
    formProps: { id: formId, action: formAction, onSubmit, onInput: () => submission.dispatch({ type: 'edited' }) },
    fieldProps: { name: KEY_FIELD, value: fieldKey(state), form: formId },
  };
}
