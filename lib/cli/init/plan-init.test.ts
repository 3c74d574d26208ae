import { describe, expect, test } from 'vitest';
import { SCHEMA_VERSIONS } from '../../store/prisma/keys/schema.ts';
import { APP, type Files, treeOf, without } from '../app/app.fixture.ts';
import { planInit } from './init.ts';
import { readKitFiles } from './kit-files.ts';
import { type Plan, showPlan } from './plan.ts';

const kit = readKitFiles();
const now = new Date('2026-11-22T08:00:00Z');

function plan(files: Files, options: { messaging?: boolean; schema?: string; kit?: typeof kit } = {}) {
  let count = 0;
  return planInit(treeOf(files), options.kit ?? kit, { ...options, now, secret: () => `secret-${++count}` });
}

const namesOf = ({ writes }: Plan) => writes.map(({ file }) => file);
const written = (files: Files, { writes }: Plan): Files => ({
  ...files,
  ...Object.fromEntries(writes.map(({ file, content }) => [file, content])),
});
const contentOf = ({ writes }: Plan, file: string) => writes.find((write) => write.file === file)?.content;

test('adds what an app of create-next-app lacks, and finds nothing to do the second time', () => {
  const first = plan(APP);
  expect(namesOf(first)).toEqual([
    'prisma/schema.prisma',
    'prisma/migrations/20261122080000_oncekit/migration.sql',
    'prisma/migrations/20261122080001_oncekit_2/migration.sql',
    'prisma/migrations/20261122080002_oncekit_3/migration.sql',
    'prisma/migrations/20261122080003_oncekit_4/migration.sql',
    'prisma/migrations/20261122080004_oncekit_5/migration.sql',
    'prisma/migrations/20261122080005_oncekit_6/migration.sql',
    'prisma/migrations/20261122080006_oncekit_7/migration.sql',
    'lib/prisma.ts',
    'lib/idempotency.ts',
    'lib/operations.ts',
    'app/api/idempotency/[operation]/[key]/route.ts',
    'app/api/cron/[task]/route.ts',
    '.env',
  ]);
  expect([first.kept, first.notes]).toEqual([[], []]);
  expect(contentOf(first, 'lib/idempotency.ts')).toContain("import { prisma } from '@/lib/prisma';");
  expect(contentOf(first, 'lib/idempotency.ts')).toContain('scope: async () => null,');
  expect(contentOf(first, 'lib/idempotency.ts')).toContain('secret: process.env.IDEMPOTENCY_SECRET,');
  expect(plan(written(APP, first))).toEqual({ writes: [], removals: [], kept: [], notes: [], next: [] });
});

test('messaging comes later as well as at once, behind what is there', () => {
  const later = written(APP, plan(APP));
  const added = plan(later, { messaging: true });
  expect(namesOf(added)).toEqual([
    'prisma/schema.prisma',
    'prisma/migrations/20261122080007_oncekit_messaging/migration.sql',
    'prisma/migrations/20261122080008_oncekit_messaging_2/migration.sql',
    'prisma/migrations/20261122080009_oncekit_messaging_3/migration.sql',
    'lib/messaging.ts',
  ]);
  expect(added.kept).toEqual([
    'app/api/cron/[task]/route.ts is there already and stays as it is. It should have: cronRoute({ ...idempotency, outbox, inbox }, …).',
  ]);
  const atOnce = plan(APP, { messaging: true });
  expect(contentOf(atOnce, 'prisma/schema.prisma')).toBe(contentOf(added, 'prisma/schema.prisma'));
  expect(atOnce.writes.find(({ file }) => file === 'prisma/schema.prisma')?.before).toBe(APP['prisma/schema.prisma']);
  expect(contentOf(atOnce, 'app/api/cron/[task]/route.ts')).toContain('cronRoute({ ...idempotency, outbox, inbox }, {');
  const { writes, kept } = plan(written(APP, atOnce), { messaging: true });
  expect([writes, kept]).toEqual([[], []]);
});

