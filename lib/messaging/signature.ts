import { Webhook } from 'standardwebhooks';
import { ConfigurationError, IdempotencyError } from '../core/errors.ts';
import { assertNoOtherPurpose, assertStrong } from '../core/secret-strength.ts';

const PREFIX = 'whsec_';
const MIN_BYTES = 24;
const MAX_BYTES = 64;

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
  const at = new Date(atMs);
  return {
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(atMs / 1000)),
    'webhook-signature': signers(secrets)
      .map((signer) => signer.sign(id, at, body))
      .join(' '),
  };
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
): { id: string } {
  const read = (name: keyof SignedHeaders) => (headers instanceof Headers ? headers.get(name) : headers[name]) ?? '';
  const signed: SignedHeaders = {
    'webhook-id': read('webhook-id'),
    'webhook-timestamp': read('webhook-timestamp'),
    'webhook-signature': read('webhook-signature'),
  };
  let why: unknown;
  for (const signer of signers(secrets)) {
    try {
      signer.verify(body, { ...signed }, { jsonParse: false });
      return { id: signed['webhook-id'] };
    } catch (error) {
      why = error;
    }
  }
  const message = why instanceof Error ? why.message : 'Not signed';
  throw new SignatureError(`The webhook cannot be believed. ${message}.`, { cause: why });
}

/**
 * @throws ConfigurationError for none, and for one that cannot be read, can be guessed, or signs keys or opens the cron route: a
 *   partner knows it
 */
export function signers(secrets: readonly string[]): Webhook[] {
  if (secrets.length === 0) {
    throw new ConfigurationError('No webhook secret is configured.', {
      existing: '[]',
      expected: 'one, or two while they are rotated',
    });
  }
  return secrets.map((secret) => {
    assertStrong('A webhook secret', secret);
    const bytes = Buffer.from(secret.startsWith(PREFIX) ? secret.slice(PREFIX.length) : secret, 'base64');
    // As it stands, or as the base64 of a text that is a secret elsewhere.
    for (const text of [secret, bytes.toString()]) assertNoOtherPurpose('A webhook secret', text);
    if (bytes.length >= MIN_BYTES && bytes.length <= MAX_BYTES) return new Webhook(bytes, { format: 'raw' });
    throw new ConfigurationError('A webhook secret cannot be used. Make one: whsec_$(openssl rand -base64 32)', {
      existing: `${bytes.length} bytes`,
      expected: `${MIN_BYTES} to ${MAX_BYTES} bytes in base64`,
    });
  });
}
