import { setTimeout } from 'node:timers/promises';
import { expect } from '@playwright/test';
import { Builder, Capabilities, Key, Origin, type WebDriver } from 'selenium-webdriver';
import { theWebKit } from '../../scripts/services/engines-install.ts';
import { freePort, untilAnswering } from '../../scripts/services/ports.ts';
import { spawnChild } from '../../scripts/services/process.ts';
import type { BrowserWindow, Engine, Tab } from './engine.ts';

/** A window comes up within a second or two. */
const WINDOW_MS = 20_000;

export async function startWebKit(): Promise<Engine> {
  const { browser } = await theWebKit();
  let driver = await startDriver();
  const begin = async (): Promise<WebDriver> => {
    const begun = session(driver.url, browser);
    begun.catch(() => {}); // where nobody waits for it any more
    const late = setTimeout(WINDOW_MS, undefined, { ref: false });
    const first = await Promise.race([begun, late]);
    if (first) return first;
    // Once in a while its browser does not come up, and the driver waits for it for ever.
    await driver.stop();
    driver = await startDriver();
    return await session(driver.url, browser);
  };
  const first = await begin();
  const version = (await first.getCapabilities()).get('browserVersion');
  await first.quit();
  return {
    title: `WebKitGTK ${version}`,
    // Whatever a driver opens is a private window: MiniBrowser keeps nothing of it.
    open: async (kind) => {
      if (kind === 'noStorage') throw new Error('WebKit cannot be told to refuse storage.');
      return windowOf(await begin());
    },
    close: () => driver.stop(),
  };
}

async function startDriver() {
  const { driver, screen } = await theWebKit();
  const port = await freePort();
  const lines: string[] = [];
  const { stop } = spawnChild({
    name: 'WebKitWebDriver',
    command: screen,
    args: ['-a', driver, `--port=${port}`],
    onLine: (line) => lines.push(line),
    log: (line) => lines.push(line),
  });
  const url = `http://127.0.0.1:${port}`;
  await untilAnswering(`${url}/status`, { timeoutMs: 30_000, signal: new AbortController().signal }).catch(() => {
    throw new Error(`WebKitWebDriver does not answer:\n${lines.join('\n')}`);
  });
  return { url, stop };
}

async function session(server: string, binary: string): Promise<WebDriver> {
  const wanted = new Capabilities()
    .set('browserName', 'MiniBrowser')
    // Else each command waits for the navigation that a click has begun, and may not be answered while it is held.
    .set('pageLoadStrategy', 'none')
    .set('webkitgtk:browserOptions', { binary, args: ['--automation'] });
  return await new Builder().usingServer(server).withCapabilities(wanted).build();
}

async function windowOf(driver: WebDriver): Promise<BrowserWindow> {
  let current = await driver.getWindowHandle();
  /** The driver speaks to one tab at a time. */
  const inTab = async (handle: string) => {
    if (current !== handle) await driver.switchTo().window(handle);
    current = handle;
    return driver;
  };
  const another = async () => {
    // MiniBrowser opens a tab behind the others, and what is behind gets no clicks. A window of its own shares as much.
    await driver.switchTo().newWindow('window');
    current = await driver.getWindowHandle();
    return tabOf(inTab, current, another);
  };
  return { tab: tabOf(inTab, current, another), close: () => driver.quit() };
}

function tabOf(inTab: (handle: string) => Promise<WebDriver>, handle: string, another: () => Promise<Tab>): Tab {
  const evaluate: Tab['evaluate'] = async (run, given) => {
    const driver = await inTab(handle);
    const { value, error } = await driver.executeAsyncScript<{ value: never; error?: string }>(
      `const done = arguments[1];
       new Promise((resolve) => resolve((${run})(arguments[0]))).then(
         (value) => done({ value: value ?? null }),
         (error) => done({ error: String(error) }),
       );`,
      given,
    );
    if (error !== undefined) throw new Error(error);
    return value;
  };
  let clicks = 0;
  /** Until the tab shows another page, and all of it. */
  const untilLoaded = async (begin: () => Promise<void>) => {
    await evaluate(() => {
      document.documentElement.dataset.isLeft = '';
    }, null);
    await begin();
    await expect(async () => {
      const isThere = () => !('isLeft' in document.documentElement.dataset) && document.readyState === 'complete';
      expect(await evaluate(isThere, null)).toBe(true);
    }).toPass();
  };
  return {
    open: (url) => untilLoaded(async () => (await inTab(handle)).get(url)),
    reload: () => untilLoaded(async () => (await inTab(handle)).navigate().refresh()),
    back: async () => (await inTab(handle)).navigate().back(),
    evaluate,
    click: async (at, times) => {
      // Its driver takes two clicks near each other for a double click, half a second long, whatever was done between them.
      const x = at.x + 8 * (++clicks % 2);
      const mouse = (await inTab(handle)).actions().move({ x, y: at.y, origin: Origin.VIEWPORT, duration: 0 });
      for (let n = 0; n < times; n++) mouse.click();
      await mouse.perform();
    },
    // Its driver keeps a click of the mouse until there is another page under it.
    clickWhileLeaving: (at) =>
      evaluate(({ x, y }) => document.elementFromPoint(x, y)?.closest<HTMLElement>('button')?.click(), at),
    type: async (text) => (await inTab(handle)).actions().sendKeys(text).perform(),
    enterDown: async () => (await inTab(handle)).actions().keyDown(Key.ENTER).perform(),
    enterUp: async () => (await inTab(handle)).actions().keyUp(Key.ENTER).perform(),
    // Its driver sends nothing for a key that is down.
    repeatsKeys: false,
    screenshot: async () => Buffer.from(await (await inTab(handle)).takeScreenshot(), 'base64'),
    another,
  };
}
