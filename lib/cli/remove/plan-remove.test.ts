import { describe, expect, test } from 'vitest';
import { APP, type Files, treeOf } from '../app/app.fixture.ts';
import { planInit } from '../init/init.ts';
import { readKitFiles } from '../init/kit-files.ts';
import { showPlan } from '../init/plan.ts';
import { planRemove } from './remove.ts';

const kit = readKitFiles();
const now = new Date('2026-11-25T08:00:00Z');

function initialised(files: Files = APP, messaging = false): Files {
  const { writes } = planInit(treeOf(files), kit, { messaging, now, secret: () => 'x'.repeat(43) });
  return { ...files, ...Object.fromEntries(writes.map(({ file, content }) => [file, content])) };
}

const plan = (files: Files) => planRemove(treeOf(files), kit, { now });

function carriedOut(files: Files, { writes, removals }: ReturnType<typeof planRemove>): Files {
  const gone = new Set(removals.map(({ file }) => file));
  const left = Object.fromEntries(Object.entries(files).filter(([file]) => !gone.has(file)));
  return { ...left, ...Object.fromEntries(writes.map(({ file, content }) => [file, content])) };
}

const isMigration = (file: string) => /_oncekit.*migration\.sql$/.test(file);
const withoutMigrations = (files: Files) =>
  Object.fromEntries(Object.entries(files).filter(([file]) => !isMigration(file)));

describe.each([false, true])('an app that nobody has touched since init, with messaging: %j', (messaging) => {
  const app = initialised(APP, messaging);
  const found = plan(app);

  test('is as it was before, but for the migrations', () => {
    expect(withoutMigrations(carriedOut(app, found))).toEqual(APP);
    expect(found.kept).toEqual([]);
  });

  test('gets one migration more, behind the others, which stay', () => {
    const after = Object.keys(carriedOut(app, found)).filter(isMigration).sort();
    expect(after.at(-1)).toMatch(/^prisma\/migrations\/\d{14}_oncekit_remove\/migration\.sql$/);
    expect(after.slice(0, -1)).toEqual(Object.keys(app).filter(isMigration).sort());
  });

  test('has nothing to do the second time', () => {
    const { writes, removals, kept } = plan(carriedOut(app, found));
    expect({ writes, removals, kept }).toEqual({ writes: [], removals: [], kept: [] });
  });

  test('takes the kit again: init makes the tables anew', () => {
    const again = initialised(carriedOut(app, found), messaging);
    const made = Object.keys(again).filter(isMigration);
    expect(made).toHaveLength(2 * Object.keys(app).filter(isMigration).length + 1);
    expect(plan(again).writes.map(({ file }) => file)).toContainEqual(expect.stringContaining('_oncekit_remove/'));
  });
});

test('messaging that came later leaves no cron route behind', () => {
  const app = initialised(initialised(APP), true);
  expect(withoutMigrations(carriedOut(app, plan(app)))).toEqual(APP);
});

test('what somebody has changed stays and is named, and so does what uses the kit', () => {
  const app = initialised();
  const changed: Files = {
    ...app,
    'lib/idempotency.ts': `${app['lib/idempotency.ts']}// mine\n`,
    'lib/operations.ts': "import { vote } from './vote';\nexport const operations = [vote] as const;\n",
    'lib/vote.ts': "import { serverAction } from 'oncekit/next';\n",
    'lib/other.ts': "// 'oncekit' is only spoken of\n",
    'prisma/schema.prisma': (app['prisma/schema.prisma'] as string).replace('attempts  ', 'tries  '),
  };
  const { writes, removals, kept, next } = plan(changed);
  expect(removals.map(({ file }) => file)).toEqual([
    'app/api/idempotency/[operation]/[key]/route.ts',
    'app/api/cron/[task]/route.ts',
  ]);
  expect(writes.map(({ file }) => file)).not.toContain('prisma/schema.prisma');
  expect(kept).toEqual([
    expect.stringContaining("prisma/schema.prisma: the kit's models (keys) were changed by hand"),
    'lib/idempotency.ts uses the kit and is yours: delete it, or take the kit out of it.',
    'lib/vote.ts uses the kit and is yours: delete it, or take the kit out of it.',
  ]);
  expect(next[0]).toBe('Take the kit out of the files that were kept');
});

test('the client is on Prisma’s own adapter again, and other imports of it stay', () => {
  const client = initialised()['lib/prisma.ts'] as string;
  expect(client).toContain("'oncekit/adapter-pg'");
  const { writes } = plan({ ...initialised(), 'lib/pool.ts': "import * as all from 'oncekit/adapter-pg';\n" });
  expect(writes.find(({ file }) => file === 'lib/prisma.ts')?.content).toBe(APP['lib/prisma.ts']);
  expect(writes.map(({ file }) => file)).not.toContain('lib/pool.ts');
});

describe('.env', () => {
  test('loses the secrets that init has put there, and nothing of it is shown', () => {
    const app = initialised({ ...APP, '.env': 'A=1\n' });
    const behind = { ...app, '.env': `${app['.env']}\nB="hunter2"\n` };
    const found = plan(behind);
    expect(found.writes.find(({ file }) => file === '.env')?.content).toBe('A=1\n\nB="hunter2"\n');
    const shown = showPlan(found);
    expect(shown).toContain('-IDEMPOTENCY_SECRET="…"\n-CRON_SECRET="…"');
    expect(shown).not.toMatch(/hunter2|xxx/);
  });

  test('keeps secrets that somebody else has put there', () => {
    const own = 'IDEMPOTENCY_SECRET="mine"\nCRON_SECRET="mine too"\n';
    expect(plan(initialised({ ...APP, '.env': own })).writes.map(({ file }) => file)).not.toContain('.env');
  });

  test('goes where nothing else was in it', () => {
    const { '.env': _, ...bare } = APP;
    expect(plan(initialised(bare)).removals.map(({ file }) => file)).toContain('.env');
  });
});

test('tables of other names are dropped by these names', () => {
  const packageJson = JSON.parse(APP['package.json'] as string);
  const tables = { schema: 'billing', idempotency_keys: 'request_keys' };
  const files = { ...initialised(), 'package.json': JSON.stringify({ ...packageJson, oncekit: { tables } }) };
  const sql = plan(files).writes.find(({ file }) => isMigration(file))?.content;
  expect(sql).toContain('DROP TABLE IF EXISTS "billing"."request_keys";');
  expect(sql).toContain('DROP TABLE IF EXISTS "billing"."idempotency_phases";');
  expect(sql).not.toContain('outbox');
});
