import path from 'node:path';
import { type FileTree, filesBelow, moduleNames, sourceFiles } from '../app/file-tree.ts';
import { BOXES, type Box, findBox } from '../app/messaging-modules.ts';
import { type App, type findImports, installed, specifier } from '../app/next-app.ts';
import type { findClient } from '../app/prisma.ts';
import { blanked, callAt, withoutComments } from '../app/source-text.ts';
import { type Plan, planOf } from './plan.ts';

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
  imports: ReturnType<typeof findImports>;
  client: ReturnType<typeof findClient>;
  /** The app is to have an outbox and an inbox. */
  messaging: boolean;
}

/** The files of the app's own code that the kit needs. One that is there stays as it is. */
export function planCode(tree: FileTree, { app, imports, client, messaging }: CodeOptions): Plan {
  const { idempotency, operations } = moduleFiles(app);
  const from = (file: string, to: string) => specifier(file, to, imports);
  const routes = filesBelow(tree, app.router, /(^|\/)route\.[jt]sx?$/);
  const draft: Draft = { tree, app, routes, plan: planOf([]) };
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

  addRoute(draft, 'idempotency/[operation]/[key]', 'statusRoute', (file) => statusRouteModule(from(file, operations)));
  const names = boxes.map(({ box }) => box).join(', ');
  addRoute(draft, 'cron/[task]', 'cronRoute', (file) => {
    const imports = importsOf(boxes, (module) => from(file, module));
    return cronRouteModule(from(file, idempotency), from(file, operations), { names, imports });
  });
  const lacking = boxes.length > 0 && routes.find((file) => drivesKeysAlone(tree.read(file)));
  if (lacking) {
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
  /** The files of its routes. */
  routes: readonly string[];
  plan: Plan;
}

function addFile({ tree, plan }: Draft, file: string, holds: string, content: () => string): void {
  const there = moduleNames(file.replace(/\.[cm]?[jt]sx?$/, '')).find((each) => tree.read(each) !== undefined);
  if (!there) plan.writes.push({ file, content: content(), before: undefined });
  else if (!tree.read(there)?.includes(holds)) {
    plan.kept.push(`${there} is there already and stays as it is. It should have: ${holds}.`);
  }
}

/** Adds nothing where one of the app's routes holds it already. */
function addRoute(draft: Draft, at: string, holds: string, content: (file: string) => string): void {
  const { tree, app, routes, plan } = draft;
  if (routes.some((each) => tree.read(each)?.includes(`${holds}(`))) return;
  const file = `${app.router}/api/${at}/route.ts`;
  // Next refuses two names for one part of a path.
  const rivals = new RegExp(`^(${app.router}/api/${at.split('/')[0]}/(?:.*/)?route\\.[jt]sx?)$`, 'm');
  const [, other] = rivals.exec(routes.join('\n')) ?? [];
  if (!other || other === file) addFile(draft, file, holds, () => content(file));
  else plan.kept.push(`${other} is there already, so ${file} was not written. Let it call ${holds}, or rename it.`);
}

/** Those of the app that others can import. */
function findBoxes(tree: FileTree): { box: Box; file: string; exported: string }[] {
  return BOXES.flatMap((box) => {
    const { file, exported } = findBox(tree, box) ?? {};
    return file && exported ? [{ box, file, exported }] : [];
  });
}

/** Writes one import for each module. */
function importsOf(boxes: ReturnType<typeof findBoxes>, specifierOf: (file: string) => string): string {
  const byModule: Record<string, string[]> = {};
  for (const { box, file, exported } of boxes) {
    const from = specifierOf(file);
    byModule[from] = [...(byModule[from] ?? []), exported === box ? box : `${exported} as ${box}`];
  }
  const lines = Object.entries(byModule).map(([from, names]) => `import { ${names.join(', ')} } from '${from}';\n`);
  return lines.join('');
}

/** True of a cron route that is given `idempotency` alone. Of one that is given more than a plain name nothing can be told. */
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
export function planAdapter(tree: FileTree, { packageJson }: App, client: CodeOptions['client']): Partial<Plan> {
  if (!client || !installed(packageJson)[PRISMAS] || isThere(tree)) return {};
  const { file } = client;
  const before = tree.read(file) ?? '';
  const content = exchanged(before, PRISMAS, OURS);
  if (content !== undefined) return { writes: [{ file, before, content }] };
  return {
    notes: [`${file} should make its client with the kit's adapter: ${ADAPTER_LINE} Its arguments are the same.`],
  };
}

/** Looks for the kit's adapter in any file, for it need not be made beside the client. */
function isThere(tree: FileTree): boolean {
  const mentions = /\boncekitPool\s*\(|['"]oncekit\/adapter-pg['"]/;
  return sourceFiles(tree).some(({ text }) => text.includes('oncekit') && mentions.test(withoutComments(text)));
}

/** Gives the app's files Prisma's own adapter back, where they import the kit's in plain form. */
export function planAdapterRemoval(tree: FileTree): Pick<Plan, 'writes'> {
  const writes = sourceFiles(tree).flatMap(({ file, text: before }) => {
    const content = before.includes(OURS) ? exchanged(before, OURS, PRISMAS) : undefined;
    return content === undefined ? [] : [{ file, before, content }];
  });
  return { writes };
}

/** Puts one module's name in the place of another; undefined where it is not imported in plain form, or in another form as well. */
function exchanged(source: string, from: string, to: string): string | undefined {
  const mentions = withoutComments(source).split(from).length - 1;
  // Positions are those of the source; strings and comments are empty, so that what is found is an import.
  const found = IMPORT.exec(blanked(source));
  if (!found || mentions !== 1) return undefined;
  const at = found.index + found[0].length;
  return source.startsWith(from, at) ? source.slice(0, at) + to + source.slice(at + from.length) : undefined;
}

// The files that `init` writes. Each builds as it is; the scope is closed until somebody says who acts.

/** How a file imports the app's Prisma client: the module, and the client's name there. */
interface ClientImport {
  client: string;
  exported: string;
}

function idempotencyModule({ client, exported, isFound }: ClientImport & { isFound: boolean }) {
  const advice = isFound
    ? ''
    : '// Your Prisma client: `npx oncekit init` has found none. Make this module, or import the one that you have.\n';
  return `import { createIdempotency } from 'oncekit';
${advice}import ${prismaFrom(exported)} from '${client}';

export const idempotency = createIdempotency({
  prisma,
  // Comma-separated while one takes the place of another: the first signs, all verify.
  secret: process.env.IDEMPOTENCY_SECRET,
  // The principal of this request. null is nobody: no key is issued and nothing runs, until you return somebody here:
  //   const session = await yourSession();
  //   return session && { principal: session.userId };
  // For visitors who have not signed in, a name from a cookie of their own, and isAnonymous: true.
  scope: async () => null,
  // By it limits tell visitors apart who are \`isAnonymous\`. Only you know which header has an address that can be trusted: one
  // that your proxy sets itself, such as x-real-ip. Without it they share one limit.
  addressHeader: process.env.ADDRESS_HEADER,
});
`;
}

function operationsModule() {
  return `// Every operation of the app: for the status route, the worker and \`npx oncekit doctor\`. Import each here and list it:
//   import { checkout } from './checkout';
//   export const operations = [checkout] as const;
export const operations = [] as const;
`;
}

function statusRouteModule(operations: string) {
  return `import { statusRoute } from 'oncekit/next';
import { operations } from '${operations}';

// Tells a browser what became of a key, and gives a key up. Only the caller's own keys are seen.
export const { GET, DELETE } = statusRoute(operations);
`;
}

/** @param boxes what a worker drives besides keys: `outbox, inbox`, and how it is imported; empty texts for nothing */
function cronRouteModule(idempotency: string, operations: string, boxes: { names: string; imports: string }) {
  const driven = boxes.names ? `{ ...idempotency, ${boxes.names} }` : 'idempotency';
  const messaging = boxes.names ? ', /api/cron/relay and /api/cron/inbox each minute' : '';
  return `import { cronRoute } from 'oncekit/next';
import { idempotency } from '${idempotency}';
${boxes.imports}import '${operations}'; // what was begun can be finished once its module was imported

// For hosts without a worker: /api/cron/complete each minute, /api/cron/reap each hour${messaging}. The secret is the Bearer token.
export const { GET, POST } = cronRoute(${driven}, { secret: process.env.CRON_SECRET });
`;
}

function messagingModule({ client, exported }: ClientImport) {
  return `import { createInbox, createOutbox } from 'oncekit/messaging';
import ${prismaFrom(exported)} from '${client}';

// Where events go: each destination has a name, and a publisher such as webhook({ url, secrets }) of oncekit/messaging.
export const outbox = createOutbox({ prisma, destinations: [] });

// Where events come from. Those of a source with a \`handle\` are tried again by a worker.
export const inbox = createInbox({ prisma, sources: {} });
`;
}

/** The client is called `prisma` from there on. */
function prismaFrom(exported: string): string {
  return exported === 'prisma' ? '{ prisma }' : exported === 'default' ? 'prisma' : `{ ${exported} as prisma }`;
}
