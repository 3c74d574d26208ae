import { afterEach, beforeAll, beforeEach, vi } from 'vitest';
import type { Outcome } from '../../core/outcome.ts';
import type { SubmitAction } from '../idempotent-submit.ts';
import { DEFAULT_POLICY } from '../recovery/recovery.ts';
import type { Settings } from './context.ts';
import { initialState } from './machine.ts';
import { loadRecovery } from './recovery-loader.ts';
import { openRecords } from './storage.ts';
import { createSubmission } from './submission.ts';

/** The tests of one form's submission share these: a page without a browser, whose clock, network and server they play. */

export const records = openRecords('memory');
export const status = vi.fn<(url: string, init: RequestInit) => Promise<Response>>();
export const online = { onLine: true };
const FRAME_MS = 16;
/** The page's window, as far as events go. */
export let wires: EventTarget;

export function begin(action: SubmitAction<string>, more: Partial<Settings<string>> = {}) {
  const settings: Settings<string> = {
    ...{ intent: 'checkout:1', operation: 'checkout', statusUrl: '/api/idempotency' },
    ...{ action, records, policy: DEFAULT_POLICY, rethrow: () => {}, ...more },
  };
  const submission = createSubmission(initialState<string>(more.initialKey ?? 'k1', null), () => settings);
  return {
    ...submission,
    stop: submission.start(),
    submit(...what: Parameters<typeof submission.submit>) {
      press();
      return submission.submit(...what);
    },
    submitByCode: submission.submit,
  };
}

/** The latest answer is painted. */
export const isShown = () => vi.advanceTimersByTimeAsync(2 * FRAME_MS);

/** A person clicks. */
export function press(): void {
  for (const type of ['pointerdown', 'click']) wires.dispatchEvent(new Event(type));
}

/** The network is gone, and the browser says so. */
export function isGone(): void {
  online.onLine = false;
  status.mockImplementation(async () => {
    throw new TypeError('Failed to fetch');
  });
}

/** The browser says that it is back. */
export function isBack(): void {
  online.onLine = true;
  wires.dispatchEvent(new Event('online'));
}

export function sent(action: ReturnType<typeof vi.fn<SubmitAction<string>>>) {
  return action.mock.calls.map(([, form]) => [form.get('idempotency_key'), form.get('idempotency_attempt')]);
}

/** Answers of the status route, the last one for ever. */
export function statusSays(...bodies: object[]) {
  for (const body of bodies.slice(0, -1)) status.mockResolvedValueOnce(Response.json(body));
  status.mockImplementation(async () => Response.json(bodies.at(-1)));
}

/** An attempt that goes on until the test ends it. */
export function held() {
  let answer = (_: Outcome<string>) => {};
  let lose = (_: Error) => {};
  const action = () => new Promise<Outcome<string>>((resolve, reject) => ([answer, lose] = [resolve, reject]));
  return {
    action,
    answer: (outcome: Outcome<string>) => answer(outcome),
    lose: () => lose(new TypeError('Failed to fetch')),
  };
}

/** The storage that all tabs share, and locks like the browser's: whoever asks waits for all who asked before. */
export function sharedByTabs() {
  const kept = new Map<string, string>();
  let turn: Promise<unknown> = Promise.resolve();
  const localStorage = {
    getItem: (name: string) => kept.get(name) ?? null,
    setItem: (name: string, value: string) => void kept.set(name, value),
    removeItem: (name: string) => void kept.delete(name),
  };
  const request = (_: string, work: () => unknown) => {
    turn = turn.then(work);
    return turn;
  };
  return { localStorage, locks: { request } };
}

/** A page whose lock is granted by the test: those who wait for it, and a storage that keeps nothing. */
export function waitForTurns() {
  const turns: (() => void)[] = [];
  const request = (_: string, work: () => unknown) => new Promise((go) => turns.push(() => go(work())));
  const localStorage = { getItem: () => null, setItem: vi.fn(), removeItem: vi.fn() };
  vi.stubGlobal('navigator', { onLine: true, locks: { request } });
  vi.stubGlobal('window', Object.assign(wires, { localStorage }));
  return { turns, localStorage };
}

/** Call it in the `describe`: modules are loaded once for all files, so hooks cannot be registered by the import. */
export function onAPage() {
  beforeAll(loadRecovery);
  beforeEach(() => {
    vi.useFakeTimers();
    vi.spyOn(Math, 'random').mockReturnValue(0.5); // jitter may wait for nothing at all, once in a while
    wires = new EventTarget();
    online.onLine = true;
    vi.stubGlobal('window', wires);
    vi.stubGlobal('navigator', online);
    vi.stubGlobal('history', { state: null });
    vi.stubGlobal('location', { href: 'http://localhost/', assign: vi.fn(), reload: vi.fn() });
    vi.stubGlobal('fetch', status);
    vi.stubGlobal('requestAnimationFrame', (draw: () => void) => setTimeout(draw, FRAME_MS));
  });

  afterEach(() => {
    records.write('checkout:1', null);
    status.mockReset();
    vi.unstubAllGlobals();
    vi.restoreAllMocks();
    vi.useRealTimers();
  });
}
