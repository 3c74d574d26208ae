import { randomUUID } from 'node:crypto';
import type { ForeignCall, ForeignVerdict, LookedUp } from './context.ts';

/** Shared by the tests of phases: a provider outside the database, with a ledger of its own. */
export class Provider {
  /** Its effects, by the key it was given (or a key of its own, where it honours none). */
  readonly charges = new Map<string, { id: string; amount: number; order: string }>();
  sends = 0;
  lookups = 0;
  honoursKeys = true;
  /** Faults of the next sends, in turn. */
  faults: ('before' | 'after' | 'refused' | 'declined' | 'replayed')[] = [];
  /** Answers of look-ups instead of the truth. */
  says: 'absent' | 'pending' | 'nothing' | undefined;
  /** Called when a charge is made, before it is answered. */
  onCharge: () => Promise<void> | void = () => {};

  async charge(args: { amount: number; order: string }, key: string): Promise<{ id: string }> {
    this.sends++;
    const fault = this.faults.shift();
    if (fault === 'before') throw new Error('lost before');
    if (fault === 'refused') throw new Error('too many requests');
    if (fault === 'declined') throw new Error('declined');
    if (fault === 'replayed') throw new Error('replayed 500');
    const name = this.honoursKeys ? key : randomUUID();
    const charge = this.charges.get(name) ?? { id: `ch_${this.charges.size + 1}`, ...args };
    this.charges.set(name, charge);
    await this.onCharge();
    if (fault === 'after') throw new Error('lost after');
    return { id: charge.id };
  }

  find(order: string): LookedUp<{ id: string }> {
    this.lookups++;
    if (this.says === 'nothing') throw new Error('cannot be asked');
    if (this.says) return this.says;
    const found = [...this.charges.values()].find((charge) => charge.order === order);
    return found ? { found: { id: found.id } } : 'absent';
  }

  /** How many charges there are for an order. */
  count(order: string): number {
    return [...this.charges.values()].filter((charge) => charge.order === order).length;
  }

  call(
    order: string,
    more: Partial<ForeignCall<{ amount: number; order: string }, { id: string }>> = {},
  ): ForeignCall<{ amount: number; order: string }, { id: string }> {
    return {
      arguments: { amount: 100, order },
      send: (stored, { idempotencyKey }) => this.charge(stored, idempotencyKey),
      judge: judgeOf,
      indeterminate: 'retry',
      providerKeyTtlMs: 86_400_000,
      settleMs: 0,
      ...more,
    };
  }
}

function judgeOf(error: unknown): ForeignVerdict {
  switch ((error as Error).message) {
    case 'declined':
      return { refuse: 'card_declined', data: { code: 'generic' }, status: 402 };
    case 'too many requests':
      return 'not_executed';
    case 'replayed 500':
      return 'look_up';
    default:
      return 'indeterminate';
  }
}
