'use client';

import { type MouseEvent, useEffect } from 'react';
import type { IdempotentSubmit } from '../idempotent-submit.ts';

/** Which submit it is about, and how it looks. */
export interface ErrorSummaryProps {
  submit: Pick<IdempotentSubmit<unknown>, 'status' | 'result' | 'fieldProps'>;
  /** Its name for a screen reader. Default English. */
  label?: string | undefined;
  className?: string | undefined;
}

/**
 * Shows the refused fields as links to them, and nothing where none was. When an answer has come, the first wrong field
 * gets the focus, and any other answer is scrolled to where it can be seen. Not part of `SubmitStatus`, which a page
 * loads for its happy path; `<IdempotentForm>` has it.
 *
 * Source: https://www.w3.org/WAI/tutorials/forms/notifications/
 */
export function ErrorSummary({ submit, label = 'What needs your attention', className }: ErrorSummaryProps) {
  const { status, result, fieldProps } = submit;
  const { form: formId } = fieldProps;
  const isSaid = status === 'hasErrored';
  // While the form is sent again they are old news, and keep their room: a second click must not hit something else.
  const errors = (isSaid || status === 'executing') && result?.ok === false ? result.fieldErrors : undefined;
  useEffect(() => {
    if (status === 'idle') return;
    const form = document.getElementById(formId);
    const field = isSaid && fieldsOf(form).find(({ name }) => errors?.[name]?.length);
    if (field) field.focus();
    else form?.querySelector('[role=status][data-state]')?.scrollIntoView({ block: 'nearest' });
  }, [status, isSaid, errors, formId]);
  const named = Object.entries(errors ?? {}).filter(([, words]) => words.length > 0);
  if (named.length === 0) return null;
  const lead = (name: string) => (event: MouseEvent) => {
    const field = fieldsOf(document.getElementById(formId)).find((each) => each.name === name);
    if (!field) return;
    event.preventDefault();
    field.focus();
  };
  return (
    <ul aria-label={label} className={className} style={isSaid ? undefined : { visibility: 'hidden' }}>
      {named.map(([name, words]) => (
        <li key={name}>
          {name ? (
            <a href={`#${name}`} onClick={lead(name)}>
              {words.join(' ')}
            </a>
          ) : (
            words.join(' ')
          )}
        </li>
      ))}
    </ul>
  );
}

/** In the order of the page, but for those that nobody sees. */
function fieldsOf(form: Element | null): HTMLInputElement[] {
  return form instanceof HTMLFormElement
    ? ([...form.elements] as HTMLInputElement[]).filter(({ type }) => type !== 'hidden')
    : [];
}
