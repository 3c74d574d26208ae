'use client';

import type { ComponentPropsWithRef, ReactNode } from 'react';
import type { IdempotentSubmit, IdempotentSubmitOptions, SubmitAction } from './idempotent-submit.ts';
import { IdempotencyKeyField } from './key-field.tsx';
import type { Messages } from './labels.ts';
import { recoveryModule } from './submission/recovery-loader.ts';
import { SubmitStatus } from './submit-status.tsx';
import { useIdempotentSubmit } from './use-idempotent-submit.ts';

type OwnProps = 'action' | 'children' | 'id' | 'onSubmit' | 'onInput';

/** The options of `useIdempotentSubmit`, the words, and what goes to the `<form>`. */
export interface IdempotentFormProps<R, Reason extends string = string>
  extends IdempotentSubmitOptions<R, Reason>,
    Omit<ComponentPropsWithRef<'form'>, OwnProps> {
  action: SubmitAction<R, Reason>;
  messages?: Partial<Messages<R>> | undefined;
  children: ReactNode | ((submit: IdempotentSubmit<R, Reason>) => ReactNode);
}

/** `useIdempotentSubmit` with its form, key field and status in one. Other props go to the `<form>`. */
export function IdempotentForm<R, Reason extends string = string>(props: IdempotentFormProps<R, Reason>) {
  const {
    action,
    children,
    messages,
    intent,
    initialKey,
    operation,
    statusUrl,
    storage,
    policy,
    again,
    onSettled,
    onTransition,
    ...rest
  } = props;
  const submit = useIdempotentSubmit(action, props);
  const Summary = recoveryModule?.ErrorSummary;
  return (
    <form {...rest} {...submit.formProps}>
      <IdempotencyKeyField {...submit.fieldProps} />
      {typeof children === 'function' ? children(submit) : children}
      <SubmitStatus submit={submit} messages={messages} />
      {Summary && <Summary submit={submit} />}
    </form>
  );
}
