import type { Ledger, StoredAnswer } from './ledger.ts';
import type { Params } from './params.ts';
import { invalid, StripeError } from './stripe-error.ts';

/** Looks a request's key up: a `replay`, or nothing, and the request runs. Throws when it is in the way. */
export interface KeyUse {
  key: string;
  path: string;
  params: Params;
}

/**
 * Stripe's rules of `Idempotency-Key` (https://docs.stripe.com/api/idempotent_requests): an answer is kept for `ttlMs`
 * and given again to the same request; another request under the key, or a second one while the first is still under
 * way, is refused.
 */
export class IdempotencyKeys {
  #ledger: Ledger;
  #ttlMs: number;
  #now: () => number;
  #running = new Set<string>();

  constructor(ledger: Ledger, { ttlMs, now }: { ttlMs: number; now: () => number }) {
    this.#ledger = ledger;
    this.#ttlMs = ttlMs;
    this.#now = now;
  }

  look({ key, path, params }: KeyUse): StoredAnswer | undefined {
    if (key.length > 255) throw invalid('Idempotency keys can have at most 255 characters.', 'Idempotency-Key');
    if (this.#running.has(key)) throw inUse(key);
    const stored = this.#ledger.answer(key, this.#now() - this.#ttlMs);
    if (!stored) return undefined;
    if (stored.path !== path) {
      const paths = `for the same endpoint they were first used for ('${path}' vs '${stored.path}')`;
      throw mismatch(paths, key);
    }
    if (stored.fingerprint !== params.fingerprint)
      throw mismatch('with the same parameters they were first used with', key);
    return stored;
  }

  /** Holds the key until its answer is out: whoever asks meanwhile is told to wait. */
  start(key: string): void {
    this.#running.add(key);
  }

  end(key: string): void {
    this.#running.delete(key);
  }
}

function mismatch(how: string, key: string): StripeError {
  const message = `Keys for idempotent requests can only be used ${how}. Try using a key other than '${key}' if you meant to execute a different request.`;
  return new StripeError(400, { code: 'idempotency_error', message, type: 'idempotency_error' });
}

function inUse(key: string): StripeError {
  const message = `There is currently another in-progress request using this Idempotent Key (that probably means you submitted twice, and the other request is still going through): ${key}. Please try again later.`;
  return new StripeError(409, { code: 'idempotency_key_in_use', message, type: 'idempotency_error' });
}
