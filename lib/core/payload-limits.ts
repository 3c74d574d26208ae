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
    if (bytes > MAX_BODY_BYTES) return tooMuchText();
  }
  return undefined;
}

/** In words for a person, too: it is their form. */
export function tooManyFields(): BadPayloadError {
  const words = `The form has too many fields: at most ${MAX_FIELDS} can be sent at once.`;
  return new BadPayloadError('malformed_body', words, { expected: `at most ${MAX_FIELDS} fields` });
}

function tooMuchText(): BadPayloadError {
  const words = `The form is too large: at most ${MAX_BODY_BYTES} bytes of text can be sent at once.`;
  return new BadPayloadError('payload_too_large', words, { expected: `at most ${MAX_BODY_BYTES} bytes` });
}
