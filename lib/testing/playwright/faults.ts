import { moment } from '../../core/wait.ts';

/**
 * Playwright as far as the helpers need it. Typed by shape, so that nobody must install Playwright to use the rest of
 * `oncekit/testing`, and so that `playwright` and `@playwright/test` of any version fit.
 */
interface PlaywrightPage {
  context(): PlaywrightContext;
  reload(): Promise<unknown>;
  route(url: UrlMatch, handler: (route: PlaywrightRoute) => Promise<void>): Promise<unknown>;
  unroute(url: UrlMatch, handler: (route: PlaywrightRoute) => Promise<void>): Promise<void>;
}

interface PlaywrightContext {
  setOffline(offline: boolean): Promise<void>;
}

interface PlaywrightLocator {
  click(options: { trial: true }): Promise<void>;
  evaluate(inPage: (element: HTMLElement | SVGElement) => void): Promise<unknown>;
}

interface PlaywrightRoute {
  request(): { method(): string };
  fetch(options: { maxRedirects: number }): Promise<unknown>;
  abort(reason: string): Promise<void>;
  fallback(): Promise<void>;
}

/** As in Playwright: a glob, a pattern or a predicate. */
type UrlMatch = string | RegExp | ((url: URL) => boolean);

/** Which answers are lost, and how many. */
export interface LoseResponseOptions {
  /** How many answers are lost. Default 1. */
  times?: number;
  /** Of which requests: a glob, a pattern or a predicate, as in `page.route`. Default: any. */
  url?: UrlMatch;
}

/** The fault that was planted, and how to end it. */
export interface LostResponses {
  /** How many were lost so far. A test that has lost none has shown nothing. */
  readonly count: number;
  /** From here on answers come through. */
  restore(): Promise<void>;
}

/**
 * Loses the answers to the next POSTs: each reaches the server, which finishes its work and answers; the browser sees its
 * connection break. What it sends next is up to the form: nothing, or the same once more.
 */
export async function loseResponse(
  page: PlaywrightPage,
  { times = 1, url = '**' }: LoseResponseOptions = {},
): Promise<LostResponses> {
  let [taken, count] = [0, 0];
  const lose = async (route: PlaywrightRoute) => {
    // Counted before the server is asked: the next request may come while it works.
    if (route.request().method() !== 'POST' || taken >= times) return route.fallback();
    taken++;
    await finishRequest(route);
    await cut(route);
    count++;
  };
  await page.route(url, lose);
  return {
    get count() {
      return count;
    },
    restore: () => page.unroute(url, lose),
  };
}

/**
 * The browser is offline while `work` runs, and online again behind it, also when `work` throws. Wait for what follows
 * after that, such as the form sending by itself.
 */
export async function goOffline<T>(where: PlaywrightPage | PlaywrightContext, work: () => Promise<T>): Promise<T> {
  const context = 'context' in where ? where.context() : where;
  await context.setOffline(true);
  try {
    return await work();
  } finally {
    await context.setOffline(false);
  }
}

/**
 * Clicks twice in one tick, which is faster than any render: only a lock that holds at once stops the second click.
 * `dblclick()` is two tasks, and React may disable the button between them: it says nothing about a guard that a quick
 * hand on a busy page gets past.
 *
 * Before hydration and without JavaScript the browser itself drops the first of two submits in one tick: there, click
 * again once the first request is out.
 */
export async function doubleSubmit(button: PlaywrightLocator): Promise<void> {
  await button.click({ trial: true }); // waits until it is visible and enabled
  await button.evaluate((element) => {
    (element as HTMLElement).click();
    (element as HTMLElement).click();
  });
}

/**
 * Submits, and reloads the page while the POST is out. The server gets it whole and does its work; the page never hears
 * the answer. Resolves when the page is loaded again and the server has answered.
 *
 * @param submit makes the page send its POST: `() => button.click()`
 */
export async function reloadMidFlight(
  page: PlaywrightPage,
  submit: () => Promise<unknown>,
  { url = '**' }: { url?: UrlMatch } = {},
): Promise<void> {
  const [isOut, isLoaded, isServed] = [moment(), moment(), moment()];
  let isFirst = true;
  const hold = async (route: PlaywrightRoute) => {
    if (route.request().method() !== 'POST' || !isFirst) return route.fallback();
    isFirst = false;
    isOut.reach();
    // By the test, and not by the page, which is about to go.
    await finishRequest(route);
    isServed.reach();
    await isLoaded.reached;
    await cut(route);
  };
  await page.route(url, hold);
  // Not awaited, for a click may wait for the navigation that it begins. Where it cannot submit, it says so.
  const submitted = submit();
  await Promise.race([isOut.reached, submitted.then(() => isOut.reached)]);
  await page.reload();
  isLoaded.reach();
  await isServed.reached;
  await submitted.catch(() => {}); // the reload has taken the button away
  await page.unroute(url, hold);
}

/** Brings the request to the server and waits for its answer. Redirects are the browser's to follow. */
async function finishRequest(route: PlaywrightRoute): Promise<void> {
  // A server that breaks off gives no answer that could be lost.
  await route.fetch({ maxRedirects: 0 }).catch(() => {});
}

/** The page may be gone, and its request with it. */
async function cut(route: PlaywrightRoute): Promise<void> {
  await route.abort('connectionreset').catch(() => {});
}
