import { type PrismaClientLike, queriesBy } from '../client.ts';
import { isStalePreparedStatement } from '../errors.ts';
import { rowsOf, SQL_LEVELS, type Statement } from '../statement.ts';
import type { TrackedConnection } from './connection.ts';

/**
 * A connection as a client for the kit's own statements, past Prisma, whose share of them would be the larger one. They are
 * sent one after the other: `pg` queues no others. A statement that the server has forgotten has done nothing, and is sent
 * again; in a transaction, which it has aborted, with all before it.
 */
export function clientOn(connection: TrackedConnection): PrismaClientLike {
  const ask = async (statement: Statement) => rowsOf(await connection.ask(statement));
  const queries = queriesBy((statement) => again(() => ask(statement)));
  const inside = queriesBy(ask);
  return {
    ...queries,
    $transaction: (run, { isolationLevel = 'ReadCommitted' } = {}) =>
      again(async () => {
        await inside.$queryRawUnsafe(`BEGIN ISOLATION LEVEL ${SQL_LEVELS[isolationLevel]}`);
        try {
          const result = await run(inside);
          await inside.$queryRawUnsafe('COMMIT');
          return result;
        } catch (error) {
          // A connection that has ended takes none, and is not given back as a good one.
          await connection.query({ text: 'ROLLBACK' } as never).catch(() => {});
          throw error;
        }
      }),
  };
}

const again = <T>(work: () => Promise<T>): Promise<T> =>
  work().catch((error) => {
    if (!isStalePreparedStatement(error)) throw error;
    return work();
  });
