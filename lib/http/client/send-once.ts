import { untilAborted } from '../../core/wait.ts';
import { AttemptTimeoutError } from './errors.ts';

/** Time and chance, as the client sees them. To be replaced in tests alone. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
  /** Resolves after `ms` milliseconds, or at once when the signal aborts; it never rejects. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
  /** At least 0, less than 1. */
  random(): number;
}

/** How one attempt ended. */
type Reply =
  | { type: 'answered'; response: Response }
  /** Timeout, reset, refused connection: nothing is known. */
  | { type: 'lost'; reason: 'timeout' | 'network'; error: unknown }
  | { type: 'aborted' };

interface Attempt {
  send: (signal: AbortSignal) => Promise<Response>;
  /** Wait for the body, as far as 1 MiB, so that a connection that breaks in its middle counts as lost. */
  readBody: boolean;
  timeoutMs: number;
  signal: AbortSignal | null;
  clock: Clock;
}

/**
 * Sends once, and ends within `timeoutMs`, or at once when the signal aborts, even where `send` heeds no signal.
 *
 * @throws what is neither an answer nor a failed connection, such as the errors by which Next steers rendering
 */
export async function sendOnce({ send, readBody, timeoutMs, signal, clock }: Attempt): Promise<Reply> {
  const timeout = new AbortController();
  const either = signal ? AbortSignal.any([signal, timeout.signal]) : timeout.signal;
  const done = new AbortController();
  void clock.sleep(timeoutMs, done.signal).then(() => {
    if (!done.signal.aborted) timeout.abort(new AttemptTimeoutError(timeoutMs));
  });
  try {
    const response = await untilAborted(either, async () => {
      const answer = await send(either);
      // A stream of events may never end.
      const isEndless = answer.headers.get('content-type')?.startsWith('text/event-stream');
      if (readBody && !isEndless) await readAhead(answer.clone());
      return answer;
    });
    return { type: 'answered', response };
  } catch (error) {
    // The order matters: an abort wins over a timeout of the same moment, and both over what they made fetch throw.
    if (signal?.aborted) return { type: 'aborted' };
    if (timeout.signal.aborted) return { type: 'lost', reason: 'timeout', error: timeout.signal.reason };
    if (isConnectionFailure(error)) return { type: 'lost', reason: 'network', error };
    throw error;
  } finally {
    // The body, where it was not read, stays under the caller's signal, but no longer under the timeout.
    done.abort();
  }
}

/** How far an answer is read ahead. A server may send one without an end, or two megabytes that unpack to a gigabyte. */
const MAX_AHEAD_BYTES = 1_048_576;
/** What a chunk takes besides its bytes, at a guess: it may have one. */
const CHUNK_BYTES = 200;

/** Reads a body to its end, or as far as it may be kept. The rest comes as its caller reads it. */
async function readAhead({ body }: Response): Promise<void> {
  const reader = body?.getReader();
  for (let left = MAX_AHEAD_BYTES; reader && left > 0; ) {
    const { done, value } = await reader.read();
    if (done) return;
    left -= value.byteLength + CHUNK_BYTES;
  }
  reader?.cancel().catch(() => {}); // not awaited: that would be until the caller has cancelled, too
}

/** fetch rejects with a TypeError; a body that breaks off with one, a DOMException or a system error with a code. */
function isConnectionFailure(error: unknown): boolean {
  return (
    error instanceof TypeError ||
    error instanceof DOMException ||
    (error instanceof Error && typeof (error as Error & { code?: unknown }).code === 'string')
  );
}
