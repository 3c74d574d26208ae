import { errorLine } from '../../core/printable.ts';
import { isAnswer } from '../../store/prisma/errors.ts';
import type { Rename, TableName } from '../../store/prisma/tables.ts';
import type { Queryable } from '../database.ts';
import { checkNamed, type Finding } from './finding.ts';
import { type KitSql, RUN_SQL, scriptOf, statementFor } from './kit-sql.ts';

const check = checkNamed('Tables');

type KitTrigger = KitSql['triggers'][number];

interface FoundTrigger extends Pick<KitTrigger, 'table' | 'name' | 'calls' | 'type'> {
  /** The body of the function that it calls. */
  source: string;
  /** Of the function, as `name=value`. */
  settings: string[];
  hasColumns: boolean;
  /** Its WHEN as PostgreSQL prints it, empty without one. */
  condition: string;
  arguments: string;
  isEnabled: boolean;
}

const CONDITION = `coalesce(substring(pg_get_triggerdef(pg_trigger.oid) FROM ' WHEN (.*) EXECUTE FUNCTION '), '')`;
/** Not by LIKE, which asks for the right to read the rows. */
const COLUMNS = `SELECT string_agg(format('%I %s', attname, format_type(atttypid, atttypmod)), ', ') AS columns
    FROM pg_attribute WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped`;
const TRIGGERS = `
SELECT name AS table, quote_ident(tgname) AS name, proname::text AS calls, prosrc AS source, tgtype::int AS type,
       coalesce(proconfig, '{}') AS settings, tgattr::text <> '' AS "hasColumns", ${CONDITION} AS condition,
       replace(encode(tgargs, 'escape'), '\\000', '') AS arguments,
       tgenabled IN ('O', 'A') AS "isEnabled"
  FROM unnest($1::text[], $2::text[]) AS kit (name, called)
  JOIN pg_trigger ON tgrelid = to_regclass(called) AND NOT tgisinternal
  JOIN pg_proc ON pg_proc.oid = tgfoid`;

/** @param tables by the kit's names */
export async function readTriggers(sql: Queryable, tables: ReadonlyMap<TableName, { called: string }>) {
  const names = [[...tables.keys()], [...tables.values()].map(({ called }) => called)];
  const functions = await sql.query("SELECT proname::text AS name FROM pg_proc WHERE proname LIKE 'oncekit%'");
  return {
    tables,
    triggers: (await sql.query(TRIGGERS, names)).rows as FoundTrigger[],
    functions: new Set<string>(functions.rows.map(({ name }) => name)),
  };
}

type FoundTriggers = Awaited<ReturnType<typeof readTriggers>>;

export const triggerFor = (wanted: KitTrigger, found: FoundTriggers) => triggersFor(wanted, found)[0];

function triggersFor(wanted: KitTrigger, { triggers }: FoundTriggers): FoundTrigger[] {
  return triggers.filter(
    ({ table, calls, type }) => table === wanted.table && calls === wanted.calls && type === wanted.type,
  );
}

/** Checks that each trigger is there, fires for the rows that it is for, and calls a function that does what the kit's does. */
export async function checkTriggers(
  sql: Queryable,
  kit: KitSql,
  found: FoundTriggers,
  rename: Rename | undefined,
): Promise<Finding[]> {
  const { conditions, findings } = await readConditions(sql, kit, found);
  const sound: FoundTrigger[] = [];
  const faults = kit.triggers.flatMap((wanted) => {
    const called = found.tables.get(wanted.table)?.called;
    if (called === undefined) return [];
    const isAsMade = (each: FoundTrigger) =>
      !each.hasColumns &&
      each.arguments === argumentsOf(wanted, rename) &&
      each.condition === (wanted.hasCondition ? (conditions.get(wanted) ?? each.condition) : '');
    const alike = triggersFor(wanted, found);
    const trigger = alike.find((each) => each.isEnabled && isAsMade(each)) ?? alike[0];
    const made = statementFor(wanted.sql, rename);
    if (!trigger) {
      const mend = found.functions.has(wanted.calls) ? made : RUN_SQL;
      return check.problem(`${called} has lost the trigger ${wanted.name}.`, mend);
    }
    const which = `The trigger ${trigger.name} of ${called}`;
    if (!isAsMade(trigger)) {
      const says = `${which} is not the kit's: its columns, condition or arguments are others.`;
      return check.problem(says, `DROP TRIGGER ${trigger.name} ON ${called}; ${made}`);
    }
    if (!trigger.isEnabled) {
      const mend = `ALTER TABLE ${called} ENABLE TRIGGER ${trigger.name}`;
      return check.problem(`${which} is switched off, and holds nothing.`, mend);
    }
    sound.push(trigger);
    return [];
  });
  return [...findings, ...faults, ...checkFunctions(kit, { ...found, triggers: sound }, rename)];
}

