/**
 * Playwright as far as the helpers need it. Typed by shape, so that nobody must install Playwright to use the rest of
 * `oncekit/testing`, and so that `playwright` and `@playwright/test` of any version fit.
 */
export interface PlaywrightPage {
  context(): PlaywrightContext;
  reload(): Promise<unknown>;
  route(url: UrlMatch, handler: (route: PlaywrightRoute) => Promise<void>): Promise<unknown>;
  unroute(url: UrlMatch, handler: (route: PlaywrightRoute) => Promise<void>): Promise<void>;
}

export interface PlaywrightContext {
  setOffline(offline: boolean): Promise<void>;
}

export interface PlaywrightLocator {
  click(options: { trial: true }): Promise<void>;
  evaluate(inPage: (element: HTMLElement | SVGElement) => void): Promise<unknown>;
}

export interface PlaywrightRoute {
  request(): { method(): string };
  fetch(options: { maxRedirects: number }): Promise<unknown>;
  abort(reason: string): Promise<void>;
  fallback(): Promise<void>;
}

/** As in Playwright: a glob, a pattern or a predicate. */
export type UrlMatch = string | RegExp | ((url: URL) => boolean);

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

/** Brings the request to the server and waits for its answer. Redirects are the browser's to follow. */
export async function finishRequest(route: PlaywrightRoute): Promise<void> {
  // A server that breaks off gives no answer that could be lost.
  await route.fetch({ maxRedirects: 0 }).catch(() => {});
}

/** The page may be gone, and its request with it. */
export async function cut(route: PlaywrightRoute): Promise<void> {
  await route.abort('connectionreset').catch(() => {});
}
