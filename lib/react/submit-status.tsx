'use client';

import type { ReactNode } from 'react';
import { defaultMessages, type Messages, wordsFor } from './messages.ts';
import type { IdempotentSubmit } from './use-idempotent-submit.ts';

export interface SubmitStatusProps<R> {
  submit: IdempotentSubmit<R>;
  /** Replaces words, such as for another language. */
  messages?: Partial<Messages> | undefined;
  className?: string | undefined;
  /** What to show after a success instead of the words alone. */
  children?: ((data: R, submit: IdempotentSubmit<R>) => ReactNode) | undefined;
}

/**
 * Words for every state (B7), in a live region that is always there, so that screen readers announce what changes in
 * it; behind it the buttons that help. Takes no focus.
 */
export function SubmitStatus<R>({ submit, messages, className, children }: SubmitStatusProps<R>) {
  const words = { ...defaultMessages, ...messages };
  const { status, result, redirect } = submit;
  const succeeded = status === 'hasSucceeded';
  // Not `disabled`: that would drop the focus of the person who has just pressed it.
  const button = (name: string, label: string, onClick: () => void) => (
    <button type="button" data-action={name} aria-disabled={submit.isPending} onClick={onClick}>
      {label}
    </button>
  );
  return (
    <>
      <div role="status" aria-live="polite" data-state={status} className={className}>
        {wordsFor(submit, words)}
        {succeeded && result?.ok && children?.(result.data, submit)}
      </div>
      {succeeded && redirect && <a href={redirect}>{words.show}</a>}
      {submit.canCheck && button('check', words.checkAgain, submit.check)}
      {submit.canStartOver && button('start-over', words.startOver, submit.startOver)}
    </>
  );
}
