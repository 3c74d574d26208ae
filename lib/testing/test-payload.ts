import { ATTEMPT_FIELD, formInput, isInternalField, KEY_FIELD, type KeyedCall } from '../core/fields.ts';
import type { Outcome } from '../core/outcome.ts';

/** Equal for forms that mean the same, as F1 has it: values in order per name, names sorted, files by content. */
export async function testFingerprint(form: FormData): Promise<string> {
  const sent = [...form].filter(([name]) => !isInternalField(name)).sort(([a], [b]) => (a < b ? -1 : Number(a > b)));
  const fields = sent.map(async ([name, value]) => {
    if (typeof value === 'string') return [name, value.replaceAll(/\r\n?/g, '\n')];
    return [name, value.name, value.type, ...new Uint8Array(await value.arrayBuffer())];
  });
  return JSON.stringify(await Promise.all(fields));
}

/** Adds what was entered, to fill the form again. Unlike the engine it leaves no secret out: a test has none. */
export function withValues<R>(outcome: Outcome<R>, form: FormData): Outcome<R> {
  if (outcome.ok) return outcome;
  const values = formInput(form, (_name, value) => typeof value === 'string') as Record<string, string | string[]>;
  return { ...outcome, values };
}

/** A copy, since the browser half sets its fields anew for each attempt. */
export function copyForm(form: FormData): FormData {
  const copy = new FormData();
  for (const [name, value] of form) copy.append(name, value);
  return copy;
}

/** Values as a form with their paths for names, so that they are compared and kept as forms are. */
export function formOf(values: unknown, { key, attempt = 1 }: KeyedCall): FormData {
  const form = new FormData();
  form.set(KEY_FIELD, key);
  form.set(ATTEMPT_FIELD, String(attempt));
  const add = (path: string, value: unknown): void => {
    if (value instanceof Blob) form.append(path, value);
    else if (value instanceof Date) form.append(path, value.toJSON());
    else if (typeof value !== 'object' || value === null) form.append(path, String(value));
    else for (const [name, inner] of Object.entries(value)) add(path ? `${path}.${name}` : name, inner);
  };
  add('', values);
  return form;
}
