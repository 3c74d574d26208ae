import { describe, expect, it, vi } from 'vitest';
import { refuse } from '../../core/outcome.ts';
import type { SubmitAction } from '../idempotent-submit.ts';
import { DEFAULT_POLICY } from '../recovery/recovery.ts';
import { record, success } from './machine.fixture.ts';
import { begin, held, isShown, onAPage, records, sent, status, statusSays } from './submission.fixture.ts';

const networkError = () => new TypeError('Failed to fetch');
const lose = async () => {
  throw networkError();
};
const html = (code: number) => new Response('<h1>Sign in</h1>', { status: code });
const settled = () => vi.advanceTimersByTimeAsync(0);

describe('an attempt that is late', () => {
  onAPage();

  it('B4 is told of its own key, where an edit has replaced that before', async () => {
    const late = held();
    const action = vi.fn<SubmitAction<string>>(lose).mockImplementationOnce(lose).mockImplementationOnce(late.action);
    const { state, dispatch, submit } = begin(action, { policy: { ...DEFAULT_POLICY, attempts: 2 } });
    statusSays({ state: 'absent' }, { state: 'abandoned', nextKey: 'k3' });
    void submit(new FormData());
    await vi.advanceTimersByTimeAsync(1000);
    expect(state()).toMatchObject({ status: 'retrying', key: 'k1', attempt: 2 });
    dispatch({ type: 'edited' });
    await settled();
    expect(state()).toMatchObject({ status: 'idle', key: 'k3' });
    statusSays({ state: 'absent' });
    await isShown();
    void submit(new FormData());
    await vi.advanceTimersByTimeAsync(5000);
    expect(state()).toMatchObject({ status: 'unknown', key: 'k3', isPending: false });
    dispatch({ type: 'asked', by: 'person' });
    await settled();
    expect(state()).toMatchObject({ status: 'unknown', key: 'k3', cause: 'absent' });
  });

  it('B5 is not said of a page that was left before it was late', async () => {
    const late = held();
    const form = begin(vi.fn<SubmitAction<string>>(late.action));
    statusSays({ state: 'absent' });
    void form.submit(new FormData());
    await vi.advanceTimersByTimeAsync(3000);
    form.stop();
    const stop = form.start();
    await settled();
    late.lose();
    await settled();
    expect(form.state()).toMatchObject({ status: 'unknown', cause: 'absent' });
    stop();
  });

  it('B5 does not call off a submit that was sent again meanwhile, between two attempts of it', async () => {
    const late = held();
    const action = vi.fn<SubmitAction<string>>(lose).mockImplementationOnce(late.action);
    const { state, submit } = begin(action);
    statusSays({ state: 'absent' });
    void submit(new FormData());
    await vi.advanceTimersByTimeAsync(DEFAULT_POLICY.timeoutMs);
    expect(state()).toMatchObject({ status: 'unknown', cause: 'late' });
    status.mockResolvedValueOnce(html(401));
    await isShown();
    void submit(new FormData());
    await vi.waitUntil(() => vi.advanceTimersByTime(10) && state().attempt === 3 && state().cause === 'late');
    action.mockResolvedValueOnce(success);
    late.lose();
    await vi.advanceTimersByTimeAsync(DEFAULT_POLICY.capMs);
    expect(state()).toMatchObject({ status: 'hasSucceeded', attempt: 4 });
  });
});

describe('a look behind a loss', () => {
  onAPage();

  it('B5 takes of the time in which it may be tried again', async () => {
    const slow = async () => {
      await new Promise((go) => setTimeout(go, 6000));
      return Response.json({ state: 'absent' });
    };
    status.mockImplementation(slow);
    const action = vi.fn<SubmitAction<string>>(lose);
    const { state, submit } = begin(action, { policy: { ...DEFAULT_POLICY, totalMs: 5000 } });
    void submit(new FormData());
    await vi.advanceTimersByTimeAsync(30_000);
    expect(sent(action)).toHaveLength(2);
    expect(state()).toMatchObject({ status: 'unknown', isPending: false });
  });
});

class BrokenFile extends File {
  constructor(private pull: () => Promise<void>) {
    super([], 'cat.png');
  }
  override stream(): ReturnType<File['stream']> {
    return new ReadableStream({ pull: this.pull });
  }
}
const lostFile = () => new BrokenFile(() => Promise.reject(new DOMException('', 'NotFoundError')));
const formWith = (picture: File) => {
  const form = new FormData();
  form.set('picture', picture);
  return form;
};

describe('a file that cannot be read', () => {
  onAPage();

  it('B5 keeps no answer back while the disk says nothing', async () => {
    statusSays({ state: 'succeeded', outcome: success });
    const { state, submit } = begin(vi.fn<SubmitAction<string>>(lose));
    void submit(formWith(new BrokenFile(() => new Promise(() => {}))));
    await vi.advanceTimersByTimeAsync(60_000);
    expect(state().isPending).toBe(false);
  });

  it('B5 is not sent for the replay of an answer that is known', async () => {
    statusSays({ state: 'succeeded', outcome: success });
    const action = vi.fn<SubmitAction<string>>(lose);
    action.mockResolvedValueOnce(refuse('in_flight', { executed: 'unknown' }));
    const { state, submit } = begin(action);
    void submit(formWith(lostFile()));
    await vi.advanceTimersByTimeAsync(30_000);
    expect(state()).toMatchObject({ status: 'hasSucceeded', recovered: true });
    expect(sent(action)).toEqual([['k1', '1']]);
  });

  it('B5 is not said of a key that another tab has sent', async () => {
    let isLost = false;
    const picture = new BrokenFile(() =>
      isLost ? Promise.reject(new DOMException('', 'NotFoundError')) : new Promise(() => {}),
    );
    const { state, dispatch, submit, start, stop } = begin(vi.fn<SubmitAction<string>>(async () => success));
    await submit(formWith(picture));
    isLost = true;
    dispatch({ type: 'edited', isSubmitted: true });
    expect(state()).toMatchObject({ status: 'idle', key: 'k2' });
    stop();
    records.write('checkout:1', { ...record('unknown'), key: 'k9', submittedAt: Date.now() });
    statusSays({ state: 'absent' });
    start();
    await settled();
    expect(state()).toMatchObject({ status: 'unknown', key: 'k9', cause: 'absent' });
  });
});
