import { parseHttpDate, parseRetryAfter } from '../core/backoff.ts';
import { ConfigurationError } from '../core/errors.ts';
import { type AllowAddress, allowedFetch } from './allowed-fetch.ts';
import { type OutgoingEvent, PublishError, type Publisher } from './publisher.ts';
import { signers, signWebhook } from './signature.ts';

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
  if (allowAddress && options.fetch) {
    throw new ConfigurationError('A fetch of your own connects to what it likes, so allowAddress could not be kept.', {
      existing: 'allowAddress and fetch',
      expected: 'one of them',
    });
  }
  const send = allowAddress ? allowedFetch(allowAddress) : (options.fetch ?? fetch);
  return {
    async publish(event, { signal }) {
      const body = webhookBody(event);
      let response: Response;
      try {
        const headers = { ...headersOf(event), ...signWebhook(event.id, body, clock(), secrets) };
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
  if (target.username || target.password) {
    throw new ConfigurationError('The URL of a webhook holds no password: receivers verify its signature.', {
      existing: `${target.protocol}//…@${target.host}`,
      expected: `${target.protocol}//${target.host}`,
    });
  }
  return target;
}

function headersOf({ headers, derivedKey }: OutgoingEvent): Record<string, string> {
  return {
    ...headers,
    'content-type': 'application/json',
    'idempotency-key': `"${derivedKey}"`,
    'user-agent': 'oncekit',
  };
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
