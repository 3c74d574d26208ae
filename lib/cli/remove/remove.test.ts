import { afterAll, expect, test } from 'vitest';
import { APP, folders } from '../app/app.fixture.ts';
import { folderTree } from '../app/file-tree.ts';
import { runOncekit } from '../oncekit.fixture.ts';

const made = folders();
afterAll(() => made.remove());

test('init, and the way back: shown, asked about, and done', { timeout: 120_000 }, async () => {
  const cwd = made.of(APP);
  const run = (...args: string[]) => runOncekit(args, { cwd, env: {} });
  const tree = folderTree(cwd);
  expect((await run('init', '--yes')).code).toBe(0);
  const asked = await run('remove');
  expect([asked.code, asked.err]).toEqual([1, 'Nothing was changed. To go on without being asked: --yes.\n']);
  expect(tree.read('lib/operations.ts')).toBeDefined();
  for (const shown of [
    '--- lib/operations.ts  (deleted: it is as init has written it)',
    "+import { PrismaPg } from '@prisma/adapter-pg';",
    '+DROP TABLE IF EXISTS idempotency_keys;',
    '-IDEMPOTENCY_SECRET="…"',
  ]) {
    expect(asked.out).toContain(shown);
  }
  expect(asked.out).not.toContain('hunter2');
  const done = await run('remove', '--yes');
  expect([done.code, done.err]).toEqual([0, '']);
  expect(done.out).toContain('npm uninstall oncekit');
  const migrations = tree.list('prisma/migrations').filter((name) => name.includes('oncekit'));
  expect(migrations.at(-1)).toMatch(/_oncekit_remove\/$/);
  for (const [file, content] of Object.entries(APP)) expect(tree.read(file), file).toBe(content);
  expect([tree.list('lib'), tree.list('app')]).toEqual([['prisma.ts'], ['layout.tsx', 'page.tsx']]);
  expect((await run('remove')).out).toBe('Nothing to do: nothing is left here that init has written.\n');
});
