import type { SetUp } from '../../engine/config.ts';
import type { FileTree } from '../app/file-tree.ts';
import { readImportGraph } from '../app/import-graph.ts';
import { fileOf, type LoadedApp, type ModulePaths } from '../app/loader.ts';
import { BOXES, unexportedBox } from '../app/messaging-modules.ts';
import { type App, findApp } from '../app/next-app.ts';
import { withoutComments } from '../app/source-text.ts';
import { CliError } from '../command.ts';
import { checkNamed, type Finding } from './finding.ts';
import { checkNames, checkOperations, type Source } from './operations.ts';
import { checkRoutes } from './routes.ts';
import { checkScope } from './scope.ts';
import { readWindow, type Window } from './window.ts';

/** The findings about the app's files, and the facts that later checks need. */
export interface AppFacts {
  findings: Finding[];
  /** Missing where there is no app here. */
  app?: App;
  /** By its text; missing where there is no set-up. */
  window?: Window | 'unreadable';
  /** The module of the set-up, and the set-up as the app has it; missing where it is not there, or cannot be loaded. */
  setUpFile?: string;
  setUp?: SetUp | undefined;
  hasPhases: boolean;
  /** Files with operations that say `oncePer`, as far as files tell. */
  oncePerIn: string[];
  /** Destinations of its outbox. */
  destinations: readonly string[];
  hasInbox: boolean;
  hasCronRoute: boolean;
  /** The passes of a worker that something calls, as far as files tell. */
  called: string[];
  /** Names of the operations; missing where they cannot be loaded. */
  operations?: string[];
  /** Names of those that say `durability: 'replicated'`. */
  replicated: string[];
  /** Of the app's own set-up; missing where that cannot be loaded. */
  tryClaim?: LoadedApp['idempotency']['tryClaim'];
}

/** Set-up, operations and routes, by the app's files and, of the operations, by loading them. */
export async function checkApp(tree: FileTree, given: ModulePaths, load: () => Promise<LoadedApp>): Promise<AppFacts> {
  const facts: AppFacts = {
    findings: [],
    hasPhases: false,
    oncePerIn: [],
    destinations: [],
    hasInbox: false,
    hasCronRoute: false,
    called: [],
    replicated: [],
  };
  try {
    const app = findApp(tree);
    facts.app = app;
    const file = fileOf('idempotency', tree, given);
    const listedIn = fileOf('operations', tree, given);
    const source = withoutComments(tree.read(file) ?? '');
    facts.setUpFile = file;
    facts.window = readWindow(source) ?? 'unreadable';
    const { sources, running } = readSources(tree, [`${app.router}/`, file, listedIn]);
    facts.hasCronRoute = sources.some(({ text }) => /\bcronRoute\s*\(/.test(text));
    facts.oncePerIn = running.filter(({ text }) => /\boncePer\s*[:,(}]/.test(text)).map(({ name }) => name);
    const twice = checkNames(running);
    if (twice) return { ...facts, findings: [twice] };
    const loaded = await load();
    const { idempotency, operations, outbox, inbox } = loaded;
    facts.setUp = idempotency.setUp;
    facts.tryClaim = idempotency.tryClaim;
    facts.operations = operations.map(({ name }) => name);
    facts.replicated = operations.filter((one) => one.durability === 'replicated').map(({ name }) => name);
    facts.hasPhases = sources.some(({ text }) => /\)\s*\.phases\s*\(/.test(text));
    facts.destinations = outbox?.destinations ?? [];
    facts.hasInbox = inbox !== undefined && (inbox.sources ?? ['any']).length > 0;
    const { findings, ...routes } = checkRoutes(sources, tree, app.router, loaded);
    Object.assign(facts, routes);
    facts.findings.push(await checkScope(file, source, operations));
    facts.findings.push(checkOperations(sources, loaded, listedIn), ...checkMessaging(tree), ...findings);
  } catch (error) {
    if (!(error instanceof CliError)) throw error;
    facts.findings.push(checkNamed('App').problem(error.message, error.fix ?? ''));
  }
  return facts;
}

/** Every file of the app, and of them those that the roots import: what is only there, such as an example, defines nothing. */
function readSources(tree: FileTree, roots: readonly string[]): { sources: Source[]; running: Source[] } {
  const graph = readImportGraph(tree);
  const sources = [...graph.texts].map(([name, text]) => ({ name, text }));
  const reached = new Set(sources.flatMap(({ name }) => (roots.some((root) => name.startsWith(root)) ? name : [])));
  for (const name of reached) for (const next of graph.files(name)) reached.add(next);
  return { sources, running: sources.filter(({ name }) => reached.has(name)) };
}

function checkMessaging(tree: FileTree): Finding[] {
  return BOXES.flatMap((box) => {
    const hidden = unexportedBox(tree, box);
    return hidden ? [checkNamed(box === 'outbox' ? 'Outbox' : 'Inbox').problem(hidden.says, hidden.fix)] : [];
  });
}
