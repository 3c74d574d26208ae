import { StoreUnavailableError } from '../store.ts';
import { isInvalidNumber, serverMessage } from './errors.ts';
import type { Statement } from './statement.ts';

const NONE = 'no synchronous standby';

// COMMIT then waits until the standbys of `synchronous_standby_names` have flushed it; what is set to wait for more keeps
// waiting for more. Where that list is empty PostgreSQL does not wait, and does not say so: the cast fails instead.
const REPLICATE = `
SELECT set_config('synchronous_commit',
                  CASE current_setting('synchronous_commit') WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, true),
       CASE WHEN current_setting('synchronous_standby_names') = '' THEN '${NONE}' ELSE '1' END::int AS standbys`;

// The list may have been emptied while COMMIT waited, as Patroni does when its standby is lost; that ends the wait at once.
const IS_REPLICATED = `SELECT current_setting('synchronous_standby_names') <> '' AS "isReplicated"`;

/** Goes with BEGIN where COMMIT is to wait for the synchronous standbys. */
export const replicateStatement: Statement = { text: REPLICATE, values: [] };

/** Goes behind that COMMIT. */
export const isReplicatedStatement: Statement = { text: IS_REPLICATED, values: [] };

/** The error of `replicateStatement` in words; other errors as they are. */
export function explainNoStandby(error: unknown): unknown {
  if (!isInvalidNumber(error) || !serverMessage(error)?.includes(NONE)) return error;
  return new StoreUnavailableError(
    "The operation says durability: 'replicated', and the server has no synchronous standby (synchronous_standby_names is empty): nothing was executed.",
    { cause: error },
  );
}

/** The error of such a COMMIT. */
export const unreplicatedError = () =>
  new StoreUnavailableError(
    'It is committed on the primary, and the wait for the synchronous standby was cancelled: a failover now may lose it.',
  );
