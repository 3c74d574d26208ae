import type pg from 'pg';
import type { PrismaClientLike } from '../store/prisma/client.ts';
import { driverError, parserOf, toWire } from '../store/prisma/wire/encoding.ts';

/**
 * A Prisma client for the kit's own statements, without Prisma: they are SQL, and a person who looks at keys has the
 * database at hand, and not always the app. One connection; `end` closes it.
 */
export function rawClient(client: pg.Client): PrismaClientLike {
  const types = { getTypeParser: parserOf };
  // One connection asks one question at a time.
  let last: Promise<unknown> = Promise.resolve();
  const ask = async (text: string, values: unknown[]) => {
    const wire = values.map(toWire);
    try {
      // biome-ignore lint/suspicious/noExplicitAny: pg's types ask for more than pg does.
      return (await client.query({ text, values: wire, types: types as any })).rows;
    } catch (error) {
      throw driverError(error);
    }
  };
  const queries = {
    $queryRawUnsafe<T>(text: string, ...values: unknown[]): Promise<T> {
      const answer = last.then(() => ask(text, values));
      last = answer.catch(() => {});
      return answer as Promise<T>;
    },
  };
  return {
    ...queries,
    async $transaction(run) {
      await queries.$queryRawUnsafe('BEGIN');
      try {
        const result = await run(queries);
        await queries.$queryRawUnsafe('COMMIT');
        return result;
      } catch (error) {
        await queries.$queryRawUnsafe('ROLLBACK').catch(() => {});
        throw error;
      }
    },
  };
}
