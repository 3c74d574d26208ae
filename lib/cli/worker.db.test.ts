import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { readPage } from '../../scripts/docs/pages.ts';
import { bound } from '../../scripts/testing/patience.ts';
import { type TestDatabase, testDatabase } from '../../scripts/testing/test-database.ts';
import { createOutbox, verifyWebhook } from '../messaging/index.ts';
import { folders } from './app/app.fixture.ts';
import { makeRunnableApp, runOncekit, runScript, startOncekit } from './oncekit.fixture.ts';

// An app whose messaging is where docs/messaging.md puts it, and a worker that was told nothing of it.

const root = fileURLToPath(new URL('../../', import.meta.url));
const page = readPage('docs/messaging.md', readFileSync(path.join(root, 'docs/messaging.md'), 'utf8'));
const secret = `whsec_${Buffer.from('a secret of the crm, long enough').toString('base64')}`;
const made = folders();
const nobody = { publish: async () => {} };
let database: TestDatabase;
let app: string;
let url: string;
const received: { type: string; id: string }[] = [];

/** A block of the page that is a file of the app. */
function documented(file: string): string {
  const block = page.blocks.find(({ text }) => text.startsWith(`// ${file}`));
  if (!block) throw new Error(`docs/messaging.md shows no ${file}.`);
  return block.text;
}

const crm = createServer(async (request, response) => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const body = Buffer.concat(chunks).toString();
  const { id } = verifyWebhook(body, request.headers as Record<string, string>, [secret]);
  received.push({ type: JSON.parse(body).type, id });
  response.writeHead(204).end();
});

beforeAll(async () => {
  database = await testDatabase();
  await new Promise<void>((listening) => crm.listen(0, '127.0.0.1', listening));
  url = `http://127.0.0.1:${(crm.address() as AddressInfo).port}/events`;
  app = makeRunnableApp(made, {
    'lib/messaging.ts': documented('lib/messaging.ts'),
    // The page's app has a model of its own; this one announces an order that is nowhere.
    'lib/checkout.ts': documented('lib/checkout.ts').replace('await tx.order.create({ data: input })', "{ id: '17' }"),
    'sell.ts': `import { checkout } from './lib/checkout';
const scope = { tenant: 'main', principal: 'ann' };
checkout.execute({ key: 'k', scope, payload: { sku: 'mug' } }).then((outcome) => {
  console.log(outcome.ok);
  process.exit();
});
`,
  });
});
afterAll(async () => {
  crm.close();
  made.remove();
  await database?.drop();
});

const options = () => ({ cwd: app, env: { DATABASE_URL: database.url, CRM_URL: url, CRM_SECRET: secret } });

test('what the app announces arrives, by the worker alone', async () => {
  expect(await runScript(['--env-file=.env', 'sell.ts'], options())).toMatchObject({ out: 'true\n', err: '' });
  const worker = startOncekit(['worker'], options());
  try {
    await vi.waitFor(() => expect(received, worker.output()).toHaveLength(1), { timeout: bound(60_000), interval: 50 });
  } finally {
    await worker.stop();
  }
  expect(await worker.stop()).toBe(0);
  expect(received).toEqual([{ type: 'order.paid', id: expect.any(String) }]);
  expect(worker.output()).toContain('It sends events to: crm\n');
});

test('the pass finds it, too, and so does doctor, which says that the cron route does not', {
  tags: 'all',
}, async () => {
  const relay = await runOncekit(['relay'], options());
  const doctor = await runOncekit(['doctor'], options());
  expect(relay).toMatchObject({ err: '', out: expect.stringMatching(/^relay: \d+ delivered, /) });
  expect(doctor.out).toMatch(
    /^warning +Cron route +.* is given no outbox and no inbox: .*cronRoute\(\{ \.\.\.idempotency, outbox, inbox \}/m,
  );
});

test('a worker that finds no outbox says that events wait for one', { tags: 'all' }, async () => {
  const outbox = createOutbox({ prisma: database.client, destinations: [{ name: 'crm', publisher: nobody }] });
  await database.client.$transaction((tx) =>
    outbox.enqueue(tx, { type: 'order.paid', aggregate: 'order:18', payload: {} }),
  );
  const bare = makeRunnableApp(made, { 'lib/operations.ts': 'export const operations = [] as const;\n' });
  const worker = startOncekit(['worker'], { cwd: bare, env: { DATABASE_URL: database.url } });
  const says = 'An event waits in the outbox, and no module of the app exports one, so this worker does not send them.';
  try {
    await vi.waitFor(() => expect(worker.output()).toContain(says), { timeout: bound(60_000), interval: 50 });
  } finally {
    await worker.stop();
  }
});

test('X5 a worker that nobody gave a NODE_ENV is production: it logs nothing of an input', async () => {
  const posting = makeRunnableApp(made, {
    'lib/posting.ts': `import { z } from 'zod';
import { idempotency } from './idempotency';
export const posting = idempotency
  .operation({ name: 'posting', schema: z.object({ street: z.string() }) })
  .phases(async ({ atomic, input }) => {
    await atomic('taken', async () => null);
    throw new Error('nobody lives in ' + input.street);
  });
`,
    'lib/operations.ts': "import { posting } from './posting';\nexport const operations = [posting] as const;\n",
    'post.ts': `import { posting } from './lib/posting';
const scope = { tenant: 'main', principal: 'ann' };
posting.execute({ key: 'street', scope, payload: { street: 'Elm Street' } }).then(() => process.exit());
`,
  });
  const { env } = options();
  await runScript(['--env-file=.env', 'post.ts'], { cwd: posting, env });
  await database.client.$executeRaw`UPDATE idempotency_keys SET lease_until = now() - interval '1 h',
    next_attempt_at = now() - interval '1 h' WHERE key = 'street'`;
  const { out, err } = await runOncekit(['complete'], { cwd: posting, env: { ...env, NODE_ENV: undefined } });
  expect(out).toBe('complete: 1 taken, 0 settled, 0 unknown, 1 unfinished\n');
  expect(err).toContain('[oncekit] posting: a run ended early');
  expect(err).not.toContain('Elm Street');
});
