import { createHmac, timingSafeEqual } from 'node:crypto';
import { ConfigurationError, IdempotencyError } from '../core/errors.ts';

const PREFIX = 'whsec_';
const MIN_BYTES = 24;
const MAX_BYTES = 64;
const TOLERANCE_MS = 5 * 60_000;

/** A webhook that does not come from whom it says, or not now. Answer 400 or 401, and do nothing. */
export class SignatureError extends IdempotencyError {
  override readonly name = 'SignatureError';
}

/** The three headers of a webhook, as Standard Webhooks names them. */
export interface SignedHeaders {
  'webhook-id': string;
  'webhook-timestamp': string;
  'webhook-signature': string;
}

/**
 * Signs a webhook (Standard Webhooks 1.0, symmetric): HMAC-SHA-256 over id, time and body, once under each secret, so
 * that a receiver that knows the old or the new one verifies it while secrets are rotated.
 *
 * @param secrets `whsec_` and 24 to 64 bytes in base64 (`openssl rand -base64 32`)
 */
export function signWebhook(id: string, body: string, atMs: number, secrets: readonly string[]): SignedHeaders {
  const seconds = String(Math.floor(atMs / 1000));
  const signatures = readWebhookSecrets(secrets).map((secret) => `v1,${sign(secret, id, seconds, body)}`);
  return { 'webhook-id': id, 'webhook-timestamp': seconds, 'webhook-signature': signatures.join(' ') };
}

/**
 * Verifies a webhook before anything of it is read. Returns its id, for `inbox.receiveOnce`.
 *
 * @param body the bytes as they came, before they are parsed
 * @throws SignatureError when no secret fits, a header is missing, or it is more than 5 minutes old or ahead: a recorded
 *   webhook that is played again later
 */
export function verifyWebhook(
  body: string,
  headers: Headers | Record<string, string | undefined>,
  secrets: readonly string[],
  { nowMs = Date.now(), toleranceMs = TOLERANCE_MS }: { nowMs?: number; toleranceMs?: number } = {},
): { id: string } {
  const read = (name: string) => (headers instanceof Headers ? headers.get(name) : headers[name]) ?? '';
  const [id, seconds, given] = [read('webhook-id'), read('webhook-timestamp'), read('webhook-signature')];
  if (!id || !/^\d{1,12}$/.test(seconds) || !given) {
    throw new SignatureError('The webhook is not signed.', {
      expected: 'webhook-id, webhook-timestamp, webhook-signature',
    });
  }
  // No early return: the time must not tell which secret fits.
  let fits = false;
  for (const secret of readWebhookSecrets(secrets)) {
    const expected = Buffer.from(`v1,${sign(secret, id, seconds, body)}`);
    for (const one of given.split(' ').slice(0, 10)) {
      const bytes = Buffer.from(one);
      if (bytes.length === expected.length && timingSafeEqual(bytes, expected)) fits = true;
    }
  }
  if (!fits) throw new SignatureError('The signature of the webhook does not fit.');
  if (Math.abs(nowMs - Number(seconds) * 1000) > toleranceMs) {
    throw new SignatureError('The webhook is too old, or from the future.', {
      existing: `${seconds} s`,
      expected: `within ${toleranceMs} ms of ${Math.floor(nowMs / 1000)} s`,
    });
  }
  return { id };
}

/** @throws ConfigurationError for none, and for one that cannot be read or can be guessed */
export function readWebhookSecrets(secrets: readonly string[]): Buffer[] {
  const read = secrets.map((secret) => {
    const bytes = Buffer.from(secret.startsWith(PREFIX) ? secret.slice(PREFIX.length) : secret, 'base64');
    if (bytes.length >= MIN_BYTES && bytes.length <= MAX_BYTES) return bytes;
    throw new ConfigurationError('A webhook secret cannot be used. Make one: whsec_$(openssl rand -base64 32)', {
      existing: `${bytes.length} bytes`,
      expected: `${MIN_BYTES} to ${MAX_BYTES} bytes in base64`,
    });
  });
  if (read.length > 0) return read;
  throw new ConfigurationError('No webhook secret is configured.', {
    existing: '[]',
    expected: 'one, or two while they are rotated',
  });
}

function sign(secret: Buffer, id: string, seconds: string, body: string): string {
  return createHmac('sha256', secret).update(`${id}.${seconds}.${body}`).digest('base64');
}
