import type { RetryPolicy, Settings } from '../submission/settings.ts';

export const DEFAULT_POLICY: RetryPolicy = {
  // Long enough for a killed server to be started again.
  attempts: 8,
  baseMs: 400,
  capMs: 4000,
  totalMs: 30_000,
  timeoutMs: 10_000,
  pollMs: 60_000,
};

/**
 * Where `statusRoute` is, unless a form says otherwise: under the `basePath` of Next's configuration, which its bundlers
 * write in here as they do for its own router. No hook of the app router tells it; other bundlers know none.
 */
export const STATUS_URL = `${typeof process === 'object' ? (process.env.__NEXT_ROUTER_BASEPATH ?? '') : ''}/api/idempotency`;

/** Where the status route tells of a key. */
export function addressOf(
  { statusUrl = STATUS_URL, intent, operation }: Pick<Settings<unknown>, 'statusUrl' | 'intent' | 'operation'>,
  key: string,
): string {
  return `${statusUrl}/${encodeURIComponent(operation ?? intent.replace(/:.*/s, ''))}/${encodeURIComponent(key)}`;
}

export function policyOf<R>({ policy }: Settings<R>): RetryPolicy {
  return { ...DEFAULT_POLICY, ...policy };
}
