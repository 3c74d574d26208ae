'use client';

import type { ReactNode } from 'react';
import type { Messages } from './labels.ts';
import { FIRST_MESSAGES } from './messages-first.ts';
import { recoveryModule } from './submission/recovery-loader.ts';
import type { IdempotentSubmit } from './use-idempotent-submit.ts';
import { wordsFor, wordsOf } from './words.ts';

/** Which submit is spoken of, and in which words. */
export interface SubmitStatusProps<R> {
  submit: IdempotentSubmit<R>;
  /** Replaces words, such as for another language. */
  messages?: Partial<Messages<R>> | undefined;
  className?: string | undefined;
  /** What to show behind the words after a success. Not where the answer was a redirect, which has no data. */
  children?: ((data: R, submit: IdempotentSubmit<R>) => ReactNode) | undefined;
}

/**
 * Words for every state, in a live region that is always there, so that screen readers announce what changes in
 * it; behind it the buttons that help. Takes the focus from nothing.
 */
export function SubmitStatus<R>({ submit, messages, className, children }: SubmitStatusProps<R>) {
  const words: Partial<Messages<R>> = { ...FIRST_MESSAGES, ...recoveryModule?.LATER_MESSAGES, ...messages };
  const { status, result, redirect } = submit;
  const succeeded = status === 'hasSucceeded';
  // Not `disabled`: that would drop the focus of the person who has just pressed it.
  const button = (name: string, label: 'checkAgain' | 'startOver', onClick: () => void) => (
    <button
      type="button"
      ref={recoveryModule?.leaveFocus}
      data-action={name}
      aria-disabled={submit.isPending}
      onClick={onClick}
    >
      {wordsOf(words[label], result)}
    </button>
  );
  return (
    <>
      <div role="status" aria-live="polite" data-state={status} className={className}>
        {wordsFor(submit, words)}
        {succeeded && result?.ok && !redirect && children && <> {children(result.data, submit)}</>}
      </div>
      {succeeded && redirect && <a href={redirect}>{wordsOf(words.show, result)}</a>}
      {submit.canCheck && button('check', 'checkAgain', submit.check)}
      {submit.canStartOver && button('start-over', 'startOver', submit.startOver)}
    </>
  );
}
