import type { Principal } from '../core/scope.ts';
import type { Erased, ErasedKeys, Person } from '../store/oversight.ts';

/** The result of the app's own erasing. Names and numbers: they are recorded, and shown to the admin. */
export interface OwnErased {
  /** How many rows were erased, by name: `{ mails: 2 }`. */
  erased?: Readonly<Record<string, number>>;
  /** Data of the person that stays, by name and with its reason: `'orders, for the books'`. */
  left?: readonly string[];
}

/**
 * Erases the app's own rows of a person, in the transaction that erases what the kit has stored. What it throws rolls both
 * back.
 */
export type OnErase<Tx> = (person: Person, tx: Tx) => Promise<OwnErased | undefined> | OwnErased | undefined;

/** A person's names, each once. */
export function namesOf({ principal, aliases = [] }: Principal): string[] {
  return [...new Set([principal, ...aliases])];
}

/** Asks the app to erase what is its own, and says by name what is left. */
export function concludeErasure(person: Person, onErase: OnErase<never> | undefined) {
  return async ({ forgotten, unsettled, hasMessages }: ErasedKeys, tx: unknown): Promise<Erased> => {
    const own = onErase
      ? await onErase(person, tx as never)
      : { left: ['rows of your own: createAdmin has no onErase'] };
    const left = [
      'keys, without their answers, until they expire',
      // Nobody sees them before they are committed, nor whose they are.
      'answers of calls that were running meanwhile: erase again when the longest of them is over',
      ...(unsettled > 0 ? ['what is stored of keys that are not settled, or wait for a person'] : []),
      ...(hasMessages ? ['payloads of events in the outbox and the inbox'] : []),
      'the audit, this erasure included',
      ...(own?.left ?? []),
    ];
    return { forgotten, unsettled, erased: own?.erased ?? {}, left };
  };
}
