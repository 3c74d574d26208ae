import { Webhook } from 'standardwebhooks';
import { parseHttpDate, parseRetryAfter } from '../core/backoff.ts';
import { assertSetUp, ConfigurationError, IdempotencyError } from '../core/errors.ts';
import { assertNoOtherPurpose, assertStrong } from '../core/secret-strength.ts';
import { type AllowAddress, allowedFetch } from './allowed-fetch.ts';
import { type OutgoingEvent, PublishError, type Publisher } from './destination.ts';

/** The address of a webhook, and the secrets that sign it. */
export interface WebhookOptions {
  url: string;
  /** The first signs, and so do all others: receivers may know any of them. See `signWebhook`. */
  secrets: readonly string[];
  /**
   * To which IP addresses a connection may be made: `isPublicAddress` where a customer chooses the URL, who could
   * otherwise have your server speak to your own network. Asked with each address that is connected to. Left out: to all.
   */
  allowAddress?: AllowAddress;
  /** In place of the platform's. Not with `allowAddress`, which it could not keep. */
  fetch?: typeof fetch;
  clock?: () => number;
}

/** An answer is read to its end, so that its connection can be used again, but no further than this. */
const MAX_ANSWER_BYTES = 65_536;
const DRAIN_MS = 100;

/**
 * Sends events as webhooks, signed as Standard Webhooks says, with the event's id as `webhook-id` and its derived key as
 * `Idempotency-Key`. Only 2xx counts as delivered. 410 stops the destination; `Retry-After` is honoured; a redirect is a
 * failure, for it could lead the signed event anywhere. What was answered is neither stored nor logged.
 *
 * Source: https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
 */
export function webhook({ url, secrets, allowAddress, clock = Date.now, ...options }: WebhookOptions): Publisher {
  const target = targetOf(url);
  signers(secrets);
  assertSetUp(
    !(allowAddress && options.fetch),
    'A fetch of your own connects to what it likes, so allowAddress could not be kept.',
    { existing: 'allowAddress and fetch', expected: 'one of them' },
  );
  const send = allowAddress ? allowedFetch(allowAddress) : (options.fetch ?? fetch);
  return {
    async publish(event, { signal }) {
      const body = webhookBody(event);
      let response: Response;
      try {
        const headers = {
          ...event.headers,
          'content-type': 'application/json',
          'idempotency-key': `"${event.derivedKey}"`,
          'user-agent': 'oncekit',
          ...signWebhook(event.id, body, clock(), secrets),
        };
        response = await send(target, { method: 'POST', headers, body, redirect: 'manual', signal });
      } catch (cause) {
        throw new PublishError(signal.aborted ? 'No answer in time.' : `No answer: ${codeOf(cause)}.`, { cause });
      }
      await drain(response);
      if (!response.ok) throw refusalOf(response, clock());
    },
  };
}

function targetOf(url: string): URL {
  const target = new URL(url);
  if (target.protocol !== 'https:' && target.protocol !== 'http:') {
    throw new ConfigurationError('A webhook goes to a URL of https or http.', { existing: target.protocol });
  }
  assertSetUp(
    !target.username && !target.password,
    'The URL of a webhook holds no password: receivers verify its signature.',
    { existing: `${target.protocol}//…@${target.host}`, expected: `${target.protocol}//${target.host}` },
  );
  return target;
}

/** The same bytes in every attempt, so that receivers may compare them. */
function webhookBody({ type, createdAt, aggregate, sequence, payload }: OutgoingEvent): string {
  const head = JSON.stringify({ type, timestamp: createdAt.toISOString(), aggregate, sequence });
  return `${head.slice(0, -1)},"data":${payload}}`;
}

function refusalOf({ status, headers }: Response, nowMs: number): PublishError {
  const message = `HTTP ${status}`;
  if (status === 410) return new PublishError(`${message}: it wants no more events.`, { next: 'stop' });
  const asked = parseRetryAfter(headers.get('retry-after'), parseHttpDate(headers.get('date')) ?? nowMs);
  return new PublishError(message, { retryAfterMs: asked });
}

/** The status has been read, so a body that breaks off, or never ends, or drips, changes nothing. */
async function drain({ body }: Response): Promise<void> {
  if (!body) return;
  const reader = body.getReader();
  const enough = setTimeout(() => void reader.cancel().catch(() => {}), DRAIN_MS);
  try {
    for (let read = 0; read < MAX_ANSWER_BYTES; ) {
      const { done, value } = await reader.read();
      if (done) return;
      read += value.byteLength;
    }
    await reader.cancel();
  } catch {
    // It broke off.
  } finally {
    clearTimeout(enough);
  }
}

/** fetch hides what happened in the cause of its error. */
function codeOf(error: unknown): string {
  const { cause, name } = (error ?? {}) as { cause?: { code?: unknown; name?: unknown }; name?: unknown };
  return String(cause?.code ?? cause?.name ?? name ?? 'unknown');
}

const PREFIX = 'whsec_';
const BASE64 = /^(?!whsec_)[\w+/-]*={0,2}$/i;
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
function signers(secrets: readonly string[]): Webhook[] {
  assertSetUp(secrets.length !== 0, 'No webhook secret is configured.', {
    existing: '[]',
    expected: 'one, or two while they are rotated',
  });
  return secrets.map((secret) => {
    assertStrong('A webhook secret', secret);
    const own = secret.startsWith(PREFIX) ? secret.slice(PREFIX.length) : secret;
    const bytes = Buffer.from(own, 'base64');
    // As it stands, or as the base64 of a text that is a secret elsewhere.
    for (const text of [secret, bytes.toString()]) assertNoOtherPurpose('A webhook secret', text);
    // Node reads past what is not in base64, and would sign with other bytes than were meant.
    const isBase64 = BASE64.test(own);
    if (isBase64 && bytes.length >= MIN_BYTES && bytes.length <= MAX_BYTES)
      return new Webhook(bytes, { format: 'raw' });
    const why = isBase64 ? 'cannot be used' : `is more than ${PREFIX} and base64: quotes, white space, another prefix`;
    throw new ConfigurationError(`A webhook secret ${why}. Make one: whsec_$(openssl rand -base64 32)`, {
      existing: isBase64 ? `${bytes.length} bytes` : `${secret.length} characters`,
      expected: `${MIN_BYTES} to ${MAX_BYTES} bytes in base64`,
    });
  });
}
