import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { command } from './commands.ts';
import { writeFiles } from './fixture.ts';
import { ownPackage } from './tarball.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

const RESOLUTIONS = [
  { name: 'bundler', options: { module: 'esnext', moduleResolution: 'bundler' } },
  { name: 'nodenext', options: { module: 'nodenext', moduleResolution: 'nodenext' } },
];

/**
 * The newest compiler and the oldest that the types are made for, each with each way to resolve modules, and without
 * `skipLibCheck`: one check each.
 */
export async function typeChecks(app: string, signal: AbortSignal): Promise<{ name: string; run(): Promise<void> }[]> {
  const ours = path.dirname(createRequire(import.meta.url).resolve('typescript/package.json'));
  const compilers = await Promise.all([ours, await oldestCompiler(signal)].map(compilerIn));
  return compilers.flatMap(({ version, tsc }) =>
    RESOLUTIONS.map(({ name, options }) => ({
      name: `types: TypeScript ${version}, ${name}`,
      run: () => compile({ app, tsc, folder: path.join(app, `.types-${version}-${name}`), options, signal }),
    })),
  );
}

async function compilerIn(folder: string) {
  const { version } = JSON.parse(await readFile(path.join(folder, 'package.json'), 'utf8'));
  return { version: version as string, tsc: path.join(folder, 'bin/tsc') };
}

/** Not one of our devDependencies: of two packages with a command `tsc`, npm links the one that comes last. */
async function oldestCompiler(signal: AbortSignal): Promise<string> {
  const folder = path.join(ROOT, '.data', 'typescript-5.4');
  const installed = path.join(folder, 'node_modules/typescript');
  if (!existsSync(installed)) {
    await mkdir(folder, { recursive: true });
    await writeFile(path.join(folder, 'package.json'), '{ "private": true }\n');
    await command(['npm', 'install', '--no-audit', '--no-fund', 'typescript@~5.4.5'], { cwd: folder, signal });
  }
  return installed;
}

interface Compilation {
  app: string;
  tsc: string;
  folder: string;
  options: object;
  signal: AbortSignal;
}

async function compile({ app, tsc, folder, options, signal }: Compilation): Promise<void> {
  const { exports } = await ownPackage();
  const entries = Object.keys(exports).filter((entry) => entry !== './package.json');
  const imports = entries.map((entry, at) => `export * as e${at} from '${entry.replace('.', 'oncekit')}';`);
  const compilerOptions = {
    ...options,
    target: 'ES2022',
    lib: ['ES2022', 'DOM', 'DOM.Iterable'],
    jsx: 'react-jsx',
    strict: true,
    exactOptionalPropertyTypes: true,
    skipLibCheck: false,
    noEmit: true,
    types: ['node'],
  };
  await writeFiles(folder, {
    'all.ts': `${imports.join('\n')}\n${USE}`,
    'tsconfig.json': JSON.stringify({ compilerOptions, files: ['all.ts'] }),
    // An app of ES modules: before TypeScript 5.8, another could not import the kit under nodenext.
    'package.json': '{ "type": "module" }',
  });
  const told = await command([process.execPath, tsc, '-p', folder, '--pretty', 'false'], { cwd: app, signal }).catch(
    (error: Error) => error.message,
  );
  const wrong = told.split('\n').filter((line) => /error TS/.test(line) && !OTHERS.test(line));
  if (wrong.length > 0) throw new Error(wrong.join('\n'));
}

/** Made for TypeScript 5.7 by those who wrote it, and read by way of the types of Prisma's adapter; nobody's but theirs. */
const OTHERS = /^node_modules\/pg-protocol\/.* error TS2315: Type 'Buffer' is not generic/;

/** That the types do not only compile but say something: each expected error must be one. */
const USE = `
import { createIdempotency } from 'oncekit';
import { serverAction } from 'oncekit/next';
import { useIdempotentSubmit } from 'oncekit/react';

interface Tx { order: { create(args: { data: { sku: string } }): Promise<{ id: string }> } }
interface Client extends Tx {
  $transaction<P extends Promise<unknown>[]>(queries: [...P]): Promise<unknown[]>;
  $transaction<R>(run: (tx: Tx) => Promise<R>, options?: { timeout?: number; maxWait?: number }): Promise<R>;
  $queryRawUnsafe<T = unknown>(query: string, ...values: unknown[]): PromiseLike<T>;
}
declare const prisma: Client;
const idempotency = createIdempotency({ prisma, secret: ['a secret'], scope: async () => null });
declare const schema: {
  '~standard': {
    version: 1;
    vendor: string;
    validate(value: unknown): { value: { sku: string } };
    types?: { input: { sku: string }; output: { sku: string } };
  };
};
const sell = idempotency
  .operation({ name: 'sell', schema })
  .handler(async ({ input, tx }) => (await tx.order.create({ data: { sku: input.sku } })).id);

export const action = serverAction(sell);
export async function use(): Promise<string> {
  const outcome = await sell.execute({ key: 'k', payload: { sku: 'mug' }, scope: { tenant: 't', principal: 'p' } });
  if (!outcome.ok) return outcome.code;
  // @ts-expect-error a string, as the handler returns it
  const wrong: number = outcome.data;
  return outcome.data ?? String(wrong);
}
// @ts-expect-error there is no such option
createIdempotency({ nonsense: true });
export const submit = () => useIdempotentSubmit(action, { intent: 'sell:1', initialKey: 'k' });
`;
