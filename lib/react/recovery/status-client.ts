import { type Code, MEANINGS } from '../../core/codes.ts';
import { isOutcome } from '../submission/attempt.ts';
import { askedOperation, type Settings } from '../submission/context.ts';
import type { KeyAnswer } from '../submission/state.ts';

/**
 * The address of `statusRoute`, unless a form gives another: under the `basePath` of Next's configuration, which its bundlers
 * write in here as they do for its own router. No hook of the app router has it, and other bundlers do not know it.
 */
const STATUS_URL = `${typeof process === 'object' ? (process.env.__NEXT_ROUTER_BASEPATH ?? '') : ''}/api/idempotency`;

/** What the status route is asked by. */
type Asking = Pick<Settings<unknown>, 'statusUrl' | 'intent' | 'operation'>;

const TIMEOUT_MS = 8000;
/** In development a route is compiled when it is first asked for. */
const COMPILED_MS = 60_000;

/**
 * Asks what became of a key (GET, changes nothing), or for a tombstone (DELETE, S5). Never throws; null when there is
 * no answer. A redirect is followed, and is one that leads elsewhere unless the route is behind it.
 */
export async function askStatus<R>(
  settings: Asking,
  key: string,
  method: 'GET' | 'DELETE',
  timeoutMs = TIMEOUT_MS,
): Promise<KeyAnswer<R> | null> {
  const url = statusUrlOf(settings, key);
  let isElsewhere = false;
  try {
    const asking = { method, signal: AbortSignal.timeout(timeoutMs) };
    let response = await fetch(url, { ...asking, redirect: 'manual' });
    // A proxy answers so to somebody whom it does not let through, such as one who is to sign in first.
    isElsewhere = response.type === 'opaqueredirect' || [401, 403, 407, 511].includes(response.status);
    if (response.type === 'opaqueredirect') response = await fetch(url, asking);
    // Without this line the fault would show only when an answer is lost, as "we do not know" for ever.
    if (process.env.NODE_ENV === 'development' && response.status === 404) {
      void import('../development.ts').then(({ complainOfNoStatusRoute }) => complainOfNoStatusRoute(url));
    }
    const body = await response.json();
    if (MEANINGS[body.code as Code] === 'unacceptable') body.state = 'expired';
    // Of a problem whose route knows no forms. Without words an expired key would be given up as if a person had read them.
    body.message ??= body.detail;
    if (!isOutcome(body.outcome)) body.outcome = undefined;
    // A `javascript:` address must not become a navigation, wherever it came from.
    if (!/^(https?:|[/.])/.test(body.redirect)) body.redirect = undefined;
    isElsewhere &&= !(body.code in MEANINGS);
    if (body.state) return body;
  } catch {} // not to be had, or no JSON
  return isElsewhere ? { state: 'elsewhere' } : null;
}

/** Tells whether anything answers at this address of the app's, whatever it says. Never throws. */
export function isReachable(url: string): Promise<boolean> {
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const asked = (async () => fetch(url, { method: 'HEAD', cache: 'no-store', redirect: 'manual', signal }))();
  return asked.then(() => true).catch(() => false);
}

/** The address at which the status route answers for a key. */
function statusUrlOf(settings: Asking, key: string): string {
  const { statusUrl = STATUS_URL } = settings;
  return `${statusUrl}/${encodeURIComponent(askedOperation(settings))}/${encodeURIComponent(key)}`;
}

const probed = new Set<string>();

/**
 * For development: finds out that nobody answers for a form before an answer is lost. A key that was never sent is as good as
 * any other for that. Once for each operation.
 */
export function probeStatusRoute(settings: Asking, key: string): void {
  const place = statusUrlOf(settings, '');
  if (!probed.has(place)) void askStatus(settings, key, 'GET', COMPILED_MS);
  probed.add(place);
}
