import { ConfigurationError } from '../../../core/errors.ts';
import type { SchemaPart, SchemaState } from '../../store.ts';
import type { RawQueries } from '../client.ts';
import { isMissingSchema, isSetupFault, serverMessage } from '../errors.ts';
import { grantsTo, TABLES_OF } from '../tables.ts';

/** The version of the tables that this kit needs. Raised together with a file in `prisma/kit` that brings it about. */
export const SCHEMA_VERSIONS: Readonly<Record<SchemaPart, number>> = { keys: 7, messaging: 3 };

/** The command that writes the migration of a part. */
export const INIT: Readonly<Record<SchemaPart, string>> = {
  keys: 'npx oncekit init',
  messaging: 'npx oncekit init --messaging',
};

const migrate = (part: SchemaPart) => `Run ${INIT[part]}, then npx prisma migrate deploy.`;

// `prisma db push` makes tables from models, and runs no migration.
const UNMARKED =
  'They were not made by its migration, so checks and indexes may be missing: see docs/upgrading.md, "Tables without a version".';

// The names are text here, so that a table that is not there is no error.
const READ = `
SELECT part, "table" IS NOT NULL AS is_there, obj_description("table", 'pg_class') AS mark,
       coalesce('schema ' || path[array_length(path, 1) - 1], 'search_path ' || current_setting('search_path')) AS wanted,
       (SELECT nspname::text FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
         WHERE "table" IS NULL AND relname = path[array_length(path, 1)] AND relkind IN ('r', 'p')
           AND has_schema_privilege(relnamespace, 'USAGE') ORDER BY 1 LIMIT 1) AS elsewhere
  FROM (VALUES ('keys', '${TABLES_OF.keys[0]}'), ('messaging', '${TABLES_OF.messaging[0]}')) AS kit(part, called)
 CROSS JOIN LATERAL (SELECT to_regclass(called) AS "table", parse_ident(called) AS path) AS marked`;

/** The comment on a part's first table, which tells the part's version. */
export const markOf = (version: number) => `oncekit schema ${version}`;

/** The version that such a comment names; NaN where it is none of the kit's. */
export function versionOf(mark: string | null | undefined): number {
  return Number(/^oncekit schema (\d+)\b/.exec(mark ?? '')?.[1]);
}

interface Marked {
  part: SchemaPart;
  is_there: boolean;
  mark: string | null;
  /** The schema that our statements name, or the `search_path`. */
  wanted: string;
  /** Another schema, that has a table of that name. */
  elsewhere: string | null;
}

/** What leads the kit to tables that are in another schema than it looks in. */
export const sayTables = (schema: string) =>
  `Say tables: { schema: '${schema}' } to createIdempotency, createAdmin, createOutbox and createInbox, and in package.json under "oncekit".`;

/** `Store.readSchema`. The version is the comment on a part's first table, which the kit's migration writes. */
export async function readSchema(db: RawQueries): Promise<SchemaState[]> {
  return (await db.$queryRawUnsafe<Marked[]>(READ)).map(stateOf);
}

function stateOf({ part, is_there: isThere, mark, wanted, elsewhere }: Marked): SchemaState {
  const about = { part, expected: name(part, SCHEMA_VERSIONS[part]) };
  if (!isThere) {
    const existing = `no ${part} tables of oncekit in the ${wanted}`;
    const moved = elsewhere && `They are in the schema ${elsewhere}. ${sayTables(elsewhere)}`;
    return { ...about, verdict: 'missing', existing, advice: moved ?? migrate(part) };
  }
  const version = versionOf(mark);
  const existing = name(part, version);
  if (Number.isNaN(version)) {
    return { ...about, verdict: 'unmarked', existing: `${part} tables without a version`, advice: UNMARKED };
  }
  if (version < SCHEMA_VERSIONS[part]) return { ...about, verdict: 'older', existing, advice: migrate(part) };
  return { ...about, verdict: version > SCHEMA_VERSIONS[part] ? 'newer' : 'current', existing };
}

const name = (part: SchemaPart, version: number) => `oncekit ${part} schema ${version}`;

/**
 * The error of a statement of ours, or what explains it: a table or column that it names is not there, so the kit's
 * migration has not run; the role may not use them; or the primary key is gone. Asks the database for the first alone.
 *
 * @param read asks what there is; none where the failed transaction is still open, and takes no questions any more
 */
export async function explainSchemaError(
  error: unknown,
  read: (() => Promise<SchemaState[]>) | undefined,
  part: SchemaPart,
): Promise<unknown> {
  if (isSetupFault(error)) {
    return new ConfigurationError(
      "The database refuses a statement of oncekit's: the role lacks a right, or a table its primary key. See npx oncekit doctor.",
      {
        existing: serverMessage(error),
        expected: `its tables as its migration makes them, and ${grantsTo('<role>', TABLES_OF[part]).join('; ')}`,
        cause: error,
      },
    );
  }
  if (!isMissingSchema(error)) return error;
  const states = await read?.().catch(() => undefined);
  const state = states?.find((one) => one.part === part);
  const changed = `Somebody has changed its tables: compare them with the migration that ${INIT[part]} writes.`;
  const unknown = `${migrate(part)} Where they are in another schema, say \`tables\`.`;
  const advice = state ? (state.advice ?? changed) : unknown;
  return new ConfigurationError(`The database lacks a table or column that oncekit needs. ${advice}`, {
    existing: [state?.existing, serverMessage(error)].filter(Boolean).join('; '),
    expected: name(part, SCHEMA_VERSIONS[part]),
    cause: error,
  });
}
