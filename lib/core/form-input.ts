import { isInternalField } from './fields.ts';

type Value = FormDataEntryValue | FormDataEntryValue[];

/**
 * A form as an object, as the schema gets it: a name that comes once is a value, one that comes again an array. The
 * kit's own fields are left out, and what `keep` refuses.
 */
export function formInput(
  form: FormData,
  keep: (name: string, value: FormDataEntryValue) => boolean = () => true,
): Record<string, Value> {
  const fields = new Map<string, Value>();
  for (const [name, value] of form) {
    if (isInternalField(name) || !keep(name, value)) continue;
    const before = fields.get(name);
    // Into the same array each time: to copy it for each value would take the square of their number.
    if (Array.isArray(before)) before.push(value);
    else fields.set(name, before === undefined ? value : [before, value]);
  }
  return Object.fromEntries(fields);
}
