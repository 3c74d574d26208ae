import { isSetUpWrongly } from '../../core/errors.ts';
import { assertScope } from '../../core/scope.ts';
import { settleWithin } from '../../core/wait.ts';
import { type FileTree, type SourceFile, sourceFiles } from '../app/file-tree.ts';
import { readImportGraph } from '../app/import-graph.ts';
import type { LoadedApp } from '../app/loader.ts';
import { BOXES, unexportedBox } from '../app/messaging-modules.ts';
import { type App, fileOf, findApp, type ModulePaths } from '../app/next-app.ts';
import { blanked, callAt, endOf, lineAt, withoutComments } from '../app/source-text.ts';
import { CliError } from '../command.ts';
import { checkNamed, type Finding } from './finding.ts';
import { checkNames, checkOperations, checkRoutes } from './routes.ts';
import { type checkWindow, readWindow } from './window.ts';

/** The findings about the app's files, and the facts that later checks need. */
export interface AppFacts {
  findings: Finding[];
  /** Missing where there is no app here. */
  app?: App;
  /** By its text; missing where there is no set-up. */
  window?: Parameters<typeof checkWindow>[1];
  /** The module of the set-up; missing where it is not there. */
  setUpFile?: string;
  /** The set-up as the app has it; missing where it cannot be loaded. */
  idempotency?: LoadedApp['idempotency'];
  hasPhases?: boolean;
  /** Destinations of its outbox. */
  destinations?: readonly string[];
  hasInbox?: boolean;
  /** Sources of its inbox that have a `handle`; missing where it knows none, or cannot be loaded. */
  handled?: readonly string[];
  hasCronRoute?: boolean;
  /** The passes of a worker that something calls, as far as files tell. */
  called?: string[];
  /** Names of the operations; missing where they cannot be loaded. */
  operations?: string[];
  /** Names of those that say `durability: 'replicated'`. */
  replicated?: string[];
}

