import type { Rename, TableName } from '../../store/prisma/tables.ts';
import type { Queryable } from '../database.ts';
import { counted } from '../table.ts';
import { checkNamed, type Finding } from './finding.ts';
import { type KitSql, readKitSql, scriptOf, statementFor } from './kit-sql.ts';
import { checkTriggers, readTriggers, triggerFor } from './triggers.ts';

const check = checkNamed('Tables');

interface FoundTable {
  called: string;
  isUnlogged: boolean;
}

type KitIndex = KitSql['indexes'][number];

interface FoundIndex extends Pick<KitIndex, 'table' | 'name' | 'isUnique' | 'isPrimary' | 'isPartial'> {
  relname: string;
  columns: string[];
  constraint: string | null;
  isValid: boolean;
  isImmediate: boolean;
}

const CALLED = 'unnest($1::text[], $2::text[]) AS kit (name, called)';
const READ = {
  tables: `SELECT name, to_regclass(called)::text AS called, relpersistence = 'u' AS "isUnlogged"
    FROM ${CALLED} JOIN pg_class ON pg_class.oid = to_regclass(called)`,
  indexes: `SELECT name AS table, indexrelid::regclass::text AS name, relname::text, quote_ident(conname) AS constraint,
       ARRAY(SELECT attname::text FROM unnest(indkey::int2[]) WITH ORDINALITY AS place (number, position)
               JOIN pg_attribute ON attrelid = indrelid AND attnum = number
              WHERE position <= indnkeyatts ORDER BY position) AS columns,
       indisunique AS "isUnique", indisprimary AS "isPrimary", indpred IS NOT NULL AS "isPartial",
       indisvalid AND indisready AS "isValid", indimmediate AS "isImmediate"
    FROM ${CALLED} JOIN pg_index ON indrelid = to_regclass(called) JOIN pg_class ON pg_class.oid = indexrelid
    LEFT JOIN pg_constraint ON conindid = indexrelid AND conrelid = indrelid AND contype IN ('p', 'u', 'x')`,
};

/** The kit's tables that are there, by the kit's names, as the database has them. */
async function readFound(sql: Queryable, names: readonly TableName[], rename: Rename = (name) => name) {
  const values = [names, names.map(rename)];
  const tables = new Map<TableName, FoundTable>(
    (await sql.query(READ.tables, values)).rows.map((row) => [row.name, row]),
  );
  const indexes = (await sql.query(READ.indexes, values)).rows as FoundIndex[];
  return { indexes, ...(await readTriggers(sql, tables)), tables };
}

type Found = Awaited<ReturnType<typeof readFound>>;

/**
 * Checks that the tables have what a person at psql can take from them: the unique indexes, which are the guarantee, the
 * triggers, the indexes, and the log. Of tables of the version that this kit makes.
 */
export async function checkTables(sql: Queryable, names: readonly TableName[], rename?: Rename): Promise<Finding[]> {
  const kit = readKitSql();
  const found = await readFound(sql, names, rename);
  const findings = [
    ...(await checkUnique(sql, kit, found, rename)),
    ...checkLogged(found),
    ...(await checkTriggers(sql, kit, found, rename)),
    ...checkIndexes(kit, found, rename),
  ];
  if (findings.length > 0) return findings;
  return [check.ok('Their unique indexes, triggers and other indexes are there, and valid.')];
}

/** A script that makes what these tables lack, and touches nothing that is there; empty where they lack nothing. */
export async function missingSql(sql: Queryable, names: readonly TableName[], rename?: Rename): Promise<string> {
  const kit = readKitSql();
  const found = await readFound(sql, names, rename);
  const tables = names.filter((name) => !found.tables.has(name));
  const indexes = kit.indexes.filter((each) => !each.isPrimary && isLost(each, found));
  const triggers = kit.triggers.filter((each) => isThere(each, found) && !triggerFor(each, found));
  const calls = kit.triggers.filter(({ table }) => names.includes(table)).map((each) => each.calls);
  const functions = calls.filter((name) => !found.functions.has(name));
  const lacking = new Set<string>([...tables, ...[...indexes, ...triggers].map(({ name }) => name), ...functions]);
  return lacking.size === 0 ? '' : scriptFor(lacking, kit, rename);
}

/** Each pattern's group names what a statement makes or changes, or the table that it is about. */
const NAMED = [
  /^(?:CREATE|ALTER) (?:TABLE|(?:UNIQUE )?INDEX|(?:OR REPLACE )?(?:TRIGGER|FUNCTION)) (?:IF NOT EXISTS )?"(\w+)"/,
  /^COMMENT ON TABLE "(\w+)"/,
  /^INSERT INTO "(\w+)"/,
  /^CREATE (?:(?:UNIQUE )?INDEX|(?:OR REPLACE )?TRIGGER) (?:IF NOT EXISTS )?"\w+"[\s\S]*?\bON "(\w+)"/,
];

/** @param lacking by the kit's names */
function scriptFor(lacking: ReadonlySet<string>, { statements }: KitSql, rename: Rename | undefined): string {
  const isWanted = (sql: string) => NAMED.some((pattern) => lacking.has(pattern.exec(sql)?.[1] ?? ''));
  const wanted = statements.filter(isWanted).map((sql) => `${scriptOf(sql, rename)};`);
  return ['BEGIN;', ...wanted, 'COMMIT;', ''].join('\n\n');
}

