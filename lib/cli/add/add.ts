import path from 'node:path';
import { type FileTree, folderTree, sourceFiles } from '../app/file-tree.ts';
import { findApp, findImports, installed, specifier } from '../app/next-app.ts';
import { blanked, operationsIn } from '../app/source-text.ts';
import { CliError, type Command, readArgs, readSubcommand, UsageError } from '../command.ts';
import { carryOut, type Plan, planOf, WRITE_OPTIONS } from '../init/plan.ts';
import { moduleFiles } from '../init/plan-code.ts';

const help = `oncekit add operation <name> [--yes] [--dry-run]
oncekit add form <name> [--yes] [--dry-run]

Writes the smallest operation that works, or a page with a form for one, into the app in this folder: below src/ or not,
with its path alias. An operation is a file beside lib/idempotency.ts, listed in lib/operations.ts. A form is
app/<name>/page.tsx and its actions.ts; where the app has no operation of the name, it is written as well. Shows what it
would write and asks first. A file that is there is never changed, but for the list of operations.

  --yes      does not ask
  --dry-run  shows everything and writes nothing

Ends with 0 when it is written, and with 1 when nothing was.`;

const PLANS = { operation: planOperation, form: planForm };

async function run([kind = '', ...args]: string[]): Promise<number> {
  const plans = readSubcommand('add', kind, PLANS);
  const { values, positionals } = readArgs(args, WRITE_OPTIONS, 1);
  const root = process.cwd();
  const plan = plans(folderTree(root), positionals[0] ?? '');
  return await carryOut(root, plan, values);
}

export const add: Command = { help, run };

/** How a file imports an operation. */
type OperationImport = { exported: string; from: string };

/**
 * Plans the smallest operation that works, listed where the status route and the worker look for it. Pure, as `planInit`.
 *
 * @throws CliError where the app has not been set up, or has such an operation or file already
 */
