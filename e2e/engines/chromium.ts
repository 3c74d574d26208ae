import { chromium, type Page } from 'playwright';
import { launchOptions } from '../../scripts/services/chromium.ts';
import type { Engine, Tab } from './engine.ts';

export async function startChromium(): Promise<Engine> {
  // Playwright switches the back/forward cache off, which people have on.
  const ignoreDefaultArgs = ['--disable-back-forward-cache'];
  const browser = await chromium.launch({ ...(await launchOptions()), ignoreDefaultArgs });
  return {
    title: `Chromium ${browser.version()}`,
    // Each context is what people open as an incognito window.
    open: async (kind) => {
      const context = await browser.newContext();
      if (kind === 'noStorage') await context.addInitScript(refuseStorage);
      return {
        tab: tabOf(await context.newPage()),
        setOffline: (offline) => context.setOffline(offline),
        close: () => context.close(),
      };
    },
    close: () => browser.close(),
  };
}

/** A page of Playwright's as a tab. */
export function tabOf(page: Page): Tab {
  return {
    open: async (url) => void (await page.goto(url)),
    reload: async () => void (await page.reload()),
    back: async () => void (await page.goBack({ waitUntil: 'commit' })),
    evaluate: (run, given) => page.evaluate(run as never, given),
    click: ({ x, y }, times) => page.mouse.click(x, y, { clickCount: times }),
    clickWhileLeaving: ({ x, y }) => page.mouse.click(x, y),
    type: (text) => page.keyboard.type(text),
    enterDown: () => page.keyboard.down('Enter'),
    enterUp: () => page.keyboard.up('Enter'),
    repeatsKeys: true,
    screenshot: () => page.screenshot(),
    another: async () => tabOf(await page.context().newPage()),
  };
}

/** As the engine itself does where a person blocks "all site data"; cookies would be gone as well, and the cart with them. */
function refuseStorage() {
  for (const name of ['sessionStorage', 'localStorage']) {
    Object.defineProperty(window, name, {
      get: () => {
        throw new DOMException('Access is denied for this document.', 'SecurityError');
      },
    });
  }
}