const isThere = ({ table }: { table: TableName }, { tables }: Found) => tables.has(table);

const isLost = (wanted: KitIndex, found: Found) => isThere(wanted, found) && !indexFor(wanted, found);

function indexFor(wanted: KitIndex, { indexes }: Found): FoundIndex | undefined {
  return indexes.find((each) => each.table === wanted.table && isSame(each, wanted));
}

function isSame(found: FoundIndex, wanted: KitIndex): boolean {
  if (!wanted.columns) return found.relname === wanted.name;
  // Of a unique index the order does not matter.
  const inOrder = (columns: string[]) => (wanted.isUnique ? [...columns].sort() : columns).join();
  return (
    inOrder(found.columns) === inOrder(wanted.columns) &&
    found.isPartial === wanted.isPartial &&
    (!wanted.isUnique || (found.isUnique && found.isValid && found.isImmediate))
  );
}

async function checkUnique(sql: Queryable, kit: KitSql, found: Found, rename: Rename | undefined): Promise<Finding[]> {
  const lost = kit.indexes.filter((each) => each.isUnique && isLost(each, found));
  const findings: Finding[] = [];
  for (const wanted of lost) {
    const { called } = found.tables.get(wanted.table) as FoundTable;
    const columns = (wanted.columns ?? []).join(', ');
    const mend = statementFor(wanted.sql, rename);
    const isArbiter = wanted.name === 'idempotency_keys_pkey';
    const twice = wanted.isPartial || columns === '' ? 0 : await countTwice(sql, called, columns);
    const says = isArbiter
      ? `Nothing keeps a key from running twice: ${called} has no valid unique index on (${columns}).`
      : `${called} has no valid unique index on (${columns || wanted.name}), so what is there once could be there twice.`;
    const already =
      twice === 0
        ? ''
        : ` ${counted(twice, isArbiter ? 'key' : 'row')} ${twice === 1 ? 'is' : 'are'} there twice already.`;
    const steps = [...dropsBefore(wanted, found, called), ...(twice ? [deletesLater(called, wanted)] : []), mend];
    findings.push(check.problem(says + already, steps.join('; ')));
  }
  return findings;
}

async function countTwice(sql: Queryable, table: string, columns: string): Promise<number> {
  const groups = `SELECT FROM ${table} GROUP BY ${columns} HAVING count(*) > 1`;
  return (await sql.query(`SELECT count(*)::int AS n FROM (${groups}) AS twice`)).rows[0].n;
}

/** The row that came first stays. */
function deletesLater(table: string, { columns = [] }: KitIndex): string {
  const of = (name: string) => `(${columns.map((column) => `${name}.${column}`).join(', ')})`;
  return `DELETE FROM ${table} AS later USING ${table} AS first WHERE ${of('later')} = ${of('first')} AND later.ctid > first.ctid`;
}

/** An index in its place: of the same name, of the same columns without being of use, or a primary key of other columns. */
function dropsBefore(wanted: KitIndex, { indexes }: Found, table: string): string[] {
  const columns = (wanted.columns ?? []).join();
  const inTheWay = indexes.filter(
    (each) =>
      each.table === wanted.table &&
      (each.relname === wanted.name ||
        (wanted.isPrimary && each.isPrimary) ||
        ((!each.isValid || !each.isImmediate) && each.columns.join() === columns)),
  );
  return inTheWay.map(({ constraint, name }) =>
    constraint ? `ALTER TABLE ${table} DROP CONSTRAINT ${constraint}` : `DROP INDEX ${name}`,
  );
}

function checkLogged({ tables }: Found): Finding[] {
  const unlogged = [...tables.values()].filter(({ isUnlogged }) => isUnlogged);
  return unlogged.map(({ called }) =>
    check.problem(
      `${called} is unlogged: a crash of the server empties it, and what it held can happen again.`,
      `ALTER TABLE ${called} SET LOGGED`,
    ),
  );
}

function checkIndexes(kit: KitSql, found: Found, rename?: Rename): Finding[] {
  const wanted = kit.indexes.filter((each) => !each.isUnique && isThere(each, found));
  const known = new Set(wanted.map((each) => indexFor(each, found)));
  const missing = wanted.filter((each) => !indexFor(each, found));
  // What stands in for a lost unique index is dropped by its own finding.
  const unique = kit.indexes.filter((each) => each.isUnique && isLost(each, found));
  const isSaid = (each: FoundIndex) =>
    unique.some(({ table, columns }) => table === each.table && columns?.join() === each.columns.join());
  const invalid = found.indexes.filter((each) => !each.isValid && !isSaid(each));
  return [
    ...missing.map(({ table, name, sql }) =>
      check.warning(
        `${found.tables.get(table)?.called} has lost the index ${name}, so looking for rows reads all of it.`,
        statementFor(sql, rename),
      ),
    ),
    ...invalid.map((each) =>
      known.has(each)
        ? check.warning(`The index ${each.name} is invalid, and serves nothing.`, `REINDEX INDEX ${each.name}`)
        : check.warning(
            `The index ${each.name} is invalid, left by a command that failed: each write pays for it, and it serves nothing.`,
            `DROP INDEX ${each.name}`,
          ),
    ),
  ];
}