/**
 * The conditions of the kit's triggers as this server prints them: read from triggers that are made so, on a temporary table that
 * is rolled back. A trigger without one here could not be made.
 */
async function readConditions(sql: Queryable, kit: KitSql, found: FoundTriggers) {
  const conditions = new Map<KitTrigger, string>();
  const findings: Finding[] = [];
  const wanted = kit.triggers.filter((each) => each.hasCondition && triggerFor(each, found));
  try {
    await sql.query('BEGIN READ WRITE');
    for (const each of wanted) {
      const like = `pg_temp.${each.table}_like`;
      const { columns } = (await sql.query(COLUMNS, [found.tables.get(each.table)?.called])).rows[0];
      await sql.query(`CREATE TEMPORARY TABLE ${each.table}_like (${columns})`);
      await sql.query(each.sql.replace(`ON "${each.table}"`, `ON ${like}`));
      const made = `SELECT ${CONDITION} AS condition FROM pg_trigger WHERE tgrelid = $1::regclass AND NOT tgisinternal`;
      conditions.set(each, (await sql.query(made, [like])).rows[0].condition);
    }
  } catch (error) {
    if (!isAnswer(error)) throw error;
    findings.push(
      check.warning(
        `Whether triggers fire for the rows that they are for was not looked at: ${errorLine(error)}.`,
        "Run doctor on the primary, as a role that may make temporary tables, such as the tables' owner.",
      ),
    );
  } finally {
    await sql.query('ROLLBACK');
  }
  return { conditions, findings };
}

/** One finding for each function, however many triggers call it. */
function checkFunctions({ functions }: KitSql, { triggers, tables }: FoundTriggers, rename?: Rename): Finding[] {
  const problemOf = ([first, ...more]: FoundTrigger[], says: string, fix: string) => {
    if (!first) return [];
    const others = more.length > 0 ? `, and of ${more.length} more,` : '';
    const which = `The function of the trigger ${first.name} of ${tables.get(first.table)?.called}${others}`;
    return [check.problem(`${which} ${says}`, fix)];
  };
  return [...functions].flatMap(([name, { sql: made, settings }]) => {
    const calling = triggers.filter(({ calls }) => calls === name);
    const others = calling.filter(({ source }) => !isMadeBy(source, made, rename));
    if (others.length > 0) {
      const statements = [made, ...[...settings.values()].map(({ sql }) => sql)];
      return problemOf(others, "is not the kit's.", statements.map((sql) => scriptOf(sql, rename)).join(';\n'));
    }
    return [...settings].flatMap(([setting, { value, sql }]) => {
      const without = calling.filter((each) => !each.settings.includes(`${setting}=${value}`));
      return problemOf(without, `has not ${value} for ${setting}, so what others make there can run in it.`, sql);
    });
  });
}

/** Returns what the statement of a trigger gives to its function, on the tables' own names. */
function argumentsOf({ sql }: KitTrigger, rename: Rename | undefined): string {
  return /FUNCTION "\w+"\('?(.*?)'?\)$/.exec(statementFor(sql, rename))?.[1] ?? '';
}

/** Tells whether a function does what the statement that makes it says, also where its tables were renamed after that. */
function isMadeBy(source: string, sql: string, rename: Rename | undefined): boolean {
  const inWords = (text = '') => text.replace(/\s+/g, ' ').trim();
  return [sql, scriptOf(sql, rename)].some((made) => inWords(made.split('$$')[1]) === inWords(source));
}
