import path from 'node:path';
import type { FileTree, SourceFile } from '../app/file-tree.ts';
import type { LoadedApp } from '../app/loader.ts';
import { BOXES, type Box, findBox } from '../app/messaging-modules.ts';
import { callAt, lineAt, operationsIn, withoutComments } from '../app/source-text.ts';
import { drivesKeysAlone } from '../init/plan-code.ts';
import { checkNamed, type Finding } from './finding.ts';

const DEFAULT_PATH = '/api/idempotency';

/** Where the kit's routes are, and whether they are asked there: by forms, and by the clock of the host, which calls passes. */
export function checkRoutes(sources: SourceFile[], tree: FileTree, router: string, loaded: LoadedApp) {
  const routes = sources.filter(({ file }) => /(^|\/)route\.[jt]sx?$/.test(file));
  const status = routes.find(({ text }) => /\bstatusRoute\s*\(/.test(text));
  const cron = routes.find(({ text }) => /\bcronRoute\s*\(/.test(text));
  const basePath = readBasePath(tree);
  const cronPath = cron && basePath !== undefined ? `${basePath}${pathOf(cron.file, router)}` : undefined;
  const calls = cronCalls(tree, cronPath);
  const findings = [checkStatus(status, sources, router, basePath), checkCron(cron, tree, loaded, calls)];
  return { findings, called: calls.called };
}

function checkStatus(route: SourceFile | undefined, sources: SourceFile[], router: string, basePath?: string): Finding {
  const check = checkNamed('Status route');
  if (!route) {
    return check.problem('There is none: a form whose answer was lost cannot ask for it.', 'npx oncekit init');
  }
  const missing = ['GET', 'DELETE'].find((method) => !new RegExp(`\\bexport\\b[^;]*\\b${method}\\b`).test(route.text));
  if (missing) {
    return check.problem(
      `${route.file} exports no ${missing}: a form can ${missing === 'GET' ? 'ask for no answer' : 'give no key up'}.`,
      'Write there: export const { GET, DELETE } = statusRoute(operations);',
    );
  }
  const at = pathOf(route.file, router);
  // A base path that is worked out elsewhere is not known here, and neither is an address that is not written out.
  if (basePath === undefined) return check.ok(`${route.file} answers.`);
  const asked = sources.flatMap(({ file, text }) =>
    [...text.matchAll(/\bstatusUrl\s*(?:=|:)\s*\{?\s*(['"`])([^'"`$]*)\1/g)].map(({ index, 2: url = '' }) => ({
      place: `${file}:${lineAt(text, index)}`,
      url,
    })),
  );
  const right = basePath + at;
  const wrong = asked.find(({ url }) => url.replace(/\/$/, '') !== right && !/^https?:/.test(url));
  if (wrong) {
    return check.problem(
      `${wrong.place} asks at ${wrong.url}, and the status route answers at ${right}.`,
      at === DEFAULT_PATH
        ? 'Remove statusUrl there: the form finds the route by itself.'
        : `Write there: statusUrl="${right}"`,
    );
  }
  if (at !== DEFAULT_PATH && asked.length === 0 && !sources.some(({ text }) => /\bstatusUrl\b/.test(text))) {
    return check.problem(
      `${route.file} answers at ${right}, and forms ask at ${basePath}${DEFAULT_PATH}.`,
      `Move it to ${router}${DEFAULT_PATH}/[operation]/[key]/route.ts.`,
    );
  }
  return check.ok(`${route.file} answers${basePath ? `, under ${basePath}` : ''}.`);
}

/** The path under which Next serves a route, without the segments in brackets at its end. */
function pathOf(file: string, router: string): string {
  const segments = path.posix.dirname(file).slice(router.length).split('/').filter(Boolean);
  const shown = segments.filter((name) => !/^(\(.*\)|@.*)$/.test(name));
  while (/^\[.*\]$/.test(shown.at(-1) ?? '')) shown.pop();
  return `/${shown.join('/')}`;
}

const CONFIGS = ['ts', 'mts', 'js', 'mjs', 'cjs'].map((ending) => `next.config.${ending}`);

/** `''` where there is none; undefined where the configuration works it out. */
function readBasePath(tree: FileTree): string | undefined {
  const source = withoutComments(CONFIGS.map((name) => tree.read(name)).find((text) => text !== undefined) ?? '');
  const [, , plain] = /\bbasePath\s*:\s*(['"`])([^'"`$]*)\1/.exec(source) ?? [];
  return plain ?? (/\bbasePath\b/.test(source) ? undefined : '');
}

/** What vercel.json calls: passes, and a path that leads to no cron route. */
function cronCalls(tree: FileTree, cronPath: string | undefined) {
  const paths = [...(tree.read('vercel.json') ?? '').matchAll(/"path"\s*:\s*"([^"]*)"/g)].map(([, at = '']) => at);
  const tasks = paths.flatMap((at) => {
    const [, before = '', task] = /^(.*)\/(complete|reap|relay|inbox)\/?(?:\?.*)?$/.exec(at) ?? [];
    return task ? { at, before, task } : [];
  });
  const wrong = cronPath === undefined ? undefined : tasks.find(({ before }) => before !== cronPath);
  return {
    called: tasks.filter((one) => one !== wrong).map(({ task }) => task),
    misled: wrong && { path: wrong.at, task: wrong.task, cronPath },
  };
}

function checkCron(
  route: SourceFile | undefined,
  tree: FileTree,
  loaded: LoadedApp,
  { called, misled }: ReturnType<typeof cronCalls>,
): Finding {
  const check = checkNamed('Cron route');
  if (!route) return check.ok('There is none. Where a worker runs, none is needed.');
  if (!/\bsecret\b/.test(callAt(route.text, 'cronRoute') ?? '')) {
    return check.problem(
      `${route.file} has no secret, so it stays closed.`,
      'Write there: cronRoute(idempotency, { secret: process.env.CRON_SECRET })',
    );
  }
  if (misled) {
    return check.problem(
      `vercel.json calls ${misled.path}, and the cron route answers at ${misled.cronPath}/<task>.`,
      `Write in vercel.json: "path": "${misled.cronPath}/${misled.task}"`,
    );
  }
  const lacking = drivesKeysAlone(route.text) ? BOXES.filter((box) => loaded[box]) : [];
  if (lacking.length > 0) {
    return check.warning(
      `${route.file} is given no ${lacking.join(' and no ')}: where no worker runs, its events wait for ever.`,
      `Import ${lacking.map((box) => `${box}${fromWhere(tree, box)}`).join(' and ')} there, and write: cronRoute({ ...idempotency, ${lacking.join(', ')} }, { secret: process.env.CRON_SECRET })`,
    );
  }
  return check.ok(`${route.file}${called.length > 0 ? ', called by vercel.json' : ''}.`);
}

function fromWhere(tree: FileTree, box: Box): string {
  const file = findBox(tree, box)?.file;
  return file ? ` of ${file}` : '';
}

/**
 * Two definitions of one name, as far as files tell: of two forms one would be given the other's answers. Undefined where
 * there are none. Asked before the app is loaded, which the kit refuses then.
 */
export function checkNames(sources: SourceFile[]): Finding | undefined {
  const first = new Map<string, string>();
  for (const { file, text } of sources) {
    for (const { index, name: operation } of operationsIn(text)) {
      const place = `${file}:${lineAt(text, index)}`;
      const other = first.get(operation);
      if (other) {
        return checkNamed('Operations').problem(
          `${other} and ${place} both define ${operation}: one would be answered with the result of the other.`,
          `Give the second another name: name: '${operation}-2'.`,
        );
      }
      first.set(operation, place);
    }
  }
  return undefined;
}

/** A form asks the status route what became of its key: one whose operation is not listed there never learns it. */
export function checkOperations(sources: SourceFile[], { operations }: LoadedApp, listedIn: string): Finding {
  const check = checkNamed('Operations');
  const listed = new Set(operations.map(({ name }) => name));
  const twice = operations.find((each) => operations.some((other) => other !== each && other.name === each.name));
  if (twice) {
    return check.problem(
      `${listedIn} lists two operations of the name ${twice.name}, which the status route refuses.`,
      'Take one of them out of the list, or give it another name.',
    );
  }
  for (const { file, text } of sources) {
    const renamed = [...text.matchAll(RENAMED)].flatMap(({ index, 1: by, 2: base = '', 4: name = '' }) => {
      if (by === 'serverAction') return { index, name };
      // A route's caller asks nobody else. What its process leaves unfinished in phases is for a worker.
      return isInPhases(base, sources) ? { index, name, route: `${base}.as('${name}')` } : [];
    });
    const all: { index: number; name: string; route?: string }[] = [...operationsIn(text), ...renamed];
    for (const { index, name, route } of all) {
      if (listed.has(name)) continue;
      const lost = route
        ? 'no worker goes on with its keys'
        : 'its form cannot ask what became of a key, and a worker does not know it';
      return check.problem(
        `${name} (${file}:${lineAt(text, index)}) is not listed: ${lost}.`,
        `Add ${route ?? 'it'} to \`operations\` in ${listedIn}.`,
      );
    }
  }
  return listed.size > 0
    ? check.ok(`${[...listed].join(', ')}: listed for the status route and the worker.`)
    : check.warning('There is none yet.', `Write one, and list it in ${listedIn}.`);
}

/** An operation that gets another name where it is used. */
const RENAMED = /\b(serverAction|routeHandler)\s*\(\s*(\w+)\s*\.\s*as\s*\(\s*(['"`])([a-z][\w.-]*)\3/g;

/** Tells whether an operation is in phases, as far as files tell. */
function isInPhases(name: string, sources: SourceFile[]): boolean {
  const definition = new RegExp(
    `\\b${name}\\b\\s*=[^=]*?\\.\\s*operation\\b[\\s\\S]*?\\)\\s*\\.\\s*(handler|phases)\\s*\\(`,
  );
  return sources.some(({ text }) => definition.exec(text)?.[1] === 'phases');
}
