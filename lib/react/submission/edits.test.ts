import { describe, expect, it, vi } from 'vitest';
import { refuse } from '../../core/outcome.ts';
import type { SubmitAction } from '../idempotent-submit.ts';
import { DEFAULT_POLICY } from '../recovery/recovery.ts';
import { success } from './machine.fixture.ts';
import { openRecords } from './storage.ts';
import { begin, held, onAPage, records, sent, status, statusSays, waitForTurns } from './submission.fixture.ts';

describe('other values, while the first ones are under way', () => {
  onAPage();

  it('sends nothing more once other values are entered, and fences before the next submit', async () => {
    const action = vi.fn<SubmitAction<string>>().mockRejectedValue(new TypeError('Failed to fetch'));
    const submission = begin(action);
    const done = submission.submit(new FormData());
    await vi.advanceTimersByTimeAsync(0);
    expect(submission.state()).toMatchObject({ status: 'unknown', isPending: true });
    statusSays({ state: 'absent' }, { state: 'abandoned', nextKey: 'k3' });
    submission.dispatch({ type: 'edited' });
    await vi.advanceTimersByTimeAsync(60_000);
    expect(await done).toBeNull();
    expect(submission.state()).toMatchObject({ status: 'idle', key: 'k3' });
    expect(action).toHaveBeenCalledTimes(1);
  });

  it('sends nothing while it still asks about other values', async () => {
    const action = vi.fn<SubmitAction<string>>().mockRejectedValue(new TypeError('Failed to fetch'));
    const submission = begin(action);
    void submission.submit(new FormData());
    await vi.advanceTimersByTimeAsync(0);
    statusSays({ state: 'in_progress', retryAfterMs: 1000 });
    submission.dispatch({ type: 'edited' });
    await vi.advanceTimersByTimeAsync(20_000);
    expect(submission.state()).toMatchObject({ status: 'checking', by: 'edit' });
    expect(action).toHaveBeenCalledTimes(1);
  });

  /** A form whose second attempt is out when its person enters other values. */
  async function edited(...statuses: object[]) {
    const second = held();
    const action = vi.fn<SubmitAction<string>>(second.action).mockRejectedValueOnce(new TypeError('Failed to fetch'));
    const settled = vi.fn();
    const submission = begin(action, { onSettled: settled });
    const done = submission.submit(new FormData());
    await vi.advanceTimersByTimeAsync(1000);
    expect(submission.state()).toMatchObject({ status: 'retrying', attempt: 2 });
    statusSays(...statuses);
    submission.dispatch({ type: 'edited' });
    await vi.advanceTimersByTimeAsync(0);
    return { ...submission, ...second, action, done, settled };
  }

  it.each(['lost', 'answered'])('are not followed by the first ones when the attempt is %s', async (how) => {
    const { lose, answer, action, done, state } = await edited({ state: 'in_progress', retryAfterMs: 1000 });
    if (how === 'lost') lose();
    else answer(refuse('unavailable', { executed: 'unknown' }));
    expect(await done).toBeNull();
    expect(state(), 'the question goes on').toMatchObject({ status: 'checking', by: 'edit' });
    await vi.advanceTimersByTimeAsync(DEFAULT_POLICY.pollMs + 2000);
    expect(state()).toMatchObject({ status: 'unknown', isPending: false, key: 'k1' });
    expect(action).toHaveBeenCalledTimes(2);
  });

  it('show what has become of the first ones, although the attempt is lost meanwhile', async () => {
    const { lose, state, settled } = await edited({ state: 'in_progress', retryAfterMs: 1000 });
    lose();
    await vi.advanceTimersByTimeAsync(0);
    statusSays({ state: 'succeeded', outcome: success });
    await vi.advanceTimersByTimeAsync(1000);
    expect(state()).toMatchObject({ status: 'hasSucceeded', recovered: true });
    expect(settled).toHaveBeenCalledTimes(1);
  });

  describe('while the very first attempt is out', () => {
    async function editedAtOnce(...statuses: object[]) {
      const first = held();
      const action = vi.fn<SubmitAction<string>>(first.action);
      const submission = begin(action);
      const done = submission.submit(new FormData());
      statusSays(...statuses);
      submission.dispatch({ type: 'edited' });
      await vi.advanceTimersByTimeAsync(0);
      return { ...submission, ...first, action, done };
    }
    const methods = () => status.mock.calls.map(([, { method }]) => method);

    it('ask at once, and give nothing up that may only not have arrived yet', async () => {
      const { state, answer } = await editedAtOnce({ state: 'absent' });
      await vi.advanceTimersByTimeAsync(5000);
      expect(state()).toMatchObject({ status: 'checking', by: 'edit', key: 'k1' });
      expect(new Set(methods())).toEqual(new Set(['GET']));
      answer(success);
      await vi.advanceTimersByTimeAsync(0);
      expect(state()).toMatchObject({ status: 'hasSucceeded', recovered: false });
    });

    it('give it up once it is lost, or too late, and send nothing by themselves', async () => {
      for (const end of ['lost', 'late']) {
        const { state, lose, action } = await editedAtOnce({ state: 'absent' });
        if (end === 'lost') lose();
        status.mockImplementation(async (_, { method }) =>
          Response.json(method === 'GET' ? { state: 'absent' } : { state: 'abandoned', nextKey: 'k3' }),
        );
        await vi.advanceTimersByTimeAsync(end === 'lost' ? 2000 : DEFAULT_POLICY.timeoutMs + 2000);
        expect(state(), end).toMatchObject({ status: 'idle', key: 'k3' });
        expect(action).toHaveBeenCalledTimes(1);
        records.write('checkout:1', null);
      }
    });

    it('have a new key, although the late attempt is refused before the fence has answered', async () => {
      const { state, answer } = await editedAtOnce({ state: 'absent' });
      let fence = (_: Response) => {};
      status.mockImplementation(async (_, { method }) =>
        method === 'GET' ? Response.json({ state: 'absent' }) : new Promise((resolve) => (fence = resolve)),
      );
      await vi.advanceTimersByTimeAsync(DEFAULT_POLICY.timeoutMs + 2000);
      expect(state()).toMatchObject({ status: 'checking', by: 'replace' });
      answer(refuse('validation', { executed: false, key: 'k1' }));
      await vi.advanceTimersByTimeAsync(0);
      expect(state()).toMatchObject({ status: 'hasErrored', key: 'k1' });
      fence(Response.json({ state: 'abandoned', nextKey: 'k3' }));
      await vi.advanceTimersByTimeAsync(0);
      expect(state()).toMatchObject({ status: 'hasErrored', result: { code: 'validation' }, nextKey: 'k3' });
    });
  });

  it('nor when nobody answers the question about them, either', async () => {
    const { lose, action, done, state } = await edited({ code: 'internal', status: 500 });
    await vi.advanceTimersByTimeAsync(5000);
    expect(state()).toMatchObject({ status: 'unknown', isPending: false });
    lose();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(await done).toBeNull();
    expect(action).toHaveBeenCalledTimes(2);
  });

  it.each([
    ['idle', 'k3', [{ state: 'absent' }, { state: 'abandoned', nextKey: 'k3' }]],
    ['checking', 'k1', [{ state: 'in_progress', retryAfterMs: 1000 }]],
  ])('nor when the attempt waits for its turn: %s', async (status, key, statuses) => {
    const { turns } = waitForTurns();
    const action = vi.fn<SubmitAction<string>>().mockResolvedValue(refuse('internal', { executed: false }));
    const submission = begin(action, { records: openRecords('local') });
    const done = submission.submit(new FormData());
    turns.shift()?.();
    await vi.advanceTimersByTimeAsync(1000);
    expect([submission.state().status, turns]).toMatchObject(['retrying', [expect.any(Function)]]);
    statusSays(...statuses);
    submission.dispatch({ type: 'edited' });
    await vi.advanceTimersByTimeAsync(0);
    expect(submission.state()).toMatchObject({ status, key });
    turns.shift()?.();
    expect(await done).toBeNull();
    expect(sent(action)).toEqual([['k1', '1']]);
  });

  it('end the intent once, when the attempt runs out of patience behind it', async () => {
    const { done, state, settled } = await edited({ state: 'succeeded', outcome: success });
    expect(state()).toMatchObject({ status: 'hasSucceeded', recovered: true });
    await vi.advanceTimersByTimeAsync(DEFAULT_POLICY.timeoutMs);
    await done;
    expect(state()).toMatchObject({ status: 'hasSucceeded', recovered: true });
    expect(settled.mock.calls).toEqual([[success, { recovered: true }]]);
  });

  it('have another key, for which the end of the attempt is no news', async () => {
    const given = await edited({ state: 'absent' }, { state: 'abandoned', nextKey: 'k3' });
    expect(given.state()).toMatchObject({ status: 'idle', key: 'k3' });
    // Another tab has ended the intent, so this one asks about that tab's key.
    statusSays({ state: 'in_progress', retryAfterMs: 1000 });
    given.dispatch({ type: 'otherTabSettled', key: 'k9' });
    given.answer(refuse('key_abandoned', { executed: false, key: 'k1', nextKey: 'k4' }));
    await vi.advanceTimersByTimeAsync(0);
    expect(await given.done).toBeNull();
    expect(given.state()).toMatchObject({ status: 'checking', key: 'k9', by: 'otherTab' });
  });

  it('have another key, for which what is found out about the first one is no news', async () => {
    const given = await edited({ state: 'in_progress', retryAfterMs: 1000 });
    let say = (_: Response) => {};
    status.mockImplementationOnce(() => new Promise((resolve) => (say = resolve)));
    await vi.advanceTimersByTimeAsync(1000);
    const declined = refuse('failed', { executed: true, key: 'k1', nextKey: 'k4' });
    given.answer(declined);
    expect(await given.done).toEqual(declined);
    given.dispatch({ type: 'otherTabSettled', key: 'k9' });
    say(Response.json({ state: 'failed', outcome: declined }));
    await vi.advanceTimersByTimeAsync(0);
    expect(given.state()).toMatchObject({ status: 'checking', key: 'k9', by: 'otherTab' });
  });
});
