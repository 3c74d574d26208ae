import type { SchemaPart } from '../../store/store.ts';
import type { FileTree } from '../app/file-tree.ts';
import { findApp, findImports, installed } from '../app/next-app.ts';
import { findClient } from '../app/prisma-client.ts';
import { findPrisma } from '../app/prisma-schema.ts';
import type { KitFiles } from './kit-files.ts';
import type { Plan } from './plan.ts';
import { planAdapter } from './plan-adapter.ts';
import { moduleFiles, planCode } from './plan-code.ts';
import { planEnv } from './plan-env.ts';
import { planMigrations } from './plan-migrations.ts';
import { planModels } from './plan-models.ts';

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
export function planInit(tree: FileTree, kit: KitFiles, options: PlanOptions): Plan & { next: string[] } {
  const app = findApp(tree);
  const prisma = findPrisma(tree, app.packageJson, options.schema);
  const client = findClient(tree);
  const parts: SchemaPart[] = options.messaging ? ['keys', 'messaging'] : ['keys'];
  const plans: Plan[] = [
    planModels(prisma, kit, parts),
    planMigrations(tree, prisma.migrations, kit, parts, options.now),
    planAdapter(tree, app, client),
    planCode(tree, { app, imports: findImports(tree), client, messaging: options.messaging ?? false }),
    planEnv(tree, options.secret),
  ];
  const writes = plans.flatMap((plan) => plan.writes);
  const { idempotency, operations } = moduleFiles(app);
  const isNew = (file: string) => writes.some((write) => write.file === file);
  return {
    writes,
    next: [
      // `npx` fetches a command that is not installed.
      ...(installed(app.packageJson).oncekit ? [] : ['Install the kit: npm install oncekit']),
      ...(writes.some(({ file }) => file.endsWith('/migration.sql'))
        ? ['Make the tables: npx prisma migrate deploy']
        : []),
      ...(isNew(idempotency) ? [`Say who acts: \`scope\` in ${idempotency}. Until then nothing runs`] : []),
      ...(isNew(operations) ? [`Write an operation, and list it in ${operations}`] : []),
    ],
    kept: plans.flatMap(({ kept }) => kept),
    notes: plans.flatMap(({ notes }) => notes),
  };
}
