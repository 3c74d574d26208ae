import path from 'node:path';
import { type FileTree, filesBelow } from './file-tree.ts';
import { type App, type Imports, specifier } from './find-app.ts';
import type { ClientModule } from './find-client.ts';
import type { Plan, Write } from './plan.ts';
import { cronRoute, idempotencyModule, operationsModule, statusRoute } from './templates.ts';

/** Where the app's own modules are, by what package.json says or where `init` puts them. */
export function moduleFiles({ src, packageJson }: App): { idempotency: string; operations: string } {
  const said = packageJson.oncekit ?? {};
  const named = (name: string) => path.posix.normalize(/\.[cm]?[jt]sx?$/.test(name) ? name : `${name}.ts`);
  return {
    idempotency: named(said.idempotency ?? `${src}lib/idempotency`),
    operations: named(said.operations ?? `${src}lib/operations`),
  };
}

/** The files of the app's own code that the kit needs. One that is there stays as it is. */
export function planCode(tree: FileTree, app: App, imports: Imports, client: ClientModule | undefined): Plan {
  const { idempotency, operations } = moduleFiles(app);
  const from = (file: string, to: string) => specifier(file, to, imports);
  const plan: Plan = { writes: [], kept: [], notes: [] };
  const add = (file: string, holds: string, content: () => string) => {
    const there = variantsOf(file).find((each) => tree.read(each) !== undefined);
    if (!there) plan.writes.push({ file, content: content(), before: undefined } satisfies Write);
    else if (!tree.read(there)?.includes(holds)) {
      plan.kept.push(`${there} is there already and stays as it is. It should have: ${holds}.`);
    }
  };

  const made = client ?? { file: `${app.src}lib/prisma.ts`, exported: 'prisma' };
  add(idempotency, 'export const idempotency', () => {
    const isFound = client !== undefined;
    if (!isFound) {
      plan.notes.push(
        `No module that exports your Prisma client was found: make ${made.file}, or change the import in ${idempotency}.`,
      );
    }
    return idempotencyModule({ client: from(idempotency, made.file), exported: made.exported, isFound });
  });
  add(operations, 'export const operations', operationsModule);

  const routes = filesBelow(tree, app.router, /(^|\/)route\.[jt]sx?$/);
  const addRoute = (at: string, holds: string, content: (file: string) => string) => {
    const file = `${app.router}/api/${at}/route.ts`;
    if (routes.some((each) => tree.read(each)?.includes(`${holds}(`))) return;
    // Next refuses two names for one part of a path.
    const [, other] =
      new RegExp(`^(${app.router}/api/${at.split('/')[0]}/(?:.*/)?route\\.[jt]sx?)$`, 'm').exec(routes.join('\n')) ??
      [];
    if (other && other !== file) {
      plan.kept.push(`${other} is there already, so ${file} was not written. Let it call ${holds}, or rename it.`);
      return;
    }
    add(file, holds, () => content(file));
  };
  addRoute('idempotency/[operation]/[key]', 'statusRoute', (file) => statusRoute(from(file, operations)));
  addRoute('cron/[task]', 'cronRoute', (file) =>
    cronRoute({ idempotency: from(file, idempotency), operations: from(file, operations) }),
  );
  return plan;
}

function variantsOf(file: string): string[] {
  const bare = file.replace(/\.[cm]?[jt]sx?$/, '');
  return ['.ts', '.tsx', '.mts', '.js', '.jsx', '.mjs'].flatMap((ending) => [
    `${bare}${ending}`,
    `${bare}/index${ending}`,
  ]);
}
