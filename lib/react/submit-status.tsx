'use client';

import type { ReactNode } from 'react';
import { defaultMessages, type Messages, wordsFor } from './messages.ts';
import type { IdempotentSubmit } from './use-idempotent-submit.ts';

/** Which submit is spoken of, and in which words. */
export interface SubmitStatusProps<R> {
  submit: IdempotentSubmit<R>;
  /** Replaces words, such as for another language. */
  messages?: Partial<Messages> | undefined;
  className?: string | undefined;
  /** What to show behind the words after a success. Not where the answer was a redirect, which has no data. */
  children?: ((data: R, submit: IdempotentSubmit<R>) => ReactNode) | undefined;
}

/**
 * A button that goes leaves the focus where it stood (B7), on nothing: on the words, they would be read out twice; on
 * another button, a key that is still held down would press it.
 */
const leaveFocus = (button: HTMLButtonElement) => () => {
  if (button !== document.activeElement) return;
  const place = document.createElement('span');
  place.tabIndex = -1;
  place.onblur = place.remove;
  button.before(place);
  place.focus();
};

/**
 * Words for every state (B7), in a live region that is always there, so that screen readers announce what changes in
 * it; behind it the buttons that help. Takes the focus from nothing.
 */
export function SubmitStatus<R>({ submit, messages, className, children }: SubmitStatusProps<R>) {
  const words = { ...defaultMessages, ...messages };
  const { status, result, redirect } = submit;
  const succeeded = status === 'hasSucceeded';
  // Not `disabled`: that would drop the focus of the person who has just pressed it.
  const button = (name: string, label: string, onClick: () => void) => (
    <button type="button" ref={leaveFocus} data-action={name} aria-disabled={submit.isPending} onClick={onClick}>
      {label}
    </button>
  );
  return (
    <>
      <div role="status" aria-live="polite" data-state={status} className={className}>
        {wordsFor(submit, words)}
        {succeeded && result?.ok && !redirect && children && <> {children(result.data, submit)}</>}
      </div>
      {succeeded && redirect && <a href={redirect}>{words.show}</a>}
      {submit.canCheck && button('check', words.checkAgain, submit.check)}
      {submit.canStartOver && button('start-over', words.startOver, submit.startOver)}
    </>
  );
}
