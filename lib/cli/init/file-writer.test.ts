import { chmodSync, statSync } from 'node:fs';
import files from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import path from 'node:path';
import { afterAll, afterEach, beforeEach, expect, test } from 'vitest';
import { APP, folders, without } from '../app/app.fixture.ts';
import { folderTree } from '../app/file-tree.ts';
import { writeFiles } from './file-writer.ts';
import { readKitFiles } from './kit-files.ts';
import { planInit } from './plan-init.ts';

/** The modes of the files at the moment they were there: one that is set afterwards comes too late. */
const born = new Map<string, number>();
const { writeFile } = files;
function observe(write: typeof writeFile): void {
  files.writeFile = write;
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
