'use client';

import type { ComponentPropsWithRef, ReactNode } from 'react';
import type { SubmitAction } from './attempt.ts';
import { IdempotencyKeyField } from './key-field.tsx';
import type { Messages } from './messages.ts';
import { SubmitStatus } from './submit-status.tsx';
import { type IdempotentSubmit, type IdempotentSubmitOptions, useIdempotentSubmit } from './use-idempotent-submit.ts';

type OwnProps = 'action' | 'children' | 'id' | 'onSubmit' | 'onInput';

/** The options of `useIdempotentSubmit`, the words, and what goes to the `<form>`. */
export interface IdempotentFormProps<R>
  extends IdempotentSubmitOptions<R>,
    Omit<ComponentPropsWithRef<'form'>, OwnProps> {
  action: SubmitAction<R>;
  messages?: Partial<Messages> | undefined;
  children: ReactNode | ((submit: IdempotentSubmit<R>) => ReactNode);
}

/** `useIdempotentSubmit` with its form, key field and status in one. Other props go to the `<form>`. */
export function IdempotentForm<R>(props: IdempotentFormProps<R>) {
  const { action, intent, initialKey, operation, statusUrl, storage, policy, ...others } = props;
  const { onSettled, onTransition, messages, children, ...rest } = others;
  const options = { intent, initialKey, operation, statusUrl, storage, policy, onSettled, onTransition };
  const submit = useIdempotentSubmit(action, options);
  return (
    <form {...rest} {...submit.formProps}>
      <IdempotencyKeyField {...submit.fieldProps} />
      {typeof children === 'function' ? children(submit) : children}
      <SubmitStatus submit={submit} messages={messages} />
    </form>
  );
}
