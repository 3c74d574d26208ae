import { ConfigurationError } from '../../../core/errors.ts';
import type { OwnContextTransaction } from '../async-context.ts';

/** `pg`'s result of a statement that reads or writes rows. */
export interface SqlResult<Row> {
  rows: Row[];
  /** How many rows it has changed or returned. */
  rowCount: number;
  command: 'SELECT' | 'INSERT' | 'UPDATE' | 'DELETE' | 'MERGE';
}

/** SQL in the transaction of an execution, past Prisma's engine: values are read and written as `pg` does it. */
export interface Sql {
  /** A statement with its values as parameters. @returns its rows */
  <Row = Record<string, unknown>>(text: TemplateStringsArray, ...values: unknown[]): Promise<Row[]>;
  /** The same of a text with `$1`, `$2` and so on. */
  query<Row>(text: string, values?: readonly unknown[]): Promise<SqlResult<Row>>;
  /** For query builders: `new Kysely({ dialect: new PostgresDialect({ pool: sqlOf(tx).pool }) })`. */
  readonly pool: { connect(): Promise<SqlConnection>; end(): Promise<void> };
}

/** The transaction's own connection, for a query builder. Its statements of transactions are refused: it is one. */
export interface SqlConnection {
  query<Row>(text: string, values: readonly unknown[]): Promise<SqlResult<Row>>;
  /** @throws TypeError: a cursor would outlast its statement */
  query<Cursor extends object>(cursor: Cursor): Cursor;
  release(): void;
}

const transactions = new WeakMap<object, OwnContextTransaction>();

/** Lets `sqlOf` find the transaction that a `tx` is of. */
export function attachSql<Tx extends object>(tx: Tx, transaction: OwnContextTransaction): Tx {
  transactions.set(tx, transaction);
  return tx;
}

/**
 * SQL in the transaction of `tx`, without what Prisma's engine costs: for the one statement that is hot. It is committed
 * with the key and all else of `tx`, or not at all, and once the execution is over it is refused.
 *
 * ```ts
 * const [order] = await sqlOf(tx)<{ id: string }>`INSERT INTO orders (sku) VALUES (${sku}) RETURNING id`;
 * ```
 *
 * @throws ConfigurationError for a `tx` of an interactive transaction of Prisma's, and anything else
 * @throws ExecutionClosedError from each statement that comes after the execution's end
 */
export function sqlOf(tx: object): Sql {
  const transaction = transactions.get(tx);
  if (!transaction) throw notOurs();
  const query = <Row>(text: string, values: readonly unknown[] = []) =>
    transaction.sql({ text, values }) as Promise<SqlResult<Row>>;
  const asked = (text: unknown, values?: readonly unknown[]) => {
    if (typeof text === 'string') return query(text, values);
    throw new TypeError('A cursor cannot be had of the transaction of an execution. Read the rows in parts.');
  };
  const sql = async <Row>(texts: TemplateStringsArray, ...values: unknown[]) =>
    (
      await query<Row>(
        texts.reduce((text, next, at) => `${text}$${at}${next}`),
        values,
      )
    ).rows;
  const connection = { query: asked, release: () => {} } as SqlConnection;
  return Object.assign(sql, { query, pool: { connect: async () => connection, end: async () => {} } });
}

const notOurs = () =>
  new ConfigurationError("SQL past Prisma's engine needs a transaction of the kit's own.", {
    existing: "a tx of Prisma's, or none",
    expected: "the tx of a handler whose client has its PrismaPg from 'oncekit/adapter-pg'; or tx.$queryRaw",
  });
