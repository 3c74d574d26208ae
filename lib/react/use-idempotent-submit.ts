'use client';

import { type SubmitEvent, useActionState, useEffect, useId, useRef, useState, useSyncExternalStore } from 'react';
import { KEY_FIELD } from '../core/fields.ts';
import type { Outcome } from '../core/outcome.ts';
import type { FieldProps } from './key-field.tsx';
import type { SubmitAction } from './submission/action.ts';
import { initialState } from './submission/machine.ts';
import { recoveryModule } from './submission/recovery-loader.ts';
import type { RetryPolicy, Settings, Transition } from './submission/settings.ts';
import { canCheck, fieldKey, isLocked, type Status } from './submission/state.ts';
import { type KeyStorage, openRecords } from './submission/storage.ts';
import { createSubmission } from './submission/submission.ts';

/** What a form means to do once, and how it goes about it. */
export interface IdempotentSubmitOptions<R> {
  /** `<operation>:<what>`, such as `checkout:${cart.id}`: what a person means to do once. */
  intent: string;
  /** From `issueKey(operation)` on the server, so that the key is in the first HTML. One for each intent. */
  initialKey: string;
  /** Default: the part of `intent` before the first colon. */
  operation?: string | undefined;
  /** Where `statusRoute` is mounted, as the browser asks for it. Default `/api/idempotency`, under Next's `basePath`. */
  statusUrl?: string | undefined;
  /**
   * Where keys are remembered. Default `session`: each tab for itself. `local`: tabs that submit the same intent share
   * its key, and it survives the end of the browser.
   */
  storage?: 'session' | 'local' | 'memory' | KeyStorage | undefined;
  /**
   * Runs once when the intent is settled, by a success or a stored refusal: refresh, toast, count here. `recovered`:
   * the answer was found by asking, here or in another tab as well, and its data is plain JSON. Not when the action
   * redirects, nor for the answer to a form that was sent before this page could run.
   */
  onSettled?: ((outcome: Outcome<R>, info: { recovered: boolean }) => void) | undefined;
  /** Runs at each step, for your log. */
  onTransition?: ((transition: Transition) => void) | undefined;
  policy?: Partial<RetryPolicy> | undefined;
}

/** What the `<form>` is given: `submit.formProps`. */
export interface FormProps {
  id: string;
  action: (form: FormData) => void;
  onSubmit: (event: SubmitEvent<HTMLFormElement>) => void;
  onInput: () => void;
}

/** A submit as it stands: its status, its answer, and what can be done about it. */
export interface IdempotentSubmit<R> {
  status: Status;
  /** The latest answer; `values` in it fill the form again where JavaScript did not run. */
  result: Outcome<R> | null;
  key: string;
  /** A submit is swallowed: while pending, and after success until an edit, `reset()` or navigation. */
  isLocked: boolean;
  isPending: boolean;
  /** The answer was found by asking about an earlier submit. */
  recovered: boolean;
  /** `unknown`, and the server says it has not seen the key. Sending again uses the same key. */
  isAbsent?: boolean | undefined;
  /** `unknown`, and why the latest attempt was turned away, such as "please sign in". */
  notice?: string | undefined;
  /** Where a recovered answer leads. */
  redirect?: string | undefined;
  /** `check` helps here. Stays true while it runs, so that its button can keep the focus. */
  canCheck: boolean;
  /** `startOver` helps here. */
  canStartOver: boolean;
  execute: (form: FormData) => void;
  /** Null when swallowed, and when it ended without an outcome (unknown, redirected, unmounted). */
  executeAsync: (form: FormData) => Promise<Outcome<R> | null>;
  /** Asks again what became of an `unknown` submit. */
  check: () => void;
  /** Clears the view, never a key. */
  reset: () => void;
  /** A new key, once the old one is fenced or its answer known. */
  startOver: () => void;
  formProps: FormProps;
  fieldProps: FieldProps;
}

/**
 * A form whose submit happens once per intent: double clicks are swallowed, lost answers are retried under the same
 * key, and after a reload the fate of an open submit is asked for, never guessed. Without JavaScript, and before
 * hydration, the form posts natively and the answer page renders the same states.
 *
 * Not for parallel intents: one form holds one key. A changed `intent`, with an `initialKey` of its own, starts afresh.
 */
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
    ...options,
    action,
    records: openRecords(options.storage ?? 'session'),
    onSteered: setThrown,
  };
  const latest = useRef(settings);
  useEffect(() => {
    latest.current = settings;
  });

  const begin = (answer: Outcome<R> | null) => ({
    intent,
    ...createSubmission(initialState(initialKey, answer), () => latest.current),
  });
  const [held, hold] = useState(() => begin(native));
  let submission = held;
  if (held.intent !== intent) {
    submission = begin(null); // the answer of a native post belongs to the intent that the page came with
    hold(submission);
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
    void submission.submit(new FormData(event.currentTarget, submitter));
  };

  return {
    ...state,
    isLocked: isLocked(state),
    canCheck: canCheck(state),
    canStartOver: recoveryModule?.canStartOver(state) ?? false,
    execute: submission.submit,
    executeAsync: submission.submit,
    check: () => submission.dispatch({ type: 'asked', by: 'person' }),
    reset: () => submission.dispatch({ type: 'reset' }),
    startOver: () => submission.dispatch({ type: 'asked', by: 'fence' }),
    formProps: { id: formId, action: formAction, onSubmit, onInput: () => submission.dispatch({ type: 'edited' }) },
    fieldProps: { name: KEY_FIELD, value: fieldKey(state), form: formId },
  };
}
