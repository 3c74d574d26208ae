/** One tab: what the tests ask of every engine alike. */
export interface Tab {
  /** Resolves when the page has loaded. */
  open(url: string): Promise<void>;
  /** As the browser's button does. Resolves when the page has loaded again. */
  reload(): Promise<void>;
  /** As the browser's button does. What the tab shows then may still be the page that is left. */
  back(): Promise<void>;
  /**
   * Runs a function in the page; what it returns must be JSON, or a promise of that. Rejects while the page gives way to
   * another one: ask again until there is an answer.
   */
  evaluate<A, R>(run: (given: A) => R | Promise<R>, given: A): Promise<R>;
  /** Presses the mouse at a point of what is visible, so many times. Waits for nothing that comes of it. */
  click(at: Point, times: number): Promise<void>;
  /** The same while the page is being left: a native form was sent, and nothing has come back yet. */
  clickWhileLeaving(at: Point): Promise<void>;
  /** Presses keys, in whatever has the focus. */
  type(text: string): Promise<void>;
  /** Presses Enter and keeps it down until it is let go; called again meanwhile, as often as a keyboard repeats it. */
  enterDown(): Promise<void>;
  /** True where the second `enterDown` does something. */
  repeatsKeys: boolean;
  enterUp(): Promise<void>;
  screenshot(): Promise<Buffer>;
  /** Another tab of the same window. */
  another(): Promise<Tab>;
}

export interface Point {
  x: number;
  y: number;
}

/** The kinds of windows. `noStorage`: pages can store nothing. */
export type Kind = 'private' | 'noStorage';

/** A browser with cookies and storage of its own. */
export interface BrowserWindow {
  tab: Tab;
  /** Where the engine can be told so. Elsewhere the network is cut. */
  setOffline?: (offline: boolean) => Promise<void>;
  close(): Promise<void>;
}

export interface Engine {
  /** Name and version. */
  title: string;
  /** Throws for a kind that is in `cannot`. */
  open(kind?: Kind): Promise<BrowserWindow>;
  close(): Promise<void>;
}

export type EngineName = 'chromium' | 'firefox' | 'webkit';

/** Kinds of windows that no driver opens in this engine, and why. */
export const CANNOT: Record<EngineName, Partial<Record<Kind, string>>> = {
  chromium: {},
  firefox: {},
  webkit: { noStorage: 'MiniBrowser has no such setting, and its driver runs nothing before the page does' },
};
