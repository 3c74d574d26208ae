import { isInternalField } from './fields.ts';

type Value = FormDataEntryValue | FormDataEntryValue[];

/** A form as an object for the schema: a name that comes once is a value, one that comes again an array. */
export function formInput(form: FormData): Record<string, Value> {
  const fields = new Map<string, Value>();
  for (const [name, value] of form) {
    if (isInternalField(name)) continue;
    const before = fields.get(name);
    fields.set(name, before === undefined ? value : [before, value].flat());
  }
  return Object.fromEntries(fields);
}
