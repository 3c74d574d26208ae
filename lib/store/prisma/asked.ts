import { StoreUnavailableError } from '../store.ts';
import { isUnavailable } from './errors.ts';

/** Fail closed (C6): whoever asks learns that the database could not be asked, not what its driver said. */
export async function asked<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    if (!isUnavailable(error)) throw error;
    throw new StoreUnavailableError('The database could not be reached.', { cause: error });
  }
}
