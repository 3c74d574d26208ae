import path from 'node:path';
import { type FileTree, filesBelow, moduleNames } from '../app/file-tree.ts';
import { BOXES, type Box, findBox } from '../app/messaging-modules.ts';
import { type App, type Imports, specifier } from '../app/next-app.ts';
import type { ClientModule } from '../app/prisma-client.ts';
import { callAt, withoutComments } from '../app/source-text.ts';
import type { FileWrite, Plan } from './plan.ts';
import { ADAPTER_LINE } from './plan-adapter.ts';
import {
  type BoxImports,
  cronRouteModule,
  idempotencyModule,
  messagingModule,
  operationsModule,
  statusRouteModule,
} from './templates.ts';

/** The paths of the app's own modules, as package.json says, or as `init` writes them. */
export function moduleFiles({ src, packageJson }: App): { idempotency: string; operations: string } {
  const said = packageJson.oncekit ?? {};
  const named = (name: string) => path.posix.normalize(/\.[cm]?[jt]sx?$/.test(name) ? name : `${name}.ts`);
  return {
    idempotency: named(said.idempotency ?? `${src}lib/idempotency`),
    operations: named(said.operations ?? `${src}lib/operations`),
  };
}

interface CodeOptions {
  app: App;
  imports: Imports;
  client: ClientModule | undefined;
  /** The app is to have an outbox and an inbox. */
  messaging: boolean;
}

/** The files of the app's own code that the kit needs. One that is there stays as it is. */
export function planCode(tree: FileTree, { app, imports, client, messaging }: CodeOptions): Plan {
  const { idempotency, operations } = moduleFiles(app);
  const from = (file: string, to: string) => specifier(file, to, imports);
  const draft: Draft = { tree, app, plan: { writes: [], kept: [], notes: [] } };
  const { plan } = draft;
  const made = client ?? { file: `${app.src}lib/prisma.ts`, exported: 'prisma' };
  addFile(draft, idempotency, 'export const idempotency', () => {
    const isFound = client !== undefined;
    if (!isFound) {
      plan.notes.push(
        `No module that exports your Prisma client was found: make ${made.file}, with ${ADAPTER_LINE} Or change the import in ${idempotency}.`,
      );
    }
    return idempotencyModule({ client: from(idempotency, made.file), exported: made.exported, isFound });
  });
  addFile(draft, operations, 'export const operations', operationsModule);

  const boxes = findBoxes(tree);
  if (messaging && boxes.length === 0) {
    const file = `${app.src}lib/messaging.ts`;
    const content = () => messagingModule({ client: from(file, made.file), exported: made.exported });
    addFile(draft, file, 'createOutbox', content);
    boxes.push({ box: 'outbox', file, exported: 'outbox' }, { box: 'inbox', file, exported: 'inbox' });
  }

  const routes = filesBelow(tree, app.router, /(^|\/)route\.[jt]sx?$/);
  addRoute(draft, routes, 'idempotency/[operation]/[key]', 'statusRoute', (file) =>
    statusRouteModule(from(file, operations)),
  );
  addRoute(draft, routes, 'cron/[task]', 'cronRoute', (file) =>
    cronRouteModule(
      from(file, idempotency),
      from(file, operations),
      importsOf(boxes, (module) => from(file, module)),
    ),
  );
  const lacking = boxes.length > 0 && routes.find((file) => drivesKeysAlone(tree.read(file)));
  if (lacking) {
    const names = boxes.map(({ box }) => box).join(', ');
    plan.kept.push(
      `${lacking} is there already and stays as it is. It should have: cronRoute({ ...idempotency, ${names} }, …).`,
    );
  }
  return plan;
}

/** A plan that is being made for an app. */
interface Draft {
  tree: FileTree;
  app: App;
  plan: Plan;
}

function addFile({ tree, plan }: Draft, file: string, holds: string, content: () => string): void {
  const there = moduleNames(file.replace(/\.[cm]?[jt]sx?$/, '')).find((each) => tree.read(each) !== undefined);
  if (!there) plan.writes.push({ file, content: content(), before: undefined } satisfies FileWrite);
  else if (!tree.read(there)?.includes(holds)) {
    plan.kept.push(`${there} is there already and stays as it is. It should have: ${holds}.`);
  }
}

/** Adds nothing where one of the `routes` holds it already. */
function addRoute(
  draft: Draft,
  routes: readonly string[],
  at: string,
  holds: string,
  content: (file: string) => string,
): void {
  const { tree, app, plan } = draft;
  if (routes.some((each) => tree.read(each)?.includes(`${holds}(`))) return;
  const file = `${app.router}/api/${at}/route.ts`;
  // Next refuses two names for one part of a path.
  const rivals = new RegExp(`^(${app.router}/api/${at.split('/')[0]}/(?:.*/)?route\\.[jt]sx?)$`, 'm');
  const [, other] = rivals.exec(routes.join('\n')) ?? [];
  if (!other || other === file) addFile(draft, file, holds, () => content(file));
  else plan.kept.push(`${other} is there already, so ${file} was not written. Let it call ${holds}, or rename it.`);
}

interface FoundBox {
  box: Box;
  file: string;
  exported: string;
}

/** Those of the app that others can import. */
function findBoxes(tree: FileTree): FoundBox[] {
  return BOXES.flatMap((box) => {
    const { file, exported } = findBox(tree, box) ?? {};
    return file && exported ? [{ box, file, exported }] : [];
  });
}

function importsOf(boxes: FoundBox[], specifierOf: (file: string) => string): BoxImports {
  const byModule: Record<string, string[]> = {};
  for (const { box, file, exported } of boxes) {
    const from = specifierOf(file);
    byModule[from] = [...(byModule[from] ?? []), exported === box ? box : `${exported} as ${box}`];
  }
  return byModule;
}

/** Of a cron route that is given more than a plain name nothing can be told. */
export function drivesKeysAlone(text: string | undefined): boolean {
  return /^\s*idempotency\s*,/.test(callAt(withoutComments(text ?? ''), 'cronRoute') ?? '');
}
