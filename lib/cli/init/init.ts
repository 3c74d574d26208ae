import { randomBytes } from 'node:crypto';
import type { SchemaPart } from '../../store/store.ts';
import { type FileTree, folderTree } from '../app/file-tree.ts';
import { findApp, findImports, installed } from '../app/next-app.ts';
import { findClient, findPrisma } from '../app/prisma.ts';
import { type Command, flag, readArgs, text } from '../command.ts';
import { type KitFiles, readKitFiles } from './kit-files.ts';
import { carryOut, type Plan, planOf, WRITE_OPTIONS } from './plan.ts';
import { moduleFiles, planAdapter, planCode } from './plan-code.ts';
import { planEnv } from './plan-env.ts';
import { planMigrations } from './plan-migrations.ts';
import { planModels } from './plan-models.ts';

const help = `oncekit init [--yes] [--dry-run] [--messaging] [--schema <path>]

Adds the kit to the Next.js app in this folder: the Prisma models and their migration, lib/idempotency.ts,
lib/operations.ts, the status route, the cron route, and two secrets in .env; and lets your client import PrismaPg from
oncekit/adapter-pg. Shows what it would write and asks first. No other file that is there is changed, and a second run
finds nothing to do. After an upgrade of the kit it adds what the new version needs.

  --yes            does not ask
  --dry-run        shows everything in full and writes nothing
  --messaging      adds the tables of the outbox and the inbox, too
  --schema <path>  where the Prisma schema is, a file or a folder, if it is not found

Ends with 0 when the app has what it needs, and with 1 when nothing was written.`;

async function run(args: string[]): Promise<number> {
  const { values } = readArgs(args, { ...WRITE_OPTIONS, messaging: flag, schema: text });
  const root = process.cwd();
  const plan = planInit(folderTree(root), readKitFiles(), {
    messaging: values.messaging,
    schema: values.schema,
    now: new Date(),
    secret: () => randomBytes(32).toString('base64url'),
  });
  return await carryOut(root, plan, values, {
    nothing: 'Nothing to do: the app has what it needs.',
    full: values['dry-run'] ?? false,
    last: ['Look whether all of it works together: npx oncekit doctor'],
  });
}

export const init: Command = { help, run };

interface PlanOptions {
  messaging?: boolean | undefined;
  /** The path of the Prisma schema, for one that cannot be found. */
  schema?: string | undefined;
  now: Date;
  /** A fresh secret. */
  secret: () => string;
}

/**
 * Plans the files that an app needs to use the kit. Pure: the same files lead to the same plan, and a plan that was carried
 * out leads to an empty one. Nothing that differs is overwritten. Of a file that is there, these change: the kit's own block
 * of models, one word of the import of the client's adapter, and secrets that .env lacks.
 *
 * @returns with the next steps for a person; none where nothing is written
 * @throws CliError where the app is not one that the kit can be added to
 */
export function planInit(tree: FileTree, kit: KitFiles, options: PlanOptions): Plan {
  const app = findApp(tree);
  const prisma = findPrisma(tree, app.packageJson, options.schema);
  const client = findClient(tree);
  const parts: SchemaPart[] = options.messaging ? ['keys', 'messaging'] : ['keys'];
  const plan = planOf([
    planModels(prisma, kit, parts),
    planMigrations(tree, prisma.migrations, kit, parts, options.now),
    planAdapter(tree, app, client),
    planCode(tree, { app, imports: findImports(tree), client, messaging: options.messaging ?? false }),
    planEnv(tree, options.secret),
  ]);
  const { idempotency, operations } = moduleFiles(app);
  const isNew = (file: string) => plan.writes.some((write) => write.file === file);
  return {
    ...plan,
    next: [
      // `npx` fetches a command that is not installed.
      ...(installed(app.packageJson).oncekit ? [] : ['Install the kit: npm install oncekit']),
      ...(plan.writes.some(({ file }) => file.endsWith('/migration.sql'))
        ? ['Make the tables: npx prisma migrate deploy']
        : []),
      ...(isNew(idempotency) ? [`Say who acts: \`scope\` in ${idempotency}. Until then nothing runs`] : []),
      ...(isNew(operations) ? [`Write an operation, and list it in ${operations}`] : []),
    ],
  };
}
