import type Stripe from 'stripe';
import { Journal } from './journal.ts';

/** The gateway's books. Stripe's own types, so that the compiler compares the shapes; references are never expanded. */
interface ByType {
  payment_intent: Stripe.PaymentIntent;
  charge: Stripe.Charge & { payment_intent: string };
  refund: Stripe.Refund & { payment_intent: string; charge: string };
  dispute: Omit<Stripe.Dispute, 'evidence' | 'evidence_details'>;
  event: Stripe.Event;
}
type ObjectType = keyof ByType;
export type StoredObject = ByType[ObjectType];
export type Charge = ByType['charge'];
export type Refund = ByType['refund'];
export type Dispute = ByType['dispute'];

/** The answer of a key from now on. */
export interface StoredAnswer {
  key: string;
  path: string;
  fingerprint: string;
  status: number;
  body: string;
  requestId: string;
}

/** One line of the journal. What it holds becomes true together or, when the process dies first, not at all. */
export interface Entry {
  /** Milliseconds since 1970. */
  at: number;
  /** The key the request carried, also while the gateway does not honour keys. */
  requestKey?: string;
  /** New ones, and new versions of known ones. */
  objects?: StoredObject[];
  answer?: StoredAnswer;
  /** The event a webhook endpoint has taken. */
  delivered?: string;
  /** The key whose answer is forgotten, or all of them. */
  forget?: string | true;
}

/** Every fact the gateway must not lose. A change is on the disk before anybody can see it. */
export class Ledger {
  #journal: Journal;
  #objects: { [T in ObjectType]: Map<string, ByType[T]> } = {
    payment_intent: new Map(),
    charge: new Map(),
    refund: new Map(),
    dispute: new Map(),
    event: new Map(),
  };
  #madeWith = new Map<string, string>();
  #answers = new Map<string, { answer: StoredAnswer; at: number }>();

  constructor(path: string) {
    const { journal, lines } = Journal.open(path);
    this.#journal = journal;
    for (const line of lines) this.#apply(line as Entry);
  }

  commit(entry: Entry): void {
    this.#journal.append(entry);
    this.#apply(entry);
  }

  find<T extends ObjectType>(type: T, id: string): ByType[T] | undefined {
    return this.#objects[type].get(id);
  }

  /** In the order in which they were made. */
  all<T extends ObjectType>(type: T): ByType[T][] {
    return [...this.#objects[type].values()];
  }

  /** The key of the request that made this object. */
  madeWith(id: string): string | null {
    return this.#madeWith.get(id) ?? null;
  }

  /** The answer stored under a key after `since` (milliseconds since 1970). */
  answer(key: string, since: number): StoredAnswer | undefined {
    const stored = this.#answers.get(key);
    return stored && stored.at > since ? stored.answer : undefined;
  }

  get answers(): number {
    return this.#answers.size;
  }

  close(): void {
    this.#journal.close();
  }

  #apply({ at, requestKey, objects = [], answer, delivered, forget }: Entry): void {
    for (const object of objects) {
      const known = this.#objects[object.object] as Map<string, StoredObject>;
      if (requestKey !== undefined && !known.has(object.id)) this.#madeWith.set(object.id, requestKey);
      known.set(object.id, object);
    }
    if (answer) this.#answers.set(answer.key, { answer, at });
    if (forget === true) this.#answers.clear();
    else if (forget !== undefined) this.#answers.delete(forget);
    const event = delivered === undefined ? undefined : this.#objects.event.get(delivered);
    if (event) this.#objects.event.set(event.id, { ...event, pending_webhooks: 0 });
  }
}
