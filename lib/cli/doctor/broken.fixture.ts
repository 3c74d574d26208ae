/** Apps that are broken in one way, as folders and databases of their own, and what mends them. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { expect } from 'vitest';
import { cliProgram } from '../../../scripts/testing/cli-programs.ts';
import { type TestDatabase, testDatabase } from '../../../scripts/testing/test-database.ts';
import { APP, type Files, folders, runnable, treeOf } from '../app/app.fixture.ts';
import { filesBelow, folderTree } from '../app/file-tree.ts';
import { planInit } from '../init/init.ts';
import { readKitFiles } from '../init/kit-files.ts';
import { runOncekit } from '../oncekit.fixture.ts';
import type { Finding } from './finding.ts';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const SECRETS = {
  IDEMPOTENCY_SECRET: 'a-secret-that-is-long-enough-for-it',
  CRON_SECRET: 'another-one-that-is-long-enough',
};

/** A real app that is set up well, with an action, a page and a form. */
export function healthy(): Files {
  const { compilerOptions, ...tsconfig } = JSON.parse(`${runnable()['tsconfig.json']}`);
  delete compilerOptions.paths['@/*'];
  const app = { ...APP, 'tsconfig.json': '{ "compilerOptions": { "moduleResolution": "bundler" } }' };
  const { writes } = planInit(treeOf(app), readKitFiles(), { now: new Date(), secret: () => 'x' });
  const files: Files = { ...app, ...Object.fromEntries(writes.map(({ file, content }) => [file, content])) };
  return {
    ...files,
    'tsconfig.json': JSON.stringify({ ...tsconfig, compilerOptions }),
    '.env': Object.entries(SECRETS)
      .map(([name, value]) => `${name}="${value}"\n`)
      .join(''),
    'lib/idempotency.ts': `${files['lib/idempotency.ts']}`
      .replace(
        'scope: async () => null',
        "scope: async () => {\n    const id = (await cookies()).get('id')?.value;\n    return id ? { tenant: 'main', principal: id } : null;\n  }",
      )
      .replace(/^/, "import { cookies } from 'next/headers';\n"),
    'lib/prisma.ts': `import { createClient } from '${cliProgram('demo-client')}';
export const prisma = createClient(process.env.DATABASE_URL as string);
`,
    'lib/checkout.ts': `import { z } from 'zod';
import { idempotency } from './idempotency';
export const checkout = idempotency
  .operation({ name: 'checkout', schema: z.object({ sku: z.string() }) })
  .handler(async ({ input }) => input.sku);
`,
    'lib/operations.ts': "import { checkout } from './checkout';\nexport const operations = [checkout] as const;\n",
    'app/checkout/actions.ts':
      "'use server';\nimport { serverAction } from 'oncekit/next';\nimport { checkout } from '../../lib/checkout';\nexport const placeOrder = serverAction(checkout);\n",
    'app/checkout/page.tsx': `import { issueKey } from 'oncekit/next';
import { IdempotentForm } from 'oncekit/react';
import { checkout } from '../../lib/checkout';
import { placeOrder } from './actions';
export default async function Page() {
  return <IdempotentForm action={placeOrder} intent="checkout:1" initialKey={await issueKey(checkout)} />;
}
`,
  };
}

export const MESSAGING = `import { createInbox, createOutbox } from 'oncekit/messaging';
import { prisma } from './prisma';
export const outbox = createOutbox({ prisma, destinations: [{ name: 'crm', publisher: { publish: async () => {} } }] });
`;

/** A text in one of the files, exchanged. Throws where it is not there, so that no case breaks nothing. */
export function edit(files: Files, file: string, from: string | RegExp, to: string): Files {
  const before = files[file] ?? '';
  const after = before.replace(from, () => to);
  if (after === before) throw new Error(`${file} has no ${from}`);
  return { ...files, [file]: after };
}

/** One app, while it is broken and mended. */
export interface Patient {
  database: TestDatabase;
  /** Runs SQL as a person would, on a connection of its own. */
  sql(text: string): Promise<unknown>;
  files: Files;
  env: Record<string, string>;
  /** The folder that was examined last. */
  root: string;
}

