import { isUnavailable } from './database.ts';

/**
 * Asks the app's database, and once more where it could not be asked: the first question of a process pays for the start of
 * Prisma's engine, which takes a small machine longer than a question may. Only for what may be done twice.
 */
export async function withSecondTry<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    if (!isUnavailable(error)) throw error;
    return await ask();
  }
}
