import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { APP, type Files, folders, without } from '../app/app.fixture.ts';
import { folderTree } from '../app/file-tree.ts';
import { CliError } from '../command.ts';
import { planInit } from './init.ts';
import { readKitFiles } from './kit-files.ts';
import { writeFiles } from './plan.ts';

// Issue 9, "Done when" 3: each gets one clear sentence, and the fix.

const made = folders();
afterAll(() => made.remove());
const folderOf = made.of;

const kit = readKitFiles();
const options = { now: new Date(), secret: () => 'x'.repeat(32) };

const schema = (text: string): Files => ({ ...APP, 'prisma/schema.prisma': text });
const packages = (content: object): Files => ({ ...APP, 'package.json': JSON.stringify(content) });

test.each<[string, Files, string, string]>([
  [
    'no package.json',
    without('package.json'),
    'There is no package.json here.',
    'Run it in the folder of your Next.js app',
  ],
  ['a package.json that is broken', { ...APP, 'package.json': '{' }, 'package.json cannot be read: ', 'Mend it'],
  [
    'the root of a workspace',
    { 'package.json': '{"workspaces": ["apps/*"]}', 'apps/web/app/page.tsx': '' },
    'This is the root of several packages, not an app.',
    'Go to the folder of your Next.js app',
  ],
  ['an app of another kind', packages({ dependencies: { vite: '8' } }), 'package.json does not list next', 'Run it in'],
  [
    'a pages router alone',
    { ...without('app/'), 'pages/index.tsx': '' },
    'There is no app router: neither app/ nor src/app/ is here, only pages/.',
    'Make app/layout.tsx',
  ],
  [
    'no Prisma schema',
    without('prisma/'),
    'There is no Prisma schema: neither prisma/schema.prisma',
    'npx prisma init',
  ],
  [
    'a Prisma schema that is not where the config says',
    { ...APP, 'prisma.config.ts': "export default { schema: 'db/schema.prisma' }" },
    'There is no Prisma schema at db/schema.prisma.',
    '--schema <path>',
  ],
  [
    'Prisma 6',
    packages({ dependencies: { next: '16', prisma: '^6.4.0' } }),
    'package.json asks for ^6.4.0.',
    'npm install',
  ],
  [
    'another database',
    schema('datasource db {\n  provider = "sqlite" // for now\n}'),
    'oncekit needs PostgreSQL, and the Prisma schema says provider = "sqlite".',
    'PostgreSQL',
  ],
  [
    'a key table of its own',
    schema(`${APP['prisma/schema.prisma']}model IdempotencyKey {\n  key String @id\n}\n`),
    'prisma/schema.prisma has a model IdempotencyKey of its own',
    'Rename yours',
  ],
  [
    'a table of that name under another model',
    schema(`${APP['prisma/schema.prisma']}model Key {\n  key String @id\n  @@map("idempotency_keys")\n}\n`),
    'prisma/schema.prisma has a table idempotency_keys of its own',
    'RENAME TO',
  ],
  [
    'a migration that makes the table without saying whose it is',
    { ...APP, 'prisma/migrations/20250102000000_keys/migration.sql': 'CREATE TABLE "idempotency_keys" (key TEXT);' },
    'The migration 20250102000000_keys makes a table idempotency_keys',
    'If it is yours, rename it',
  ],
  [
    'tables in schemas of which none is public',
    schema('datasource db {\n  provider = "postgresql"\n  schemas = ["shop", "auth"]\n}'),
    'The Prisma schema divides its tables among shop, auth',
    'Add "public"',
  ],
  [
    'a tsconfig that is broken',
    { ...APP, 'tsconfig.json': '{ "paths": ' },
    'tsconfig.json cannot be read: ',
    'Mend it',
  ],
])('init on %s', (_, files, sentence, fix) => {
  const root = folderOf(files);
  let error: unknown;
  try {
    planInit(folderTree(root), kit, options);
  } catch (caught) {
    error = caught;
  }
  expect(error).toBeInstanceOf(CliError);
  const { message, fix: said, exitCode } = error as CliError;
  expect(message).toContain(sentence);
  expect(message).not.toContain('\n');
  expect(said).toContain(fix);
  expect(exitCode).toBe(1);
});

test.each([
  ['a file where a folder must be', (root: string) => writeFileSync(path.join(root, 'app/api'), 'mine')],
  // Noticed late: half of the files are in their places by then.
  ['a folder where a file must be', (root: string) => mkdirSync(path.join(root, 'lib/operations.ts'))],
])('init on %s writes nothing at all', async (_, obstruct) => {
  const root = folderOf(APP);
  obstruct(root);
  const before = everything(root);
  const { writes } = planInit(folderTree(root), kit, options);
  await expect(writeFiles(root, writes)).rejects.toThrow(/^Nothing was written: /);
  expect(everything(root)).toEqual(before);
});

/** Each file and folder below a folder, with what it holds. */
function everything(root: string): string[] {
  const entries = readdirSync(root, { recursive: true, withFileTypes: true });
  return entries.map((entry) => {
    const file = path.join(entry.parentPath, entry.name);
    return entry.isDirectory() ? file : `${file}: ${readFileSync(file, 'utf8')}`;
  });
}

test.each(['.env', 'lib/prisma.ts'])('init does not overwrite %s when it was changed while it asked', async (file) => {
  const root = folderOf(APP);
  const { writes } = planInit(folderTree(root), kit, options);
  writeFileSync(path.join(root, file), 'MINE=1\n');
  await expect(writeFiles(root, writes)).rejects.toThrow(`${file} has just been changed.`);
  expect(readFileSync(path.join(root, file), 'utf8')).toBe('MINE=1\n');
  expect(folderTree(root).list('lib')).toEqual(['prisma.ts']);
});

test('init keeps a file private that was, and follows a link to it', async () => {
  const root = folderOf(without('.env'));
  const shared = folderOf({ secrets: 'MINE=1\n' });
  chmodSync(path.join(shared, 'secrets'), 0o600);
  symlinkSync(path.join(shared, 'secrets'), path.join(root, '.env'));
  await writeFiles(root, planInit(folderTree(root), kit, options).writes);
  expect(readFileSync(path.join(shared, 'secrets'), 'utf8')).toMatch(/^MINE=1\n\n.*\nIDEMPOTENCY_SECRET="x{32}"/);
  expect(statSync(path.join(shared, 'secrets')).mode & 0o777).toBe(0o600);
  expect(lstatSync(path.join(root, '.env')).isSymbolicLink()).toBe(true);
});
