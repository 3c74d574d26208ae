'use client';

import type { ReactNode } from 'react';
import type { Outcome, Refusal } from '../core/outcome.ts';
import type { IdempotentSubmit } from './idempotent-submit.ts';
import { FIRST_LABELS, type Message, type Messages } from './labels.ts';
import { recoveryModule } from './submission/recovery-loader.ts';

/** Props of `<SubmitStatus>`. */
export interface SubmitStatusProps<R> {
  submit: IdempotentSubmit<R>;
  /** Replaces default texts, such as for another language. */
  messages?: Partial<Messages<R>> | undefined;
  className?: string | undefined;
  /** Shown behind the text after a success. Not where the answer leads elsewhere: then there is a link. */
  children?: ((data: R, submit: IdempotentSubmit<R>) => ReactNode) | undefined;
}

/**
 * Describes every state in a live region that is always there, so that screen readers announce what changes in it. The
 * buttons that help stand behind it. It never takes the focus. Each text is alone in its element: a translator of pages puts
 * text into elements of its own, and React would go on with what is no longer on the page.
 */
export function SubmitStatus<R>({ submit, messages, className, children }: SubmitStatusProps<R>) {
  const labels: Partial<Messages<R>> = { ...FIRST_LABELS, ...recoveryModule?.LATER_LABELS, ...messages };
  const { status, result, redirect } = submit;
  const words = describeSubmit(submit, labels);
  const succeeded = status === 'hasSucceeded';
  // Not `disabled`: that would drop the focus of the person who has just pressed it. Without JavaScript "Check again" sends the form,
  // under the same key: that asks.
  const button = (action: string, label: 'checkAgain' | 'startOver' | 'sendAgain', onClick: () => void) => (
    <button
      type={recoveryModule && 'button'}
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
        {words && <span>{words}</span>}
        {succeeded && result?.ok && !redirect && children && <span> {children(result.data, submit)}</span>}
      </div>
      {succeeded && redirect && <a href={redirect}>{labelText(labels.show, result)}</a>}
      {submit.canCheck && button('check', 'checkAgain', submit.check)}
      {submit.canSendAgain && button('send-again', 'sendAgain', submit.sendAgain)}
      {submit.canStartOver && button('start-over', 'startOver', submit.startOver)}
    </>
  );
}

/** Describes the present state to a person. It is empty only when idle. */
export function describeSubmit<R>(
  submit: Pick<
    IdempotentSubmit<R>,
    'status' | 'result' | 'recovered' | 'isPending' | 'cause' | 'canSendAgain' | 'notice'
  >,
  labels: Partial<Messages<R>>,
): string {
  const { result, notice } = submit;
  const label = (key: keyof Messages) => labelText(labels[key], result);
  const status = recoveryModule?.laterLabel(submit) ?? submit.status;
  const { code, message } = (result ?? {}) as Partial<Refusal>; // only a refusal has them
  const refusal = code && (label(code) || message);
  // A notice comes with the refusal that it is the message of, or from the status route.
  if (notice) return `${label(status)} ${(message === notice && refusal) || notice}`;
  // The refusal that began a check, such as a mismatch, tells a person why we check.
  return ((status === 'hasErrored' || status === 'checking') && refusal) || label(status);
}

/** The text of a label, or an empty one where there is none. */
function labelText<R>(label: Message<R> | undefined, outcome: Outcome<R> | null): string {
  return (typeof label === 'function' ? label(outcome) : label) ?? '';
}
