'use client';

import { type MouseEvent, useEffect, useRef } from 'react';
import { fieldErrorId } from '../fields/field-error-id.ts';
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
  // What a page finds out by itself moves nothing: of an earlier page's submit, of another tab's.
  const isSent = useRef(!/idle|checking/.test(status));
  useEffect(() => {
    isSent.current = status !== 'idle' && (isSent.current || /exec|retry|off/.test(status));
    if (!isSent.current) return;
    const form = document.getElementById(formId);
    const field =
      isSaid && fieldsOf(form).find(({ name }) => namedIn(errors).some(([refused]) => isSameField(refused, name)));
    if (field) field.focus();
    else form?.querySelector('[role=status][data-state]')?.scrollIntoView({ block: 'nearest' });
  }, [status, isSaid, errors, formId]);
  useEffect(() => (isSaid && errors ? describeFields(formId, errors) : undefined), [isSaid, errors, formId]);
  const named = namedIn(errors);
  if (named.length === 0) return null;
  const lead = (name: string) => (event: MouseEvent) => {
    const field = fieldsOf(document.getElementById(formId)).find((each) => isSameField(each.name, name));
    if (!field) return;
    event.preventDefault();
    field.focus();
  };
  return (
    <ul aria-label={label} className={className} style={isSaid ? undefined : { visibility: 'hidden' }}>
      {named.map(([name, words]) => (
        <li key={name} id={summaryId(formId, name)}>
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

function namedIn(errors: Record<string, string[]> | undefined): [string, string[]][] {
  return Object.entries(errors ?? {}).filter(([, words]) => words.length > 0);
}

/** Values are refused by paths in dots, and a form's fields may have theirs in brackets. */
function isSameField(name: string, other: string): boolean {
  const inDots = (path: string) => path.replaceAll(/\[(\w+)\]/g, '.$1');
  return inDots(name) === inDots(other);
}

function summaryId(formId: string, name: string): string {
  return `${fieldErrorId(formId, name)}-summary`;
}

/**
 * Says of each wrong field that it is wrong, and where the page says why. Fields that say it by themselves are left alone.
 * Returns how to take it back.
 */
function describeFields(formId: string, errors: Record<string, string[]>): () => void {
  const said: [HTMLInputElement, string][] = [];
  const refusals = namedIn(errors);
  for (const field of fieldsOf(document.getElementById(formId))) {
    const [name] = refusals.find(([refused]) => isSameField(refused, field.name)) ?? [];
    if (name === undefined) continue;
    const beside = fieldErrorId(formId, field.name);
    const id = document.getElementById(beside) ? beside : summaryId(formId, name);
    for (const [attribute, value] of Object.entries({ 'aria-invalid': 'true', 'aria-describedby': id })) {
      if (field.hasAttribute(attribute)) continue;
      field.setAttribute(attribute, value);
      said.push([field, attribute]);
    }
  }
  return () => {
    for (const [field, attribute] of said) field.removeAttribute(attribute);
  };
}

/** The form's fields in the order of the page, but for those that nobody sees. A field of the name `elements` hides the form's own. */
export function fieldsOf(form: Element | null): HTMLInputElement[] {
  if (form?.localName !== 'form') return [];
  const elements = Reflect.get(HTMLFormElement.prototype, 'elements', form);
  return ([...elements] as HTMLInputElement[]).filter(({ type }) => type !== 'hidden');
}
