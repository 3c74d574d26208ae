import { ConfigurationError } from '../core/errors.ts';
import type { Idempotency } from '../engine/idempotency.ts';
import type { Operation } from '../engine/operation.ts';

/** An operation, as far as the status route needs it. */
export type AnyOperation = Pick<Operation<never, unknown>, 'name' | 'status' | 'fence' | 'whoActs'> &
  Partial<Pick<Operation<never, unknown>, 'errorPages' | 'explainMissing'>>;

/** `createIdempotency`'s result, which knows the operations that were imported. */
type Registry = Pick<Idempotency<never>, 'operations' | 'explainMissing' | 'errorPages'>;

/** The operations that a route is given. */
export type Known = Registry | AnyOperation | readonly AnyOperation[];

/** The way to find operations by name. Of `idempotency` at each request: a module may be imported late. */
interface Directory {
  find(name: string): AnyOperation | undefined;
  explain: Registry['explainMissing'] | undefined;
  errorPages: string | undefined;
}

export function directoryOf(known: Known): Directory {
  if ('operations' in known) {
    const find = (wanted: string) => known.operations().find(({ name }) => name === wanted);
    return { find, explain: known.explainMissing, errorPages: known.errorPages };
  }
  const operations: readonly AnyOperation[] = 'name' in known ? [known] : known;
  const byName = namesOf(operations);
  const [first] = operations;
  return { find: (name) => byName.get(name), explain: first?.explainMissing, errorPages: first?.errorPages };
}

/** @throws ConfigurationError where two of them have one name: they would tell each other's answers (K4) */
function namesOf(operations: readonly AnyOperation[]): ReadonlyMap<string, AnyOperation> {
  const byName = new Map<string, AnyOperation>();
  for (const operation of operations) {
    const { name } = operation;
    if ((byName.get(name) ?? operation) !== operation) {
      throw new ConfigurationError(`Two operations of the status route have the name ${name}. Rename one of them.`, {
        existing: operations.map((each) => each.name),
        expected: 'a name of its own for each operation',
      });
    }
    byName.set(name, operation);
  }
  return byName;
}
