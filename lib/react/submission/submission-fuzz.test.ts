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
    ...(['check', 'start over', 'other tab', 'cached', 'rendered again', 'nothing'] as const),
    ...(['reload', 'visit', 'visit', 'shown again', 'router goes'] as const),
    ...(['offline', 'online', 'server down', 'server up', 'sign in first', 'signed in'] as const),
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
  return (entry: string) => {
    const navigation = { currentEntry: { key: entry } };
    return Object.assign(new EventTarget(), { localStorage, navigation, BroadcastChannel: BroadcastChannelLike });
  };
}

type FuzzWindow = ReturnType<ReturnType<typeof shareABrowser>>;

/** What the fields hold behind a reset. */
const FIRST = 'tea';
/** Found out later: whatever is sent then may be a repeat. */
const ANYTHING = '*';

/** A tab with the form, and its person. `complain` gets what must not be. */
function openTab(server: FuzzServer, window: FuzzWindow, complain: (fault: string) => void) {
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
  /** Since it was sent, and before anybody knew its end: an edit is then compared with what that reset has left, or with what was sent. */
  let isReset = false;
  /** What was sent under each key. */
  const notes = new Map<string, string>();
  let changedAt = 0;

  const initialKey = server.mint();
  const here = window.navigation.currentEntry;
  const settings: Settings<string> = {
    initialKey,
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
      [key, left, isReset] = [own, null, false];
      server.of(own).entry = here.key;
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
  const submission = createSubmission(initialState<string>(initialKey, null), () => {
    globalThis.window = window as never; // the code of a tab sees that tab's
    return settings;
  });
  const { state, dispatch } = submission;
  let before = state();
  submission.subscribe(() => {
    const now = state();
    if (hasFinalAnswer(now)) server.of(now.key).isTold = true;
    if (now.status === 'hasNavigated') server.of(now.key).isTold ||= server.of(now.key).state === 'succeeded';
    if (now.status === 'unknown') server.of(now.key).isInDoubt = true;
    if (now.result?.ok && now.result.data !== now.key) complain(`${now.result.data} was shown for ${now.key}`);
    // A key that was only heard of is the other tab's to keep.
    const why =
      now.key === before.key || before.by === 'otherTab'
        ? null
        : server.whyKept(before.key, { initialKey: settings.initialKey ?? '', entry: here.key });
    if (why) complain(`left ${why}`);
    if (now.status === 'hasSucceeded' && before.status !== 'hasSucceeded' && now.key === key) {
      const sent = notes.get(key) ?? '';
      const ofPerson = edits > editsOfSent && !isReset ? sent : null;
      left = now.recovered ? ANYTHING : fields.note === sent ? FIRST : ofPerson;
    }
    if (now.status !== before.status || now.key !== before.key) changedAt = Date.now();
    before = now;
  });
  let stop = submission.start();
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
    /** Hidden, kept with its fields, and shown again by a link: `<Activity>` does that. */
    showAgain(by: string) {
      stop();
      shown++;
      here.key = by;
      settings.initialKey = server.mint();
      dispatch({ type: 'issued', key: settings.initialKey });
      stop = submission.start();
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
        edits = submitted.edits; // what a reset leaves is no edit
        isReset ||= left === null;
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
          let entries = 0;
          const open = (entry = `entry ${++entries}`) =>
            openTab(server, newWindow(entry), (fault) => faults.push(fault));
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
            'sign in first'() {
              server.isShut = true;
            },
            'signed in'() {
              server.isShut = false;
            },
            nothing: () => {},
            'router goes': () => vi.stubGlobal('history', { state: {} }),
            visit() {
              tab.stop();
              tab = open();
            },
            'shown again': () => tab.showAgain(`entry ${++entries}`),
            reload() {
              const { key } = tab.state();
              tab.stop();
              tab = open(tab.window.navigation.currentEntry.key);
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
          happen['router goes']();
          await vi.advanceTimersByTimeAsync(1000);
          for (const { state, stop, told } of [tab, other]) {
            if (state().isPending || state().status === 'hasNavigated') faults.push(`stays ${state().status}`);
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
