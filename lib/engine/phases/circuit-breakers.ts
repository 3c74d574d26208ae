import type { CircuitBreakerPolicy } from 'cockatiel';

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
export class CircuitBreakers {
  readonly #byName = new Map<string, CircuitBreakerPolicy>();

  /**
   * Runs the call, unless its dependency is known to be down. A `DependencyFailure` counts against it, an error that is
   * an answer speaks for it, and any other (our own database, a caller's short patience) says nothing about it.
   *
   * @throws BrokenCircuitError without running it
   */
  async run<R>(
    dependency: string | undefined,
    call: () => Promise<R>,
    isAnswer: (error: unknown) => boolean = () => false,
  ): Promise<R> {
    if (dependency === undefined) return await call();
    // An app without such calls does not load it: it is a fifth of what `oncekit` takes to start.
    const { CircuitState, ConsecutiveBreaker, circuitBreaker, handleWhen } = await import('cockatiel');
    const breaker =
      this.#byName.get(dependency) ??
      circuitBreaker(handleWhen(isFailure), {
        halfOpenAfter: HALF_OPEN_AFTER_MS,
        breaker: new ConsecutiveBreaker(FAILURES),
      });
    this.#byName.set(dependency, breaker);
    const isTrial = breaker.state !== CircuitState.Closed;
    const answer = await breaker.execute(async () => {
      try {
        return { result: await call() };
      } catch (error) {
        if (!isFailure(error) && isAnswer(error)) return { error };
        // An error that is not handled counts for nothing, but it would close a circuit that is being tried.
        throw isTrial && !isFailure(error) ? new DependencyFailure(error) : error;
      }
    });
    if ('error' in answer) throw answer.error;
    return answer.result;
  }
}

function isFailure(error: unknown): boolean {
  return error instanceof DependencyFailure;
}

/** Tells whether the call was not even begun. */
export function isCircuitOpen(error: unknown): boolean {
  return (error as { isBrokenCircuitError?: unknown } | null)?.isBrokenCircuitError === true;
}
