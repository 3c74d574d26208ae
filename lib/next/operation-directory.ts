import { ConfigurationError } from '../core/errors.ts';
import type { Idempotency } from '../engine/idempotency.ts';
import type { Operation } from '../engine/operation.ts';

/** An operation, as far as the status route needs it. */
export type AnyOperation = Pick<Operation<never, unknown>, 'name' | 'status' | 'fence' | 'whoActs'> &
  Partial<Pick<Operation<never, unknown>, 'errorPages' | 'addressHeader' | 'explainMissing'>>;

/** `createIdempotency`'s result, which knows the operations that were imported. */
type Registry = Pick<Idempotency<never>, 'operations' | 'explainMissing' | 'errorPages' | 'addressHeader'>;

/** The operations that a route is given. */
export type Known = Registry | AnyOperation | readonly AnyOperation[];

/** The way to find operations by name. Of `idempotency` at each request: a module may be imported late. */
interface Directory {
  find(name: string): AnyOperation | undefined;
  explain: Registry['explainMissing'] | undefined;
  errorPages: string | undefined;
  addressHeader: string | undefined;
}

export function directoryOf(known: Known): Directory {
  if ('operations' in known) {
    const find = (wanted: string) => known.operations().find(({ name }) => name === wanted);
    return { find, ...partsOf(known) };
  }
  const operations: readonly AnyOperation[] = 'name' in known ? [known] : known;
  const byName = namesOf(operations);
  return { find: (name) => byName.get(name), ...partsOf(operations[0]) };
}

/** The parts of the kit's set-up that its operations have. */
function partsOf(of: Registry | AnyOperation | undefined): Omit<Directory, 'find'> {
  return { explain: of?.explainMissing, errorPages: of?.errorPages, addressHeader: of?.addressHeader };
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
