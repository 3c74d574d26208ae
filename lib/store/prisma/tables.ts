import { assertSetUp } from '../../core/errors.ts';
import type { SchemaPart } from '../store.ts';
import type { PrismaClientLike, RawQueries } from './client.ts';
import type { Statement } from './statement.ts';
import type { Last, TransactionPlan } from './transaction-plan.ts';

/**
 * Every table of the kit's, by the name that its statements and migrations give it. The first one of a part carries the
 * part's version: keys/schema.ts.
 */
export const TABLES_OF = {
  keys: [
    'idempotency_keys',
    'idempotency_phases',
    'idempotency_events',
    'idempotency_tallies',
    'idempotency_audit',
    'idempotency_things',
  ],
  messaging: [
    'outbox_events',
    'outbox_aggregates',
    'outbox_deliveries',
    'outbox_stops',
    'inbox_events',
    'message_events',
  ],
} as const satisfies Record<SchemaPart, readonly string[]>;

/** All of them. */
export const TABLES = [...TABLES_OF.keys, ...TABLES_OF.messaging] as const;

/** One of the kit's tables, by its own name. */
export type TableName = (typeof TABLES)[number];

/**
 * Where the kit's tables are, when they are not where its migrations put them: `{ schema: 'billing' }`, or with names of
 * your own, `{ schema: 'billing', idempotency_keys: 'request_keys' }`. As written in the database: case counts. Without
 * `schema`: that of the client's adapter (`new PrismaPg(…, { schema })`); of an adapter without one, the `search_path`.
 *
 * One such object for all of an app: `createIdempotency`, `createAdmin`, `createOutbox` and `createInbox`.
 */
export type Tables = { readonly schema?: string | undefined } & { readonly [Name in TableName]?: string | undefined };

/** A statement of ours with the tables' own names in it. Twice is once: what it writes, it does not find again. */
export type Rename = (text: string) => string;

// Not within a longer name (an index), nor quoted or qualified: that is what `Rename` itself writes.
const NAMES = new RegExp(`(?<![\\w".-])(?:${TABLES.join('|')})(?![\\w"-])`, 'g');

/**
 * Gives statements the tables' own names; undefined where they have the kit's, and the statements stay as they are.
 * Each text is rewritten once: from then on it is the same string, under which the server keeps it.
 *
 * @throws ConfigurationError for a name that is none, a table that the kit does not know, and one name for two
 */
export function renamerOf(tables: Tables | undefined): Rename | undefined {
  const given = Object.entries(tables ?? {}).filter(([, name]) => name !== undefined);
  if (given.length === 0) return undefined;
  for (const [table, name] of given) assertName(table, name);
  const { schema, ...own } = Object.fromEntries(given) as Record<string, string>;
  const names = new Map(TABLES.map((table) => [table as string, own[table] ?? table]));
  assertSetUp(new Set(names.values()).size === names.size, 'Two of the kit’s tables cannot be one.', {
    existing: Object.values(own).join(', '),
    expected: 'a name of its own for each',
  });
  const prefix = schema === undefined ? '' : `"${schema}".`;
  const known = new Map<string, string>();
  return (text) => {
    const renamed = known.get(text) ?? text.replace(NAMES, (table) => `${prefix}"${names.get(table)}"`);
    known.set(text, renamed);
    return renamed;
  };
}

function assertName(table: string, name: unknown): void {
  const isKnown = table === 'schema' || (TABLES as readonly string[]).includes(table);
  const expected = `schema, ${TABLES.join(', ')}`;
  assertSetUp(isKnown, `${table} is no table of oncekit's.`, { existing: table, expected });
  // 63 bytes are what PostgreSQL keeps of a name; it cuts a longer one off without a word.
  assertSetUp(typeof name === 'string' && /^[\w-]{1,63}$/.test(name), `The name of ${table} cannot be used.`, {
    existing: name,
    expected: '1 to 63 of a-z A-Z 0-9 _ -',
  });
}

