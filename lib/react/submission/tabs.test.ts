import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { until } from '../../../scripts/testing/until.ts';
import { type Outcome, refuse } from '../../core/outcome.ts';
import type { SubmitAction } from '../idempotent-submit.ts';
import { DEFAULT_POLICY } from '../recovery/recovery.ts';
import type { Settings } from './context.ts';
import { success } from './machine.fixture.ts';
import { initialState } from './machine.ts';
import { loadRecovery } from './recovery-loader.ts';
import { openRecords } from './storage.ts';
import { sharedByTabs, status } from './submission.fixture.ts';
import { createSubmission } from './submission.ts';

const tabs: { stop: () => void }[] = [];

/** Another tab: with a key of its own, and the storage that all tabs share. */
function open(key: string, action: SubmitAction<string>, intent = 'checkout:1', native: typeof success | null = null) {
  const settings: Settings<string> = {
    ...{ intent, operation: 'checkout', statusUrl: '/api/idempotency', records: openRecords('local') },
    ...{ action, policy: { ...DEFAULT_POLICY, attempts: 1 }, rethrow: () => {} },
  };
  const submission = createSubmission(initialState(key, native), () => settings);
  const tab = { ...submission, stop: submission.start() };
  tabs.push(tab);
  return tab;
}

function keysOf(action: ReturnType<typeof vi.fn<SubmitAction<string>>>) {
  return action.mock.calls.map(([, form]) => form.get('idempotency_key'));
}

beforeAll(loadRecovery);

beforeEach(() => {
  const { localStorage, locks } = sharedByTabs();
  vi.stubGlobal('window', Object.assign(new EventTarget(), { localStorage, BroadcastChannel }));
  vi.stubGlobal('navigator', { onLine: true, locks });
  vi.stubGlobal('location', { href: 'http://localhost/' });
  vi.stubGlobal('history', { state: null });
  vi.stubGlobal('fetch', status);
  vi.stubGlobal('requestAnimationFrame', (draw: () => void) => setTimeout(draw));
});

afterEach(() => {
  for (const { stop } of tabs.splice(0)) stop();
  status.mockReset();
  vi.unstubAllGlobals();
});

