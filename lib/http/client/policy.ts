import { assertSetUp } from '../../core/errors.ts';

/** When one call tries again, and when it stops. */
export interface RetryPolicy {
  /** Attempts in all, the first one included. Default 5. */
  attempts: number;
  /** How the computed waits are spread. Default 'full'. */
  jitter: 'full' | 'equal' | 'decorrelated';
  /** The longest wait before the first retry, without jitter. Default 100. */
  baseMs: number;
  /** The longest wait before any retry, unless `Retry-After` asks for more. Default 2000. */
  capMs: number;
  /** The longest that the whole call may take: all attempts and all waits. Default 10,000. */
  deadlineMs: number;
  /** The longest that one attempt may take; never more than what is left of the deadline. Default 5000. */
  attemptTimeoutMs: number;
}

/** How much load retries may add. */
export interface RetryBudgetOptions {
  /** The earnings of each request, in retries: 0.1 lets one request in ten be a retry. Default 0.1. */
  ratio: number;
  /** Retries that can be had before any are earned, so that a client that sends little can retry. Default 10. */
  reserve: number;
  /** The most that can be saved up, so that a quiet day does not pay for a storm of retries. Default 10. */
  max: number;
}

/** When an origin counts as down. */
export interface BreakerOptions {
  /** Failures in a row that open its circuit: lost connections, timeouts, 5xx. Default 10: more than one call's. */
  failures: number;
  /** How long it is then left alone, before one call tries it. Default 5000. */
  openMs: number;
}

const POLICY = { attempts: 5, baseMs: 100, capMs: 2000, deadlineMs: 10_000, attemptTimeoutMs: 5000 };
const JITTERS = ['full', 'equal', 'decorrelated'];
const BUDGET: RetryBudgetOptions = { ratio: 0.1, reserve: 10, max: 10 };
const BREAKER: BreakerOptions = { failures: 10, openMs: 5000 };

/** @throws ConfigurationError for a number that would end in no attempt, or in a wait that never ends */
export function completePolicy(given: Partial<RetryPolicy> = {}): RetryPolicy {
  const { jitter, ...numbers } = { jitter: 'full' as const, ...given };
  assertSetUp(JITTERS.includes(jitter), `policy.jitter is unknown: ${jitter}`, { existing: jitter, expected: JITTERS });
  const least = { attempts: 1, baseMs: 0, capMs: 0, deadlineMs: 1, attemptTimeoutMs: 1 };
  return { ...completeNumbers('policy', POLICY, numbers, least), jitter };
}

/** @throws ConfigurationError for a circuit that would be open from the first, or for ever */
export function completeBreaker(given?: Partial<BreakerOptions>): BreakerOptions {
  return completeNumbers('breaker', BREAKER, given, { failures: 1, openMs: 0 });
}

function completeNumbers<T extends object>(
  option: string,
  defaults: T,
  given: Partial<T> | undefined,
  least: Record<keyof T, number>,
): T {
  const all = { ...defaults, ...given };
  for (const name in least) {
    const [existing, expected]: [unknown, number] = [all[name], least[name]];
    // NaN passes every comparison of the wrong kind, and would make a deadline that never comes.
    const isMeant = (existing as number) >= expected;
    assertSetUp(isMeant, `${option}.${name} must be a number of at least ${expected}.`, { existing, expected });
  }
  return all;
}

/**
 * Of n requests, at most `ratio` × n + `reserve` are retries, whatever happens: when a service is down, retries of all
 * callers together do not bury it. A token bucket, shared by all calls of one client. Source: the per-client retry
 * budget in "Handling Overload", Site Reliability Engineering (Google, 2016), chapter 21.
 */
export class RetryBudget {
  readonly #earns: number;
  readonly #max: number;
  // In thousandths: ten times 0.1 is less than 1 in floating point, and a retry would go missing.
  #tokens: number;

  constructor(options: Partial<RetryBudgetOptions> = {}) {
    const { ratio, reserve, max } = completeNumbers('budget', BUDGET, options, { ratio: 0, reserve: 0, max: 0 });
    this.#earns = Math.round(ratio * 1000);
    this.#max = Math.round(max * 1000);
    this.#tokens = Math.min(this.#max, Math.round(reserve * 1000));
  }

  /** Call it for each first attempt. */
  earn(): void {
    this.#tokens = Math.min(this.#max, this.#tokens + this.#earns);
  }

  /** Takes what one retry costs, or says that there is not enough left. */
  spend(): boolean {
    if (this.#tokens < 1000) return false;
    this.#tokens -= 1000;
    return true;
  }
}
