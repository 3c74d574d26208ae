'use client';

import type { ReactNode } from 'react';
import { IdempotentForm, type IdempotentFormProps } from '../idempotent-form.tsx';
import { FieldError, FormContext } from './form-field.tsx';

/** The form that a server component renders: its fields show by themselves what was refused in them. */
export function FieldForm<R>({
  children,
  ...props
}: Omit<IdempotentFormProps<R>, 'children'> & { children?: ReactNode }) {
  return (
    <IdempotentForm {...props}>
      {(submit) => (
        <FormContext value={submit}>
          {children}
          <FieldError name="" />
        </FormContext>
      )}
    </IdempotentForm>
  );
}
