import { STATUS_CODES } from 'node:http';

/** The `error` member of Stripe's error bodies. */
export interface ErrorFields {
  type: 'api_error' | 'card_error' | 'idempotency_error' | 'invalid_request_error';
  message: string;
  code?: string;
  param?: string;
  [more: string]: unknown;
}

/**
 * An answer that refuses. `begun` says whether the request had passed validation: only then is the refusal stored under
 * its idempotency key (https://docs.stripe.com/api/idempotent_requests).
 */
export class StripeError extends Error {
  readonly status: number;
  readonly fields: ErrorFields;
  readonly begun: boolean;

  constructor(status: number, fields: ErrorFields, { begun = false } = {}) {
    super(fields.message);
    this.status = status;
    this.fields = fields;
    this.begun = begun;
  }
}

/** A parameter that cannot be meant. Never stored: correcting it under the same key is allowed. */
export function invalid(message: string, param: string, code?: string): StripeError {
  return new StripeError(400, { ...(code ? { code } : {}), message, param, type: 'invalid_request_error' });
}

export function missing(kind: string, id: string, param: string): StripeError {
  const message = `No such ${kind}: '${id}'`;
  return new StripeError(404, { code: 'resource_missing', message, param, type: 'invalid_request_error' });
}

/** A sound request that the state of things forbids. Stored under its key. */
export function forbidden(message: string, more: Partial<ErrorFields> = {}): StripeError {
  return new StripeError(400, { ...more, message, type: 'invalid_request_error' }, { begun: true });
}

export function unrecognized(method: string, path: string): StripeError {
  const message = `Unrecognized request URL (${method}: ${path}). The local gateway knows the paths the shop uses.`;
  return new StripeError(404, { message, type: 'invalid_request_error' });
}

export function unauthorized(): StripeError {
  const message =
    'You did not provide an API key. You need to provide your API key in the Authorization header, using Bearer auth ' +
    "(e.g. 'Authorization: Bearer YOUR_SECRET_KEY'). The local gateway takes any key that starts with sk_test_.";
  return new StripeError(401, { message, type: 'invalid_request_error' });
}

export function tooLarge(): StripeError {
  const message = 'The request body is larger than 1 MiB.';
  return new StripeError(413, { message, type: 'invalid_request_error' });
}

export function rateLimited(): StripeError {
  const message =
    'Request rate limit exceeded. You can learn more about rate limits here https://stripe.com/docs/rate-limits.';
  return new StripeError(429, { code: 'rate_limit', message, type: 'invalid_request_error' });
}

export function lockTimeout(): StripeError {
  const message =
    'This object cannot be accessed right now because another API request or Stripe process is currently accessing it.';
  return new StripeError(429, { code: 'lock_timeout', message, type: 'invalid_request_error' });
}

export function broken(status = 500): StripeError {
  const message = `Sorry! There was an error while talking to one of our backends (${STATUS_CODES[status]}).`;
  return new StripeError(status, { message, type: 'api_error' });
}