/** One way to break an app, its only finding, and how its fix is carried out. */
export interface Broken {
  of: string;
  breaks(patient: Patient): unknown;
  found: [check: string, level: Finding['level'], says: string | RegExp];
  /** Does what the fix says, by its words. */
  mend(patient: Patient, fix: string): unknown;
}

/** Carries the fix out as SQL, word for word. */
export const bySql = ({ sql }: Patient, fix: string) => sql(fix);

/** The output of `npx oncekit doctor --sql`. */
export async function printedSql(patient: Patient): Promise<string> {
  const { code, out, err } = await runOncekit(['doctor', '--sql'], {
    cwd: patient.root,
    env: { ...patient.env, DATABASE_URL: patient.database.url },
  });
  expect({ code, err }).toEqual({ code: 0, err: '' });
  return out;
}

/** `npx oncekit doctor --sql`, on the database. */
export async function runsItsSql(patient: Patient, fix: string) {
  expect(fix).toContain('npx oncekit doctor --sql | npx prisma db execute --stdin');
  await patient.sql(await printedSql(patient));
}

/** `npx oncekit init`, in the folder, whose files are the patient's from then on. */
export async function runsInit(patient: Patient) {
  const done = await runOncekit(['init', '--yes'], { cwd: patient.root, env: patient.env });
  expect(done).toMatchObject({ code: 0 });
  const tree = folderTree(patient.root);
  const names = filesBelow(tree, '', /\.(tsx?|prisma|sql|json)$/);
  patient.files = { ...patient.files, ...Object.fromEntries(names.map((name) => [name, tree.read(name) ?? ''])) };
}

/** Doctor's process, and the apps that it is shown. */
export async function clinic() {
  const made = folders();
  const home = made.of({ 'tsconfig.json': `${healthy()['tsconfig.json']}`, 'package.json': '{}' });
  const child = fork(cliProgram('doctor-process'), {
    cwd: home,
    env: { PATH: process.env.PATH, HOME: process.env.HOME } as unknown as NodeJS.ProcessEnv,
    execArgv: [],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });

  /** Examines the app as it is, in a folder of its own: modules are evaluated once in a process. */
  async function examine(patient: Patient): Promise<Finding[]> {
    const before = patient.root;
    patient.root = made.of(patient.files);
    // Git's memory of it.
    const git = path.join(before, '.git');
    if (before && existsSync(git)) cpSync(git, path.join(patient.root, '.git'), { recursive: true });
    symlinkSync(path.join(ROOT, 'node_modules'), path.join(patient.root, 'node_modules'));
    child.send({ root: patient.root, env: { DATABASE_URL: patient.database.url, ...patient.env } });
    const [{ findings, error }] = (await once(child, 'message')) as [{ findings?: Finding[]; error?: string }];
    if (!findings) throw new Error(error);
    // The tests' own server skips the disk.
    return findings.filter(({ says }) => !says.startsWith('fsync is off'));
  }

  async function admit(files = healthy()): Promise<Patient> {
    const database = await testDatabase({ max: 1 });
    const sql = async (text: string) => {
      const client = new pg.Client({ connectionString: database.url });
      await client.connect();
      try {
        return await client.query(text);
      } finally {
        await client.end();
      }
    };
    return { database, sql, files, env: {}, root: '' };
  }

  return {
    admit,
    examine,
    /** The one finding, and none once its fix was carried out. */
    async treat({ breaks, found: [check, level, says], mend }: Broken) {
      const patient = await admit();
      try {
        await breaks(patient);
        const found = wrong(await examine(patient));
        expect(found).toEqual([{ check, level, says: expect.stringMatching(pattern(says)), fix: expect.any(String) }]);
        await mend(patient, found[0]?.fix as string);
        expect(wrong(await examine(patient))).toEqual([]);
      } finally {
        await patient.database.drop();
      }
    },
    close() {
      child.kill();
      made.remove();
    },
  };
}

export const wrong = (findings: Finding[]) => findings.filter(({ level }) => level !== 'ok');

const pattern = (says: string | RegExp) =>
  says instanceof RegExp ? says : new RegExp(says.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
