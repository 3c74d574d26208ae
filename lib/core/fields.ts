/** The hidden field that carries the key. */
export const KEY_FIELD = 'idempotency_key';

/** The hidden field in which the browser says which attempt of the key this is; absent on the first. */
export const ATTEMPT_FIELD = 'idempotency_attempt';

/** How an action is called with values instead of a form: `action(values, { key })`. */
export interface KeyedCall {
  key: string;
  /** How often this key was sent, with this time. Leave it out where you do not know. */
  attempt?: number;
}

/** The hidden field in which a browser in development says which operation the form's intent names. */
export const OPERATION_FIELD = 'idempotency_operation';

/** The hidden field in which a browser in development passes on to the server's console what it has found. */
export const COMPLAINT_FIELD = 'idempotency_complaint';

/**
 * Fields that the kit, React or Next add to a form. They are no part of what a person sent: they differ between a
 * hydrated and a native submit of the same form, and between deploys (F1).
 */
export function isInternalField(name: string): boolean {
  return /^(idempotency_(key|attempt|operation|complaint)$|\$ACTION_)/.test(name); // the names above: no browser gets them all
}

/** The message for a person whose form has lost its key. */
export const KEYLESS_FORM =
  'This form was not complete, so nothing was done just now. Reload the page, then send it again.';

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
