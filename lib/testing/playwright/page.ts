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
