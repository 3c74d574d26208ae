'use client';

import {
  type FormEvent,
  type SubmitEvent,
  useActionState,
  useEffect,
  useId,
  useRef,
  useState,
  useSyncExternalStore,
} from 'react';
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
  const { intent } = options;
  const initialKey = options.initialKey.split(' ')[0] as string;
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
    native,
    ...createSubmission(initialState(initialKey, answer), () => latest.current),
  });
  const [previous, setSubmission] = useState(() => begin(native));
  let submission = previous;
  const isOther = previous.intent !== intent;
  // The answer of a native post belongs to the intent that it was for.
  if (isOther || (previous.native !== native && previous.state().key === native?.key)) {
    submission = begin(isOther ? null : native);
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
    const { currentTarget, nativeEvent } = event;
    const submitter = nativeEvent.submitter as HTMLButtonElement | null;
    const { formTarget = '' } = submitter ?? {};
    // A handler of the page's own has refused it, or it is of a form in a portal.
    if (event.defaultPrevented || event.target !== currentTarget) return;
    // The platform takes it elsewhere.
    if (submitter?.hasAttribute('formaction') || !/^(_self)?$/i.test(formTarget)) return;
    event.preventDefault();
    // Left to the platform, React would take it for the form's action.
    if (submitter?.formMethod === 'dialog') return currentTarget.closest('dialog')?.close(submitter.value || undefined);
    if (process.env.NODE_ENV === 'development') {
      void import('./development.ts').then((words) =>
        words.complainOfMissingField(currentTarget, askedOperation(options)),
      );
    }
    void submission.submit(new FormData(currentTarget, submitter), currentTarget, submitter);
  };

  return {
    ...state,
    isLocked: isLocked(state),
    canCheck: canCheck(state),
    canStartOver: !!recoveryModule?.canStartOver(state),
    execute: submission.execute,
    executeAsync: submission.execute,
    sendAgain: submission.sendAgain,
    check: () => submission.dispatch({ type: 'asked', by: 'person' }),
    startOver: () => submission.dispatch({ type: 'asked', by: 'fence' }),
    reset: () => submission.dispatch({ type: 'reset' }),
    formProps: {
      id: formId,
      action: formAction,
      onSubmit,
      onInput(event) {
        if (isOwn(event)) submission.dispatch({ type: 'edited' });
      },
    },
    fieldProps: { name: KEY_FIELD, value: fieldKey(state), form: formId },
  };
}

/** True for an event of a field of this form. React brings others as well: of a form in a portal, in a dialog. */
function isOwn({ currentTarget, target }: FormEvent<HTMLFormElement>): boolean {
  const { form } = target as { form?: unknown };
  return form instanceof HTMLFormElement ? form === currentTarget : currentTarget.contains(target as Node);
}
