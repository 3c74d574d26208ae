import { readdirSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { cruise, type IConfiguration, type ICruiseResult } from 'dependency-cruiser';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import config from '../../.dependency-cruiser.mjs';

// The check itself is checked: each planted violation must be found, in a tree of its own, or the rule has rotted.
const planted: [rule: string, from: string, code: string][] = [
  ['core-imports-only-its-rooms', 'lib/core/planted.ts', "import '../engine/execution.ts';"],
  ['core-imports-only-its-packages', 'lib/core/planted.ts', "import 'zod';"],
  ['engine-imports-only-its-rooms', 'lib/engine/planted.ts', "import '../store/prisma/store.ts';"],
  ['store-imports-only-its-rooms', 'lib/store/planted.ts', "import './prisma/store.ts';"],
  ['store-imports-only-its-packages', 'lib/store/planted.ts', "import '@prisma/client';"],
  ['store-prisma-imports-only-its-rooms', 'lib/store/prisma/planted.ts', "import '../../engine/execution.ts';"],
  ['index-imports-only-its-rooms', 'lib/index.ts', "import './next/index.ts';"],
  ['next-imports-only-its-rooms', 'lib/next/planted.ts', "import '../worker/worker.ts';"],
  ['stripe-imports-only-its-packages', 'lib/stripe/planted.ts', "import 'stripe';"],
  ['react-imports-only-its-rooms', 'lib/react/planted.ts', "import '../engine/execution.ts';"],
  ['browser-stays-free-of-node', 'lib/react/index.ts', "import 'node:crypto';"],
  ['browser-stays-free-of-node', 'lib/testing/browser.ts', "import 'node:crypto';"],
  ['plain-node-stays-plain', 'lib/index.ts', "import 'next/navigation.js';"],
  ['messaging-asks-its-port', 'lib/messaging/planted.ts', "import type {} from '../store/prisma/store.ts';"],
  ['next-in-its-room', 'lib/engine/planted.ts', "import 'next/navigation.js';"],
  ['adapter-in-its-room', 'lib/store/planted.ts', "import '@prisma/adapter-pg';"],
  ['generated-in-one-place', 'lib/store/planted.ts', "import '../../shop/generated/prisma/client.ts';"],
  ['public-entries-only', 'app/planted.ts', "import '../lib/engine/execution.ts';"],
  ['components-know-no-server', 'components/planted.ts', "import '../shop/db.ts';"],
  ['shared-schemas-are-plain', 'shop/planted-schema.ts', "import './db.ts';"],
  ['shop-imports-only-its-rooms', 'shop/planted.ts', "import '../app/page.ts';"],
  ['simulators-imports-only-its-rooms', 'simulators/planted.ts', "import '../shop/db.ts';"],
  ['app-is-not-imported', 'components/planted.ts', "import '../app/page.ts';"],
  ['tests-stay-out', 'lib/engine/planted.ts', "import './run.test.ts';"],
  ['no-circles', 'lib/core/planted.ts', "import type { A } from './planted.ts'; export type B = A;"],
];
const targets = [
  'lib/engine/execution.ts',
  'lib/engine/run.test.ts',
  'lib/next/index.ts',
  'lib/store/prisma/store.ts',
  'lib/worker/worker.ts',
  'shop/generated/prisma/client.ts',
  'shop/db.ts',
  'app/page.ts',
];

const rules = config as unknown as IConfiguration;
let tree: string;

beforeAll(async () => {
  tree = await mkdtemp(path.join(tmpdir(), 'oncekit-rooms-'));
  await symlink(path.resolve('node_modules'), path.join(tree, 'node_modules'));
  await Promise.all(targets.map((file) => plant(file, 'export {};')));
});

afterAll(() => rm(tree, { recursive: true, force: true }));

describe('the room rules', () => {
  it.each(planted)('%s finds what %s does', { tags: 'all' }, async (rule, file, code) => {
    expect(await violations(file)).not.toContain(rule);
    await plant(file, code);
    expect(await violations(file)).toContain(rule);
    await rm(path.join(tree, file));
  });
});

it('each file of scripts/ itself is one npm script', () => {
  const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: Record<string, string> };
  const named = Object.values(scripts).flatMap((command) => command.match(/(?<=scripts\/)[\w-]+\.ts/g) ?? []);
  const files = readdirSync('scripts', { withFileTypes: true }).filter((entry) => entry.isFile());
  expect(files.map(({ name }) => name).sort()).toEqual([...new Set(named)].sort());
});

async function violations(file: string): Promise<string[]> {
  await mkdir(path.dirname(path.join(tree, file)), { recursive: true });
  const { tsConfig: _, ...options } = rules.options ?? {};
  const result = await cruise(
    ['lib', 'app', 'components', 'shop', 'simulators'].filter((dir) => file.startsWith(dir)),
    {
      ...options,
      baseDir: tree,
      validate: true,
      ruleSet: { forbidden: rules.forbidden ?? [] },
    },
  );
  return (result.output as ICruiseResult).summary.violations.map(({ rule }) => rule.name);
}

async function plant(file: string, code: string): Promise<void> {
  await mkdir(path.dirname(path.join(tree, file)), { recursive: true });
  await writeFile(path.join(tree, file), code);
}