export function planOperation(tree: FileTree, given: string): Plan {
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
export function planForm(tree: FileTree, given: string): Plan {
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

function draftOf(tree: FileTree, given: string) {
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
  return { tree, app, names, imports: findImports(tree), plan: planOf([{ next }]) };
}

type Draft = ReturnType<typeof draftOf>;

/** Plans its file. Returns its name in code and in keys, and that file. */
function addOperation(draft: Draft) {
  const { tree, app, imports, names, plan } = draft;
  const { idempotency, operations } = moduleFiles(app);
  const file = path.posix.join(path.posix.dirname(idempotency), `${names.kebab}.ts`);
  addFile(draft, file, operationModule(names, specifier(file, idempotency, imports)));
  const before = tree.read(operations);
  const listing = { exported: names.camel, from: specifier(operations, file, imports) };
  const content = before === undefined ? undefined : withOperation(before, listing);
  if (content !== undefined) plan.writes.push({ file: operations, before, content });
  else plan.kept.push(`${operations} has no plain list: add ${names.camel} to \`operations\` yourself.`);
  return { exported: names.camel, name: names.kebab, file };
}

/** Finds it by either of its names: keys have the one, code has the other. */
function findOperation({ tree, names }: Draft): ReturnType<typeof addOperation> | undefined {
  return sourceFiles(tree)
    .filter(({ text }) => text.includes('operation'))
    .flatMap(({ file, text }) =>
      operationsIn(text).flatMap(({ name, exported }) => (exported ? { name, exported, file } : [])),
    )
    .find(({ exported, name }) => name === names.kebab || exported === names.camel);
}

function addFile({ tree, plan }: Draft, file: string, content: string): void {
  const bare = file.replace(/\.tsx?$/, '');
  const there = ['.ts', '.tsx', '.js', '.jsx'].map((ending) => `${bare}${ending}`).find((each) => tree.read(each));
  if (there) throw new CliError(`${there} is there already, and stays as it is.`, 'Choose another name.');
  plan.writes.push({ file, content, before: undefined });
}

/** Words that TypeScript keeps to itself, and names that the written files have already. */
const TAKEN = new Set([
  ...['await', 'break', 'case', 'catch', 'class', 'const', 'continue', 'debugger', 'default', 'delete', 'do', 'else'],
  ...['enum', 'export', 'extends', 'false', 'finally', 'for', 'function', 'if', 'implements', 'import', 'in'],
  ...['instanceof', 'interface', 'let', 'new', 'null', 'package', 'private', 'protected', 'public', 'return', 'static'],
  ...['super', 'switch', 'this', 'throw', 'true', 'try', 'typeof', 'var', 'void', 'while', 'with', 'yield'],
  ...['arguments', 'eval', 'schema', 'input', 'idempotency', 'operations', 'messaging', 'prisma', 'z'],
]);

/**
 * The forms of a name: `place-order` for the operation, its files and its page's path, `placeOrder` in code, `Place order` in the page.
 *
 * @throws UsageError for a name that no file and no operation can have
 */
function namesOf(given: string) {
  const parts = given.replace(/([a-z0-9])([A-Z])/g, '$1-$2').split(/[-_.\s]+/);
  const kebab = parts.join('-').toLowerCase();
  const camel = kebab.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
  if (!/^[a-z][a-z0-9]*(-[a-z0-9]+)*$/.test(kebab) || kebab.length > 60) {
    throw new UsageError(
      `"${given}" cannot be the name of an operation.`,
      'Letters, digits and dashes, such as place-order, at most 60.',
    );
  }
  if (TAKEN.has(camel))
    throw new UsageError(`"${given}" has a meaning of its own in code.`, `Such as: ${kebab}-order.`);
  return { kebab, camel, words: kebab.replaceAll('-', ' ').replace(/^./, (letter) => letter.toUpperCase()) };
}

type Names = ReturnType<typeof namesOf>;

/** An import in blanked code, with the end of its last line. */
const IMPORT = /^import\b(?:[^;'"]*?\bfrom)?\s*(['"])[^'"\n]*\1;?[^\S\n]*\n/gm;

/**
 * Adds an operation to `export const operations = [...]`, with its import behind the last one. Undefined where the list does
 * not stand there in plain form, so that nobody knows where it goes.
 */
export function withOperation(source: string, { exported, from }: OperationImport): string | undefined {
  const code = blanked(source);
  const list = /\bexport\s+const\s+operations\s*=\s*\[/.exec(code);
  if (!list) return undefined;
  const start = list.index + list[0].length;
  const end = code.indexOf(']', start);
  if (end < 0 || code.slice(start, end).includes('[')) return undefined;
  const entries = entriesWith(source.slice(start, end), exported);
  const listed = `${source.slice(0, start)}${entries}${source.slice(end)}`;
  const line = `import { ${exported} } from '${from}';\n`;
  const last = [...code.slice(0, list.index).matchAll(IMPORT)].at(-1);
  if (last) return insert(listed, last.index + last[0].length, line);
  return insert(listed, list.index, `${line}\n`);
}

/** The insides of the list with one name more, in one line or a line each, as it was. */
function entriesWith(inside: string, exported: string): string {
  const bare = inside.trimEnd();
  if (bare === '') return exported;
  const space = inside.slice(bare.length);
  const isLong = bare.includes('\n');
  const indent = /\n([ \t]*)\S/.exec(bare)?.[1] ?? '';
  const comma = bare.endsWith(',') ? '' : ',';
  return isLong ? `${bare}${comma}\n${indent}${exported},${space}` : `${bare}${comma} ${exported}${space}`;
}

const insert = (text: string, at: number, more: string) => `${text.slice(0, at)}${more}${text.slice(at)}`;

// The files that are written: each builds as it is, and does something that can be seen.

function operationModule({ kebab, camel }: Names, idempotency: string) {
  return `import { z } from 'zod';
import { idempotency } from '${idempotency}';

// The input, as the form names it. Fields of a form are text: z.coerce.number(), not z.number().
const schema = z.object({ note: z.string().trim().min(1, 'Please write something.') });

export const ${camel} = idempotency.operation({ name: '${kebab}', schema }).handler(async ({ input }) => {
  // Take \`tx\` besides \`input\` and write through it alone, for it is the transaction that holds the key:
  //   const order = await tx.order.create({ data: input });
  // The answer is stored, and each retry gets it again: plain data, such as an id.
  return { note: input.note };
});
`;
}

function actionModule({ camel }: Names, operation: OperationImport) {
  return `'use server';

import { serverAction } from 'oncekit/next';
import { ${operation.exported} } from '${operation.from}';

export const ${camel}Action = serverAction(${operation.exported});
`;
}

interface PageOptions {
  /** The name of its operation. */
  operation: string;
  actions: string;
  /** The operation was made with it, so its schema is known. */
  isNew: boolean;
}

function pageModule({ camel, words }: Names, { operation, actions, isNew }: PageOptions) {
  const fields = isNew
    ? `      <label>
        Note <input name="note" required />
      </label>`
    : `      {/* The fields, by the names that the schema of ${operation} has. */}`;
  return `import { IdempotentForm } from 'oncekit/next';
import { ${camel}Action } from '${actions}';

// \`intent\` names the one thing that is done once: give it the id of that, such as the cart's.
export default function Page() {
  return (
    <IdempotentForm action={${camel}Action} intent="new">
${fields}
      <button>${words}</button>
    </IdempotentForm>
  );
}
`;
}
