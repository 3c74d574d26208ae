import { describe, expect, it, vi } from 'vitest';
import { refuse } from '../../core/outcome.ts';
import type { SubmitAction } from '../idempotent-submit.ts';
import { DEFAULT_POLICY } from '../recovery/recovery.ts';
import { success } from './machine.fixture.ts';
import { openRecords } from './storage.ts';
import {
  begin,
  held,
  isBack,
  isGone,
  isShown,
  onAPage,
  online,
  records,
  sent,
  status,
  statusSays,
  waitForTurns,
  wires,
} from './submission.fixture.ts';

describe('a submission', () => {
  onAPage();

  it('sends one request for a double click, with the key remembered before', async () => {
    const action = vi.fn<SubmitAction<string>>(async () => {
      expect(records.read('checkout:1')).toMatchObject({ key: 'k1', state: 'executing' });
      return success;
    });
    const settled = vi.fn();
    const submission = begin(action, { onSettled: settled });
    const [first, second] = await Promise.all([submission.submit(new FormData()), submission.submit(new FormData())]);
    expect([first, second, await submission.submit(new FormData())]).toEqual([success, null, null]);
    expect(sent(action)).toEqual([['k1', '1']]);
    expect(settled.mock.calls).toEqual([[success, { recovered: false }]]);
    expect(records.read('checkout:1')).toMatchObject({ state: 'settled', nextKey: 'k2' });
  });

  it('repeats a lost attempt under the same key, and says which attempt it is', async () => {
    const action = vi.fn<SubmitAction<string>>().mockRejectedValueOnce(new TypeError('Failed to fetch'));
    action.mockResolvedValueOnce(refuse('unavailable', { executed: 'unknown', retryAfterMs: 2000 }));
    action.mockResolvedValue(success);
    const submission = begin(action);
    const done = submission.submit(new FormData());
    await vi.advanceTimersByTimeAsync(1000);
    expect(submission.state()).toMatchObject({ status: 'unknown', isPending: true });
    expect(action).toHaveBeenCalledTimes(2);
    await vi.advanceTimersByTimeAsync(2000);
    expect(await done).toEqual(success);
    expect(new Set(action.mock.calls.map(([, form]) => form.get('idempotency_key')))).toEqual(new Set(['k1']));
    expect(sent(action).at(-1)).toEqual(['k1', '3']);
  });

  it('tries again at once where a refusal asks for no pause', async () => {
    vi.spyOn(Math, 'random').mockReturnValue(0.999);
    const action = vi.fn<SubmitAction<string>>().mockResolvedValue(success);
    action.mockResolvedValueOnce(refuse('unavailable', { executed: 'unknown', retryAfterMs: 0 }));
    const done = begin(action).submit(new FormData());
    await vi.advanceTimersByTimeAsync(0);
    expect(action).toHaveBeenCalledTimes(2);
    expect(await done).toEqual(success);
  });

  it('goes on asking where single questions are lost between answers, and stops after three lost in a row', async () => {
    const running = { state: 'in_progress', retryAfterMs: 1000 };
    for (let n = 0; n < 4; n++) {
      status.mockRejectedValueOnce(new TypeError('Failed to fetch')).mockResolvedValueOnce(Response.json(running));
    }
    status.mockRejectedValue(new TypeError('Failed to fetch'));
    const action = vi.fn<SubmitAction<string>>().mockResolvedValue(refuse('in_flight', { retryAfterMs: 1000 }));
    const submission = begin(action, { policy: { ...DEFAULT_POLICY, attempts: 1 } });
    void submission.submit(new FormData());
    await vi.advanceTimersByTimeAsync(8500);
    expect(status).toHaveBeenCalledTimes(9);
    expect(submission.state()).toMatchObject({ status: 'checking' });
    await vi.advanceTimersByTimeAsync(2000);
    expect(status).toHaveBeenCalledTimes(11);
    expect(submission.state()).toMatchObject({ status: 'unknown', isPending: false });
  });

  it('gives up after its budget and stays unknown', async () => {
    const action = vi.fn<SubmitAction<string>>().mockRejectedValue(new TypeError('Failed to fetch'));
    const submission = begin(action);
    const done = submission.submit(new FormData());
    await vi.advanceTimersByTimeAsync(30_000);
    expect(await done).toBeNull();
    expect(action).toHaveBeenCalledTimes(DEFAULT_POLICY.attempts);
    expect(submission.state()).toMatchObject({ status: 'unknown', isPending: false });
    expect(records.read('checkout:1')).toMatchObject({ state: 'unknown', key: 'k1' });
  });

  it('asks the status route, not the action queue, about a submission that runs', async () => {
    const action = vi.fn<SubmitAction<string>>(async () => success);
    action.mockResolvedValueOnce(refuse('in_flight', { executed: 'unknown' }));
    statusSays({ state: 'in_progress', retryAfterMs: 500 }, { state: 'succeeded', outcome: success });
    const submission = begin(action);
    const done = submission.submit(new FormData());
    await vi.advanceTimersByTimeAsync(500);
    expect(await done).toEqual(success);
    // The second attempt brings the replay, with the cookies and the redirect of the first answer.
    expect(sent(action)).toHaveLength(2);
    expect(status.mock.calls.map(([url]) => url)).toEqual(Array(2).fill('/api/idempotency/checkout/k1'));
  });

  it('asks about an attempt that hangs, sends nothing behind it, and takes its late answer', async () => {
    const { action: hangs, answer } = held();
    const action = vi.fn<SubmitAction<string>>(hangs);
    statusSays({ state: 'absent' });
    const submission = begin(action);
    const done = submission.submit(new FormData());
    await vi.advanceTimersByTimeAsync(DEFAULT_POLICY.timeoutMs);
    expect(await done).toBeNull();
    expect(submission.state()).toMatchObject({ status: 'unknown', cause: 'late' });
    answer(success);
    await vi.advanceTimersByTimeAsync(0);
    expect(submission.state()).toMatchObject({ status: 'hasSucceeded' });
    expect(action).toHaveBeenCalledTimes(1);
  });

  it('asks after a reload, and only a fence changes the key', async () => {
    const action = vi.fn<SubmitAction<string>>().mockRejectedValue(new TypeError('Failed to fetch'));
    const before = begin(action);
    void before.submit(new FormData());
    await vi.advanceTimersByTimeAsync(0);
    before.stop();
    statusSays({ state: 'absent' }, { state: 'absent' }, { state: 'abandoned', nextKey: 'k3' });
    const submission = begin(action);
    expect(submission.state()).toMatchObject({ status: 'checking', key: 'k1' });
    await vi.advanceTimersByTimeAsync(0);
    expect(submission.state()).toMatchObject({ status: 'unknown', cause: 'absent' });
    submission.dispatch({ type: 'edited' });
    await vi.advanceTimersByTimeAsync(0);
    expect(status.mock.calls.map(([, { method }]) => method)).toEqual(['GET', 'GET', 'DELETE']);
    expect(submission.state()).toMatchObject({ status: 'idle', key: 'k3' });
    expect(action).toHaveBeenCalledTimes(1);
    expect(records.read('checkout:1')).toBeNull();
  });

  it('asks about a first attempt that was turned away once the page is loaded again: it may have been sent twice', async () => {
    const turnedAway = refuse('rate_limited', { executed: false, key: 'k1', nextKey: 'k2', retryAfterMs: 600_000 });
    const action = vi.fn<SubmitAction<string>>().mockResolvedValue(turnedAway);
    const submission = begin(action);
    expect(await submission.submit(new FormData())).toBe(turnedAway);
    submission.stop();
    statusSays({ state: 'succeeded', outcome: success });
    const again = begin(action);
    await vi.advanceTimersByTimeAsync(0);
    expect(again.state()).toMatchObject({ status: 'hasSucceeded', key: 'k1', recovered: true });
    expect(sent(action)).toEqual([['k1', '1']]);
    again.stop();
  });

  it('A6 asks about the key that a mismatch names, and shows what that one has done', async () => {
    const mismatch = refuse('payload_mismatch', { executed: true, key: 'k0', nextKey: 'k2' });
    const action = vi.fn<SubmitAction<string>>().mockResolvedValue(mismatch);
    statusSays({ state: 'succeeded', outcome: { ...success, key: 'k0', replayed: true, nextKey: 'k3' } });
    const submission = begin(action);
    void submission.submit(new FormData());
    await vi.advanceTimersByTimeAsync(0);
    expect(status.mock.calls.map(([url, { method }]) => [method, url.split('/').pop()])).toEqual([['GET', 'k0']]);
    expect(submission.state()).toMatchObject({ status: 'hasSucceeded', recovered: true, result: { key: 'k0' } });
    expect(records.read('checkout:1')).toMatchObject({ key: 'k1', state: 'settled' });
    submission.dispatch({ type: 'edited' });
    submission.dispatch({ type: 'reset' });
    expect(submission.state()).toMatchObject({ status: 'idle', key: 'k3', attempt: 0 });
    expect(sent(action)).toEqual([['k1', '1']]);
  });

  it('A6 follows a status that names the key which has done it, after an answer was lost', async () => {
    const action = vi.fn<SubmitAction<string>>().mockRejectedValue(new TypeError('Failed to fetch'));
    const before = begin(action);
    void before.submit(new FormData());
    await vi.advanceTimersByTimeAsync(0);
    before.stop();
    const first = { state: 'succeeded', outcome: { ...success, key: 'k0', replayed: true } };
    statusSays({ state: 'absent', by: 'k0' }, first);
    const submission = begin(action);
    await vi.advanceTimersByTimeAsync(0);
    expect(status.mock.calls.map(([url]) => url.split('/').pop())).toEqual(['k1', 'k0']);
    expect(submission.state()).toMatchObject({ status: 'hasSucceeded', recovered: true, result: { key: 'k0' } });
    expect(records.read('checkout:1')).toMatchObject({ key: 'k1', state: 'settled' });
    expect(action).toHaveBeenCalledTimes(1);
  });

  it('A6 gives its own key up for other values, and not the one that a mismatch names', async () => {
    const attempt = held();
    const submission = begin(attempt.action);
    void submission.submit(new FormData());
    statusSays({ state: 'absent' });
    submission.dispatch({ type: 'edited' });
    await vi.advanceTimersByTimeAsync(0);
    statusSays({ state: 'absent' }, { state: 'abandoned', nextKey: 'k3' });
    attempt.answer(refuse('payload_mismatch', { executed: true, key: 'k0', nextKey: 'k2' }));
    await vi.advanceTimersByTimeAsync(2000);
    const asked = status.mock.calls.map(([url, { method }]) => `${method} ${url.split('/').pop()}`);
    expect([...new Set(asked)]).toEqual(['GET k1', 'GET k0', 'DELETE k1']);
    expect(submission.state()).toMatchObject({ status: 'idle', key: 'k3' });
  });

  it('leads a person, and nobody else, away from a key that is not theirs', async () => {
    const action = vi.fn<SubmitAction<string>>().mockRejectedValue(new TypeError('Failed to fetch'));
    const submission = begin(action, { policy: { ...DEFAULT_POLICY, attempts: 1 } });
    await submission.submit(new FormData());
    statusSays({ code: 'key_invalid', status: 400, nextKey: 'k3', message: 'Not yours.' });
    submission.dispatch({ type: 'edited' });
    await vi.advanceTimersByTimeAsync(0);
    expect(submission.state()).toMatchObject({ status: 'unknown', key: 'k1', notice: 'Not yours.' });
    submission.dispatch({ type: 'asked', by: 'fence' });
    await vi.advanceTimersByTimeAsync(0);
    expect(submission.state()).toMatchObject({ status: 'idle', key: 'k3' });
  });

  it('waits for the network, and sends what was submitted last', async () => {
    const action = vi.fn<SubmitAction<string>>(async () => success);
    const submission = begin(action);
    isGone();
    const form = (note: string) => {
      const data = new FormData();
      data.set('note', note);
      return data;
    };
    void submission.submit(form('first'));
    await vi.waitFor(() => expect(submission.state().status).toBe('offline'));
    submission.dispatch({ type: 'edited' });
    const done = submission.submit(form('second'));
    await vi.waitFor(() => expect(submission.state().status).toBe('offline'));
    isBack();
    expect(await done).toEqual(success);
    expect(action.mock.calls.map(([, sentForm]) => sentForm.get('note'))).toEqual(['second']);
  });

  it('changes nothing once it is stopped', async () => {
    const { action, answer } = held();
    const submission = begin(action);
    const done = submission.submit(new FormData());
    await vi.advanceTimersByTimeAsync(0);
    submission.stop();
    answer(success);
    expect(await done).toBeNull();
    expect(submission.state().status).toBe('executing');
    expect(records.read('checkout:1')).toMatchObject({ state: 'executing', key: 'k1' });
    expect(vi.getTimerCount()).toBe(0);
  });

  it('asks nothing, and waits for nothing, once it is stopped', async () => {
    const action = vi.fn<SubmitAction<string>>().mockRejectedValueOnce(new TypeError('Failed to fetch'));
    const between = begin(action);
    void between.submit(new FormData());
    await vi.advanceTimersByTimeAsync(0);
    between.stop();
    online.onLine = false;
    await vi.advanceTimersByTimeAsync(60_000);
    expect(between.state()).toMatchObject({ status: 'unknown', isPending: true });
    online.onLine = true;
    statusSays({ state: 'in_progress', retryAfterMs: 1000 });
    const asking = begin(action);
    await vi.advanceTimersByTimeAsync(0);
    expect(asking.state().status).toBe('checking');
    asking.stop();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(status).toHaveBeenCalledTimes(1);
  });

  it('ends without an error when it is used after it was stopped', async () => {
    vi.stubGlobal('window', Object.assign(wires, { BroadcastChannel }));
    const submission = begin(async () => success);
    submission.stop();
    expect(await submission.submit(new FormData())).toEqual(success);
  });

  it('takes a redirect for an answer', async () => {
    const redirect = Object.assign(new Error('NEXT_REDIRECT'), { digest: 'NEXT_REDIRECT;push;/orders/1;303;' });
    const submission = begin(() => Promise.reject(redirect));
    expect(await submission.submit(new FormData())).toBeNull();
    expect(submission.state().status).toBe('hasNavigated');
  });

  it('reports each step, and the end of the intent once', async () => {
    const action = vi.fn<SubmitAction<string>>(async () => success);
    action.mockResolvedValueOnce(refuse('validation', { executed: false }));
    const onTransition = vi.fn();
    const onSettled = vi.fn();
    const submission = begin(action, { onSettled, onTransition });
    await submission.submit(new FormData());
    expect(onSettled).not.toHaveBeenCalled();
    await isShown();
    await submission.submit(new FormData());
    expect(submission.state().status).toBe('hasSucceeded');
    expect(onSettled.mock.calls).toEqual([[success, { recovered: false }]]);
    const step = { intent: 'checkout:1', key: 'k1' };
    expect(onTransition.mock.calls.map(([one]) => one)).toEqual([
      { ...step, event: 'submitted', from: 'idle', to: 'executing', attempt: 0 },
      { ...step, event: 'sent', from: 'executing', to: 'executing', attempt: 1 },
      { ...step, event: 'answered', from: 'executing', to: 'hasErrored', attempt: 1 },
      { ...step, event: 'submitted', from: 'hasErrored', to: 'executing', attempt: 1 },
      { ...step, event: 'sent', from: 'executing', to: 'executing', attempt: 2 },
      { ...step, event: 'answered', from: 'executing', to: 'hasSucceeded', attempt: 2 },
    ]);
  });

  it('A6 does not report the end of an intent that somebody else has done', async () => {
    const done = refuse('already_done', { executed: true, key: 'k1', nextKey: 'k2' });
    const onSettled = vi.fn();
    const submission = begin(
      vi.fn<SubmitAction<string>>(async () => done),
      { onSettled },
    );
    expect(await submission.submit(new FormData())).toEqual(done);
    expect(submission.state()).toMatchObject({ status: 'hasErrored', result: done });
    expect(onSettled).not.toHaveBeenCalled();
  });

  it('B4 sends nothing by itself where a value is taken, and then the same key with another one', async () => {
    const action = vi.fn<SubmitAction<string>>(async () => success);
    action.mockResolvedValueOnce(refuse('already_exists', { executed: false, nextKey: 'k2' }));
    const submission = begin(action);
    await submission.submit(new FormData());
    expect(submission.state()).toMatchObject({ status: 'hasErrored', key: 'k1', doubt: false });
    await vi.advanceTimersByTimeAsync(60_000);
    expect(action).toHaveBeenCalledTimes(1);
    await submission.submit(new FormData());
    expect(submission.state().status).toBe('hasSucceeded');
    expect(sent(action)).toEqual([
      ['k1', '1'],
      ['k1', '2'],
    ]);
  });

  it('loads the page again, once, when another deployment has taken over', async () => {
    const stale = Object.assign(new Error('Server Action "x" was not found'), { name: 'UnrecognizedActionError' });
    const action = vi.fn<SubmitAction<string>>().mockRejectedValue(stale);
    statusSays({ state: 'absent' });
    const kept = new Map<string, string>();
    const records = openRecords({
      getItem: (name) => kept.get(name) ?? null,
      setItem: (name, value) => void kept.set(name, value),
      removeItem: (name) => void kept.delete(name),
    });
    const submission = begin(action, { records });
    expect(await submission.submit(new FormData())).toBeNull();
    expect(location.reload).toHaveBeenCalledTimes(1);
    expect(records.read('checkout:1')).toMatchObject({ key: 'k1', reloaded: true });
    submission.stop();
    const again = begin(action, { records, policy: { ...DEFAULT_POLICY, attempts: 2 } });
    await vi.advanceTimersByTimeAsync(0);
    expect(again.state()).toMatchObject({ status: 'unknown', key: 'k1', cause: 'absent' });
    const done = again.submit(new FormData());
    await vi.advanceTimersByTimeAsync(10_000);
    expect(await done).toBeNull();
    expect(location.reload).toHaveBeenCalledTimes(1);
    expect(new Set(sent(action).map(([key]) => key))).toEqual(new Set(['k1']));
    // The next intent may meet the next deployment.
    statusSays({ state: 'abandoned', nextKey: 'k3' });
    again.dispatch({ type: 'asked', by: 'fence' });
    await isShown();
    expect(await again.submit(new FormData())).toBeNull();
    expect(location.reload).toHaveBeenCalledTimes(2);
  });

  it('stays on the page where its key would be forgotten with it', async () => {
    const stale = Object.assign(new Error('Server Action "x" was not found'), { name: 'UnrecognizedActionError' });
    const submission = begin(vi.fn<SubmitAction<string>>().mockRejectedValue(stale), {
      policy: { ...DEFAULT_POLICY, attempts: 1 },
    });
    expect(await submission.submit(new FormData())).toBeNull();
    expect(location.reload).not.toHaveBeenCalled();
    expect(submission.state()).toMatchObject({ status: 'unknown', key: 'k1' });
  });

  it('counts its patience from when the network is back', async () => {
    const action = vi.fn<SubmitAction<string>>().mockRejectedValueOnce(new TypeError('Failed to fetch'));
    action.mockResolvedValue(success);
    const submission = begin(action);
    isGone();
    const done = submission.submit(new FormData());
    await vi.advanceTimersByTimeAsync(60_000);
    expect(action).not.toHaveBeenCalled();
    isBack();
    await vi.advanceTimersByTimeAsync(1000);
    expect(await done).toEqual(success);
  });

  it('sends where the browser wrongly says that it is offline, at once', async () => {
    const action = vi.fn<SubmitAction<string>>(async () => success);
    const submission = begin(action);
    online.onLine = false;
    status.mockImplementation(async () => new Response(null, { status: 404 })); // whatever it is, somebody is there
    expect(await submission.submit(new FormData())).toEqual(success);
    expect(status.mock.calls).toEqual([['http://localhost/', expect.objectContaining({ method: 'HEAD' })]]);
  });

  it('A2 sends nothing that was edited while it looked for the network', async () => {
    const action = vi
      .fn<SubmitAction<string>>(async () => success)
      .mockRejectedValueOnce(new TypeError('Failed to fetch'));
    const submission = begin(action);
    let unreachable = (_: Error) => {};
    void submission.submit(new FormData());
    online.onLine = false;
    status.mockImplementation((_, { method }) =>
      method === 'HEAD'
        ? new Promise((_, reject) => (unreachable = reject))
        : Promise.reject(new TypeError('Failed to fetch')),
    );
    await vi.advanceTimersByTimeAsync(1000);
    submission.dispatch({ type: 'edited' });
    unreachable(new TypeError('Failed to fetch'));
    await vi.advanceTimersByTimeAsync(10);
    expect(submission.state()).toMatchObject({ status: 'checking', by: 'edit' });
    isBack();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(action).toHaveBeenCalledTimes(1);
  });

  it('gives a submit that was called off nothing of the next one', async () => {
    const submission = begin(async () => success);
    let unreachable = (_: Error) => {};
    online.onLine = false;
    status.mockImplementationOnce(() => new Promise((_, reject) => (unreachable = reject)));
    const first = submission.submit(new FormData());
    await vi.advanceTimersByTimeAsync(10);
    submission.dispatch({ type: 'edited' });
    status.mockImplementation(async () => new Response());
    expect(await submission.submit(new FormData())).toEqual(success);
    unreachable(new TypeError('Failed to fetch'));
    expect(await first).toBeNull();
  });

  it('finds out by itself that the network is back, where the browser does not say so', async () => {
    const action = vi.fn<SubmitAction<string>>(async () => success);
    const submission = begin(action);
    isGone();
    const done = submission.submit(new FormData());
    await vi.waitFor(() => expect(submission.state().status).toBe('offline'));
    status.mockImplementation(async () => new Response());
    await vi.advanceTimersByTimeAsync(4000);
    expect(await done).toEqual(success);
  });

  it('asks about what was sent though the browser says that it is offline', async () => {
    const action = vi.fn<SubmitAction<string>>().mockRejectedValueOnce(new TypeError('Failed to fetch'));
    const submission = begin(action, { policy: { ...DEFAULT_POLICY, attempts: 1 } });
    await submission.submit(new FormData());
    online.onLine = false;
    statusSays({ state: 'succeeded', outcome: success });
    submission.dispatch({ type: 'asked', by: 'person' });
    await vi.waitFor(() => expect(submission.state()).toMatchObject({ status: 'hasSucceeded', recovered: true }));
  });

  it('asks again by itself, where it has given up without a network, once that is back', async () => {
    const action = vi.fn<SubmitAction<string>>().mockRejectedValueOnce(new TypeError('Failed to fetch'));
    const submission = begin(action, { policy: { ...DEFAULT_POLICY, attempts: 1 } });
    await submission.submit(new FormData());
    isGone();
    submission.dispatch({ type: 'asked', by: 'person' });
    await vi.advanceTimersByTimeAsync(59_000);
    expect(submission.state().status).toBe('checking');
    await vi.advanceTimersByTimeAsync(10_000);
    expect(submission.state()).toMatchObject({ status: 'unknown', isPending: false });
    statusSays({ state: 'succeeded', outcome: success });
    isBack();
    await vi.waitFor(() => expect(submission.state().status).toBe('hasSucceeded'));
  });

  it('sends nothing, and remembers nothing, once it is stopped while it waits for its turn', async () => {
    const { turns, localStorage } = waitForTurns();
    const action = vi.fn<SubmitAction<string>>();
    const submission = begin(action, { records: openRecords('local') });
    const done = submission.submit(new FormData());
    submission.stop();
    turns.shift()?.();
    expect(await done).toBeNull();
    expect(action).not.toHaveBeenCalled();
    expect(localStorage.setItem).not.toHaveBeenCalled();
  });

  it('says which attempt it is also of a form that was sent before', async () => {
    const action = vi.fn<SubmitAction<string>>(async () => success);
    const submission = begin(action);
    const form = new FormData();
    form.set('idempotency_attempt', '2');
    await submission.submit(form);
    expect(sent(action)).toEqual([['k1', '1']]);
  });

  it('follows no address that runs code', async () => {
    statusSays({ state: 'succeeded', outcome: success, redirect: 'javascript:alert(1)' });
    const policy = { ...DEFAULT_POLICY, attempts: 1 };
    const submission = begin(async () => refuse('in_flight', { executed: 'unknown' }), { policy });
    expect(await submission.submit(new FormData())).toEqual(success);
    expect(submission.state()).toMatchObject({ status: 'hasSucceeded', redirect: undefined });
  });
});

