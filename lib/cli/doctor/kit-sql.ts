import { type Rename, TABLES, type TableName } from '../../store/prisma/tables.ts';
import { readKitFiles } from '../init/kit-files.ts';

const COMMENTS_AND_ENDS = /--[^\n]*|\$\$[\s\S]*?\$\$|'(?:[^']|'')*'|;/g;

/** Returns the statements of a script, without their comments. */
function statementsOf(script: string): string[] {
  const END = '\0';
  const marked = script.replace(COMMENTS_AND_ENDS, (found) =>
    found === ';' ? END : found.startsWith('--') ? '' : found,
  );
  return marked.split(END).flatMap((text) => text.trim() || []);
}

/** Reads what the kit's migrations make. It knows no more SQL than they are written in. */
export function readKitSql() {
  const statements = readKitFiles().migrations.flatMap(({ sql }) => statementsOf(sql));
  const indexes = new Map<string, KitIndex>();
  const triggers = new Map<string, KitTrigger>();
  /** The statements that make each trigger's function as it is now. `CREATE OR REPLACE` takes its settings away. */
  const functions = new Map<string, { sql: string; settings: Map<string, { value: string; sql: string }> }>();
  for (const sql of statements) {
    const [, table, key] = /^CREATE TABLE "(\w+)"[\s\S]*?PRIMARY KEY \(([^)]*)\)/.exec(sql) ?? [];
    if (table && key) {
      const columns = namesIn(key);
      const name = `${table}_pkey`;
      const made = `ALTER TABLE "${table}" ADD PRIMARY KEY (${columns.join(', ')})`;
      const more = { isUnique: true, isPrimary: true, isPartial: false, sql: made };
      indexes.set(name, { table: table as TableName, name, columns, ...more });
    }
    const [, made] = /^CREATE OR REPLACE FUNCTION "(\w+)"/.exec(sql) ?? [];
    if (made) functions.set(made, { sql, settings: new Map() });
    const [, set = '', name = '', value = ''] = /^ALTER FUNCTION "(\w+)"\(\) SET (\w+) = (.+)$/.exec(sql) ?? [];
    functions.get(set)?.settings.set(name, { value, sql });
    const index = indexOf(sql);
    if (index) indexes.set(index.name, index);
    const trigger = triggerOf(sql);
    if (trigger) triggers.set(trigger.name, trigger);
    const [, kind, dropped = ''] = /\bDROP (INDEX|TRIGGER) (?:IF EXISTS )?"(\w+)"/.exec(sql) ?? [];
    if (kind === 'INDEX') indexes.delete(dropped);
    if (kind === 'TRIGGER') triggers.delete(dropped);
  }
  return { statements, indexes: [...indexes.values()], triggers: [...triggers.values()], functions };
}

/** All that the kit's migrations make, in their order. */
export type KitSql = Readonly<ReturnType<typeof readKitSql>>;

function indexOf(sql: string) {
  const [, unique, name, table, rest = ''] =
    /^CREATE (UNIQUE )?INDEX (?:IF NOT EXISTS )?"(\w+)"\s+ON "(\w+)"\s*\(([\s\S]*)$/.exec(sql) ?? [];
  if (!name || !table) return undefined;
  const isPartial = /\)\s*WHERE\b/.test(rest);
  const inside = rest.replace(/\)\s*WHERE\b[\s\S]*$/, '').replace(/\)[^)]*$/, '');
  const columns = /[()]/.test(inside) ? undefined : namesIn(inside); // on an expression: known by its name alone
  const isUnique = unique !== undefined;
  return { table: table as TableName, name, columns, isUnique, isPrimary: false, isPartial, sql };
}

/** An index as the kit's migrations make it. */
type KitIndex = NonNullable<ReturnType<typeof indexOf>>;

/** The bits of `pg_trigger.tgtype`: a trigger has another name where its table has. */
const BITS = { ROW: 1, BEFORE: 2, INSERT: 4, DELETE: 8, UPDATE: 16, TRUNCATE: 32 } as const;

function triggerOf(sql: string) {
  const found =
    /^CREATE (?:OR REPLACE )?TRIGGER "(\w+)" (BEFORE|AFTER) ([A-Z ]+?) ON "(\w+)"[\s\S]*FOR EACH (ROW|STATEMENT)[\s\S]*FUNCTION "(\w+)"/.exec(
      sql,
    );
  if (!found) return undefined;
  const [, name = '', moment = '', events = '', table, level = '', calls = ''] = found;
  const words = [moment, level, ...events.split(' OR ')];
  const type = words.reduce((bits, word) => bits | (BITS[word as keyof typeof BITS] ?? 0), 0);
  return { table: table as TableName, name, calls, type, hasCondition: /\bWHEN \(/.test(sql), sql };
}

type KitTrigger = NonNullable<ReturnType<typeof triggerOf>>;

function namesIn(list: string): string[] {
  return [...list.matchAll(/"(\w+)"/g)].map(([, name]) => name ?? '');
}

const QUOTED = new RegExp(`"(${TABLES.join('|')})"`, 'g');

/** Writes a statement in one line, on the tables' own names. */
export function statementFor(sql: string, rename: Rename | undefined): string {
  return scriptOf(sql.replace(/\s+/g, ' '), rename);
}

/** Writes a statement in the lines that it has: a comment in it ends with its line. */
export function scriptOf(sql: string, rename: Rename | undefined): string {
  if (!rename) return sql;
  // A text that is an argument of a trigger names a table without its schema.
  return rename(sql.replace(QUOTED, '$1')).replace(/'(?:"[\w-]+"\.)?"([\w-]+)"'/g, "'$1'");
}

/** Prints what is lacking, and has a Prisma app's own command run it. */
export const RUN_SQL = 'npx oncekit doctor --sql | npx prisma db execute --stdin';
