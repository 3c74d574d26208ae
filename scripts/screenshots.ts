/** Plays the demo on parts of its own, and photographs it into docs/screenshots/. `loop`: the README's moving picture alone. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium, type Locator, type Page } from 'playwright';
import { startApp } from '../e2e/fixtures/app-process.ts';
import { startGatewayProcess } from '../e2e/fixtures/gateway-process.ts';
import { buildPrograms } from '../e2e/fixtures/programs.ts';
import { type Network, startNetwork } from '../e2e/fixtures/proxy-control.ts';
import { Shop } from '../e2e/fixtures/shop.ts';
import { startWorkerProcess } from '../e2e/fixtures/worker-process.ts';
import { markdownPages } from './docs/pages.ts';
import { photograph } from './docs/screenshots/camera.ts';
import { film } from './docs/screenshots/loop.ts';
import { buildApp } from './services/build-app.ts';
import { launchOptions } from './services/chromium.ts';
import { testDatabase } from './testing/test-database.ts';
import setupDatabases from './testing/vitest-global-setup.ts';

const isLoopOnly = process.argv.includes('loop');
const FOLDER = fileURLToPath(new URL('../docs/screenshots', import.meta.url));

/** The demo that is played on. */
interface Stage {
  page: Page;
  shop: Shop;
  network: Network;
}

const shoot = (page: Page, name: string, from?: Locator) => photograph(page, FOLDER, name, from);

async function shopping({ page, shop, network }: Stage): Promise<void> {
  await page.goto('/');
  await shoot(page, 'shop');
  await shop.checkout();
  // The order arrives, its answer does not; and what is sent again does not arrive until the pictures are taken.
  const match = { method: 'POST', path: '/checkout' };
  await network.break({ match, kind: 'lose-answer', times: 1 });
  await network.break({ match, kind: 'lose-request', times: 50 });
  await shop.placeOrder.click();
  await page.locator('[role=status][data-state=unknown]').waitFor();
  await shoot(page, 'checkout-lost-answer', page.getByRole('group', { name: 'How you pay' }));
  await network.heal();
  await page.waitForURL('**/orders/*', { timeout: 60_000 });
  await page.locator('[data-order-status=paid]').waitFor();
  await shoot(page, 'order');
}

/** The walks whose tests take their own pictures, each when what it shows has been counted. */
const WALKS = ['lab\\.e2e', 'unknown(-heard|-pages)?\\.e2e', 'the checkout says so, and charges no second time'];

async function walk(): Promise<void> {
  const args = ['node_modules/@playwright/test/cli.js', 'test', '--grep', WALKS.join('|'), '--reporter=line'];
  const child = spawn(process.execPath, args, { stdio: 'inherit', env: { ...process.env, PICTURES: FOLDER } });
  const [code] = await once(child, 'exit');
  if (code !== 0) throw new Error('The demo does not do what its pictures show.');
}

/** Throws where a page of the docs shows a picture that nobody has taken since. */
async function expectAllTaken(since: number): Promise<void> {
  const shown = markdownPages().flatMap(({ links }) => links.filter((href) => href.includes('screenshots/')));
  for (const name of shown.map((href) => path.basename(href))) {
    const { mtimeMs } = await stat(path.join(FOLDER, name));
    if (mtimeMs < since) throw new Error(`Nobody has taken ${name}, which a page shows.`);
  }
}

async function play(): Promise<void> {
  const database = await testDatabase();
  const gateway = await startGatewayProcess();
  const app = await startApp(database.url, { STRIPE_API_BASE: gateway.url });
  const worker = await startWorkerProcess(database.url, gateway.url);
  const network = await startNetwork(app.url, app.kill);
  const browser = await chromium.launch(await launchOptions());
  try {
    await film(browser, network.url, FOLDER);
    if (isLoopOnly) return;
    const context = await browser.newContext({ baseURL: network.url, locale: 'en-US', timezoneId: 'UTC' });
    const page = await context.newPage();
    const stage = { page, network, shop: await Shop.open({ page, network, app, db: database.client }) };
    await shopping(stage);
  } finally {
    await browser.close();
    await network.close();
    await app.stop();
    await worker.stop();
    await gateway.stop();
    await database.drop();
  }
}

const since = Date.now();
await mkdir(FOLDER, { recursive: true });
await buildApp();
await buildPrograms();
const letGo = await setupDatabases();
try {
  await play();
} finally {
  await letGo();
}
if (!isLoopOnly) {
  await walk();
  await expectAllTaken(since);
}
