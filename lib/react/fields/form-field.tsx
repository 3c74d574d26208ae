'use client';

import type { ReactNode } from 'react';
import { type ComponentPropsWithRef, createContext, use, useState } from 'react';
import type { Refusal } from '../../core/outcome.ts';
import { IdempotentForm, type IdempotentFormProps } from '../idempotent-form.tsx';
import type { IdempotentSubmit } from '../idempotent-submit.ts';
import { fieldErrorId } from './field-error-id.ts';

/** The submit of the form around a field. */
export const FormContext = createContext<Pick<IdempotentSubmit<unknown>, 'status' | 'result' | 'fieldProps'> | null>(
  null,
);

type Tag = 'input' | 'select' | 'textarea';
type Attributes = ComponentPropsWithRef<'input'> & { name: string };

/**
 * A field that says that it was refused, and why. On the page that answers a form without JavaScript it keeps its value.
 * `showsError` is false where its error stands elsewhere: behind its label, or at the last field of its name.
 */
export function FormField({ as, showsError, ...rest }: Attributes & { as: Tag; showsError: boolean }) {
  const props: Attributes = rest;
  const { refusal, errors, id } = useErrors(props.name);
  // Later answers find the values where a person has left them.
  const [values] = useState(refusal?.values);
  const Field = as as 'input'; // of all three, the one whose props are the others', too
  const isWrong = errors && {
    'aria-invalid': true,
    'aria-describedby': `${props['aria-describedby'] ?? ''} ${id}`.trim(),
  };
  return (
    <>
      <Field {...props} {...(values && entered(as, props, values))} {...isWrong} />
      {showsError && <FieldError name={props.name} />}
    </>
  );
}

/** The errors of the field of this name, or of no field where it is empty. */
export function FieldError({ name }: { name: string }) {
  const { errors, isSaid, id } = useErrors(name);
  // While the form is sent again it is old news, and keeps its room: a second click must not hit something else.
  return (
    errors && (
      <span id={id} data-field-error="" style={isSaid ? undefined : { visibility: 'hidden' }}>
        {errors.join(' ')}
      </span>
    )
  );
}

function useErrors(name: string) {
  const { status, result, fieldProps } = use(FormContext) ?? {};
  const refusal: Refusal | undefined = result?.ok === false ? result : undefined;
  const isSaid = status === 'hasErrored';
  const errors = isSaid || status === 'executing' ? refusal?.fieldErrors?.[name] : undefined;
  return { refusal, isSaid, errors: errors?.length ? errors : undefined, id: fieldErrorId(fieldProps?.form, name) };
}

/** Props that give a field the value that was entered. Not where it would be told to others, or cannot be set. */
function entered(as: Tag, { name, type, value, multiple }: Attributes, values: NonNullable<Refusal['values']>) {
  const given = values[name];
  if (type === 'checkbox' || type === 'radio') {
    return { defaultChecked: [given].flat().includes(String(value ?? 'on')) };
  }
  const fits = as === 'select' && multiple ? given !== undefined : typeof given === 'string';
  const fillable = type !== 'file' && type !== 'password';
  return fits && fillable ? { defaultValue: given } : undefined;
}

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