describe('plain values', () => {
  onAPage();

  it('go out beside their key and attempt, locked and repeated like a form', async () => {
    const action = vi.fn().mockRejectedValueOnce(new TypeError('Failed to fetch')).mockResolvedValue(success);
    const submission = begin(action);
    const values = { lines: [{ sku: 'tea', quantity: 2 }], express: false, on: new Date(0) };
    const done = submission.submit(values);
    expect(await submission.submit(values)).toBeNull();
    expect(records.read('checkout:1')).toMatchObject({ key: 'k1', state: 'executing' });
    await vi.advanceTimersByTimeAsync(2000);
    expect(await done).toEqual(success);
    expect(action.mock.calls).toEqual([
      [values, { key: 'k1', attempt: 1 }],
      [values, { key: 'k1', attempt: 2 }],
    ]);
  });

  it('are sent again as they were, whatever the page has made of them meanwhile', async () => {
    const action = vi.fn().mockRejectedValueOnce(new TypeError('Failed to fetch')).mockResolvedValue(success);
    const values = { lines: [{ sku: 'tea' }] };
    const done = begin(action).submit(values);
    values.lines[0] = { sku: 'mug' };
    await vi.advanceTimersByTimeAsync(2000);
    await done;
    expect(action.mock.calls.map(([sent]) => sent)).toEqual([{ lines: [{ sku: 'tea' }] }, { lines: [{ sku: 'tea' }] }]);
  });

  class Decimal {
    cents = 1;
  }
  const circle: Record<string, unknown> = {};
  circle.self = circle;

  it.each([
    ['a function', { lines: [{ price: () => 1 }] }, 'lines[0].price is a function'],
    ['a symbol', { a: Symbol('a') }, 'a is a symbol'],
    ['a class instance', { lines: [{ price: new Decimal() }] }, 'lines[0].price is an instance of Decimal'],
    ['a Map', { a: new Map() }, 'a is an instance of Map'],
    ['what has no prototype', { a: Object.create(null) }, 'a is an object without a prototype'],
    ['a circle', circle, 'self.self is nested too deep, or in a circle'],
    ['no object at all', new Decimal(), 'What execute() was given is an instance of Decimal'],
  ])('%s is a clear error, and nothing is sent or locked', async (_, values, words) => {
    const action = vi.fn();
    const submission = begin(action);
    const expected = words.replace(/^self\.self/, 'self');
    const thrown: unknown = await submission.submit(values).catch((error: unknown) => error);
    expect(thrown).toMatchObject({ name: 'ConfigurationError', message: expect.stringContaining(expected) });
    expect((thrown as Error).message).toContain('convert it first, or give it new FormData(form)');
    expect(action).not.toHaveBeenCalled();
    expect(submission.state()).toMatchObject({ status: 'idle', attempt: 0 });
  });
});
