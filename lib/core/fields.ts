/** The hidden field that carries the key. */
export const KEY_FIELD = 'idempotency_key';

/** The hidden field in which the browser says which attempt of the key this is; absent on the first. */
export const ATTEMPT_FIELD = 'idempotency_attempt';

/**
 * Fields that the kit, React or Next add to a form. They are no part of what a person sent: they differ between a
 * hydrated and a native submit of the same form, and between deploys (F1).
 */
export function isInternalField(name: string): boolean {
  return name === KEY_FIELD || name === ATTEMPT_FIELD || name.startsWith('$ACTION_');
}

/** The message for a person whose form has lost its key. */
export const KEYLESS_FORM =
  'This form was not complete, so nothing was done just now. Reload the page, then send it again.';
