import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, test } from 'vitest';
import { folders } from '../app/app.fixture.ts';
import { makeRunnableApp, runOncekit } from '../oncekit.fixture.ts';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const made = folders();
afterAll(() => made.remove());

/** As create-next-app has it, on the kit's source in place of its package. */
const TSCONFIG = {
  compilerOptions: {
    ...{ target: 'ES2022', lib: ['dom', 'dom.iterable', 'esnext'], strict: true, noEmit: true, skipLibCheck: true },
    ...{
      module: 'esnext',
      moduleResolution: 'bundler',
      jsx: 'react-jsx',
      isolatedModules: true,
      esModuleInterop: true,
    },
    ...{ allowImportingTsExtensions: true, noUnusedLocals: true, noUnusedParameters: true, types: ['node'] },
    paths: {
      '@/*': ['./*'],
      oncekit: [`${ROOT}lib/index.ts`],
      'oncekit/*': [`${ROOT}lib/*/index.ts`],
    },
  },
  include: ['app/**/*', 'lib/**/*'],
};

const compile = (cwd: string) =>
  new Promise<string>((resolve) => {
    const tsc = path.join(ROOT, 'node_modules/typescript/bin/tsc');
    execFile(process.execPath, [tsc, '--pretty', 'false', '-p', cwd], { cwd }, (_, out) => resolve(out));
  });

test('what it writes into an app type-checks as it is', { tags: 'all', timeout: 240_000 }, async () => {
  const cwd = makeRunnableApp(made, {
    'tsconfig.json': JSON.stringify(TSCONFIG),
    // With types, which the built ones lack.
    'lib/prisma.ts': `import { createClient } from '${ROOT}shop/db.ts';\nexport const prisma = createClient('');\n`,
    'lib/checkout.ts': `import { z } from 'zod';
import { idempotency } from './idempotency';
export const checkout = idempotency
  .operation({ name: 'checkout', schema: z.object({}) })
  .handler(async () => null);
`,
  });
  const run = (...args: string[]) => runOncekit(['add', ...args], { cwd, env: {} });
  const asked = await run('operation', 'vote');
  expect([asked.code, asked.err]).toEqual([1, 'Nothing was changed. To go on without being asked: --yes.\n']);
  expect(asked.out).toContain("+export const vote = idempotency.operation({ name: 'vote', schema })");
  expect(asked.out).toContain('+export const operations = [checkout, vote] as const;');
  for (const args of [
    ['operation', 'vote'],
    ['form', 'place-order'],
    ['form', 'checkout'],
  ]) {
    const { code, out, err } = await run(...args, '--yes');
    expect({ code, err }, args.join(' ')).toEqual({ code: 0, err: '' });
    expect(out).toContain('Done: ');
  }
  const listed = readFileSync(path.join(cwd, 'lib/operations.ts'), 'utf8');
  expect(listed).toContain('[checkout, vote, placeOrder] as const');
  expect(await compile(cwd)).toBe('');
  expect((await run('operation', 'vote')).err).toContain('There is an operation vote already');
  expect(await run('table', 'x')).toMatchObject({ code: 2, err: expect.stringContaining('operation, form') });
});
