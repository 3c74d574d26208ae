import type { SchemaPart } from '../store.ts';
import { StoreUnavailableError } from '../store.ts';
import type { RawQueries } from './client.ts';
import { explainedReadOnly, isOutage } from './outage.ts';
import { explainedBySchema } from './schema-version.ts';
import { outside } from './within.ts';

/** Asks the database, and says what is wrong in the kit's words. */
type Asked = <T>(ask: () => Promise<T>) => Promise<T>;

/**
 * Fail closed (C6): whoever asks learns that the database could not be asked, not what its driver said. Where a table or
 * column is missing, they learn what to run.
 */
export function askedOn(db: () => RawQueries, part: SchemaPart = 'keys'): Asked {
  return async (ask) => {
    try {
      // What the kit wants to know by itself is no part of a handler's transaction.
      return await outside(ask);
    } catch (error) {
      if (!isOutage(error)) throw await outside(() => explainedBySchema(error, db(), part));
      throw new StoreUnavailableError('The database could not be reached.', { cause: explainedReadOnly(error) });
    }
  };
}
