'use client';

import type { ReactNode } from 'react';
import type { IdempotentSubmit } from './idempotent-submit.ts';
import { describeSubmit, FIRST_LABELS, labelText, type Messages } from './labels.ts';
import { recoveryModule } from './submission/recovery-loader.ts';

/** Props of `<SubmitStatus>`. */
export interface SubmitStatusProps<R> {
  submit: IdempotentSubmit<R>;
  /** Replaces default texts, such as for another language. */
  messages?: Partial<Messages<R>> | undefined;
  className?: string | undefined;
  /** Shown behind the text after a success. Not where the answer was a redirect, which has no data. */
  children?: ((data: R, submit: IdempotentSubmit<R>) => ReactNode) | undefined;
}

/**
 * Describes every state in a live region that is always there, so that screen readers announce what changes in it. The
 * buttons that help stand behind it. It never takes the focus.
 */
export function SubmitStatus<R>({ submit, messages, className, children }: SubmitStatusProps<R>) {
  const labels: Partial<Messages<R>> = { ...FIRST_LABELS, ...recoveryModule?.LATER_LABELS, ...messages };
  const { status, result, redirect } = submit;
  const succeeded = status === 'hasSucceeded';
  // Not `disabled`: that would drop the focus of the person who has just pressed it.
  const button = (action: string, label: 'checkAgain' | 'startOver', onClick: () => void) => (
    <button
      type="button"
      ref={recoveryModule?.leaveFocus}
      data-action={action}
      aria-disabled={submit.isPending}
      onClick={onClick}
    >
      {labelText(labels[label], result)}
    </button>
  );
  return (
    <>
      <div role="status" aria-live="polite" data-state={status} className={className}>
        {describeSubmit(submit, labels)}
        {succeeded && result?.ok && !redirect && children && <> {children(result.data, submit)}</>}
      </div>
      {succeeded && redirect && <a href={redirect}>{labelText(labels.show, result)}</a>}
      {submit.canCheck && button('check', 'checkAgain', submit.check)}
      {submit.canStartOver && button('start-over', 'startOver', submit.startOver)}
    </>
  );
}
