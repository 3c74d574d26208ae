import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { tier } from '../../../scripts/testing/tier.ts';
import type { Settings } from './context.ts';
import { FakeForm, playForms } from './fake-form.fixture.ts';
import { FuzzServer, journey } from './fuzz-server.fixture.ts';
import { initialState } from './machine.ts';
import { hasFinalAnswer } from './state.ts';
import { openRecords } from './storage.ts';
import { onAPage, online, sharedByTabs, status } from './submission.fixture.ts';
import { createSubmission } from './submission.ts';

/** What a person, the page or the network does, and the time until the next thing. */
const happening = fc.record({
  what: fc.constantFrom(
    ...(['click', 'click', 'click', 'double click', 'hold Enter', 'screen reader', 'code', 'send again'] as const),
    ...(['type', 'type', 'choose', 'fill in', 'change back', 'touch', 'event'] as const),
    ...(['stamp', 'captcha', 'script', 'reset the fields', 'reset'] as const),
    ...(['check', 'start over', 'reload', 'other tab', 'cached', 'rendered again', 'nothing'] as const),
    ...(['offline', 'online', 'server down', 'server up'] as const),
  ),
  thenMs: fc.constantFrom(0, 0, 20, 60, 400, 1000, 2500, 9000),
});

const realSetImmediate = setImmediate;
const FORMS = Number(process.env.FUZZ_FORMS ?? (tier === 'short' ? 1000 : 10_000));

const POLICY = { attempts: 3, baseMs: 200, capMs: 800, totalMs: 6000, timeoutMs: 1500, pollMs: 5000 };

/** Tabs that share storage, locks and a channel, as a browser's do. Each has a window of its own. */
function shareABrowser() {
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
  playForms();
  return () => Object.assign(new EventTarget(), { localStorage, BroadcastChannel: BroadcastChannelLike });
}

/** What the fields hold behind a reset. */
const FIRST = 'tea';
/** Found out later: whatever is sent then may be a repeat. */
const ANYTHING = '*';

