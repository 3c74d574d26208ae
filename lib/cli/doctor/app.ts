import { type FileTree, filesBelow, SOURCE_FILE } from '../app/file-tree.ts';
import { fileOf, type LoadedApp, type ModulePaths } from '../app/loader.ts';
import { BOXES, hiddenBox } from '../app/messaging-modules.ts';
import { type App, findApp } from '../app/next-app.ts';
import { blanked, callAt, endOf, lineAt, withoutComments } from '../app/source-text.ts';
import { CliError } from '../command.ts';
import { drivesKeysAlone } from '../init/plan-code.ts';
import { checkNamed, type Finding } from './finding.ts';
import { readWindow, type Window } from './window.ts';

/** The findings about the app's files, and the facts that later checks need. */
export interface AppFacts {
  findings: Finding[];
  /** undefined where there is no app here. */
  app: App | undefined;
  /** undefined where there is no set-up. */
  window: Window | 'unreadable' | undefined;
  needsWorker: boolean;
  hasCron: boolean;
  /** Names of the operations that say `durability: 'replicated'`. */
  replicated: string[];
  /** Of the app's own set-up; undefined where that cannot be loaded. */
  tryClaim: LoadedApp['idempotency']['tryClaim'];
}

/** Set-up, operations and routes, by the app's files and, of the operations, by loading them. */
export async function checkApp(tree: FileTree, given: ModulePaths, load: () => Promise<LoadedApp>): Promise<AppFacts> {
  const facts: AppFacts = {
    findings: [],
    app: undefined,
    window: undefined,
    needsWorker: false,
    hasCron: false,
    replicated: [],
    tryClaim: undefined,
  };
  try {
    facts.app = findApp(tree);
    const file = fileOf('idempotency', tree, given);
    const source = withoutComments(tree.read(file) ?? '');
    facts.window = readWindow(source) ?? 'unreadable';
    facts.findings.push(checkScope(file, source));
    const loaded = await load();
    facts.tryClaim = loaded.idempotency.tryClaim;
    facts.replicated = loaded.operations.filter((one) => one.durability === 'replicated').map(({ name }) => name);
    const sources = filesBelow(tree, '', SOURCE_FILE).map((name) => ({
      name,
      text: withoutComments(tree.read(name) ?? ''),
    }));
    facts.needsWorker =
      loaded.outbox !== undefined ||
      loaded.inbox !== undefined ||
      sources.some(({ text }) => /\)\s*\.phases\s*\(/.test(text));
    facts.findings.push(checkOperations(sources, loaded, fileOf('operations', tree, given)));
    facts.findings.push(...checkMessaging(tree));
    const cron = checkRoutes(sources, tree, loaded);
    facts.findings.push(...cron.findings);
    facts.hasCron = cron.hasCron;
  } catch (error) {
    if (!(error instanceof CliError)) throw error;
    facts.findings.push(checkNamed('App').problem(error.message, error.fix ?? ''));
  }
  return facts;
}

function checkScope(file: string, source: string): Finding {
  const check = checkNamed('Scope');
  const call = callAt(source, 'createIdempotency');
  if (call === undefined) return check.ok(`${file} does not call createIdempotency itself.`);
  if (/\bscope\s*:\s*(?:async\s*)?\(\s*\)\s*=>\s*(?:null|undefined)\b/.test(call)) {
    return check.warning(
      'Nobody may act yet: scope() returns null, so no key is issued.',
      `Return who acts from \`scope\` in ${file}.`,
    );
  }
  return check.ok(/\bscope\b/.test(call) ? `${file} says who acts.` : `${file} has no scope: each call gives its own.`);
}

interface Source {
  name: string;
  text: string;
}

/** A form asks the status route what became of its key: one whose operation is not listed there never learns it. */
function checkOperations(sources: Source[], { operations }: LoadedApp, listedIn: string): Finding {
  const check = checkNamed('Operations');
  const listed = new Set(operations.map(({ name }) => name));
  for (const { name, text } of sources) {
    const defined = definedIn(text);
    const renamed = [...text.matchAll(/\bserverAction\s*\(\s*\w+\s*\.\s*as\s*\(\s*(['"`])([a-z][\w.-]*)\1/g)];
    const all = [...defined, ...renamed.map(({ index, 2: operation = '' }) => ({ index, operation }))];
    for (const { index, operation } of all) {
      if (listed.has(operation)) continue;
      return check.problem(
        `${operation} (${name}:${lineAt(text, index)}) is not listed: its form cannot ask what became of a key, and a worker does not know it.`,
        `Add it to \`operations\` in ${listedIn}.`,
      );
    }
  }
  return listed.size > 0
    ? check.ok(`${[...listed].join(', ')}: listed for the status route and the worker.`)
    : check.warning('There is none yet.', `Write one, and list it in ${listedIn}.`);
}

/** The names that are given to `.operation({ … })`, where they are plain strings. */
function definedIn(text: string): { index: number; operation: string }[] {
  const code = blanked(text);
  return [...code.matchAll(/\.\s*operation\s*\(/g)].flatMap(({ index, 0: { length } }) => {
    const call = text.slice(index, endOf(code, index + length - 1));
    const [, , operation] = /\bname\s*:\s*(['"`])([a-z][\w.-]*)\1/.exec(call) ?? [];
    return operation ? { index, operation } : [];
  });
}

function checkMessaging(tree: FileTree): Finding[] {
  return BOXES.flatMap((box) => {
    const hidden = hiddenBox(tree, box);
    return hidden ? [checkNamed(box === 'outbox' ? 'Outbox' : 'Inbox').problem(hidden.says, hidden.fix)] : [];
  });
}

function checkRoutes(sources: Source[], tree: FileTree, loaded: LoadedApp): { findings: Finding[]; hasCron: boolean } {
  const routes = sources.filter(({ name }) => /(^|\/)route\.[jt]sx?$/.test(name));
  const status = routes.find(({ text }) => /\bstatusRoute\s*\(/.test(text));
  const cron = routes.find(({ text }) => /\bcronRoute\s*\(/.test(text));
  const isSecret = cron === undefined || /\bsecret\b/.test(callAt(cron.text, 'cronRoute') ?? '');
  const lacking = cron && drivesKeysAlone(cron.text) ? BOXES.filter((box) => loaded[box]) : [];
  const isCalled = /\/api\/cron\//.test(tree.read('vercel.json') ?? '');
  const routeCheck = checkNamed('Status route');
  const cronCheck = checkNamed('Cron route');
  return {
    hasCron: cron !== undefined && isCalled,
    findings: [
      status
        ? routeCheck.ok(`${status.name} answers.`)
        : routeCheck.problem('There is none: a form whose answer was lost cannot ask for it.', 'npx oncekit init'),
      cron === undefined
        ? cronCheck.ok('There is none. Where a worker runs, none is needed.')
        : !isSecret
          ? cronCheck.problem(
              `${cron.name} has no secret, so it stays closed.`,
              'cronRoute(idempotency, { secret: process.env.CRON_SECRET })',
            )
          : lacking.length > 0
            ? cronCheck.warning(
                `${cron.name} is given no ${lacking.join(' and no ')}: where no worker runs, its events wait for ever.`,
                `cronRoute({ ...idempotency, ${lacking.join(', ')} }, { secret: process.env.CRON_SECRET })`,
              )
            : cronCheck.ok(`${cron.name}${isCalled ? ', called by vercel.json' : ''}.`),
    ],
  };
}
