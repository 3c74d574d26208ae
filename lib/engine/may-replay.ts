import type { KeyId } from '../core/scope.ts';
import { type Awaitable, proceed } from '../core/wait.ts';
import { beforeDeadline } from './deadline.ts';
import type { Definition } from './definition.ts';

/**
 * Tells whether the stored answer of a key may still be given to whoever asks. An answer that is none is a no: where a `return` is
 * missing, nothing is told.
 *
 * @throws CodedError `unavailable` where the caller's time is up; and what `mayReplay` throws
 */
export function mayReplay<Tx>(
  { options }: Definition<Tx>,
  { tenant, principal, operation, key }: KeyId,
  deadline: number,
): Awaitable<boolean> {
  if (!options.mayReplay) return true;
  const asked = options.mayReplay({ scope: { tenant, principal, operation }, key });
  return proceed(beforeDeadline(asked, deadline, 'mayReplay'), (may) => may === true);
}