/** A tab with the form, and its person. `complain` gets what must not be. */
function openTab(server: FuzzServer, window: EventTarget, complain: (fault: string) => void) {
  vi.stubGlobal('window', window);
  const ended: string[] = [];
  /** Keys whose end an attempt of this page has been told. */
  const told = new Set<string>();
  let shown = 0;
  const closed = new AbortController();
  window.addEventListener('pageshow', () => shown++, { signal: closed.signal });
  const element = new FakeForm(window);
  const { fields } = element;
  /** The gesture that each submit is of. One gesture has one key. */
  const gestures = new WeakMap<FormData, number>();
  const keys = new Map<number, string>();
  let gesture = 0;
  let sentBy = 0;
  let editsOfSent = 0;
  let edits = 0;
  let editsBeforeAgain = 0;
  let submitted = { note: '', edits: 0 };
  const editsBefore = new WeakMap<FormData, number>();
  let sends = 0;
  /** The key that was sent last, and whether it has succeeded. */
  let key = '';
  /** Behind a success: what it would be a repeat to send. `null`: nothing would. */
  let left: string | null = null;
  /** What was sent under each key. */
  const notes = new Map<string, string>();
  let changedAt = 0;

  const settings: Settings<string> = {
    ...{ intent: 'checkout:1', operation: 'checkout', statusUrl: '/api/idempotency', policy: POLICY },
    ...{ records: openRecords('local'), rethrow: () => {} },
    onSettled: ({ key = 'no key' }) => {
      if (ended.includes(key)) complain(`${key} ended twice`);
      ended.push(key);
    },
    async action(_, form) {
      const what = String(form.get('note'));
      const own = String(form.get('idempotency_key'));
      const by = gestures.get(form) ?? 0;
      if (what !== fields.note && edits > (editsBefore.get(form) ?? editsBeforeAgain))
        complain(`${own} was sent, and edited before`);
      if (own !== key) {
        if (by && keys.has(by)) complain(`${own} is of the gesture that has made ${keys.get(by)}`);
        if (left === ANYTHING || left === what) complain(`${own} does once more what ${key} has done: ${what}`);
        keys.set(by, own);
      }
      [key, left] = [own, null];
      notes.set(own, what);
      sends++;
      sentBy = gesture;
      editsOfSent = editsBefore.get(form) ?? editsBeforeAgain;
      const page = shown;
      const outcome = await server.send(own, what);
      if (page !== shown) return outcome; // of a page that the cache has kept, but not its connections
      if (outcome.ok || outcome.code === 'failed') told.add(own);
      return outcome;
    },
  };
  const submission = createSubmission(initialState<string>(server.mint(), null), () => settings);
  const { state, dispatch } = submission;
  let before = state();
  submission.subscribe(() => {
    const now = state();
    if (hasFinalAnswer(now)) server.of(now.key).isTold = true;
    if (now.status === 'hasNavigated') server.of(now.key).isTold ||= server.of(now.key).state === 'succeeded';
    if (now.result?.ok && now.result.data !== now.key) complain(`${now.result.data} was shown for ${now.key}`);
    // A key that was only heard of is the other tab's to keep.
    const why = now.key === before.key || before.by === 'otherTab' ? null : server.whyKept(before.key);
    if (why) complain(`left ${why}`);
    if (now.status === 'hasSucceeded' && before.status !== 'hasSucceeded' && now.key === key) {
      const sent = notes.get(key) ?? '';
      const ofPerson = edits > editsOfSent ? sent : null;
      left = now.recovered ? ANYTHING : fields.note === sent ? FIRST : ofPerson;
    }
    if (now.status !== before.status || now.key !== before.key) changedAt = Date.now();
    before = now;
  });
  const stop = submission.start();
  const happens = (type: string, more: object = {}) => void window.dispatchEvent(Object.assign(new Event(type), more));

  const isRead = () => Date.now() - changedAt > 40;

  function submit(by: number) {
    const form = new FormData(element as never);
    editsBefore.set(form, edits);
    submitted = { note: fields.note, edits };
    gestures.set(form, by);
    return submission.submit(form, element as never, null);
  }

  function press(detail = 1): void {
    if (detail === 1) gesture++;
    happens('pointerdown');
    happens('click', { detail });
  }

  /** A person who clicks on what they have read gets an answer: it goes out, or it is asked about. */
  async function click(begin: () => void): Promise<void> {
    const { status, isPending, key: shownKey } = state();
    const wasRead = !isPending && isRead();
    const isOthers = status === 'hasNavigated' || (status === 'hasSucceeded' && shownKey !== key);
    const [behind, count] = [left, sends];
    begin();
    void submit(gesture);
    await vi.advanceTimersByTimeAsync(0);
    if (!wasRead || isOthers || behind === null) return;
    const isRepeat = behind === fields.note || behind === ANYTHING;
    const goesOut = sends > count || state().isPending;
    if (goesOut === isRepeat || !!state().canSendAgain !== isRepeat) {
      complain(`a click on ${status} with ${fields.note}, ${behind} before, leads to ${state().status}`);
    }
  }

  /** `begin`: the gesture that the change comes of, if any. */
  function edit(note: string, begin: () => void = () => {}): void {
    begin();
    // Back to what was submitted is no edit of it.
    if (note === submitted.note) edits = submitted.edits;
    else if (note !== fields.note) edits++;
    fields.note = note;
  }

  return {
    ...{ ...submission, told, window },
    stop() {
      stop();
      closed.abort();
    },
    happenings: {
      click: () => click(press),
      'screen reader': () =>
        click(() => {
          gesture++;
          happens('click', { detail: 0 });
        }),
      async 'double click'() {
        await click(press);
        await vi.advanceTimersByTimeAsync(20);
        press(2);
        void submit(gesture);
      },
      async 'hold Enter'() {
        gesture++;
        for (let n = 0; n < 20; n++) {
          happens('keydown', { key: 'Enter', repeat: n > 0 });
          happens('click', { detail: 0 });
          void submit(gesture);
          await vi.advanceTimersByTimeAsync(33);
        }
        happens('keyup');
      },
      // Of the latest gesture, unless that has sent something: then values decide alone.
      code: () => void submit(gesture === sentBy ? 0 : gesture),
      'send again'() {
        if (!state().canSendAgain) return;
        press();
        left = null;
        editsBeforeAgain = edits;
        submission.sendAgain();
      },
      type() {
        edit(`${fields.note}!`, () => {
          gesture++;
          happens('keydown', { key: '!' });
          happens('keyup');
        });
        dispatch({ type: 'edited' });
      },
      choose: () => edit(`${fields.note}+`, press),
      'change back': () => edit(notes.get(key) ?? 'tea', press),
      'fill in'() {
        edit(`${fields.note}?`);
        dispatch({ type: 'edited' });
      },
      touch: () => press(),
      event: () => dispatch({ type: 'edited' }),
      stamp() {
        fields.stamp += '1';
      },
      captcha() {
        fields['cf-turnstile-response'] += '1';
      },
      script() {
        fields.note += '#';
        left = left === ANYTHING ? left : null;
      },
      'reset the fields'() {
        element.reset();
        if (left !== ANYTHING && left !== null) left = FIRST;
      },
      reset() {
        if (!state().isPending) left = null;
        dispatch({ type: 'reset' });
      },
      check: () => dispatch({ type: 'asked', by: 'person' }),
      'start over'() {
        press();
        left = null;
        dispatch({ type: 'asked', by: 'fence' });
      },
      'rendered again': () => dispatch({ type: 'issued', key: server.mint() }),
    },
  };
}

describe('forms against a server, a network and a person of any kind', () => {
  onAPage();

  it(
    'leave no key in doubt, do nothing twice that a person has not said, lose nothing that they have, and come to rest',
    async () => {
      const happenings = fc.array(happening, { maxLength: 14, size: 'max' });
      const journeys = fc.array(journey, { maxLength: 10, size: 'max' });
      await fc.assert(
        fc.asyncProperty(happenings, journeys, async (all, ways) => {
          const faults: string[] = [];
          const server = new FuzzServer([...ways]);
          const newWindow = shareABrowser();
          status.mockReset().mockImplementation((url, init) => server.ask(url, init));
          const open = () => openTab(server, newWindow(), (fault) => faults.push(fault));
          let [other, tab] = [open(), open()];
          const everywhere = async (event: () => Event) => {
            for (const { window } of [other, tab]) {
              vi.stubGlobal('window', window);
              window.dispatchEvent(event());
              await Promise.resolve();
            }
          };
          const happen = {
            'other tab'() {
              [tab, other] = [other, tab];
              vi.stubGlobal('window', tab.window);
            },
            cached: () => everywhere(() => Object.assign(new Event('pageshow'), { persisted: true })),
            offline: () => Object.assign(online, { onLine: false }),
            online() {
              online.onLine = true;
              return everywhere(() => new Event('online'));
            },
            'server down'() {
              server.isDown = true;
            },
            'server up'() {
              server.isDown = false;
            },
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
            await { ...happen, ...tab.happenings }[what]();
            await vi.advanceTimersByTimeAsync(thenMs);
          }
          server.calm();
          await happen.online();
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
