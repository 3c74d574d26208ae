import type { LookedUp } from './context.ts';

/** A provider with a ledger, whose faults are left to chance. */

export type Next = () => number;
export const HOUR = 3_600_000;
/** How long the provider remembers a key, and how long a charge is missing in its search, in milliseconds. */
export const MEMORY_MS = 24 * HOUR;
const SEARCH_LAG_MS = 20_000;

export const oneOf = <T>(next: Next, some: readonly T[]): T => some[Math.floor(next() * some.length)] as T;

const FAULTS = [
  'none',
  'none',
  'lost before',
  'lost after',
  'delayed',
  'open',
  'refused',
  'declined',
  'replayed',
] as const;

/** An error of the provider's, told apart by its word. */
export class ProviderError extends Error {}

/** The provider of one key, on a clock that the test moves. */
export class FuzzedProvider {
  /** The ledger: one line for each charge that was made. */
  readonly charges: { id: string; at: number; amount: number }[] = [];
  sends = 0;
  /** Requests that have not been answered, or not arrived: each may still charge. */
  readonly underWay: (() => void)[] = [];
  now = 0;
  /** True for one whose requests have arrived when they end, and whose search knows at once what has arrived. */
  readonly isPrompt: boolean;
  readonly #remembered = new Map<string, { at: number; answer: () => { id: string } }>();
  readonly #next: Next;

  readonly #name: string;

  /** @param name begins its charges' ids */
  constructor(next: Next, name: string) {
    this.#next = next;
    this.#name = name;
    this.isPrompt = next() < 0.3;
  }

  /** @param key the provider's key; undefined: the deploy sends none */
  async send(key: string | undefined, { amount, declinesFirst }: { amount: number; declinesFirst: boolean }) {
    this.sends++;
    const fault = oneOf(this.#next, FAULTS);
    if (fault === 'refused' || fault === 'lost before' || fault === 'replayed') throw new ProviderError(fault);
    // One that looks at the card before it looks at the key declines also what it has charged under that key.
    if (fault === 'declined' && declinesFirst && this.charges.length > 0) return decline();
    const settle = () => this.#settle(key, amount, fault === 'declined');
    if (fault === 'delayed' && !this.isPrompt) {
      this.underWay.push(() => {
        try {
          settle();
        } catch {} // a decline that nobody hears
      });
      throw new ProviderError('lost');
    }
    if (fault === 'open') return await this.#keepOpen(settle);
    const charged = settle();
    if (fault === 'lost after') throw new ProviderError('lost');
    return charged;
  }

  /** It is done at once or in the end, and answered in the end. */
  async #keepOpen(settle: () => { id: string }) {
    const done = this.#next() < 0.5 ? settle() : undefined;
    return await new Promise<{ id: string }>((resolve, reject) => {
      this.underWay.push(() => {
        try {
          resolve(done ?? settle());
        } catch (error) {
          reject(error);
        }
      });
    });
  }

  /** Answers a key that it remembers as before, and makes a charge of any other. */
  #settle(key: string | undefined, amount: number, isDeclined: boolean): { id: string } {
    const known = key === undefined ? undefined : this.#remembered.get(key);
    if (known && this.now - known.at < MEMORY_MS) return known.answer();
    const charge = isDeclined ? undefined : this.charge(amount);
    const answer = () => charge ?? decline();
    if (key !== undefined) this.#remembered.set(key, { at: this.now, answer });
    return answer();
  }

  charge(amount: number): { id: string } {
    const id = `${this.#name}_${this.charges.length + 1}`;
    this.charges.push({ id, at: this.now, amount });
    return { id };
  }

  find(): LookedUp<{ id: string }> {
    if (this.#next() < 0.2) throw new ProviderError('lost');
    if (this.#next() < 0.1) return 'pending';
    const lagMs = this.isPrompt ? 0 : SEARCH_LAG_MS;
    const found = this.charges.find(({ at }) => this.now - at >= lagMs);
    return found ? { found: { id: found.id } } : 'absent';
  }

  /** All that is under way arrives, and is answered. */
  arrive(): void {
    for (const request of this.underWay.splice(0)) request();
  }
}

function decline(): never {
  throw new ProviderError('declined');
}
