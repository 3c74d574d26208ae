import path from 'node:path';
import { type FileTree, sourceFiles } from '../app/file-tree.ts';
import { type App, findApp, findImports, type Imports, installed, specifier } from '../app/next-app.ts';
import { CliError } from '../command.ts';
import type { FileWrite, Plan } from '../init/plan.ts';
import { moduleFiles } from '../init/plan-code.ts';
import { type Names, namesOf } from './names.ts';
import { exportedOperations, withOperation } from './operation-list.ts';
import { actionModule, operationModule, pageModule } from './templates.ts';

/** An operation of the app: its name in code and in keys, and the file that exports it. */
interface Found {
  exported: string;
  name: string;
  file: string;
}

interface Draft {
  tree: FileTree;
  app: App;
  imports: Imports;
  names: Names;
  plan: Plan & { next: string[] };
}

/**
 * Plans the smallest operation that works, listed where the status route and the worker look for it. Pure, as `planInit`.
 *
 * @throws CliError where the app has not been set up, or has such an operation or file already
 */
export function planOperation(tree: FileTree, given: string): Draft['plan'] {
  const draft = draftOf(tree, given);
  const found = findOperation(draft);
  if (found) {
    throw new CliError(
      `There is an operation ${found.name} already, in ${found.file}.`,
      'Choose another name: two operations of one name would get each other’s answers.',
    );
  }
  addOperation(draft);
  return draft.plan;
}

/**
 * Plans a page with a form, and its action, for the operation of this name. Where there is none, it is planned as well.
 *
 * @throws CliError where the app has not been set up, or has such a page already
 */
export function planForm(tree: FileTree, given: string): Draft['plan'] {
  const draft = draftOf(tree, given);
  const { app, names, plan } = draft;
  const known = findOperation(draft);
  const operation = known ?? addOperation(draft);
  const folder = `${app.router}/${names.kebab}`;
  const [actions, page] = [`${folder}/actions.ts`, `${folder}/page.tsx`];
  const from = specifier(actions, operation.file, draft.imports);
  addFile(draft, actions, actionModule(names, { ...operation, from }));
  const ending = draft.imports.ending;
  addFile(draft, page, pageModule(names, { operation: operation.name, isNew: !known, actions: `./actions${ending}` }));
  plan.next.push(
    known ? `Write its fields into ${page}` : `Write what it does into ${operation.file}`,
    `Look at it: npm run dev, then /${names.kebab}`,
  );
  return plan;
}

function draftOf(tree: FileTree, given: string): Draft {
  const names = namesOf(given);
  const app = findApp(tree);
  const { idempotency } = moduleFiles(app);
  if (!tree.read(idempotency)?.includes('createIdempotency')) {
    throw new CliError(
      `The kit is not set up here: there is no ${idempotency} that calls createIdempotency.`,
      'Run npx oncekit init first. If it is elsewhere, say where in package.json: { "oncekit": { "idempotency": "…" } }.',
    );
  }
  const next = installed(app.packageJson).zod ? [] : ['Install what checks the input: npm install zod'];
  return { tree, app, names, imports: findImports(tree), plan: { writes: [], kept: [], notes: [], next } };
}

function addOperation(draft: Draft): Found {
  const { tree, app, imports, names, plan } = draft;
  const { idempotency, operations } = moduleFiles(app);
  const file = path.posix.join(path.posix.dirname(idempotency), `${names.kebab}.ts`);
  addFile(draft, file, operationModule(names, specifier(file, idempotency, imports)));
  const before = tree.read(operations);
  const listing = { exported: names.camel, from: specifier(operations, file, imports) };
  const content = before === undefined ? undefined : withOperation(before, listing);
  if (content !== undefined) plan.writes.push({ file: operations, before, content } satisfies FileWrite);
  else plan.kept.push(`${operations} has no plain list: add ${names.camel} to \`operations\` yourself.`);
  return { exported: names.camel, name: names.kebab, file };
}

/** By either of its names: keys have the one, code has the other. */
function findOperation({ tree, names }: Draft): Found | undefined {
  return sourceFiles(tree)
    .filter(({ text }) => text.includes('operation'))
    .flatMap(({ file, text }) => exportedOperations(text).map((each) => ({ ...each, file })))
    .find(({ exported, name }) => name === names.kebab || exported === names.camel);
}

function addFile({ tree, plan }: Draft, file: string, content: string): void {
  const bare = file.replace(/\.tsx?$/, '');
  const there = ['.ts', '.tsx', '.js', '.jsx'].map((ending) => `${bare}${ending}`).find((each) => tree.read(each));
  if (there) throw new CliError(`${there} is there already, and stays as it is.`, 'Choose another name.');
  plan.writes.push({ file, content, before: undefined } satisfies FileWrite);
}
