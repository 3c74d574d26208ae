import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { tier } from '../../../scripts/testing/tier.ts';
import type { Settings } from './context.ts';
import { FuzzServer, journey } from './fuzz-server.fixture.ts';
import { isCalledOff } from './machine.fixture.ts';
import { initialState } from './machine.ts';
import { hasFinalAnswer, isLocked } from './state.ts';
import { openRecords } from './storage.ts';
import { onAPage, online, sharedByTabs, status, wires } from './submission.fixture.ts';
import { createSubmission } from './submission.ts';

/** An event, and the time until the next one. */
const gesture = fc.record({
  what: fc.constantFrom(
    ...(['submit', 'submit', 'edit', 'check', 'start over', 'reset', 'reload', 'other tab', 'cached'] as const),
    ...(['offline', 'online', 'server down', 'server up', 'nothing', 'rendered again'] as const),
  ),
  thenMs: fc.constantFrom(0, 0, 20, 400, 1000, 2500, 9000),
});

const realSetImmediate = setImmediate;
const FORMS = Number(process.env.FUZZ_FORMS ?? (tier === 'short' ? 300 : 1000));

const POLICY = { attempts: 3, baseMs: 200, capMs: 800, totalMs: 6000, timeoutMs: 1500, pollMs: 5000 };

/** Tabs that share storage, locks and a channel, as a browser's do. */
function shareABrowser(): void {
  const channels = new Set<BroadcastChannelLike>();
  class BroadcastChannelLike {
    onmessage?: (event: { data: unknown }) => void;
    constructor() {
      channels.add(this);
    }
    postMessage(data: unknown) {
      for (const one of channels) if (one !== this) queueMicrotask(() => one.onmessage?.({ data }));
    }
    close() {
      channels.delete(this);
    }
  }
  const { localStorage, locks } = sharedByTabs();
  online.onLine = true;
  vi.stubGlobal('navigator', Object.assign(online, { locks }));
  vi.stubGlobal('window', Object.assign(wires, { localStorage, BroadcastChannel: BroadcastChannelLike }));
}

/** A tab with the form, and its person. `complain` gets what must not be. */
function openTab(server: FuzzServer, complain: (fault: string) => void) {
  const ended: string[] = [];
  /** Keys whose end an attempt of this page has been told. */
  const told = new Set<string>();
  let shown = 0;
  const closed = new AbortController();
  wires.addEventListener('pageshow', () => shown++, { signal: closed.signal });
  let note = 'tea';
  let submitted = '';
  let isEdited = false;
  const settings: Settings<string> = {
    ...{ intent: 'checkout:1', operation: 'checkout', statusUrl: '/api/idempotency', policy: POLICY },
    ...{ records: openRecords('local'), rethrow: () => {} },
    onSettled: ({ key = 'no key' }) => {
      if (ended.includes(key)) complain(`${key} ended twice`);
      ended.push(key);
    },
    async action(_, form) {
      const [key, what] = [String(form.get('idempotency_key')), String(form.get('note'))];
      if (isEdited || what !== submitted) complain(`${key} was sent with what was not submitted last`);
      const page = shown;
      const outcome = await server.send(key, what);
      if (page !== shown) return outcome; // of a page that the cache has kept, but not its connections
      if (outcome.ok || outcome.code === 'failed') told.add(key);
      return outcome;
    },
  };
  const submission = createSubmission(initialState<string>(server.mint(), null), () => settings);
  let before = submission.state();
  submission.subscribe(() => {
    const now = submission.state();
    if (hasFinalAnswer(now)) server.of(now.key).isTold = true;
    if (now.status === 'hasNavigated') server.of(now.key).isTold ||= server.of(now.key).state === 'succeeded';
    if (now.result?.ok && now.result.data !== now.key) complain(`${now.result.data} was shown for ${now.key}`);
    // A key that was only heard of is the other tab's to keep.
    const why = now.key === before.key || before.by === 'otherTab' ? null : server.whyKept(before.key);
    if (why) complain(`left ${why}`);
    before = now;
  });
  const stop = submission.start();
  return {
    ...submission,
    told,
    stop: () => {
      stop();
      closed.abort();
    },
    submit() {
      if (isLocked(submission.state())) return;
      [submitted, isEdited] = [note, false];
      const form = new FormData();
      form.set('note', note);
      void submission.submit(form);
    },
    edit() {
      note += '!';
      isEdited ||= isCalledOff(submission.state());
      submission.dispatch({ type: 'edited' });
    },
  };
}

describe('forms against a server, a network and a person of any kind', () => {
  onAPage();

  it(
    'leave no key in doubt, send nothing that was edited, end once, and come to rest',
    async () => {
      const gestures = fc.array(gesture, { maxLength: 14, size: 'max' });
      const journeys = fc.array(journey, { maxLength: 10, size: 'max' });
      await fc.assert(
        fc.asyncProperty(gestures, journeys, async (all, ways) => {
          const faults: string[] = [];
          const server = new FuzzServer([...ways]);
          shareABrowser();
          status.mockReset().mockImplementation((url, init) => server.ask(url, init));
          const open = () => openTab(server, (fault) => faults.push(fault));
          let [tab, other] = [open(), open()];
          const happen = {
            submit: () => tab.submit(),
            edit: () => tab.edit(),
            check: () => tab.dispatch({ type: 'asked', by: 'person' }),
            'start over': () => tab.dispatch({ type: 'asked', by: 'fence' }),
            reset: () => tab.dispatch({ type: 'reset' }),
            'rendered again': () => tab.dispatch({ type: 'issued', key: server.mint() }),
            'other tab': () => ([tab, other] = [other, tab]),
            cached: () => wires.dispatchEvent(Object.assign(new Event('pageshow'), { persisted: true })),
            offline: () => Object.assign(online, { onLine: false }),
            online() {
              online.onLine = true;
              wires.dispatchEvent(new Event('online'));
            },
            'server down': () => (server.isDown = true),
            'server up': () => (server.isDown = false),
            nothing: () => {},
            reload() {
              const { key } = tab.state();
              tab.stop();
              tab = open();
              const why = tab.state().key === key ? null : server.whyKept(key);
              if (why) faults.push(`the reload left ${why}`);
            },
          };
          for (const { what, thenMs } of all) {
            happen[what]();
            await vi.advanceTimersByTimeAsync(thenMs);
          }
          server.calm();
          happen.online();
          await vi.advanceTimersByTimeAsync(60_000);
          for (const { state, stop, told } of [tab, other]) {
            if (state().isPending) faults.push(`stays ${state().status}`);
            if (state().status === 'unknown' && told.has(state().key)) faults.push('does not show what it was told');
            stop();
          }
          vi.clearAllTimers();
          await new Promise<void>((go) => realSetImmediate(go)); // no real time passes above, nor is memory given back
          expect(faults).toEqual([]);
        }),
        { numRuns: FORMS },
      );
    },
    60_000 + 30 * FORMS,
  );
});
