import type { circuitBreakers, Health } from '../../core/circuit-breaker.ts';

/** Failures in a row, not a share of calls within a time: a shop that charges once a minute would never have enough. */
const OPENING = { failures: 5, openMs: 5000 };

/** One circuit breaker for each system that foreign calls depend on, shared by all of this process's calls. */
export class CircuitBreakers {
  #breakerOf: ReturnType<typeof circuitBreakers> | undefined;

  /**
   * Runs the call, unless its dependency is known to be down. `healthOf` says of its end what that shows of the dependency: a
   * declined card speaks for it, a lost connection against it, a caller's short patience says nothing. Nor does what the call
   * throws, such as an error of our own database.
   *
   * @throws BrokenCircuitError without running it
   */
  async run<R>(dependency: string | undefined, call: () => Promise<R>, healthOf: (end: R) => Health): Promise<R> {
    if (dependency === undefined) return await call();
    // An app without such calls does not load cockatiel: it is a fifth of what `oncekit` takes to start.
    const { circuitBreakers } = await import('../../core/circuit-breaker.ts');
    this.#breakerOf ??= circuitBreakers(OPENING);
    const end = await this.#breakerOf(dependency).run(
      async () => (await Promise.allSettled([call()]))[0],
      (ended) => (ended.status === 'fulfilled' ? healthOf(ended.value) : 'unsaid'),
    );
    if (end.status === 'rejected') throw end.reason;
    return end.value;
  }
}

/** Tells whether the call was not even begun. */
export function isCircuitOpen(error: unknown): boolean {
  return (error as { isBrokenCircuitError?: unknown } | null)?.isBrokenCircuitError === true;
}
