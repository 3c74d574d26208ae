import { IdempotencyError } from '../../core/errors.ts';

/** An effect that should exist once does not exist, or exists more often. `existing` says how often. */
export class NotExactlyOneError extends IdempotencyError {
  override readonly name = 'NotExactlyOneError';
}

/**
 * Passes when `work` has added exactly one to what `count` counts, and resolves with what `work` returns. Count effects
 * in the database (`() => db.order.count()`), never calls. `work` ends when the person knows the outcome.
 *
 * @throws NotExactlyOneError
 */
export async function expectExactlyOne<T>(count: () => Promise<number>, work: () => Promise<T>): Promise<T> {
  const before = await count();
  const result = await work();
  const made = (await count()) - before;
  if (made === 1) return result;
  throw new NotExactlyOneError(`It was done ${times(made)} instead of once. ${made > 1 ? TOO_OFTEN : TOO_RARE}`, {
    existing: made,
    expected: 1,
  });
}

const times = (made: number) => (made === 0 ? 'not at all' : `${made} times`);

const TOO_OFTEN =
  'Every request that arrives does it anew: make the action with `serverAction(operation)`, write through `tx` alone, ' +
  'and put `<IdempotencyKeyField>` into the form.';

const TOO_RARE =
  'Let `work` wait until the page says how it ended, such as ' +
  "`await expect(page.getByRole('status')).toHaveAttribute('data-state', 'hasSucceeded')`. If it did, the form has " +
  'given up: does it send again after a lost answer, and when the browser is back online?';
