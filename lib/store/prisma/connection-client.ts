import type { PrismaClientLike } from './client.ts';
import type { Connection } from './connection.ts';
import { queriesBy } from './renamed.ts';
import { rowsOf, SQL_LEVELS } from './statement.ts';
import type { Rename } from './tables.ts';

/**
 * A connection as a client for the kit's own statements, past Prisma, whose share of them would be the larger one. They are
 * sent one after the other: `pg` queues no others.
 */
export function clientOn(connection: Connection, rename: Rename | undefined): PrismaClientLike {
  const queries = queriesBy(async (statement) => rowsOf(await connection.ask(statement)), rename);
  const control = (text: string) => connection.query({ text } as never);
  return {
    ...queries,
    async $transaction(run, { isolationLevel = 'ReadCommitted' } = {}) {
      await queries.$queryRawUnsafe(`BEGIN ISOLATION LEVEL ${SQL_LEVELS[isolationLevel]}`);
      try {
        const result = await run(queries);
        await queries.$queryRawUnsafe('COMMIT');
        return result;
      } catch (error) {
        // A connection that has ended takes none, and is not given back as a good one.
        await control('ROLLBACK').catch(() => {});
        throw error;
      }
    },
  };
}
