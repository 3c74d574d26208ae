import type { ForeignCall, ForeignVerdict } from './context.ts';
import { type FuzzedProvider, MEMORY_MS, type Next, oneOf } from './fuzzed-provider.fixture.ts';

/** What is left to chance in the fuzz of phases: the code of a deploy. */

/** What each call is about, and each charge must be. */
export const AMOUNT = 100;

/** What a deploy's code says of its steps. */
export interface Deploy {
  readonly usesKeys: boolean;
  readonly canLookUp: boolean;
  readonly indeterminate: 'retry' | 'lookup' | 'unknown';
  readonly readsReferences: boolean;
  readonly maxTries: number;
  /** False: a refusal says what cannot be stored. */
  readonly refusesStorably: boolean;
  readonly undoFails: number;
  /** A second call behind the charge. */
  readonly ships: boolean;
  /** The name of the first phase. */
  readonly firstStep: 'order_created' | 'order_placed';
  /** What its calls store: as at first; in another shape, as a new version; or in another shape, and nobody has thought of that. */
  readonly stores: 'first shape' | 'new version' | 'other arguments';
}

/** What a call stores, of any deploy. */
interface Arguments {
  amount?: number;
  amountCents?: number;
}
export interface Result {
  id?: string;
  reference?: string;
}

export const LAST_DEPLOY: Deploy = {
  usesKeys: true,
  canLookUp: true,
  indeterminate: 'retry',
  readsReferences: true,
  maxTries: 2,
  refusesStorably: true,
  undoFails: 0,
  ships: true,
  firstStep: 'order_created',
  stores: 'new version',
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
    ships: next() < 0.5,
    firstStep: next() < 0.1 ? 'order_placed' : 'order_created',
    stores: next() < 0.1 ? 'other arguments' : oneOf(next, ['first shape', 'new version']),
  };
}

/** A foreign call of a deploy. */
export function callOf(provider: FuzzedProvider, deploy: Deploy): ForeignCall<Arguments, Result> {
  // A provider that knows keys answers a key as before. Where one can ask, one need not rely on that for a decline.
  const how = { declinesFirst: deploy.canLookUp };
  const isNew = deploy.stores === 'new version';
  const resultOf = ({ id }: { id: string }): Result => (isNew ? { reference: id } : { id });
  const lookup = async () => {
    const found = provider.find();
    return typeof found === 'object' ? { found: resultOf(found.found) } : found;
  };
  return {
    ...(isNew ? { version: 2, upcasts: { 1: { arguments: toCents, result: resultOf } } } : {}),
    arguments: deploy.stores === 'first shape' ? { amount: AMOUNT } : { amountCents: AMOUNT },
    indeterminate: deploy.indeterminate,
    maxTries: deploy.maxTries,
    timeoutMs: 50,
    settleMs: provider.isPrompt ? 0 : 60_000,
    providerKeyTtlMs: deploy.usesKeys ? MEMORY_MS : 0,
    send: async (stored, { idempotencyKey }) => {
      // Each deploy's code knows its own field alone.
      const amount = (deploy.stores === 'first shape' ? stored.amount : stored.amountCents) as number;
      return resultOf(await provider.send(deploy.usesKeys ? idempotencyKey : undefined, { amount, ...how }));
    },
    ...(deploy.canLookUp ? { lookup } : {}),
    ...(deploy.readsReferences ? { fromReference: async (id: string) => resultOf(referenced(provider, id)) } : {}),
    receipt: ({ id, reference = id ?? '' }) => ({ reference, amount: String(AMOUNT) }),
    judge: (error) => judge(error, deploy),
  };
}

const toCents = ({ amount }: Arguments): Arguments => ({ amountCents: amount });

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
