import { isPlainObject } from './data.ts';
import { BadPayloadError } from './errors.ts';

/** 1 MiB (X4). */
export const MAX_BODY_BYTES = 1_048_576;

/** The fields of one form, or the names of one JSON object (X4). */
export const MAX_FIELDS = 1000;

/**
 * Returns the error of a form that is too large, by the limits of a body that is read here. For forms that somebody else
 * has parsed, as Next does for an action. Files count as fields and not by their size: an app that takes uploads tells
 * Next how large they may be.
 */
export function formBeyondLimits(form: FormData): BadPayloadError | undefined {
  let fields = 0;
  let bytes = 0;
  for (const [name, value] of form) {
    fields += 1;
    bytes += Buffer.byteLength(name) + (typeof value === 'string' ? Buffer.byteLength(value) : 0);
    if (fields > MAX_FIELDS) return tooManyFields();
    if (bytes > MAX_BODY_BYTES) {
      const words = `The form is too large: at most ${MAX_BODY_BYTES} bytes of text can be sent at once.`;
      return new BadPayloadError('payload_too_large', words, { expected: `at most ${MAX_BODY_BYTES} bytes` });
    }
  }
  return undefined;
}

/** In words for a person, too: it is their form. */
export function tooManyFields(): BadPayloadError {
  const words = `The form has too many fields: at most ${MAX_FIELDS} can be sent at once.`;
  return new BadPayloadError('malformed_body', words, { expected: `at most ${MAX_FIELDS} fields` });
}

/** The items of one list, unless its operation says otherwise (X4). */
export const MAX_ITEMS = 1000;

/** The values of all lists and objects together, for each item that one list may have. */
export const VALUES_PER_ITEM = 10;

/**
 * Returns the error of what no schema is asked about: a list that is too long, or too many values in all, as it would look at
 * each of them and make ten errors of it; and the name `__proto__`, which no object has that is stored. A value counts as often
 * as it is referred to.
 *
 * @param maxItems of one list; ten times as many values
 */
export function unfitValue(value: unknown, maxItems: number): BadPayloadError | undefined {
  const left = [value];
  let values = 0;
  while (left.length > 0) {
    const next = left.pop();
    const list: unknown = next instanceof Map || next instanceof Set ? [...next] : next;
    const items: readonly unknown[] | undefined = Array.isArray(list) ? list : undefined; // no copy: it may be endless
    if (items && items.length > maxItems) return tooMany('A list has too many items', maxItems, 'items');
    if (isPlainObject(next) && Object.hasOwn(next, '__proto__')) return unusableName();
    const parts = items ?? (isPlainObject(next) ? Object.values(next) : []);
    values += parts.length;
    if (values > maxItems * VALUES_PER_ITEM)
      return tooMany('There are too many values', maxItems * VALUES_PER_ITEM, 'values');
    for (const part of parts) left.push(part);
  }
  return undefined;
}

/** In words for a person, too. */
function tooMany(what: string, most: number, unit: string): BadPayloadError {
  return new BadPayloadError('malformed_body', `${what}: at most ${most} can be sent at once.`, {
    expected: `at most ${most} ${unit}, or a larger \`maxItems\` of the operation`,
  });
}

function unusableName(): BadPayloadError {
  const words = 'The name __proto__ cannot be used for what is sent.';
  return new BadPayloadError('malformed_body', words, { existing: '__proto__', expected: 'another name' });
}
