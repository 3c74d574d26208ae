import { requireNumber } from './policy.ts';

/** How much load retries may add. */
export interface RetryBudgetOptions {
  /** The earnings of each request, in retries: 0.1 lets one request in ten be a retry. Default 0.1. */
  ratio: number;
  /** Retries that can be had before any are earned, so that a client that sends little can retry. Default 10. */
  reserve: number;
  /** The most that can be saved up, so that a quiet day does not pay for a storm of retries. Default 10. */
  max: number;
}

const DEFAULTS: RetryBudgetOptions = { ratio: 0.1, reserve: 10, max: 10 };

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
    const { ratio, reserve, max } = { ...DEFAULTS, ...options };
    for (const [name, value] of Object.entries({ ratio, reserve, max })) requireNumber(`budget.${name}`, value, 0);
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
