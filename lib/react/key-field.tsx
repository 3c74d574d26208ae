import type { FieldProps } from './idempotent-submit.ts';

/**
 * The key in the first HTML, so that the form is safe before and without JavaScript. `form` keeps it attached when
 * streaming lands it outside of the form. Autocompletion is off because Firefox restores hidden fields on reload.
 */
export function IdempotencyKeyField(field: FieldProps) {
  return <input {...field} type="hidden" autoComplete="off" />;
}
