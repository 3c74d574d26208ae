import { chmodSync, statSync } from 'node:fs';
import fs from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import path from 'node:path';
import { afterAll, afterEach, beforeEach, expect, test } from 'vitest';
import { APP, folders, without } from '../app/app.fixture.ts';
import { folderTree } from '../app/file-tree.ts';
import { planInit } from './init.ts';
import { readKitFiles } from './kit-files.ts';
import { writeFiles } from './plan.ts';

/** The modes of the files at the moment they were there: one that is set afterwards comes too late. */
const born = new Map<string, number>();
const { writeFile } = fs;
function observe(write: typeof writeFile): void {
  fs.writeFile = write;
  syncBuiltinESMExports();
}

const made = folders();
const mask = process.umask();
afterAll(() => made.remove());
beforeEach(() => {
  born.clear();
  observe(async (file, ...rest) => {
    await writeFile(file, ...rest);
    born.set(path.basename(String(file)).replace(/\.oncekit-.*/, ''), statSync(String(file)).mode & 0o777);
  });
  process.umask(0); // the most open that a machine can be
});
afterEach(() => {
  process.umask(mask);
  observe(writeFile);
});

const options = { now: new Date('2026-11-23T08:00:00Z'), secret: () => 'x'.repeat(32) };
const modeOf = (file: string) => statSync(file).mode & 0o777;

async function init(app: Record<string, string>, prepare = (_: string) => {}) {
  const root = made.of(app);
  prepare(root);
  const open = await writeFiles(root, planInit(folderTree(root), readKitFiles(), options).writes);
  return { root, open };
}

test('a new .env is its owner’s alone from the first byte, and other files are as open as the machine has them', async () => {
  const { root, open } = await init(without('.env'));
  expect([born.get('.env'), modeOf(path.join(root, '.env'))]).toEqual([0o600, 0o600]);
  expect([born.get('operations.ts'), modeOf(path.join(root, 'lib/operations.ts'))]).toEqual([0o666, 0o666]);
  expect(open).toEqual([]);
});

test.each([0o600, 0o640, 0o644])('an .env of mode %o keeps it, and is never more open on its way', async (mode) => {
  const { root, open } = await init(APP, (at) => chmodSync(path.join(at, '.env'), mode));
  expect([born.get('.env'), modeOf(path.join(root, '.env'))]).toEqual([0o600, mode]);
  expect(open, 'to be told').toEqual(mode === 0o600 ? [] : ['.env']);
});

test('a file that is deleted takes along the folders that held nothing else', async () => {
  const root = made.of({ 'a/b/c/gone.ts': 'x', 'a/stays.ts': 'y', 'new.ts': 'before' });
  const write = { file: 'new.ts', before: 'before', content: 'after' };
  await writeFiles(root, [write], [{ file: 'a/b/c/gone.ts', before: 'x' }]);
  const tree = folderTree(root);
  expect([tree.list(''), tree.list('a'), tree.read('new.ts')]).toEqual([['a/', 'new.ts'], ['stays.ts'], 'after']);
});

test.each([
  ['has just been changed', { 'gone.ts': 'mine' }, 'gone.ts has just been changed.'],
  ['cannot be deleted', { 'gone.ts': 'x', 'folder/x': '' }, 'Nothing was written: '],
])('where one %s, all is as it was', async (_, files, sentence) => {
  const root = made.of({ ...files, 'new.ts': 'before', 'other.ts': 'o' });
  const write = { file: 'new.ts', before: 'before', content: 'after' };
  const removals = [
    { file: 'other.ts', before: 'o' },
    { file: 'gone.ts', before: 'x' },
  ];
  const { rename } = fs;
  fs.rename = async (from, to) => {
    if (String(from).endsWith('gone.ts')) throw new Error('EPERM');
    await rename(from, to);
  };
  syncBuiltinESMExports();
  try {
    await expect(writeFiles(root, [write], removals)).rejects.toThrow(sentence);
  } finally {
    fs.rename = rename;
    syncBuiltinESMExports();
  }
  const tree = folderTree(root);
  expect([tree.read('new.ts'), tree.read('other.ts')]).toEqual(['before', 'o']);
  expect(tree.read('gone.ts')).toBe(files['gone.ts']);
  expect(tree.list('').filter((name) => name.includes('.oncekit-'))).toEqual([]);
});