test('the cron route is written with the outbox that is there, wherever it is and whatever its name', () => {
  const outbox = "export const events = createOutbox({ prisma, destinations: [{ name: 'crm', publisher }] });";
  const first = plan({ ...APP, 'server/events.ts': outbox }, { messaging: true });
  expect(namesOf(first)).not.toContain('lib/messaging.ts');
  const route = contentOf(first, 'app/api/cron/[task]/route.ts');
  expect(route).toContain("import { events as outbox } from '@/server/events';");
  expect(route).toContain('cronRoute({ ...idempotency, outbox }, {');
});

test('a folder of models gets a file of its own, in an app below src/ with another alias', () => {
  const files = {
    ...without('app/', 'prisma/schema.prisma', 'lib/', 'tsconfig.json'),
    'tsconfig.json': '{"extends": "./tsconfig.base.json"}',
    'tsconfig.base.json': '{"compilerOptions": {"baseUrl": ".", "paths": {"~/*": ["src/*"]}}}',
    'prisma.config.ts':
      "// schema: 'elsewhere'\nexport default { schema: path.join('prisma'), migrations: { path: 'db/steps' } };",
    'prisma/base.prisma': APP['prisma/schema.prisma'] as string,
    'src/app/page.tsx': '',
    'src/server/db.ts': 'const make = () => new PrismaClient({ adapter });\nexport const db = globalThis.db ?? make();',
  };
  const found = plan(files);
  expect(namesOf(found)).toEqual([
    'prisma/idempotency.prisma',
    'db/steps/20261122080000_oncekit/migration.sql',
    'db/steps/20261122080001_oncekit_2/migration.sql',
    'db/steps/20261122080002_oncekit_3/migration.sql',
    'db/steps/20261122080003_oncekit_4/migration.sql',
    'db/steps/20261122080004_oncekit_5/migration.sql',
    'db/steps/20261122080005_oncekit_6/migration.sql',
    'db/steps/20261122080006_oncekit_7/migration.sql',
    'db/steps/migration_lock.toml',
    'src/lib/idempotency.ts',
    'src/lib/operations.ts',
    'src/app/api/idempotency/[operation]/[key]/route.ts',
    'src/app/api/cron/[task]/route.ts',
    '.env',
  ]);
  expect(contentOf(found, 'src/lib/idempotency.ts')).toContain("import { db as prisma } from '~/server/db';");
  expect(found.notes).toEqual([
    expect.stringContaining('no migrations yet'),
    expect.stringMatching(/--file db\/steps\/20261122080000_oncekit\/migration\.sql && .*oncekit_7\/migration\.sql$/),
    expect.stringContaining('src/server/db.ts should make its client'),
  ]);
  expect(plan(written(files, found)).writes).toEqual([]);
});

test.each([
  ['without an alias', '{}', '../../../../../lib/operations'],
  [
    'with an alias for something else',
    '{"compilerOptions": {"paths": {"@ui/*": ["./ui/*"]}}}',
    '../../../../../lib/operations',
  ],
  ['under nodenext', '{"compilerOptions": {"module": "NodeNext"}}', '../../../../../lib/operations.js'],
])('imports are relative %s', (_, tsconfig, expected) => {
  const found = plan({ ...APP, 'tsconfig.json': tsconfig });
  expect(contentOf(found, 'app/api/idempotency/[operation]/[key]/route.ts')).toContain(`from '${expected}';`);
});

test('an app without a module for its client is told so, and what its import should lead to', () => {
  // A seed makes a client, too, and exports none.
  const files = { ...without('lib/'), 'prisma/seed.ts': 'const prisma = new PrismaClient();' };
  expect(plan(files).notes).toEqual([expect.stringContaining('make lib/prisma.ts')]);
  expect(contentOf(plan(files), 'lib/idempotency.ts')).toContain('`npx oncekit init` has found none');
});

