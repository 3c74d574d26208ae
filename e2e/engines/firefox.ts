import { type Browser, launch, type Page } from 'puppeteer-core';
import { theFirefox } from '../../scripts/services/engines-install.ts';
import type { BrowserWindow, Engine, Kind, Tab } from './engine.ts';

/** Options that make a whole Firefox of that kind. */
const PREFERENCES: Record<Kind, Record<string, boolean>> = {
  private: { 'browser.privatebrowsing.autostart': true },
  noStorage: { 'dom.storage.enabled': false },
};

export async function startFirefox(): Promise<Engine> {
  const browser = await firefox();
  return {
    title: (await browser.version()).replace(/^firefox\//i, 'Firefox '),
    open: async (kind) => {
      if (kind) return special(kind);
      const context = await browser.createBrowserContext();
      return windowOf(await context.newPage(), () => context.close());
    },
    close: () => browser.close(),
  };
}

async function firefox(extraPrefsFirefox: Record<string, boolean> = {}): Promise<Browser> {
  // It speaks WebDriver BiDi by itself: there is no driver between us.
  return await launch({ browser: 'firefox', executablePath: await theFirefox(), headless: true, extraPrefsFirefox });
}

async function special(kind: Kind): Promise<BrowserWindow> {
  const browser = await firefox(PREFERENCES[kind]);
  return windowOf(await browser.newPage(), () => browser.close());
}

function windowOf(page: Page, close: () => Promise<void>): BrowserWindow {
  return { tab: tabOf(page), setOffline: (offline) => page.setOfflineMode(offline), close };
}

function tabOf(page: Page): Tab {
  return {
    open: async (url) => void (await page.goto(url)),
    reload: async () => void (await page.reload()),
    back: async () => void (await page.goBack({ waitUntil: [] })),
    evaluate: (run, given) => page.evaluate(run as never, given),
    click: ({ x, y }, times) => page.mouse.click(x, y, { count: times }),
    clickWhileLeaving: ({ x, y }) => page.mouse.click(x, y),
    type: (text) => page.keyboard.type(text),
    enterDown: () => page.keyboard.down('Enter'),
    enterUp: () => page.keyboard.up('Enter'),
    repeatsKeys: true,
    screenshot: async () => Buffer.from(await page.screenshot()),
    another: async () => tabOf(await page.browserContext().newPage()),
  };
}