/**
 * Has statements of the kit's ask for a client's tables by their own names. What the user runs in a transaction, runs in their
 * own. An app with the default names gets back what it gave, and pays nothing for it.
 *
 * The client is looked at where a statement is first sent, no earlier: it may be made by that.
 */
export class TableNames {
  readonly #client: object;
  readonly #given: Tables;
  #renamer: { rename: Rename | undefined } | undefined;

  /** @throws ConfigurationError as `renamerOf` */
  constructor(client: object, given: Tables = {}) {
    renamerOf(given);
    this.#client = client;
    this.#given = given;
  }

  /**
   * The schema that the statements name: the one that is given, else that of Prisma's own queries. Nothing public tells that,
   * but an adapter keeps the options that it was given. None: the connection's `search_path` decides.
   */
  get schema(): string | undefined {
    const { _engineConfig: on } = this.#client as { _engineConfig?: { adapter?: { options?: { schema?: string } } } };
    return this.#given.schema ?? on?.adapter?.options?.schema;
  }

  get #rename(): Rename | undefined {
    this.#renamer ??= { rename: renamerOf({ ...this.#given, schema: this.schema }) };
    return this.#renamer.rename;
  }

  /** Tells whether it is the name of a table of the kit's, or of a part of one: a server names the partition, or the shard. */
  isKits(table: string): boolean {
    return TABLES.some((own) => `${table}_`.startsWith(`${this.#given[own] ?? own}_`));
  }

  text(text: string): string {
    return this.#rename?.(text) ?? text;
  }

  queries(db: RawQueries): RawQueries {
    if (!this.#rename) return db;
    return { $queryRawUnsafe: (text, ...values) => db.$queryRawUnsafe(this.text(text), ...values) };
  }

  client(client: PrismaClientLike): PrismaClientLike {
    if (!this.#rename) return client;
    const $transaction: PrismaClientLike['$transaction'] = (run, options) =>
      client.$transaction((tx) => run(this.queries(tx)), options);
    return { ...this.queries(client), $transaction };
  }

  plan<Tx, Claimed, Made extends Last, Conflict>(
    plan: TransactionPlan<Tx, Claimed, Made, Conflict>,
  ): TransactionPlan<Tx, Claimed, Made, Conflict> {
    if (!this.#rename) return plan;
    const renamed = (statement: Statement): Statement => {
      const { text, alone } = statement;
      return { ...statement, text: this.text(text), alone: alone && this.text(alone) };
    };
    return {
      first: (isOwn) => plan.first(isOwn).map(renamed),
      check: (rows, db) => plan.check(rows, this.queries(db)),
      async work(tx, claimed) {
        const made = await plan.work(tx, claimed);
        return { ...made, last: renamed(made.last) };
      },
    };
  }
}

/** Tables whose rows are written once, and numbered by a sequence or not. */
const NUMBERED: readonly TableName[] = ['idempotency_events', 'idempotency_audit', 'message_events'];
const UNCHANGED: readonly TableName[] = [...NUMBERED, 'outbox_stops'];

/** What the kit's statements need of one of its tables, for an app and its worker. */
export const rightsOn = (table: TableName): readonly string[] =>
  UNCHANGED.includes(table) ? ['SELECT', 'INSERT', 'DELETE'] : ['SELECT', 'INSERT', 'UPDATE', 'DELETE'];

/**
 * The statements that give a role all that the kit needs of its tables and their sequences, and no more. Of their schema the role
 * needs USAGE.
 */
export function grantsTo(role: string, tables: readonly TableName[] = TABLES): string[] {
  const grant = (of: readonly TableName[]) =>
    of[0] === undefined ? [] : [`GRANT ${rightsOn(of[0]).join(', ')} ON ${of.join(', ')} TO ${role}`];
  const sequences = tables.filter((table) => NUMBERED.includes(table)).map((table) => `${table}_id_seq`);
  return [
    ...grant(tables.filter((table) => !UNCHANGED.includes(table))),
    ...grant(tables.filter((table) => UNCHANGED.includes(table))),
    `GRANT USAGE ON SEQUENCE ${sequences.join(', ')} TO ${role}`,
  ];
}
