import { BrokenCircuitError, type CircuitBreakerPolicy, circuitBreaker, handleWhen, SamplingBreaker } from 'cockatiel';

/** How long a broken dependency is left alone before one call tries it, in milliseconds. */
const HALF_OPEN_AFTER_MS = 5000;

/** Half of at least five calls in ten seconds failed without an answer. */
const sampling = () => new SamplingBreaker({ threshold: 0.5, duration: 10_000, minimumRps: 0.5 });

/** A send or a look-up that failed in a way that says something about the dependency, not about the call. */
export class DependencyFailure extends Error {
  override readonly name = 'DependencyFailure';

  constructor(cause: unknown) {
    super('The call failed without an answer that counts.', { cause });
  }
}

/** One circuit breaker for each system that foreign calls depend on, shared by all of this process's calls. */
export class Breakers {
  readonly #byName = new Map<string, CircuitBreakerPolicy>();

  /**
   * Runs the call, unless its dependency is known to be down. Only a `DependencyFailure` counts against it.
   *
   * @throws BrokenCircuitError without running it
   */
  async run<R>(dependency: string | undefined, call: () => Promise<R>): Promise<R> {
    if (dependency === undefined) return await call();
    let breaker = this.#byName.get(dependency);
    if (!breaker) {
      breaker = circuitBreaker(
        handleWhen((error) => error instanceof DependencyFailure),
        { halfOpenAfter: HALF_OPEN_AFTER_MS, breaker: sampling() },
      );
      this.#byName.set(dependency, breaker);
    }
    return await breaker.execute(call);
  }
}

/** Whether the call was not even begun. */
export function isCircuitOpen(error: unknown): boolean {
  return error instanceof BrokenCircuitError;
}