/** Set-up, operations and routes, by the app's files and, of the operations, by loading them. */
export async function checkApp(tree: FileTree, given: ModulePaths, load: () => Promise<LoadedApp>): Promise<AppFacts> {
  const facts: AppFacts = { findings: [] };
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
    const twice = checkNames(running);
    if (twice) return { ...facts, findings: [twice] };
    const loaded = await load();
    const { idempotency, operations, outbox, inbox } = loaded;
    facts.idempotency = idempotency;
    facts.operations = operations.map(({ name }) => name);
    facts.replicated = operations.filter((one) => one.durability === 'replicated').map(({ name }) => name);
    facts.hasPhases = sources.some(({ text }) => /\)\s*\.phases\s*\(/.test(text));
    facts.destinations = outbox?.destinations ?? [];
    facts.hasInbox = inbox !== undefined && (inbox.sources ?? ['any']).length > 0;
    if (facts.hasInbox) facts.handled = inbox?.handled;
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
function readSources(tree: FileTree, roots: readonly string[]): { sources: SourceFile[]; running: SourceFile[] } {
  const graph = readImportGraph(tree);
  const sources = [...graph.texts].map(([file, text]) => ({ file, text }));
  const reached = new Set(sources.flatMap(({ file }) => (roots.some((root) => file.startsWith(root)) ? file : [])));
  for (const name of reached) for (const next of graph.files(name)) reached.add(next);
  return { sources, running: sources.filter(({ file }) => reached.has(file)) };
}

function checkMessaging(tree: FileTree): Finding[] {
  return BOXES.flatMap((box) => {
    const hidden = unexportedBox(tree, box);
    return hidden ? [checkNamed(box === 'outbox' ? 'Outbox' : 'Inbox').problem(hidden.says, hidden.fix)] : [];
  });
}

const WAIT_MS = 5000;

/**
 * Asks the app's own `scope`, without a request. That it misses the request is as it should be; whatever else it throws, a
 * visitor may meet as well.
 *
 * @param operations of the app, each of which asks the scope of its set-up
 */
async function checkScope(file: string, source: string, operations: LoadedApp['operations']): Promise<Finding> {
  const check = checkNamed('Scope');
  const call = callAt(source, 'createIdempotency');
  if (call !== undefined && /\bscope\s*:\s*(?:async\s*)?\(\s*\)\s*=>\s*(?:null|undefined)\b/.test(call)) {
    return check.warning(
      'Nobody may act yet: scope() returns null, so no key is issued.',
      `Return who acts from \`scope\` in ${file}.`,
    );
  }
  if (call !== undefined && !/\bscope\b/.test(call)) return check.ok(`${file} has no scope: each call gives its own.`);
  const ask = operations.find(({ whoActs }) => whoActs)?.whoActs;
  if (!ask)
    return check.ok(call === undefined ? `${file} does not call createIdempotency itself.` : `${file} says who acts.`);
  try {
    const who = await settleWithin(ask(), WAIT_MS, () => 'late' as const);
    if (who === 'late') {
      return check.warning(
        `scope in ${file} has not answered within ${WAIT_MS / 1000} s.`,
        'Let it give up what it waits for, and return null.',
      );
    }
    if (who === null || who === undefined) return check.ok(`${file} says who acts: without a request, nobody.`);
    assertScope({ ...(who as { tenant: string; principal: string }), operation: 'doctor' });
    return check.ok(`${file} calls everybody ${who.principal}. Before you go live, return who is signed in.`);
  } catch (error) {
    if (isWithoutRequest(error)) return check.ok(`${file} says who acts, by the request.`);
    const { message } = error as Error;
    if (/No secret is configured|Nobody says who acts/.test(message)) return check.ok(`${file} says who acts.`);
    if (isSetUpWrongly(error)) {
      return check.problem(
        `scope in ${file}: ${message} Found: ${error.existing}.`,
        `Return { principal }, and a tenant only where there are several, of ${error.expected}.`,
      );
    }
    return check.warning(
      `scope in ${file} throws where there is no request, and not because of that: ${lineOf(error)}.`,
      'Let it return null where it finds nobody.',
    );
  }
}

/** Next's own words for a missing request, and what it throws to leave a render: also where a library has wrapped them. */
function isWithoutRequest(error: unknown): boolean {
  for (let at = error as { message?: string; digest?: string; cause?: unknown } | undefined; at; ) {
    if (/outside a request scope|outside of a request|next-dynamic-api-wrong-context/.test(at.message ?? ''))
      return true;
    if (/^(NEXT_|DYNAMIC_SERVER_USAGE|HANGING_PROMISE)/.test(at.digest ?? '')) return true;
    at = at.cause as typeof at;
  }
  return false;
}

function lineOf(error: unknown): string {
  const { name = 'Error', message = String(error) } = (error ?? {}) as Partial<Error>;
  return `${name}: ${message.trim().split('\n')[0]}`.replace(/\.$/, '');
}

const CALLS = /\bwebhook\s*\(/g;
/** A URL that comes with a row: `url: customer.url`. What the environment or a setting says is the developer's own. */
const OF_A_ROW = /\burl\s*:\s*(?!process\.|env\b|config\b|settings\b)(?:await\s+)?[A-Za-z_$][\w$]*\s*(?:\?\.|\.|\[)/;

/** Webhooks whose URL a customer may have chosen, and that may go anywhere, as far as their text tells. */
export function checkWebhooks(tree: FileTree): Finding[] {
  const using = sourceFiles(tree).filter(({ text }) => /oncekit\/messaging/.test(text));
  const found = using.flatMap(({ file, text }) => anywhere(text).map((at) => `${file}:${lineAt(text, at)}`));
  return found.map((place) =>
    checkNamed('Webhooks').warning(
      `${place} sends to a URL that is not fixed. Whoever chooses it could have your server speak to your own network.`,
      'Give webhook() an allowAddress: isPublicAddress, or () => true where the URL is your own: docs/webhook-destinations.md.',
    ),
  );
}

function anywhere(source: string): number[] {
  const code = blanked(source);
  return [...code.matchAll(CALLS)].flatMap(({ index, 0: { length } }) => {
    const given = code.slice(index, endOf(code, index + length - 1));
    return OF_A_ROW.test(given) && !/\ballowAddress\b/.test(given) ? index : [];
  });
}
