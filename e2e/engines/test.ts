import { expect } from '@playwright/test';
import { count } from '../fixtures/shop.ts';
import { test as base } from '../fixtures/test.ts';
import { startChromium } from './chromium.ts';
import { type BrowserWindow, CANNOT, type Engine, type EngineName, type Kind } from './engine.ts';
import { startFirefox } from './firefox.ts';
import { Person } from './person.ts';
import { startStoringFront } from './storing-front.ts';
import { startWebKit } from './webkit.ts';

export interface EngineOptions {
  engineName: EngineName;
  /** The kind of the test's window: `test.use({ kind: 'private' })`. */
  kind: Kind | undefined;
}

interface Fixtures {
  window: BrowserWindow;
  person: Person;
  /** The same person, behind a network that lets the browser store pages. */
  storing: Person;
  /** The rows that have come to the database since the test began. */
  gained: () => Promise<{ orders: number; stockTaken: number; keys: number }>;
  /** One order, of this key; one charge; the key settled. */
  expectOneOrder: (key: string, more?: { keys?: number[] }) => Promise<void>;
  /** How many POSTs came to the network since it was healed. */
  posts: () => Promise<number>;
  /** Puts a word into the table, behind the mark of this row and engine. */
  note: (words: string) => void;
}

const START = { chromium: startChromium, firefox: startFirefox, webkit: startWebKit };

export const test = base.extend<Fixtures & Pick<EngineOptions, 'kind'>, { engineName: EngineName; engine: Engine }>({
  engineName: ['chromium', { option: true, scope: 'worker' }],
  kind: [undefined, { option: true }],
  engine: [
    async ({ engineName }, use) => {
      const engine = await START[engineName]();
      await use(engine);
      await engine.close();
    },
    { scope: 'worker', timeout: 60_000 },
  ],
  window: async ({ engine, engineName, kind }, use, info) => {
    const why = kind && CANNOT[engineName][kind];
    test.skip(why !== undefined, why);
    info.annotations.push({ type: 'engine', description: engine.title });
    const window = await engine.open(kind);
    await use(window);
    await window.close();
  },
  person: async ({ window, network, app }, use) => {
    await app.untilHealthy();
    await use(new Person(window.tab, network.url));
  },
  storing: async ({ window, network, app }, use) => {
    await app.untilHealthy();
    const front = await startStoringFront(network.url);
    await use(new Person(window.tab, front.url));
    await front.close();
  },
  gained: async ({ db }, use) => {
    const before = await count(db);
    await use(async () => {
      const { orders, stock, keys } = await count(db);
      return { orders: orders - before.orders, stockTaken: before.stock - stock, keys: keys - before.keys };
    });
  },
  expectOneOrder: async ({ db, gateway, gained }, use) => {
    await use(async (key, { keys = [1] } = {}) => {
      const { keys: gainedKeys, ...rest } = await gained();
      expect(rest).toEqual({ orders: 1, stockTaken: 1 });
      expect(keys).toContain(gainedKeys);
      const order = await db.order.findFirstOrThrow({ orderBy: { createdAt: 'desc' } });
      expect(order.idempotencyKey, 'the key that was in the page').toBe(key);
      await expect.poll(async () => (await gateway.charges(order.id)).length).toBe(1);
      await expect.poll(async () => (await db.idempotencyKey.findFirst({ where: { key } }))?.state).toBe('succeeded');
    });
  },
  posts: async ({ network }, use) => use(async () => (await network.posts()).length),
  // biome-ignore lint/correctness/noEmptyPattern: Playwright reads the parameter's pattern
  note: async ({}, use, info) => use((words) => void info.annotations.push({ type: 'note', description: words })),
});

export { expect } from '@playwright/test';
