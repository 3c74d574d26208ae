/** A payment, and an event that goes to a webhook, in a stranger's app by the text of the pages. */
import { createHmac, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { startGateway } from '../../../simulators/gateway/server.ts';
import { schemaDifference } from '../../services/migrate.ts';
import { spawnChild } from '../../services/process.ts';
import { generate, migrate, npx, run, strangersEnvironment, tsx } from './commands.ts';
import { query } from './database.ts';
import { applyChange, inFolder, setUp, writeFiles } from './fixture.ts';
import { APP_PACKAGES, appFiles, prismaFiles } from './fixture-app.ts';
import type { Context } from './report.ts';
import { documented, untilTrue, withWorker } from './scripts-of-an-app.ts';
import type { Tarball } from './tarball.ts';

/** The app's own models, as docs/phases.md takes them for granted. */
const MODELS = `
model Product {
  sku        String @id
  stock      Int
  priceCents Int
}

model Order {
  id             String   @id @default(uuid())
  sku            String
  quantity       Int      @default(1)
  principal      String?
  idempotencyKey String?
  paymentMethod  String?
  amountCents    Int?
  status         String?
  paymentIntent  String?
  createdAt      DateTime @default(now())
}
`;

/** Executes the operation under a key that it is given, and writes the answer. */
const script = (payload: object) => `import { checkout } from './lib/checkout';

async function main() {
  const scope = { tenant: 'main', principal: 'ann' };
  console.log(JSON.stringify(await checkout.execute({ key: 'k-1', scope, payload: ${JSON.stringify(payload)} })));
  process.exit();
}
main();
`;

const OPERATIONS = "import { checkout } from './checkout';\n\nexport const operations = [checkout] as const;\n";

interface App {
  app: string;
  databaseUrl: string;
}

export async function checkEffects(context: Context, tarball: Tarball): Promise<void> {
  await inFolder(context.report, 'A payment in phases', (app) => checkPayment(context, tarball, app));
  await inFolder(context.report, 'An outbox to a webhook', (app) => checkOutbox(context, tarball, app));
}

async function checkPayment(context: Context, tarball: Tarball, app: string): Promise<void> {
  const { report, signal } = context;
  const { databaseUrl } = await makeApp(context, tarball, app, ['--yes']);
  const data = await mkdtemp(path.join(tmpdir(), 'oncekit-pack-gateway-'));
  const gateway = await startGateway({ port: 0, dataFile: path.join(data, 'ledger.jsonl') });
  try {
    await report.check('the block of docs/phases.md type-checks', async () => {
      await writeFiles(app, {
        'lib/checkout.ts': (await documented('docs/phases.md', 'lib/checkout.ts')).text,
        'lib/operations.ts': OPERATIONS,
        'pay.ts': script({ sku: 'mug', quantity: 2, paymentMethod: 'pm_card_visa' }),
      });
      await run(app, ['tsc', '--noEmit'], signal);
    });
    // Stripe's own client, led to a gateway that speaks Stripe's API.
    await applyChange(app, {
      file: 'lib/checkout.ts',
      before: 'new Stripe(process.env.STRIPE_SECRET_KEY!)',
      after: `new Stripe('sk_test_local', { host: '127.0.0.1', port: ${gateway.port}, protocol: 'http' })`,
    });
    await query(databaseUrl, `INSERT INTO "Product" VALUES ('mug', 10, 1800)`);
    const charges = async () => {
      const ledger = (await (await fetch(`${gateway.url}/_ledger`)).json()) as { charges: unknown[] };
      return ledger.charges.length;
    };
    await report.check('its process is killed when the card is charged and nothing is written down', async () => {
      const slow = { kind: 'latency', path: '/v1/payment_intents', method: 'POST', ms: 20_000 };
      await fetch(`${gateway.url}/_faults`, { method: 'POST', body: JSON.stringify(slow) });
      const pay = spawnChild({
        ...{ name: 'the payment', command: process.execPath, args: ['--import', 'tsx', '--env-file=.env', 'pay.ts'] },
        ...{ cwd: app, env: strangersEnvironment(), onLine: () => {}, log: () => {} },
      });
      await untilTrue(async () => (await charges()) === 1, { signal });
      process.kill(pay.pid as number, 'SIGKILL');
      await pay.ended;
      await fetch(`${gateway.url}/_faults`, { method: 'DELETE' });
    });
    await report.check('npx oncekit worker finishes it: one order, paid, and one charge', async () => {
      const line = [path.join(app, 'node_modules/.bin/oncekit'), 'worker'];
      const isPaid = async () => {
        const orders = await query(databaseUrl, `SELECT "status", "paymentIntent" FROM "Order"`);
        return orders.length === 1 && orders[0]?.status === 'paid' && orders[0].paymentIntent !== null;
      };
      await withWorker({ cwd: app, line }, () => untilTrue(isPaid, { signal }));
    });
    await report.check('the client that asks again gets the same order, and pays no second time', async () => {
      const answer = JSON.parse(await tsx(app, 'pay.ts', signal));
      const [order] = await query(databaseUrl, 'SELECT "id" FROM "Order"');
      const [product] = await query(databaseUrl, 'SELECT "stock" FROM "Product"');
      const seen = { ...answer, stock: product?.stock, charges: await charges() };
      if (!answer.replayed || answer.data?.id !== order?.id || seen.stock !== 8 || seen.charges !== 1)
        throw new Error(JSON.stringify(seen));
    });
  } finally {
    await gateway.close();
    await rm(data, { recursive: true });
  }
}

async function checkOutbox(context: Context, tarball: Tarball, app: string): Promise<void> {
  const { report, signal } = context;
  const { databaseUrl } = await makeApp(context, tarball, app, ['--messaging', '--yes']);
  const secret = `whsec_${randomBytes(32).toString('base64')}`;
  const crm = await startReceiver(secret);
  try {
    await report.check('the blocks of docs/messaging.md type-check', async () => {
      const files = ['lib/messaging.ts', 'lib/checkout.ts'];
      for (const file of files) await writeFiles(app, { [file]: (await documented('docs/messaging.md', file)).text });
      await writeFiles(app, { 'lib/operations.ts': OPERATIONS, 'order.ts': script({ sku: 'mug' }) });
      const env = await readFile(path.join(app, '.env'), 'utf8');
      await writeFile(path.join(app, '.env'), `${env}\nCRM_URL="${crm.url}"\nCRM_SECRET="${secret}"\n`);
      await run(app, ['tsc', '--noEmit'], signal);
    });
    await report.check('an order that is sent twice is one order', async () => {
      const answers = [await tsx(app, 'order.ts', signal), await tsx(app, 'order.ts', signal)].map((one) =>
        JSON.parse(one),
      );
      const orders = await query(databaseUrl, 'SELECT "id" FROM "Order"');
      if (orders.length !== 1 || answers.some(({ data }) => data?.id !== orders[0]?.id))
        throw new Error(JSON.stringify(answers));
    });
    await report.check(
      'npx oncekit worker sends its event, and again where the answer was an error, signed, under one id',
      async () => {
        const line = [path.join(app, 'node_modules/.bin/oncekit'), 'worker'];
        await withWorker({ cwd: app, line }, () => untilTrue(() => crm.seen.length === 2, { signal }));
        const [first, second] = crm.seen;
        const isWell = first?.id === second?.id && crm.seen.every((one) => one.isSigned && one.type === 'order.paid');
        if (!isWell) throw new Error(JSON.stringify(crm.seen));
      },
    );
  } finally {
    crm.close();
  }
}

/** An app with those models and the kit. */
async function makeApp(context: Context, tarball: Tarball, app: string, options: string[]): Promise<App> {
  const { report, server, signal } = context;
  const databaseUrl = await server.database();
  const prisma = prismaFiles('../lib/generated/prisma');
  const schema = `${prisma['prisma/schema.prisma']}`.replace(/model Order [\s\S]*/, MODELS.trimStart());
  const files: Record<string, string> = {
    ...appFiles({ name: 'effects-shop', databaseUrl }),
    ...prisma,
    'prisma/schema.prisma': schema,
  };
  delete files['prisma/migrations/20260101090000_orders/migration.sql'];
  files['lib/prisma.ts'] = `${files['lib/prisma.ts']}`.replace('@/app/generated', './generated');
  const { dependencies, ...others } = APP_PACKAGES;
  await setUp(context, app, tarball, { files, ...others, dependencies: [...dependencies, 'stripe'] });
  await writeFiles(app, {
    'prisma/migrations/20260101090000_shop/migration.sql': `${await schemaDifference(databaseUrl, path.join(app, 'prisma'))}`,
  });
  await report.check(['npx oncekit init', ...options].join(' '), () =>
    npx(app, ['oncekit', 'init', ...options], signal),
  );
  await report.check('its migrations apply', () => migrate(app, databaseUrl, signal));
  await generate(app, signal);
  return { app, databaseUrl };
}

interface Delivery {
  id: string;
  type: string;
  isSigned: boolean;
}

/** A webhook's receiver. It answers the first delivery with an error, and all others well. */
async function startReceiver(secret: string) {
  const seen: Delivery[] = [];
  const server = createServer((req, res) => {
    void deliveryOf(req, secret).then((delivery) => {
      seen.push(delivery);
      res.writeHead(seen.length === 1 ? 500 : 204).end();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    seen,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/events`,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

/** As the specification of Standard Webhooks says how a signature is checked. */
async function deliveryOf(req: IncomingMessage, secret: string): Promise<Delivery> {
  const body = await text(req);
  const [id, at, signatures] = ['id', 'timestamp', 'signature'].map((name) => String(req.headers[`webhook-${name}`]));
  const key = Buffer.from(secret.replace('whsec_', ''), 'base64');
  const signature = `v1,${createHmac('sha256', key).update(`${id}.${at}.${body}`).digest('base64')}`;
  return { id: String(id), type: JSON.parse(body).type, isSigned: `${signatures}`.split(' ').includes(signature) };
}
