import path from 'node:path';
import { type FileTree, filesBelow, moduleNames, sourceFiles } from '../app/file-tree.ts';
import { BOXES, type Box, findBox } from '../app/messaging-modules.ts';
import { type App, type Imports, installed, specifier } from '../app/next-app.ts';
import type { ClientModule } from '../app/prisma.ts';
import { blanked, callAt, withoutComments } from '../app/source-text.ts';
import type { FileWrite, Plan } from './plan.ts';
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

const PRISMAS = '@prisma/adapter-pg';
const OURS = 'oncekit/adapter-pg';
const IMPORT = /\bimport\s*\{\s*PrismaPg(?:\s+as\s+\w+)?\s*,?\s*\}\s*from\s*['"]/;

/** The one line that makes the pool of a client the kit's. */
const ADAPTER_LINE = `import { PrismaPg } from '${OURS}';`;

/**
 * Lets the app's client take the kit's `PrismaPg`, which has Prisma's arguments: one word of an import, where that stands
 * there in plain form. Otherwise it says what to change, unless a pool is the kit's already or Prisma's adapter is not there.
 */
export function planAdapter(tree: FileTree, { packageJson }: App, client: ClientModule | undefined): Plan {
  const plan: Plan = { writes: [], kept: [], notes: [] };
  if (!client || !installed(packageJson)[PRISMAS] || isThere(tree)) return plan;
  const { file } = client;
  const before = tree.read(file) ?? '';
  const content = exchanged(before, PRISMAS, OURS);
  if (content !== undefined) plan.writes.push({ file, before, content });
  else
    plan.notes.push(
      `${file} should make its client with the kit's adapter: ${ADAPTER_LINE} Its arguments are the same.`,
    );
  return plan;
}

/** In any file, for the adapter need not be made beside the client. */
function isThere(tree: FileTree): boolean {
  const mentions = /\boncekitPool\s*\(|['"]oncekit\/adapter-pg['"]/;
  return sourceFiles(tree).some(({ text }) => text.includes('oncekit') && mentions.test(withoutComments(text)));
}

/** Gives the app's files Prisma's own adapter back, where they import the kit's in plain form. */
export function planAdapterRemoval(tree: FileTree): Plan {
  const writes = sourceFiles(tree).flatMap(({ file, text: before }) => {
    const content = before.includes(OURS) ? exchanged(before, OURS, PRISMAS) : undefined;
    return content === undefined ? [] : [{ file, before, content }];
  });
  return { writes, kept: [], notes: [] };
}

/** undefined where it is not imported in plain form, or in another form as well. */
function exchanged(source: string, from: string, to: string): string | undefined {
  const mentions = withoutComments(source).split(from).length - 1;
  // Positions are those of the source; strings and comments are empty, so that what is found is an import.
  const found = IMPORT.exec(blanked(source));
  if (!found || mentions !== 1) return undefined;
  const at = found.index + found[0].length;
  return source.startsWith(from, at) ? source.slice(0, at) + to + source.slice(at + from.length) : undefined;
}
