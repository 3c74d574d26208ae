import { createRequire, register } from 'node:module';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { isSetUpWrongly, tryOr } from '../../core/errors.ts';
import type { Principal } from '../../core/scope.ts';
import type { Idempotency } from '../../engine/idempotency.ts';
import type { Inbox } from '../../messaging/inbox.ts';
import type { Driven } from '../../worker/passes.ts';
import { CliError, text } from '../command.ts';
import type { FileTree } from './file-tree.ts';
import { type Box, findBox } from './messaging-modules.ts';
import { fileOf, type ModulePaths } from './next-app.ts';

/** The part of an app that the command line uses. */
export interface LoadedApp {
  idempotency: Driven &
    Partial<
      Pick<Idempotency<never>, 'tryClaim' | 'schemaName' | 'setUp' | 'lookUpLost' | 'knownEvents' | 'operations'>
    >;
  outbox: Driven['outbox'];
  inbox: (NonNullable<Driven['inbox']> & Partial<Pick<Inbox<never>, 'sources' | 'handled'>>) | undefined;
  operations: readonly { name: string; durability?: string; whoActs?: () => Promise<Principal | null> }[];
}

/** The options of every command that loads the app. */
export const APP_OPTIONS = { idempotency: text, operations: text } as const;

/** Their lines in the help. */
export const APP_HELP = `  --idempotency <path>  the module that exports \`idempotency\`. It may export \`outbox\` and \`inbox\`, too; else they are
                        taken from the module that makes them, such as lib/messaging.ts
  --operations <path>   the module that exports \`operations\`. Left out: what package.json says under "oncekit", else
                        lib/idempotency.ts and lib/operations.ts, also below src/`;

/**
 * Loads the app's set-up, its operations, and its outbox and inbox into this process, TypeScript and path aliases included.
 *
 * @throws CliError with what is missing, or with what the module itself threw
 */
export async function loadApp(root: string, tree: FileTree, given: ModulePaths = {}): Promise<LoadedApp> {
  const files = { idempotency: fileOf('idempotency', tree, given), operations: fileOf('operations', tree, given) };
  await prepareImports(root, Object.values(files));
  // One behind the other: what is wrong with the first is said once.
  const setUp = await load(root, files.idempotency);
  const listed = await load(root, files.operations);
  const { idempotency, ...exported } = setUp as Partial<LoadedApp>;
  if (typeof idempotency?.completeDue !== 'function') {
    throw new CliError(
      `${files.idempotency} exports no \`idempotency\`.`,
      'Write: export const idempotency = createIdempotency({ … });',
    );
  }
  // The module may list them, or just import those that define them.
  const { operations = idempotency.operations?.() ?? [] } = listed as Partial<LoadedApp>;
  if (!Array.isArray(operations) || (operations.length === 0 && !('operations' in listed))) {
    throw new CliError(
      `${files.operations} exports no list \`operations\`, and imports no module that defines one.`,
      'Write: export const operations = [checkout] as const;',
    );
  }
  const outbox = exported.outbox ?? (await loadBox<LoadedApp['outbox']>(root, tree, 'outbox'));
  const inbox = exported.inbox ?? (await loadBox<LoadedApp['inbox']>(root, tree, 'inbox'));
  return { idempotency, outbox, inbox, operations };
}

async function loadBox<Loaded>(root: string, tree: FileTree, box: Box): Promise<Loaded | undefined> {
  const found = findBox(tree, box);
  if (!found?.exported) return undefined;
  return ((await load(root, found.file)) as Record<string, Loaded>)[found.exported];
}

/** True once imports are prepared: an app's modules are evaluated once in a process. */
let isPrepared = false;

async function prepareImports(root: string, files: string[]): Promise<void> {
  if (isPrepared) return;
  isPrepared = true;
  // The module that `node --import tsx` loads: the app's own, else the one that is beside the kit.
  const find = (from: string) => tryOr(() => createRequire(from).resolve('tsx'));
  const tsx = find(path.join(root, 'package.json')) ?? find(fileURLToPath(import.meta.url));
  if (tsx) await import(pathToFileURL(tsx).href);
  else if (files.some((file) => /tsx?$/.test(file))) {
    throw new CliError('The app is TypeScript, and tsx is not installed, which reads it.', 'npm install tsx');
  }
  // Behind tsx, so that it is asked before it.
  register(`data:text/javascript,${encodeURIComponent(HOOKS)}`);
}

/**
 * Resolves as Next does by itself. `server-only` is nothing on a server, and `next/headers` is `next/headers.js`: a module
 * that says who acts has such imports, and the command line never asks it. TypeScript is read as modules, also where
 * package.json does not say "type": "module": the kit, and what it depends on, cannot be had by `require`, which tsx would
 * make of their imports (and mark their addresses with).
 */
const HOOKS = `export async function resolve(name, context, next) {
  if (name === 'server-only' || name === 'client-only') return { url: 'data:text/javascript,export{}', shortCircuit: true };
  const found = await next(/^next\\/[a-z-]+$/.test(name) ? name + '.js' : name, context);
  const [url] = found.url.split(/%3F|\\?/);
  return /\\.tsx?$/.test(url) && !url.includes('/node_modules/') ? { ...found, url, format: 'module' } : found;
}`;

async function load(root: string, file: string): Promise<object> {
  try {
    return await import(pathToFileURL(path.resolve(root, file)).href);
  } catch (error) {
    if (isSetUpWrongly(error)) {
      throw new CliError(`${file}: ${error.message} Found: ${error.existing}.`, `Give it ${error.expected}.`);
    }
    const said = ((error as Error).message ?? String(error)).trim().split('\n')[0];
    throw new CliError(
      `${file} could not be loaded: ${said}`,
      'It must load outside of Next.js, too: mend what it says.',
    );
  }
}
