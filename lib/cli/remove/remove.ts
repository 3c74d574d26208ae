import path from 'node:path';
import { type Rename, renamerOf } from '../../store/prisma/tables.ts';
import type { SchemaPart } from '../../store/store.ts';
import { type FileTree, folderTree, sourceFiles } from '../app/file-tree.ts';
import { type App, findApp, findImports, installed, tablesOf } from '../app/next-app.ts';
import { findClient, findPrisma } from '../app/prisma.ts';
import { withoutComments } from '../app/source-text.ts';
import { type Command, readArgs, text } from '../command.ts';
import { type KitFiles, readKitFiles } from '../init/kit-files.ts';
import { carryOut, type Plan, type Removal, WRITE_OPTIONS } from '../init/plan.ts';
import { moduleFiles, planAdapterRemoval, planCode } from '../init/plan-code.ts';
import { planEnvRemoval } from '../init/plan-env.ts';
import { lastStamp, removalMark, stampBehind, versionsIn } from '../init/plan-migrations.ts';
import { planModelsRemoval } from '../init/plan-models.ts';

const help = `oncekit remove [--yes] [--dry-run] [--schema <path>]

Takes the kit out of the app in this folder: the files that init has written and nobody has changed, its models, its two
secrets in .env, and its adapter (PrismaPg is Prisma's again). Writes a migration that drops the kit's tables, functions and
triggers; it never runs it. Shows all of it and asks first. Files of yours that use the kit stay, and are named.

  --yes            does not ask
  --dry-run        shows everything and changes nothing
  --schema <path>  where the Prisma schema is, a file or a folder, if it is not found

Ends with 0 when it is done, and with 1 when nothing was changed.`;

async function run(args: string[]): Promise<number> {
  const { values } = readArgs(args, { ...WRITE_OPTIONS, schema: text });
  const root = process.cwd();
  const plan = planRemove(folderTree(root), readKitFiles(), { now: new Date(), schema: values.schema });
  return await carryOut(root, plan, values, { nothing: 'Nothing to do: nothing is left here that init has written.' });
}

export const remove: Command = { help, run };

/** Files to change, to delete and to leave, and the next steps for a person. Nothing has been done. */
export type RemovalPlan = Plan & { removals: Removal[]; next: string[] };

/**
 * Plans the way back from `init`: what it has written and nobody has changed goes, and a migration drops the tables. Whatever
 * else of the app uses the kit stays, and is named. Pure, as `planInit`; a plan that was carried out leads to an empty one.
 *
 * @throws CliError where the folder is no app that the kit can be in
 */
export function planRemove(tree: FileTree, kit: KitFiles, { now, schema }: { now: Date; schema?: string | undefined }) {
  const app = findApp(tree);
  const prisma = findPrisma(tree, app.packageJson, schema);
  const models = planModelsRemoval(prisma, kit);
  const env = planEnvRemoval(tree);
  const adapter = planAdapterRemoval(tree);
  const migration = planDrop(tree, prisma.migrations, kit, now);
  const plans: Plan[] = [models, adapter, migration, env];
  const removals = [...unchangedCode(tree, app), ...models.removals, ...env.removals];
  const writes = plans.flatMap((plan) => plan.writes);
  const done = new Set([...removals, ...adapter.writes].map(({ file }) => file));
  const users = sourceFiles(tree).filter(({ file, text }) => !done.has(file) && usesKit(text));
  return {
    writes,
    removals,
    kept: [
      ...plans.flatMap(({ kept }) => kept),
      ...users.map(({ file }) => `${file} uses the kit and is yours: delete it, or take the kit out of it.`),
    ],
    notes: plans.flatMap(({ notes }) => notes),
    next: [
      ...(users.length > 0 ? ['Take the kit out of the files that were kept'] : []),
      ...(installed(app.packageJson).oncekit ? ['npm uninstall oncekit'] : []),
      ...(migration.writes.length > 0
        ? [
            'Deploy the app without the kit, and stop its worker',
            'Then drop the tables, with all that they prove: npx prisma migrate deploy',
          ]
        : []),
    ],
  } satisfies RemovalPlan;
}

/** The files of code that stand there as `init` would write them. */
function unchangedCode(tree: FileTree, app: App): Removal[] {
  const { idempotency, operations } = moduleFiles(app);
  const messaging = `${app.src}lib/messaging.ts`;
  const routes = ['idempotency/[operation]/[key]', 'cron/[task]'].map((at) => `${app.router}/api/${at}/route.ts`);
  return [idempotency, operations, messaging, ...routes].flatMap((file) => {
    const before = tree.read(file);
    if (before === undefined) return [];
    // The cron route was written before the outbox or behind it.
    const wouldBe = [[file], [file, messaging]].flatMap((hidden) => writtenWithout(tree, app, hidden, file));
    return wouldBe.includes(before.replaceAll('\r\n', '\n')) ? [{ file, before }] : [];
  });
}

/** The content that `init` would give to a file, were these not there. */
function writtenWithout(tree: FileTree, app: App, hidden: readonly string[], file: string): string[] {
  const rest: FileTree = {
    read: (name) => (hidden.includes(name) ? undefined : tree.read(name)),
    list: (folder) => tree.list(folder).filter((name) => !hidden.includes(path.posix.join(folder, name))),
  };
  const isMessaging = path.posix.basename(file) === 'messaging.ts';
  const options = { app, imports: findImports(tree), client: findClient(tree), messaging: isMessaging };
  return planCode(rest, options).writes.flatMap((write) => (write.file === file ? write.content : []));
}

/** The migration that drops the tables of the parts whose migrations are there. */
function planDrop(tree: FileTree, folder: string, kit: KitFiles, now: Date): Plan {
  const names = tree.list(folder).filter((name) => name.endsWith('/'));
  const versions = versionsIn(names.map((name) => tree.read(path.posix.join(folder, name, 'migration.sql')) ?? ''));
  const parts = (Object.keys(versions) as SchemaPart[]).filter((part) => versions[part] > 0);
  if (parts.length === 0) return { writes: [], kept: [], notes: [] };
  const file = path.posix.join(folder, `${stampBehind(lastStamp(names), now)}_oncekit_remove`, 'migration.sql');
  const content = removalSql(kit, parts, renamerOf(tablesOf(tree)));
  const notes = ["The worker's own tables, in the schema graphile_worker, stay: your jobs may be in them."];
  return { writes: [{ file, content, before: undefined }], kept: [], notes };
}

/** It imports one of the kit's entries. */
function usesKit(source: string): boolean {
  return source.includes('oncekit') && /['"]oncekit(\/[\w-]+)?['"]/.test(withoutComments(source));
}

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
