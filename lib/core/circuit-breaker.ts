import { CircuitState, ConsecutiveBreaker, circuitBreaker, handleWhenResult } from 'cockatiel';

/** What the end of a call says of the system that it was sent to. */
export type Health = 'up' | 'down' | 'unsaid';

/** Stops calls to a system that has failed so often in a row, until one call has found it back. Its clock is `Date.now`. */
export class CircuitBreaker {
  readonly #policy;
  #openUntil = 0;

  /** @param openMs how long the system is then left alone, in milliseconds, before one call tries it */
  constructor({ failures, openMs }: { failures: number; openMs: number }) {
    const isFailure = handleWhenResult((health) => health !== 'up');
    this.#policy = circuitBreaker(isFailure, { halfOpenAfter: openMs, breaker: new ConsecutiveBreaker(failures) });
    this.#policy.onBreak(() => (this.#openUntil = Date.now() + openMs));
  }

  /** Milliseconds until one call may try it; 0 when one may, or is trying already, and while it is closed. */
  get retryAfterMs(): number {
    return this.#policy.state === CircuitState.Open ? Math.max(0, this.#openUntil - Date.now()) : 0;
  }

  /** One call is trying it: whoever calls `run` now waits for what it finds. */
  get isTried(): boolean {
    return this.#policy.state === CircuitState.HalfOpen;
  }

  /**
   * Runs the call, which must not reject, and counts what its end says.
   *
   * @throws BrokenCircuitError of cockatiel's without running it, while it is open
   */
  async run<R>(call: () => Promise<R>, healthOf: (end: R) => Health): Promise<R> {
    let end!: { value: R };
    const counted = this.#policy.execute(async () => {
      const isTrial = this.#policy.state !== CircuitState.Closed;
      end = { value: await call() };
      const health = healthOf(end.value);
      // An error counts for nothing while the circuit is closed. It would close one that is being tried, though nothing was found.
      if (health === 'unsaid' && !isTrial) throw new Error(health);
      return health;
    });
    await counted.catch((error) => {
      if (!end) throw error;
    });
    return end.value;
  }
}

/** Makes a circuit breaker for each name, when it is first asked for. */
export function circuitBreakers(options: { failures: number; openMs: number }): (name: string) => CircuitBreaker {
  const byName = new Map<string, CircuitBreaker>();
  return (name) => {
    const breaker = byName.get(name) ?? new CircuitBreaker(options);
    byName.set(name, breaker);
    return breaker;
  };
}
