import type { Rename } from '../../store/prisma/tables.ts';
import type { SchemaPart } from '../../store/store.ts';
import type { KitFiles } from '../init/kit-files.ts';
import { removalMark } from '../init/plan-migrations.ts';

/**
 * The SQL that takes these parts of the kit out of a database: the tables with their indexes and triggers, the last one first
 * for the sake of foreign keys, then the functions. Whatever of the app's depends on one of them makes it fail as a whole.
 *
 * @param rename the tables' own names, where they have some
 */
export function removalSql({ migrations }: KitFiles, parts: readonly SchemaPart[], rename: Rename = (text) => text) {
  const scripts = migrations.filter(({ part }) => parts.includes(part)).map(({ sql }) => sql);
  const made = (what: RegExp) => [
    ...new Set(scripts.flatMap((sql) => [...sql.matchAll(what)].map(([, name]) => name))),
  ];
  const tables = made(/^CREATE TABLE "(\w+)"/gm).reverse();
  const functions = made(/^CREATE (?:OR REPLACE )?FUNCTION "(\w+)"/gm);
  return [
    removalMark(parts),
    '-- With these tables goes the proof of what was done: a key that is sent again is executed again.',
    ...tables.map((table) => rename(`DROP TABLE IF EXISTS ${table};`)),
    ...functions.map((name) => `DROP FUNCTION IF EXISTS "${name}"();`),
    '',
  ].join('\n');
}
