import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { cliProgram } from '../../../scripts/testing/cli-programs.ts';
import { planInit } from '../init/init.ts';
import { readKitFiles } from '../init/kit-files.ts';
import type { FileTree } from './file-tree.ts';

/** Files as they are on a disk, by their path. */
export type Files = Record<string, string>;

/** An app as `create-next-app` and `prisma init` make it, with a Prisma client. */
export const APP: Files = {
  'package.json': JSON.stringify({
    dependencies: {
      oncekit: '0.1.0',
      next: '16.4.5',
      react: '19.3.1',
      '@prisma/client': '^7.10.0',
      '@prisma/adapter-pg': '^7.10.0',
    },
  }),
  'tsconfig.json':
    '{\n  // as Next makes it\n  "compilerOptions": { "moduleResolution": "bundler", "paths": { "@/*": ["./*"] }, },\n}\n',
  '.gitignore': 'node_modules\n.env*\n',
  '.env': 'DATABASE_URL="postgresql://me:hunter2@localhost:5432/shop"\n',
  'app/layout.tsx':
    'export default function Layout({ children }: { children: React.ReactNode }) { return children; }\n',
  'app/page.tsx': 'export default function Page() { return null; }\n',
  'lib/prisma.ts': `import { PrismaPg } from '@prisma/adapter-pg';
import { PrismaClient } from '../generated/client';
export const prisma = new PrismaClient({ adapter: new PrismaPg({ connectionString: process.env.DATABASE_URL }) });
`,
  'prisma/schema.prisma': `generator client {
  provider = "prisma-client"
  output   = "../generated"
}

datasource db {
  provider = "postgresql"
}

model Order {
  id String @id
}
`,
  'prisma/migrations/20250101120000_init/migration.sql': 'CREATE TABLE "Order" ("id" TEXT PRIMARY KEY);\n',
  'prisma/migrations/migration_lock.toml': 'provider = "postgresql"\n',
};

/** The app without these files. */
export function without(...names: string[]): Files {
  return Object.fromEntries(Object.entries(APP).filter(([file]) => !names.some((name) => file.startsWith(name))));
}

/** A tree that is nowhere on a disk. */
export function treeOf(files: Files): FileTree {
  const clean = (name: string) => name.replace(/^\.\//, '').replace(/\/$/, '');
  return {
    read: (file) => files[clean(file)],
    list: (folder) => {
      const prefix = folder === '' || folder === '.' ? '' : `${clean(folder)}/`;
      const below = Object.keys(files).flatMap((file) => (file.startsWith(prefix) ? file.slice(prefix.length) : []));
      return [...new Set(below.map((rest) => rest.replace(/\/.*/s, '/')))].sort();
    },
  };
}

/** The app as `init` leaves it, with somebody who acts and an operation. */
export function ready(): Files {
  const options = { now: new Date(), secret: () => 'a-secret-that-is-long-enough-for-it' };
  const { writes } = planInit(treeOf(APP), readKitFiles(), options);
  const files: Files = { ...APP, ...Object.fromEntries(writes.map(({ file, content }) => [file, content])) };
  const setUp = files['lib/idempotency.ts'] as string;
  return {
    ...files,
    'lib/idempotency.ts': setUp.replace('async () => null', "async () => ({ tenant: 'main', principal: 'ann' })"),
    'lib/checkout.ts': `import { idempotency } from './idempotency';
export const checkout = idempotency.operation({ name: 'checkout', schema }).handler(async () => null);
`,
    'lib/operations.ts': "import { checkout } from './checkout';\nexport const operations = [checkout] as const;\n",
  };
}

/** The same as it runs on this repository's code, with the demo's Prisma client. */
export function runnable(): Files {
  return {
    ...ready(),
    'tsconfig.json': JSON.stringify({
      compilerOptions: {
        paths: {
          '@/*': ['./*'],
          oncekit: [cliProgram('kit')],
          'oncekit/adapter-pg': [cliProgram('adapter-pg')],
          'oncekit/messaging': [cliProgram('messaging')],
        },
      },
    }),
    'lib/prisma.ts': `import { createClient } from '${cliProgram('demo-client')}';
export const prisma = createClient(process.env.DATABASE_URL as string);
`,
  };
}

/** Folders on this disk, and what removes them all. */
export function folders() {
  const made: string[] = [];
  return {
    /** Writes the files into a new folder and returns it. */
    of(files: Files): string {
      const root = mkdtempSync(path.join(tmpdir(), 'oncekit-cli-'));
      made.push(root);
      for (const [file, content] of Object.entries(files)) {
        mkdirSync(path.dirname(path.join(root, file)), { recursive: true });
        writeFileSync(path.join(root, file), content);
      }
      return root;
    },
    remove() {
      for (const root of made) rmSync(root, { recursive: true, force: true });
    },
  };
}
