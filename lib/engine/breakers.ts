import {
  BrokenCircuitError,
  type CircuitBreakerPolicy,
  ConsecutiveBreaker,
  circuitBreaker,
  handleAll,
} from 'cockatiel';

/** How long a broken dependency is left alone before one call tries it, in milliseconds. */
const HALF_OPEN_AFTER_MS = 5000;

/**
 * Failures in a row that open a circuit. Not a share of the calls within a time: a shop that charges once a minute would
 * never have enough of them.
 */
const FAILURES = 5;

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
   * Runs the call, unless its dependency is known to be down. Only a `DependencyFailure` counts against it; any other
   * error is an answer, and speaks for it.
   *
   * @throws BrokenCircuitError without running it
   */
  async run<R>(dependency: string | undefined, call: () => Promise<R>): Promise<R> {
    if (dependency === undefined) return await call();
    let breaker = this.#byName.get(dependency);
    if (!breaker) {
      breaker = circuitBreaker(handleAll, {
        halfOpenAfter: HALF_OPEN_AFTER_MS,
        breaker: new ConsecutiveBreaker(FAILURES),
      });
      this.#byName.set(dependency, breaker);
    }
    const answer = await breaker.execute(async () => {
      try {
        return { result: await call() };
      } catch (error) {
        if (error instanceof DependencyFailure) throw error;
        return { error };
      }
    });
    if ('error' in answer) throw answer.error;
    return answer.result;
  }
}

/** Whether the call was not even begun. */
export function isCircuitOpen(error: unknown): boolean {
  return error instanceof BrokenCircuitError;
}
