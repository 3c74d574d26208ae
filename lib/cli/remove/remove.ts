import path from 'node:path';
import { type FileTree, folderTree, sourceFiles } from '../app/file-tree.ts';
import { type App, findApp, findImports, installed } from '../app/next-app.ts';
import { findClient, findPrisma } from '../app/prisma.ts';
import { withoutComments } from '../app/source-text.ts';
import { type Command, readArgs, text } from '../command.ts';
import { type KitFiles, readKitFiles } from '../init/kit-files.ts';
import { carryOut, type Plan, planOf, WRITE_OPTIONS } from '../init/plan.ts';
import { moduleFiles, planAdapterRemoval, planCode } from '../init/plan-code.ts';
import { planEnvRemoval } from '../init/plan-env.ts';
import { planMigrationsRemoval } from '../init/plan-migrations.ts';
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

type Options = { now: Date; schema?: string | undefined };

/**
 * Plans the way back from `init`: what it has written and nobody has changed goes, and a migration drops the tables. Whatever
 * else of the app uses the kit stays, and is named. Pure, as `planInit`; a plan that was carried out leads to an empty one.
 *
 * @throws CliError where the folder is no app that the kit can be in
 */
export function planRemove(tree: FileTree, kit: KitFiles, { now, schema }: Options): Plan {
  const app = findApp(tree);
  const prisma = findPrisma(tree, app.packageJson, schema);
  const models = planModelsRemoval(prisma, kit);
  const adapter = planAdapterRemoval(tree);
  const migration = planMigrationsRemoval(tree, prisma.migrations, kit, now);
  const plan = planOf([unchangedCode(tree, app), models, adapter, migration, planEnvRemoval(tree)]);
  const done = new Set([...plan.removals, ...adapter.writes].map(({ file }) => file));
  const users = sourceFiles(tree).filter(({ file, text }) => !done.has(file) && usesKit(text));
  return {
    ...plan,
    kept: [
      ...plan.kept,
      ...users.map(({ file }) => `${file} uses the kit and is yours: delete it, or take the kit out of it.`),
    ],
    next: [
      ...(users.length > 0 ? ['Take the kit out of the files that were kept'] : []),
      ...(installed(app.packageJson).oncekit ? ['npm uninstall oncekit'] : []),
      ...(migration.writes
        ? [
            'Deploy the app without the kit, and stop its worker',
            'Then drop the tables, with all that they prove: npx prisma migrate deploy',
          ]
        : []),
    ],
  };
}

/** The files of code that stand there as `init` would write them. */
function unchangedCode(tree: FileTree, app: App): Pick<Plan, 'removals'> {
  const { idempotency, operations } = moduleFiles(app);
  const messaging = `${app.src}lib/messaging.ts`;
  const routes = ['idempotency/[operation]/[key]', 'cron/[task]'].map((at) => `${app.router}/api/${at}/route.ts`);
  const removals = [idempotency, operations, messaging, ...routes].flatMap((file) => {
    const before = tree.read(file);
    if (before === undefined) return [];
    // The cron route was written before the outbox or behind it.
    const wouldBe = [[file], [file, messaging]].flatMap((hidden) => writtenWithout(tree, app, hidden, file));
    return wouldBe.includes(before.replaceAll('\r\n', '\n')) ? [{ file, before }] : [];
  });
  return { removals };
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

/** It imports one of the kit's entries. */
function usesKit(source: string): boolean {
  return source.includes('oncekit') && /['"]oncekit(\/[\w-]+)?['"]/.test(withoutComments(source));
}
