import { KEY_FIELD } from '../core/fields.ts';

export interface FieldProps {
  name: string;
  value: string;
  form: string;
}

export function fieldPropsOf(key: string, formId: string): FieldProps {
  return { name: KEY_FIELD, value: key, form: formId };
}

/**
 * The key in the first HTML, so that the form is safe before and without JavaScript. `form` keeps it attached when
 * streaming lands it outside of the form. Autocompletion is off because Firefox restores hidden fields on reload.
 */
export function IdempotencyKeyField({ name, value, form }: FieldProps) {
  return <input type="hidden" name={name} value={value} form={form} autoComplete="off" readOnly />;
}
