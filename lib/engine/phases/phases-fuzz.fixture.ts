import type { ForeignCall, ForeignVerdict, LookedUp } from './foreign-call.ts';

/** What is left to chance in the fuzz of phases: a provider with a ledger, and the code of a deploy. */

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
class ProviderError extends Error {}

/** The provider of one key, on a clock that the test moves. */
export class FuzzedProvider {
  /** The ledger: one line for each charge that was made. */
  readonly charges: { id: string; at: number }[] = [];
  /** The declines that the customer's bank has spoken. */
  declines = 0;
  sends = 0;
  /** Requests that have not been answered, or not arrived: each may still charge. */
  readonly underWay: (() => void)[] = [];
  now = 0;
  /** True for one whose requests have arrived when they end, and whose search knows at once what has arrived. */
  readonly isPrompt: boolean;
  readonly #remembered = new Map<string, { at: number; answer: () => { id: string } }>();
  readonly #next: Next;

  constructor(next: Next) {
    this.#next = next;
    this.isPrompt = next() < 0.3;
  }

  /** @param key the provider's key; undefined: the deploy sends none */
  async send(key: string | undefined, { declinesFirst }: { declinesFirst: boolean }) {
    this.sends++;
    const fault = oneOf(this.#next, FAULTS);
    if (fault === 'refused' || fault === 'lost before' || fault === 'replayed') throw new ProviderError(fault);
    // One that looks at the card before it looks at the key declines also what it has charged under that key.
    if (fault === 'declined' && declinesFirst && this.charges.length > 0) return this.#decline();
    const settle = () => this.#settle(key, fault === 'declined');
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
  #settle(key: string | undefined, isDeclined: boolean): { id: string } {
    const known = key === undefined ? undefined : this.#remembered.get(key);
    if (known && this.now - known.at < MEMORY_MS) return known.answer();
    const charge = isDeclined ? undefined : this.charge();
    const answer = () => charge ?? this.#decline();
    if (key !== undefined) this.#remembered.set(key, { at: this.now, answer });
    return answer();
  }

  #decline(): never {
    this.declines++;
    throw new ProviderError('declined');
  }

  charge(): { id: string } {
    const id = `ch_${this.charges.length + 1}`;
    this.charges.push({ id, at: this.now });
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

/** What a deploy's code says of the call. */
export interface Deploy {
  readonly usesKeys: boolean;
  readonly canLookUp: boolean;
  readonly indeterminate: 'retry' | 'lookup' | 'unknown';
  readonly readsReferences: boolean;
  readonly maxTries: number;
  /** False: a refusal says what cannot be stored. */
  readonly refusesStorably: boolean;
  readonly undoFails: number;
}

export const LAST_DEPLOY: Deploy = {
  usesKeys: true,
  canLookUp: true,
  indeterminate: 'retry',
  readsReferences: true,
  maxTries: 2,
  refusesStorably: true,
  undoFails: 0,
};

export function deployOf(next: Next): Deploy {
  return {
    usesKeys: next() < 0.6,
    canLookUp: next() < 0.6,
    indeterminate: oneOf(next, ['retry', 'lookup', 'unknown']),
    readsReferences: next() < 0.6,
    maxTries: oneOf(next, [1, 2]),
    refusesStorably: next() < 0.6,
    undoFails: next() < 0.3 ? 1 : 0,
  };
}

/** The foreign call of a deploy. */
export function callOf(provider: FuzzedProvider, deploy: Deploy): ForeignCall<{ order: string }, { id: string }> {
  // A provider that knows keys answers a key as before. Where one can ask, one need not rely on that for a decline.
  const how = { declinesFirst: deploy.canLookUp };
  return {
    arguments: { order: 'order' },
    indeterminate: deploy.indeterminate,
    maxTries: deploy.maxTries,
    timeoutMs: 50,
    settleMs: provider.isPrompt ? 0 : 60_000,
    providerKeyTtlMs: deploy.usesKeys ? MEMORY_MS : 0,
    send: (_, { idempotencyKey }) => provider.send(deploy.usesKeys ? idempotencyKey : undefined, how),
    ...(deploy.canLookUp ? { lookup: async () => provider.find() } : {}),
    ...(deploy.readsReferences ? { fromReference: async (id: string) => referenced(provider, id) } : {}),
    judge: (error) => judge(error, deploy),
  };
}

function referenced(provider: FuzzedProvider, id: string): { id: string } {
  if (!provider.charges.some((charge) => charge.id === id)) throw new Error(`There is no ${id}.`);
  return { id };
}

function judge(error: unknown, { refusesStorably }: Deploy): ForeignVerdict {
  switch ((error as Error).message) {
    case 'declined':
      return refusesStorably
        ? { refuse: 'card_declined', status: 402 }
        : { refuse: 'card_declined', message: 'x'.repeat(300_000), data: error };
    case 'refused':
      return 'not_executed';
    case 'replayed':
      return 'look_up';
    default:
      return 'indeterminate';
  }
}
