import { CircuitState, ConsecutiveBreaker, circuitBreaker, handleWhenResult } from 'cockatiel';
import { requireNumber } from './policy.ts';
import type { Reply } from './send-once.ts';

/** When an origin counts as down. */
export interface BreakerOptions {
  /** Failures in a row that open its circuit: lost connections, timeouts, 5xx. Default 10: more than one call's. */
  failures: number;
  /** How long it is then left alone, before one call tries it. Default 5000. */
  openMs: number;
}

const DEFAULTS: BreakerOptions = { failures: 10, openMs: 5000 };

/** One circuit for each origin, shared by all calls of one client. It goes by `Date.now`, which is cockatiel's clock. */
export function createCircuits(given: Partial<BreakerOptions> = {}): (origin: string) => Circuit {
  const options = { ...DEFAULTS, ...given };
  requireNumber('breaker.failures', options.failures, 1);
  requireNumber('breaker.openMs', options.openMs, 0);
  const byOrigin = new Map<string, Circuit>();
  return (origin) => {
    const circuit = byOrigin.get(origin) ?? new Circuit(options);
    byOrigin.set(origin, circuit);
    return circuit;
  };
}

export class Circuit {
  readonly #openMs: number;
  readonly #policy;
  #openedAt = 0;

  constructor({ failures, openMs }: BreakerOptions) {
    this.#openMs = openMs;
    const isFailure = handleWhenResult((reply) => saysDown(reply as Reply));
    const breaker = new ConsecutiveBreaker(failures);
    this.#policy = circuitBreaker(isFailure, { halfOpenAfter: openMs, breaker });
    this.#policy.onBreak(() => {
      this.#openedAt = Date.now();
    });
  }

  /** Milliseconds until one call may try it; 0 when one may, or is trying already, and while it is closed. */
  get retryAfterMs(): number {
    return this.#policy.state === CircuitState.Open ? Math.max(0, this.#openedAt + this.#openMs - Date.now()) : 0;
  }

  /**
   * Sends, unless the circuit is open: then `undefined`, at once, and nothing is sent. While one call tries whether the
   * origin is back, the others are refused too rather than queued behind it: their deadlines go on.
   */
  async run(send: () => Promise<Reply>): Promise<Reply | undefined> {
    if (this.retryAfterMs > 0 || this.#policy.state === CircuitState.HalfOpen) return;
    const isTrial = this.#policy.state === CircuitState.Open;
    try {
      return await this.#policy.execute(async () => {
        const reply = await send();
        // An abort says nothing of the origin, so it must not count at all. It leaves cockatiel as an error, which counts
        // for nothing while the circuit is closed. In a trial an error would close it, so there it counts as a failure.
        if (reply.type === 'aborted' && !isTrial) throw new Aborted();
        return reply;
      });
    } catch (error) {
      if (error instanceof Aborted) return { type: 'aborted' };
      throw error;
    }
  }
}

class Aborted extends Error {}

/** A refusal below 500, 429 included, comes from a server that is up. */
function saysDown(reply: Reply): boolean {
  return reply.type !== 'answered' || reply.response.status >= 500;
}
