/** The images of docs/docker.md, made without Docker and run: each stage of its Dockerfile is a folder. */
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { parseEnv } from 'node:util';
import { readPage, root } from '../../docs/pages.ts';
import { command } from './commands.ts';
import { buildStages, type Stage } from './dockerfile.ts';
import { addPackages, npmInstall, writeFiles } from './fixture.ts';
import { TESTS } from './fixture-tests.ts';
import type { Context } from './report.ts';
import { withWorker, workerRuns } from './scripts-of-an-app.ts';
import { runTests, served } from './serve.ts';

const PAGE = 'docs/docker.md';

interface Images {
  folder: string;
  app: string;
  databaseUrl: string;
  /** The kit's tarball, which package.json names as a file beside the app. */
  packed: string;
}

export async function checkImages(context: Context, images: Images): Promise<void> {
  const { app, folder, packed } = images;
  const { report, signal } = context;
  await addOutput(app);
  const { blocks } = readPage(PAGE, await readFile(path.join(root, PAGE), 'utf8'));
  const block = (lang: string) => blocks.find((each) => each.lang === lang)?.text ?? '';
  const ignored = block('gitignore')
    .split('\n')
    .filter((line) => line && !line.startsWith('#'));
  const stages = await report.check('what the Dockerfile says can be done, line by line', () =>
    buildStages(block('dockerfile'), {
      context: app,
      ignored,
      into: path.join(folder, 'images'),
      base: [packed],
      // Prisma's command asks for an engine that is a download, and does not use it.
      offline: { npm_config_prefer_offline: 'true', PRISMA_SCHEMA_ENGINE_BINARY: process.execPath },
      signal,
    }),
  );
  await runImages(context, images, stages);
}

/** Starts the images of app and worker, each where its files are and nothing else. */
export async function runImages(
  context: Context,
  { app, databaseUrl }: Images,
  stages: Map<string, Stage>,
): Promise<void> {
  const { report, signal } = context;
  const [image, worker] = ['app', 'worker'].map((name) => stages.get(name)) as [Stage, Stage];
  // As `docker run --env-file .env` has it.
  const settings = parseEnv(await readFile(path.join(app, '.env'), 'utf8')) as Record<string, string>;
  const env = { ...worker.env, ...settings };
  await report.alone('doctor has nothing against it in the image of the worker', () =>
    command(['npx', '--no', 'oncekit', 'doctor'], { cwd: worker.folder, env, signal }),
  );
  await report.alone('the image of the worker runs', () =>
    withWorker({ cwd: worker.folder, line: worker.start, env }, (lines) => workerRuns(lines, signal)),
  );
  // Not before the images are made: they would be in them.
  await writeFiles(app, TESTS);
  await addPackages(app, { devDependencies: ['@playwright/test', 'pg'] });
  await npmInstall(app, [], signal);
  const server = { cwd: image.folder, line: image.start, env: { ...image.env, ...settings } };
  await served(app, signal, (url) => testImage(context, { app, databaseUrl, url }), server);
}

/** As the page shows it, in the configuration that create-next-app has written. */
async function addOutput(app: string): Promise<void> {
  const file = path.join(app, 'next.config.ts');
  const text = await readFile(file, 'utf8');
  const changed = text.replace(/(: NextConfig = \{\n)/, "$1  output: 'standalone',\n");
  if (changed === text) throw new Error(`${file} has no configuration to add to:\n${text}`);
  await writeFile(file, changed);
}

async function testImage(
  { report, signal }: Context,
  { app, databaseUrl, url }: { app: string; databaseUrl: string; url: string },
): Promise<void> {
  await report.alone('curl, as docs/http.md has it: 201, and the same answer for the same key', () =>
    curlTwice(app, url, signal),
  );
  // Under Cache Components the form is not in the page's shell, so without JavaScript there is none: the quick start says it.
  const options = { file: 'tests/with-oncekit.spec.ts', leftOut: 'without JavaScript', url, databaseUrl, signal };
  for (const { title, error } of await runTests(app, options)) {
    await report.alone(title, () => {
      if (error) throw new Error(error);
    });
  }
}

async function curlTwice(app: string, url: string, signal: AbortSignal): Promise<void> {
  const { blocks } = readPage('docs/http.md', await readFile(path.join(root, 'docs/http.md'), 'utf8'));
  const line = blocks.find(({ lang, text }) => lang === 'sh' && text.startsWith('curl'))?.text ?? '';
  const here = line.replace('https://shop.example', url);
  if (here === line) throw new Error(`docs/http.md shows another command:\n${line}`);
  const answers: string[] = [];
  for (let time = 0; time < 2; time++) {
    answers.push(await command(['sh', '-c', `${here} --silent --show-error`], { cwd: app, signal }));
  }
  const [first = '', second = ''] = answers;
  const bodyOf = (answer: string) => answer.split('\n').at(-1);
  const isWell =
    /^HTTP\/1.1 201/m.test(first) &&
    /^idempotency-status: stored/im.test(first) &&
    /^idempotency-status: replayed/im.test(second) &&
    bodyOf(first) === bodyOf(second);
  if (!isWell) throw new Error(answers.join('\n\n'));
}