describe('tabs of one intent', () => {
  it('send under one key when both submit at once', async () => {
    const action = vi.fn<SubmitAction<string>>(async () => success);
    const [one, other] = [open('k1', action), open('k9', action)];
    await Promise.all([one.submit(new FormData()), other.submit(new FormData())]);
    expect(keysOf(action)).toEqual(['k1', 'k1']);
    expect(action.mock.calls[1]?.[1].get('idempotency_attempt')).toBe('2');
  });

  it('show what another one has done, and leave other intents alone', async () => {
    status.mockImplementation(async () => Response.json({ state: 'succeeded', outcome: success }));
    const action = vi.fn<SubmitAction<string>>(async () => success);
    const [one, other, stranger] = [open('k1', action), open('k9', action), open('k8', action, 'checkout:2')];
    await one.submit(new FormData());
    await vi.waitFor(() => expect(other.state().status).toBe('hasSucceeded'));
    expect(other.state()).toMatchObject({ key: 'k1', recovered: true, result: success });
    expect(status.mock.calls.map(([url]) => url)).toEqual(['/api/idempotency/checkout/k1']);
    expect(await other.submit(new FormData())).toBeNull();
    expect(action).toHaveBeenCalledTimes(1);
    expect(stranger.state()).toMatchObject({ status: 'idle', key: 'k8' });
  });

  it('hear nothing of a key that was only joined', async () => {
    status.mockImplementation(async () => Response.json({ state: 'in_progress', retryAfterMs: 60_000 }));
    const never = vi.fn<SubmitAction<string>>(() => new Promise(() => {}));
    const [one, other, third] = [open('k1', never), open('k9', never), open('k8', never)];
    void one.submit(new FormData());
    await vi.waitFor(() => expect(never).toHaveBeenCalledTimes(1));
    void other.submit(new FormData());
    await vi.waitFor(() => expect(keysOf(never)).toEqual(['k1', 'k1']));
    const heard = new BroadcastChannel('oncekit');
    const end = new Promise((resolve) => {
      heard.onmessage = ({ data }) => resolve(data);
    });
    new BroadcastChannel('oncekit').postMessage(['another intent', 'k0']); // messages come in order
    expect(await end).toEqual(['another intent', 'k0']);
    heard.close();
    expect(third.state()).toMatchObject({ status: 'idle', key: 'k8' });
  });

  it('ask once, and a tab that has moved on is left alone', async () => {
    status.mockImplementation(async () => Response.json({ state: 'succeeded', outcome: success }));
    const [one, other] = [
      open(
        'k1',
        vi.fn(async () => success),
      ),
      open('k9', vi.fn()),
    ];
    await one.submit(new FormData());
    one.dispatch({ type: 'edited' });
    await vi.waitFor(() => expect(other.state().status).toBe('hasSucceeded'));
    other.dispatch({ type: 'asked', by: 'fence' });
    await new Promise((resolve) => setTimeout(resolve)); // whatever was told has come by now
    expect(one.state()).toMatchObject({ status: 'idle', key: 'k2' });
  });

  it('say it once, and hear nothing new in what they know', async () => {
    status.mockImplementation(async () => Response.json({ state: 'succeeded', outcome: success }));
    const answers: ((outcome: Outcome<string>) => void)[] = [];
    const action = vi.fn<SubmitAction<string>>(() => new Promise((resolve) => answers.push(resolve)));
    const [one, other, third] = [open('k1', action), open('k9', action), open('k8', vi.fn())];
    const sent = [one.submit(new FormData())];
    await vi.waitFor(() => expect(answers).toHaveLength(1));
    sent.push(other.submit(new FormData())); // under the same key
    await vi.waitFor(() => expect(answers).toHaveLength(2));
    const heard = new BroadcastChannel('oncekit');
    const messages: unknown[] = [];
    heard.onmessage = ({ data }) => messages.push(data);
    answers[0]?.(success);
    await sent[0];
    one.dispatch({ type: 'edited' });
    await vi.waitFor(() => expect(third.state().status).toBe('hasSucceeded'));
    answers[1]?.(success);
    await sent[1];
    // Both that have sent it say so; the one that was told does not.
    await vi.waitFor(() => expect(messages).toHaveLength(2));
    await new Promise((resolve) => setTimeout(resolve));
    heard.close();
    expect(messages).toEqual(Array(2).fill(['checkout:1', 'k1']));
    expect(one.state()).toMatchObject({ status: 'idle', key: 'k2' });
  });

  it('hear of a submit that was answered by a redirect', async () => {
    const digest = 'NEXT_REDIRECT;push;/orders/1;303;';
    const redirect = vi
      .fn<SubmitAction<string>>()
      .mockRejectedValue(Object.assign(new Error('NEXT_REDIRECT'), { digest }));
    status.mockImplementation(async () =>
      Response.json({ state: 'succeeded', outcome: success, redirect: '/orders/1' }),
    );
    const [one, other] = [open('k1', redirect), open('k9', vi.fn())];
    await one.submit(new FormData());
    await vi.waitFor(() => expect(other.state()).toMatchObject({ status: 'hasSucceeded', redirect: '/orders/1' }));
  });

  it('show what was done while they did not listen', async () => {
    status.mockImplementation(async () => Response.json({ state: 'succeeded', outcome: success }));
    const [one, hidden] = [
      open(
        'k1',
        vi.fn(async () => success),
      ),
      open('k9', vi.fn()),
    ];
    hidden.stop();
    const hiddenAt = Date.now();
    await until('the clock has gone on', async () => Date.now() > hiddenAt);
    await one.submit(new FormData());
    expect(hidden.state()).toMatchObject({ status: 'idle' });
    tabs.push({ stop: hidden.start() });
    await vi.waitFor(() => expect(hidden.state()).toMatchObject({ status: 'hasSucceeded', key: 'k1' }));
  });

  it('hear of a form that was sent before its page could run', async () => {
    status.mockImplementation(async () => Response.json({ state: 'succeeded', outcome: success }));
    const other = open('k9', vi.fn());
    open('k8', vi.fn(), 'checkout:1', success);
    await vi.waitFor(() => expect(other.state()).toMatchObject({ status: 'hasSucceeded', key: 'k1' }));
  });

  it('hear of a key that another one has given up', async () => {
    const action = vi.fn<SubmitAction<string>>().mockRejectedValue(new TypeError('Failed to fetch'));
    const one = open('k1', action);
    await one.submit(new FormData());
    status.mockImplementation(async () => Response.json({ state: 'absent' }));
    const other = open('k9', action); // adopts the open key
    await vi.waitFor(() => expect(other.state()).toMatchObject({ status: 'unknown', key: 'k1' }));
    const abandoned = refuse('key_abandoned', { executed: false, key: 'k1', nextKey: 'k7' });
    status.mockImplementation(async (_, { method }) =>
      Response.json(
        method === 'DELETE' ? { state: 'abandoned', nextKey: 'k2' } : { state: 'abandoned', outcome: abandoned },
      ),
    );
    one.dispatch({ type: 'asked', by: 'fence' });
    await vi.waitFor(() => expect(one.state()).toMatchObject({ status: 'idle', key: 'k2' }));
    await vi.waitFor(() => expect(other.state()).toMatchObject({ status: 'hasErrored', nextKey: 'k7' }));
  });
});
