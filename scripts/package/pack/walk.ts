import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import type { Finding } from '../../../lib/cli/doctor/finding.ts';
import { type FileChange, readmeDiff } from '../../docs/diff.ts';
import { readPage, root } from '../../docs/pages.ts';
import { schemaDifference } from '../../services/migrate.ts';
import { generate, migrate, npx, run } from './commands.ts';
import { applyChange, writeFiles } from './fixture.ts';
import type { Context } from './report.ts';
import { runTests, served } from './serve.ts';

/** Changes that `oncekit init` leaves to the app: who acts, and which operations there are. */
const LEFT_TO_THE_APP: FileChange[] = [
  change('lib/idempotency.ts', "import { createIdempotency } from 'oncekit';", [
    "import { createIdempotency } from 'oncekit';",
    "import { session } from './session';",
  ]),
  change('lib/idempotency.ts', '  scope: async () => null,', [
    '  scope: async () => {',
    '    const visitor = await session();',
    "    return visitor && { tenant: 'main', principal: visitor.userId };",
    '  },',
  ]),
  change('lib/operations.ts', 'export const operations = [] as const;', [
    "import { checkout } from './orders';",
    'export const operations = [checkout] as const;',
  ]),
];

function change(file: string, before: string, after: string[]): FileChange {
  return { file, before, after: after.join('\n'), added: after.length, removed: 1 };
}

/** The entry that would run jobs, in an app that has no job runner: its bundler must not miss one. */
const JOBS = `import { enqueueJob, startWorker } from 'oncekit/worker';

export const GET = () => Response.json([typeof enqueueJob, typeof startWorker]);
`;

export interface WalkOptions {
  app: string;
  databaseUrl: string;
  /** As in its next.config.ts. */
  basePath?: string;
  trailingSlash?: boolean;
  /** Default: Next's own. */
  bundler?: 'webpack';
  /** Also builds the app as it was, and sees the same checks fail. */
  contrast?: boolean;
}

/**
 * From an app that has the kit installed to one that uses it: `init`, migrations, the diff of the README, `next build`,
 * and the app's own tests of its form.
 */
export async function walk(context: Context, options: WalkOptions): Promise<void> {
  const { app, bundler } = options;
  const { report, signal } = context;
  await takeUpTheKit(context, options);
  await writeFiles(app, { 'app/api/jobs/route.ts': JOBS });
  const build = ['next', 'build', ...(bundler ? [`--${bundler}`] : [])];
  await report.check(build.join(' '), () => run(app, build, signal));
  await report.alone("oncekit doctor has nothing against it, and finds the client on the kit's pool", () =>
    askDoctor(app, signal),
  );
  await report.alone('oncekit reap', () => run(app, ['oncekit', 'reap'], signal));
  await testForm(context, options, 'tests/with-oncekit.spec.ts');
}

/** `init`, migrations, and the diff of the README, in an app that has the kit installed. */
export async function takeUpTheKit(context: Context, options: WalkOptions): Promise<void> {
  const { app, databaseUrl, contrast = false } = options;
  const { report, signal } = context;
  const diff = readmeDiff(readPage('README.md', await readFile(path.join(root, 'README.md'), 'utf8')));
  // The README shows some of them itself.
  const left = LEFT_TO_THE_APP.filter((one) => !diff.some(({ file }) => file === one.file));
  await writeFormAsItWas(app, diff);
  if (contrast) {
    await generate(app, signal);
    await migrate(app, databaseUrl, signal);
    await report.check('the app builds as it was', () => run(app, ['next', 'build'], signal));
    await testForm(context, options, 'tests/without-oncekit.spec.ts');
  }
  await report.check('npx oncekit init --yes', () => npx(app, ['oncekit', 'init', '--yes'], signal));
  await report.alone('a second init changes nothing', () => initChangesNothing(app, signal));
  await report.check('its migrations apply', () => migrate(app, databaseUrl, signal));
  await report.alone('Prisma has nothing to add to the tables', async () => {
    const difference = await schemaDifference(databaseUrl, path.join(app, 'prisma'));
    if (difference) throw new Error(`The next migration would be:\n${difference}`);
  });
  await generate(app, signal);
  await report.check(`what init leaves to the app can be said: ${sizeOf(left)}`, () => applyAll(app, left));
  await report.check(`the README's diff applies: ${sizeOf(diff)}`, () => applyAll(app, diff));
}

/** The files of the README's diff before it. With them the app works, and orders twice. */
export async function writeFormAsItWas(app: string, diff: FileChange[]): Promise<void> {
  const byInit = LEFT_TO_THE_APP.map(({ file }) => file);
  const own = diff.filter(({ file }) => !byInit.includes(file));
  await writeFiles(app, Object.fromEntries(own.map(({ file, before }) => [file, `${before}\n`])));
}

async function applyAll(app: string, changes: FileChange[]): Promise<void> {
  for (const one of changes) await applyChange(app, one);
}

function sizeOf(diff: FileChange[]): string {
  const sum = (kind: 'added' | 'removed') => diff.reduce((lines, change) => lines + change[kind], 0);
  return `${sum('added')} lines in, ${sum('removed')} out`;
}

/** `init` has changed the import of its adapter, and the queries of the client arrive at the pool that this made. */
async function askDoctor(app: string, signal: AbortSignal): Promise<void> {
  const findings: Finding[] = JSON.parse(await run(app, ['oncekit', 'doctor', '--json'], signal));
  const found = findings.find(({ check }) => check === 'Transaction');
  if (found?.level !== 'ok') throw new Error(`Of the client's pool it says: ${JSON.stringify(found)}`);
}

async function initChangesNothing(app: string, signal: AbortSignal): Promise<void> {
  const before = await textsIn(app);
  await run(app, ['oncekit', 'init', '--yes'], signal);
  const after = await textsIn(app);
  const changed = [...after].filter(([file, text]) => before.get(file) !== text).map(([file]) => file);
  if (changed.length > 0) throw new Error(`It has changed:\n${changed.join('\n')}`);
}

/** Every file that a person of the app's would have written. */
async function textsIn(folder: string): Promise<Map<string, string>> {
  const texts = new Map<string, string>();
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const file = path.join(folder, entry.name);
    if (entry.isFile()) texts.set(file, await readFile(file, 'utf8'));
    else if (entry.isDirectory() && !/^(node_modules|generated|\.next)$/.test(entry.name)) {
      for (const [name, text] of await textsIn(file)) texts.set(name, text);
    }
  }
  return texts;
}

/** Each of the app's own tests is a check of ours. */
export async function testForm({ report, signal }: Context, options: WalkOptions, file: string): Promise<void> {
  await served(options.app, signal, async (url) => {
    for (const { title, error } of await runTests(options.app, { ...options, file, url, signal })) {
      await report.alone(title, () => {
        if (error) throw new Error(error);
      });
    }
  });
}
