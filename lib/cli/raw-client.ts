import type pg from 'pg';
import { printable } from '../core/printable.ts';
import { type PrismaClientLike, queriesBy, transactBy } from '../store/prisma/client.ts';
import { driverError } from '../store/prisma/errors.ts';
import type { Rows, Statement } from '../store/prisma/statement.ts';
import type { Tables } from '../store/prisma/tables.ts';
import { parserOf, toWire } from '../store/prisma/wire/encoding.ts';
import { databaseUrl, loadEnv } from './app/env.ts';
import { folderTree } from './app/file-tree.ts';
import { tablesOf } from './app/next-app.ts';
import { explainFault, withDatabase } from './database.ts';

/** The result of a command. Not done: nothing was changed, for the reason in its words. */
export interface CommandResult {
  isDone: boolean;
  words: string;
  /** The same for a script, where the command knows `--json`. */
  data?: unknown;
}

/** The result of what was done, told in words. */
export const done = (words: string, data?: unknown): CommandResult => ({ isDone: true, words: printable(words), data });

/** The result where nothing was done, for this reason. */
export const notDone = (why: string, data?: unknown): CommandResult => ({
  isDone: false,
  words: printable(`Nothing was done: ${why}.`),
  data,
});

interface AppDatabase {
  prisma: PrismaClientLike;
  tables: Tables | undefined;
}

/**
 * Runs `work` on the database of the app in this folder, and prints what it resolves with.
 *
 * @returns the exit code: 1 where nothing was done
 * @throws CliError where the database cannot be asked
 */
export async function runOnDatabase(work: (database: AppDatabase) => Promise<CommandResult>): Promise<number> {
  const root = process.cwd();
  loadEnv(root);
  const tables = tablesOf(folderTree(root));
  try {
    const { isDone, words } = await withDatabase(databaseUrl(), (sql) => work({ prisma: rawClient(sql), tables }));
    (isDone ? console.log : console.error)(words);
    return isDone ? 0 : 1;
  } catch (error) {
    throw explainFault(error, 'Look at it: npx oncekit doctor');
  }
}

/**
 * A Prisma client for the kit's own statements, without Prisma: they are SQL, and a person who looks at keys has the
 * database at hand, and not always the app. One connection; `end` closes it.
 */
export function rawClient(client: pg.Client): PrismaClientLike {
  const types = { getTypeParser: parserOf };
  // One connection asks one question at a time.
  let last: Promise<unknown> = Promise.resolve();
  const ask = async ({ text, values }: Statement): Promise<Rows> => {
    const wire = values.map(toWire);
    try {
      // biome-ignore lint/suspicious/noExplicitAny: pg's types ask for more than pg does.
      return (await client.query({ text, values: wire, types: types as any })).rows;
    } catch (error) {
      throw driverError(error);
    }
  };
  const queries = queriesBy((statement) => {
    const answer = last.then(() => ask(statement));
    last = answer.catch(() => {});
    return answer;
  });
  return {
    ...queries,
    $transaction: (run) => transactBy(queries, 'BEGIN', run),
  };
}
