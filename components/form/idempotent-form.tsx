'use client';

import {
  IdempotencyKeyField,
  type IdempotentSubmit,
  type IdempotentSubmitOptions,
  type Messages,
  type SubmitAction,
  useIdempotentSubmit,
} from 'oncekit/react';
import type { ReactNode } from 'react';
import { IdempotentSubmitButton } from './idempotent-submit-button.tsx';
import { SubmitStatus } from './submit-status.tsx';

/** Props of an input: its name, the entered value, and the server's error. */
export type FieldOf = (name: string) => {
  name: string;
  defaultValue: string | undefined;
  errors: readonly string[] | undefined;
};

export interface IdempotentFormProps<R> extends IdempotentSubmitOptions<R> {
  action: SubmitAction<R>;
  /** The words on its button. */
  label: ReactNode;
  /** The words while it is at work. Default `Sending…`. */
  busyLabel?: ReactNode | undefined;
  /** The fields, such as `(field) => <Field label="Name" {...field('name')} />`. */
  children: (field: FieldOf, submit: IdempotentSubmit<R>) => ReactNode;
  /** Shown behind the words after a success, such as a link to the new order. */
  success?: ((data: R, submit: IdempotentSubmit<R>) => ReactNode) | undefined;
  messages?: Partial<Messages> | undefined;
  className?: string | undefined;
}

/** Along the button, while it is at work. It stays focusable, and the hook swallows a second click. */
const busy =
  'aria-busy:after:absolute aria-busy:after:inset-x-0 aria-busy:after:bottom-0 aria-busy:after:h-1 ' +
  'aria-busy:after:animate-pulse aria-busy:after:bg-current motion-reduce:aria-busy:after:animate-none';

/**
 * A form whose submit happens once, with its key, its button and its words. What was entered survives a refusal, also
 * without JavaScript; what was refused stands beside its field, and goes when a later submit is in doubt.
 */
export function IdempotentForm<R>(props: IdempotentFormProps<R>) {
  const { action, label, busyLabel, children, success, messages, className = '', ...options } = props;
  const submit = useIdempotentSubmit(action, options);
  const { result, status } = submit;
  const refused = result?.ok === false ? result : null;
  const isSaid = status === 'hasErrored' || status === 'executing';
  const field: FieldOf = (name) => {
    const entered = refused?.values?.[name];
    return {
      name,
      defaultValue: typeof entered === 'string' ? entered : undefined,
      errors: isSaid ? refused?.fieldErrors?.[name] : undefined,
    };
  };
  return (
    // The server's words stand beside their fields, with and without JavaScript; the browser's bubbles would differ.
    <form {...submit.formProps} noValidate className={`grid gap-4 ${className}`}>
      <IdempotencyKeyField {...submit.fieldProps} />
      {children(field, submit)}
      <IdempotentSubmitButton submit={submit} busyWords={busyLabel ?? 'Sending…'} className={busy}>
        {label}
      </IdempotentSubmitButton>
      <SubmitStatus submit={submit} messages={messages}>
        {success}
      </SubmitStatus>
    </form>
  );
}
