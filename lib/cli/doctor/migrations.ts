import { INIT, SCHEMA_VERSIONS, sayTables, versionOf } from '../../store/prisma/keys/schema.ts';
import { type Rename, TABLES_OF } from '../../store/prisma/tables.ts';
import type { SchemaPart } from '../../store/store.ts';
import type { Queryable } from '../database.ts';
import { withoutSchema } from './client.ts';
import { checkNamed, type Finding } from './finding.ts';
import { RUN_SQL } from './kit-sql.ts';

/**
 * Checks that the kit's tables are there, as this version of the kit needs them. Those of messaging may all be missing.
 *
 * @param rename gives the tables the names that they have in this app
 */
export async function checkSchema(sql: Queryable, rename: Rename = (name) => name): Promise<Finding[]> {
  const names = Object.values(TABLES_OF).flat();
  const { rows } = await sql.query(SEEN, [names, names.map(rename)]);
  const found = new Map<string, Seen>(rows.map((row) => [row.name, row]));
  const place: Place = (await sql.query(PLACE, [rename(TABLES_OF.keys[0])])).rows[0];
  const keys = checkPart('keys', found, place);
  const hasMessaging = TABLES_OF.messaging.some((name) => found.get(name)?.called);
  return hasMessaging ? [keys, checkPart('messaging', found, place)] : [keys];
}

const SEEN = `
SELECT name, here::text AS called, obj_description(here, 'pg_class') AS comment,
       elsewhere.schema, elsewhere.is_open AS "isOpen"
  FROM unnest($1::text[], $2::text[]) AS tables (name, called)
 CROSS JOIN LATERAL (SELECT to_regclass(called) AS here) AS reached
  LEFT JOIN LATERAL (SELECT quote_ident(nspname) AS schema, has_schema_privilege(relnamespace, 'USAGE') AS is_open
                       FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
                      WHERE here IS NULL AND relname = name AND relkind IN ('r', 'p') ORDER BY 1 LIMIT 1) AS elsewhere ON true`;

// `prisma migrate deploy` makes nothing that its history has, and nothing beside tables that it knows nothing of.
const PLACE = `
SELECT quote_ident(current_user) AS "user", quote_ident(coalesce(named, current_schema(), 'public')) AS schema,
       to_regclass('_prisma_migrations') IS NOT NULL AS "hasHistory",
       EXISTS (SELECT FROM pg_class WHERE relkind IN ('r', 'p') AND relnamespace::regnamespace::text = current_schema()) AS "hasTables"
  FROM (SELECT path[array_length(path, 1) - 1] AS named FROM parse_ident($1) AS path) AS kit`;

interface Seen {
  /** As the connection sees it; null where it is not there, or the connection does not look there. */
  called: string | null;
  comment: string | null;
  /** The schema that the table is in, where the connection does not look into it. */
  schema: string | null;
  /** The user may look into that schema. */
  isOpen: boolean | null;
}

interface Place {
  user: string;
  /** The schema that the kit's statements name; where they name none, that in which the connection makes tables. */
  schema: string;
  hasHistory: boolean;
  hasTables: boolean;
}

const CHECKS = { keys: checkNamed('Migrations'), messaging: checkNamed('Messaging') } as const;
const DEPLOY = 'npx prisma migrate deploy';

function checkPart(part: SchemaPart, found: Map<string, Seen>, place: Place): Finding {
  const check = CHECKS[part];
  const tables: readonly string[] = TABLES_OF[part];
  const missing = tables.filter((name) => !found.get(name)?.called);
  const newest = SCHEMA_VERSIONS[part];
  const version = versionOf(found.get(TABLES_OF[part][0])?.comment);
  if (missing.length > 0) {
    const elsewhere = missing.map((name) => found.get(name)).find((table) => table?.schema);
    if (elsewhere?.isOpen === false) return check.problem(...withoutSchema(place.user, `${elsewhere.schema}`));
    if (elsewhere) return inAnotherSchema(part, missing, found, place);
    if (missing.length < tables.length) {
      const isOlder = version < newest;
      return check.problem(
        `${missing.length === 1 ? 'A table is' : 'Tables are'} missing: ${missing.join(', ')}.`,
        isOlder ? `${INIT[part]}, then ${DEPLOY}` : RUN_SQL,
      );
    }
    const isDeployed = place.hasHistory || !place.hasTables;
    return check.problem("The kit's tables are not there.", `${INIT[part]}, then ${isDeployed ? DEPLOY : RUN_SQL}`);
  }
  if (Number.isNaN(version)) {
    return check.problem(
      `The tables do not say that the kit's migration made them; \`prisma db push\` makes them without their triggers.`,
      `While nobody submits: DROP TABLE ${tables.map((name) => found.get(name)?.called).join(', ')}; then ${RUN_SQL}`,
    );
  }
  if (version < newest) {
    return check.problem(
      `The tables are of version ${version}, and this kit needs ${newest}.`,
      `${INIT[part]}, then ${DEPLOY}`,
    );
  }
  if (version > newest) {
    return check.warning(
      `The tables are of version ${version}, and this kit knows ${newest}: another deploy is newer.`,
      'Install the newer oncekit here: npm install oncekit@latest',
    );
  }
  return check.ok(`The tables are of version ${version}, as this kit needs them.`);
}

function inAnotherSchema(
  part: SchemaPart,
  missing: readonly string[],
  found: Map<string, Seen>,
  { schema: ours }: Place,
): Finding {
  const check = CHECKS[part];
  const away = missing.filter((name) => found.get(name)?.schema);
  const [first = ''] = away;
  const schema = found.get(first)?.schema;
  const says = `The table ${first} is in the schema ${schema}, and the kit looks in ${ours}.`;
  if (away.length === TABLES_OF[part].length) return check.problem(says, sayTables(`${schema}`.replaceAll('"', '')));
  const moves = away.map((name) => `ALTER TABLE ${found.get(name)?.schema}.${name} SET SCHEMA ${ours}`);
  return check.problem(says, moves.join('; '));
}