describe('the adapter of the client', () => {
  const NEW = "new PrismaClient({ adapter: new PrismaPg({ connectionString: 'x' }) })";
  const clientOf = (imports: string, made = NEW) => `${imports}\nexport const prisma = ${made};\n`;
  const changed = (content: string, more: Files = {}) => {
    const found = plan({ ...APP, 'lib/prisma.ts': content, ...more });
    return { now: contentOf(found, 'lib/prisma.ts'), notes: found.notes, found };
  };

  test('its import changes by one word, which is shown before it is written', () => {
    const { found, now } = changed(APP['lib/prisma.ts'] as string);
    expect(now).toBe(APP['lib/prisma.ts']?.replace('@prisma/adapter-pg', 'oncekit/adapter-pg'));
    const shown = showPlan({ ...found, writes: found.writes.filter(({ file }) => file === 'lib/prisma.ts') });
    expect(shown.match(/^[-+].*/gm)).toEqual([
      '--- lib/prisma.ts',
      '+++ lib/prisma.ts',
      "-import { PrismaPg } from '@prisma/adapter-pg';",
      "+import { PrismaPg } from 'oncekit/adapter-pg';",
    ]);
  });

  test.each([
    ['double quotes', 'import { PrismaPg } from "@prisma/adapter-pg"'],
    ['another name', "import { PrismaPg as Adapter } from '@prisma/adapter-pg';"],
    ['several lines, as Windows ends them', "import {\r\n  PrismaPg,\r\n} from '@prisma/adapter-pg';\r\n"],
    ['a comment about it', "// '@prisma/adapter-pg' is Prisma's\nimport { PrismaPg } from '@prisma/adapter-pg';"],
  ])('a plain import with %s', (_, imports) => {
    const { now, notes } = changed(clientOf(imports));
    expect(now).toBe(clientOf(imports.replace(/(from ['"])@prisma/, '$1oncekit')));
    expect(notes).toEqual([]);
  });

  test.each([
    ['a namespace', "import * as adapter from '@prisma/adapter-pg';"],
    ['a type', "import type { PrismaPg } from '@prisma/adapter-pg';"],
    ['one that is loaded later', "const { PrismaPg } = await import('@prisma/adapter-pg');"],
    ['two imports', "import { PrismaPg } from '@prisma/adapter-pg';\nexport { PrismaPg } from '@prisma/adapter-pg';"],
    [
      'a module of its own',
      "import { PrismaPg } from './adapter';\nimport type { PrismaPgOptions } from '@prisma/adapter-pg';",
    ],
    ['one in a comment', "// import { PrismaPg } from '@prisma/adapter-pg';\nimport { PrismaPg } from './adapter';"],
    ['one in a string', 'const help = "import { PrismaPg } from \'@prisma/adapter-pg\'";'],
  ])('of %s nothing is changed, and what to change is said', (_, imports) => {
    const { now, notes } = changed(clientOf(imports));
    expect(now).toBeUndefined();
    expect(notes).toEqual([expect.stringMatching(/^lib\/prisma\.ts should .*: import \{ PrismaPg \} from 'oncekit\//)]);
  });

  test.each<[string, string, Files?]>([
    ['the kit has it already', clientOf("import { PrismaPg } from 'oncekit/adapter-pg';")],
    [
      'it is on a pool of the kit',
      clientOf("import { PrismaPg } from '@prisma/adapter-pg';", 'new PrismaClient({ adapter: new PrismaPg(pool) })'),
      { 'lib/pool.ts': 'export const pool = oncekitPool(new Pool());' },
    ],
    [
      'the app has another adapter',
      clientOf("import { PrismaNeon } from '@prisma/adapter-neon';"),
      {
        'package.json': JSON.stringify({ dependencies: { next: '16', oncekit: '0.1.0', '@prisma/adapter-neon': '7' } }),
      },
    ],
  ])('where %s, nothing is changed or said', (_, content, more) => {
    expect(changed(content, more)).toMatchObject({ now: undefined, notes: [] });
  });
});

test('modules that package.json names are the ones that routes import', () => {
  const packageJson = {
    ...JSON.parse(APP['package.json'] as string),
    oncekit: { operations: './server/all-operations' },
  };
  const found = plan({ ...APP, 'package.json': JSON.stringify(packageJson) });
  expect(namesOf(found)).toContain('server/all-operations.ts');
  expect(contentOf(found, 'app/api/cron/[task]/route.ts')).toContain("import '@/server/all-operations';");
});

test('nothing that differs is overwritten, and what is kept is said', () => {
  const files: Files = {
    ...APP,
    'lib/idempotency.ts': 'export const idempotency = mine();',
    'lib/operations/index.ts': 'export const all = [];',
    'app/api/idempotency/[op]/[key]/route.ts': 'export const GET = mine;',
    'app/api/jobs/[task]/route.ts': 'export const { GET, POST } = cronRoute(idempotency, { secret });',
    '.env.local': 'IDEMPOTENCY_SECRET=mine\n',
  };
  const found = plan(files);
  expect(namesOf(found).filter((file) => !file.startsWith('prisma/'))).toEqual(['lib/prisma.ts', '.env']);
  expect(contentOf(found, '.env')).not.toContain('IDEMPOTENCY_SECRET');
  expect(found.kept).toEqual([
    'lib/operations/index.ts is there already and stays as it is. It should have: export const operations.',
    expect.stringMatching(/^app\/api\/idempotency\/\[op\]\/\[key\]\/route\.ts is there already/),
  ]);
});

test('models that nobody has changed follow the kit; changed ones stay', () => {
  const now = written(APP, plan(APP));
  const newer = { ...kit, models: { ...kit.models, keys: `${kit.models.keys}\n// a newer one\n` } };
  const updated = plan(now, { kit: newer });
  expect(namesOf(updated)).toEqual(['prisma/schema.prisma']);
  expect(contentOf(updated, 'prisma/schema.prisma')).toContain('// a newer one');
  expect(contentOf(updated, 'prisma/schema.prisma')?.match(/>>> oncekit keys/g)).toHaveLength(1);
  const touched = {
    ...now,
    'prisma/schema.prisma': (now['prisma/schema.prisma'] as string).replace('@db.VarChar(20)', ''),
  };
  expect(plan(touched, { kit: newer })).toMatchObject({
    writes: [],
    kept: [expect.stringContaining('changed by hand')],
  });
  // As git on Windows checks it out.
  const windows = { ...now, 'prisma/schema.prisma': (now['prisma/schema.prisma'] as string).replaceAll('\n', '\r\n') };
  expect(plan(windows)).toMatchObject({ writes: [], kept: [] });
  expect(
    plan({ ...APP, 'prisma.config.ts': "({ schema: 'prisma' })", 'prisma/idempotency.prisma': kit.models.keys }).kept,
  ).toEqual([]);
});

test('an upgrade adds the migrations that are missing, behind the last one', () => {
  const now = written(APP, plan(APP));
  const later = { 'prisma/migrations/20271231235959_cart/migration.sql': 'SELECT 1;' };
  const version = SCHEMA_VERSIONS.keys + 1;
  const next = { part: 'keys' as const, version, file: 'next_keys.sql', sql: 'ALTER …' };
  const found = plan({ ...now, ...later }, { kit: { ...kit, migrations: [...kit.migrations, next] } });
  expect(namesOf(found)).toEqual([`prisma/migrations/20280101000000_oncekit_${version}/migration.sql`]);
});

test('what is shown holds no secret, old or new, and names plain copies', () => {
  const files = { ...APP, 'prisma.config.ts': "export default { schema: 'prisma' }" };
  const shown = showPlan(plan(files));
  expect(shown).toContain('+IDEMPOTENCY_SECRET="…"');
  for (const hidden of ['secret-', 'hunter2']) expect(shown).not.toContain(hidden);
  expect(shown).toMatch(
    /\+\+\+ prisma\/idempotency\.prisma {2}\(new, \d+ lines: a copy of node_modules\/oncekit\/prisma/,
  );
  expect(shown).not.toContain('CREATE TABLE');
  expect(showPlan(plan(files), { full: true })).toContain('+CREATE TABLE "idempotency_keys"');
});
