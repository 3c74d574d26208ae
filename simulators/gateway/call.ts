import type { Ledger, StoredObject } from './ledger.ts';
import type { Params } from './params.ts';
import type { Origin } from './stripe-objects.ts';

/** A request to Stripe's API, once it is known which one. */
export interface Call {
  ledger: Ledger;
  params: Params;
  path: string;
  /** The object named in the path, or ''. */
  id: string;
  origin: Origin;
  /** A `decline` fault: treat a good card as one that declines. */
  declineAnyCard: boolean;
}

/** The result of a request. Its objects, its answer and its idempotency key are written in one line. */
export interface Outcome {
  status: number;
  body: unknown;
  objects?: StoredObject[];
}
