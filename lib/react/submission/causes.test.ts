import { describe, expect, it, vi } from 'vitest';
import { refuse } from '../../core/outcome.ts';
import type { SubmitAction } from '../idempotent-submit.ts';
import { DEFAULT_POLICY } from '../recovery/recovery.ts';
import { hasUnreadableFile } from '../recovery/values.ts';
import { success } from './machine.fixture.ts';
import { begin, held, isShown, onAPage, sent, status, statusSays } from './submission.fixture.ts';

const late = DEFAULT_POLICY.timeoutMs;
const lostAlways = () => vi.fn<SubmitAction<string>>().mockRejectedValue(new TypeError('Failed to fetch'));
const nobodyAnswers = () => status.mockRejectedValue(new TypeError('Failed to fetch'));
const methods = () => status.mock.calls.map(([, { method }]) => method);

describe('an attempt that is late', () => {
  onAPage();

  /** Sends once for each attempt, and waits until each is asked about. */
  async function untilLate(...attempts: ReturnType<typeof held>[]) {
    statusSays({ state: 'absent' });
    const action = vi.fn<SubmitAction<string>>();
    for (const attempt of attempts) action.mockImplementationOnce(attempt.action);
    const form = begin(action);
    for (const _ of attempts) {
      await isShown();
      void form.submit(new FormData());
      await vi.advanceTimersByTimeAsync(late);
    }
    expect(form.state()).toMatchObject({ status: 'unknown', cause: 'late', isPending: false });
    return { ...form, action };
  }

  it('B5 is on its way while any of its key is', async () => {
    const [one, other] = [held(), held()];
    const { state, action } = await untilLate(one, other);
    expect(sent(action).map(([key]) => key)).toEqual(['k1', 'k1']);
    one.lose();
    await vi.advanceTimersByTimeAsync(0);
    expect(state()).toMatchObject({ status: 'unknown', cause: 'late' });
    other.lose();
    await vi.advanceTimersByTimeAsync(0);
    expect(state()).toMatchObject({ status: 'unknown', cause: 'absent' });
    expect(action).toHaveBeenCalledTimes(2);
  });

  it('B5 is asked about once more where it is lost, and what it has done is shown', async () => {
    const attempt = held();
    const { state } = await untilLate(attempt);
    statusSays({ state: 'succeeded', outcome: success });
    attempt.lose();
    await vi.advanceTimersByTimeAsync(0);
    expect(state()).toMatchObject({ status: 'hasSucceeded', recovered: true });
  });

  it('B4 says nothing of the next key where its own was given up', async () => {
    const [one, other] = [held(), held()];
    const { state, dispatch, submit, action } = await untilLate(one);
    statusSays({ state: 'absent' }, { state: 'abandoned', nextKey: 'k3' });
    dispatch({ type: 'edited' });
    await vi.advanceTimersByTimeAsync(0);
    expect(state()).toMatchObject({ status: 'idle', key: 'k3' });
    action.mockImplementationOnce(other.action);
    await isShown();
    void submit(new FormData());
    one.lose();
    await vi.advanceTimersByTimeAsync(0);
    expect(state()).toMatchObject({ status: 'executing', key: 'k3' });
    other.answer(success);
    await vi.advanceTimersByTimeAsync(0);
    expect(sent(action).map(([key]) => key)).toEqual(['k1', 'k3']);
    expect(state()).toMatchObject({ status: 'hasSucceeded', key: 'k3' });
  });

  it('B5 is no matter to a submit that was sent again meanwhile', async () => {
    const [one, other] = [held(), held()];
    const { state, submit, action } = await untilLate(one);
    action.mockImplementationOnce(other.action);
    await isShown();
    void submit(new FormData());
    one.lose();
    await vi.advanceTimersByTimeAsync(0);
    expect(state()).toMatchObject({ status: 'executing', attempt: 2 });
    other.answer(success);
    await vi.advanceTimersByTimeAsync(0);
    expect(state()).toMatchObject({ status: 'hasSucceeded', recovered: false });
  });

  it('B5 is not said where nobody answers: it may be done', async () => {
    nobodyAnswers();
    const form = begin(vi.fn<SubmitAction<string>>(held().action));
    void form.submit(new FormData());
    await vi.advanceTimersByTimeAsync(late + 5000);
    expect(form.state()).toMatchObject({ status: 'unknown', cause: undefined, isPending: false });
  });

  it('B5 is over once the page was left', async () => {
    const form = await untilLate(held());
    form.stop();
    const stop = form.start();
    await vi.advanceTimersByTimeAsync(0);
    expect(form.state()).toMatchObject({ status: 'unknown', cause: 'absent' });
    stop();
  });
});

/** On the disk it is no more. */
class LostFile extends File {
  override stream(): ReturnType<File['stream']> {
    return new ReadableStream({ pull: () => Promise.reject(new DOMException('', 'NotFoundError')) });
  }
}
const lostFile = new LostFile([], 'cat.png');
const file = (content: string) => new File([content], 'cat.png', { lastModified: 1 });

describe('a file that cannot be read', () => {
  onAPage();

  const formWith = (picture: File) => {
    const form = new FormData();
    form.set('picture', picture);
    return form;
  };

  async function sendLostFile() {
    const action = lostAlways();
    const form = begin(action);
    const done = form.submit(formWith(lostFile));
    await vi.advanceTimersByTimeAsync(60_000);
    expect(await done).toEqual(form.state().status === 'hasSucceeded' ? success : null);
    return { ...form, action };
  }

  it('B5 is not tried again: the key is asked about once, and the words say so', async () => {
    statusSays({ state: 'absent' });
    const { state, dispatch, action } = await sendLostFile();
    expect(state()).toMatchObject({ status: 'unknown', cause: 'unreadable', isPending: false });
    expect(action).toHaveBeenCalledTimes(1);
    expect(methods()).toEqual(['GET']);
    dispatch({ type: 'asked', by: 'person' });
    await vi.advanceTimersByTimeAsync(0);
    expect(state()).toMatchObject({ status: 'unknown', cause: 'unreadable' });
  });

  it('B5 does not hide what an earlier attempt has done', async () => {
    statusSays({ state: 'in_progress', retryAfterMs: 500 }, { state: 'succeeded', outcome: success });
    const { state, action } = await sendLostFile();
    expect(state()).toMatchObject({ status: 'hasSucceeded', recovered: true });
    expect(action).toHaveBeenCalledTimes(1);
  });

  it('B5 is said where nobody answers, too', async () => {
    nobodyAnswers();
    expect((await sendLostFile()).state()).toMatchObject({ status: 'unknown', cause: 'unreadable' });
  });

  it('B4 chosen again with other content is another intent: the first key is given up, and asked about in vain it says nothing of files', async () => {
    statusSays({ state: 'absent' });
    const { state, submit, action } = await sendLostFile();
    nobodyAnswers();
    await isShown();
    const waiting = submit(formWith(file('a cat')));
    await vi.advanceTimersByTimeAsync(5000);
    expect(await waiting).toBeNull();
    expect(state()).toMatchObject({ status: 'unknown', key: 'k1', cause: undefined });
    statusSays({ state: 'absent' }, { state: 'abandoned', nextKey: 'k3' });
    action.mockResolvedValueOnce({ ...success, key: 'k3', nextKey: 'k4' });
    await isShown();
    void submit(formWith(file('a cat')));
    await vi.advanceTimersByTimeAsync(0);
    expect(state()).toMatchObject({ status: 'hasSucceeded', key: 'k3' });
    expect(sent(action).map(([key]) => key)).toEqual(['k1', 'k3']);
  });

  it('B4 chosen again as it was goes out under the same key', async () => {
    statusSays({ state: 'absent' });
    const { state, submit, action } = await sendLostFile();
    action.mockResolvedValueOnce(success);
    await isShown();
    void submit(formWith(lostFile));
    await vi.advanceTimersByTimeAsync(0);
    expect(state().status).toBe('hasSucceeded');
    expect(sent(action)).toEqual([
      ['k1', '1'],
      ['k1', '2'],
    ]);
  });

  it.each([
    [true, { lines: [{ picture: lostFile }] }],
    [true, formWith(lostFile)],
    [true, new LostFile(['a cat'], 'cat.png')],
    [false, formWith(file('a cat'))],
    [false, { empty: file(''), none: null, when: new Date(), n: 1n, text: 'cat.png' }],
    [false, undefined],
    [false, Object.defineProperty(file('a cat'), 'stream', { value: undefined })],
  ])('is found wherever it is: %s', async (isLost, values) => {
    expect(await hasUnreadableFile(values)).toBe(isLost);
  });
});

describe('something else that answers in the server’s place', () => {
  onAPage();

  const html = (code: number) => new Response('<h1>Sign in</h1>', { status: code });
  const redirect = () => Object.defineProperty(new Response(), 'type', { value: 'opaqueredirect' });
  /** What is at the other end of a redirect. */
  const leadsTo = (answer: () => Response | Promise<Response>) =>
    status.mockImplementation(async (_, { redirect: mode }) => (mode === 'manual' ? redirect() : answer()));

  async function send(attempts = DEFAULT_POLICY.attempts) {
    const action = lostAlways();
    const form = begin(action, { policy: { ...DEFAULT_POLICY, attempts } });
    const done = form.submit(new FormData());
    await vi.advanceTimersByTimeAsync(30_000);
    expect(await done).toBeNull();
    expect(form.state()).toMatchObject({ status: 'unknown', isPending: false, key: 'k1' });
    return { ...form, action };
  }

  it.each([
    ['a redirect to a page', () => leadsTo(() => html(200))],
    ['a redirect to another origin', () => leadsTo(() => Promise.reject(new TypeError('Failed to fetch')))],
    ['a 401', () => status.mockImplementation(async () => html(401))],
    ['a 403', () => status.mockImplementation(async () => html(403))],
    ['a 511', () => status.mockImplementation(async () => html(511))],
    ['a 401 in JSON', () => status.mockImplementation(async () => Response.json({ code: 401 }, { status: 401 }))],
  ])('B5 is found out behind the second attempt: %s', async (_, play) => {
    play();
    const { state, action, dispatch, submit } = await send();
    expect(state().cause).toBe('elsewhere');
    expect(action).toHaveBeenCalledTimes(2);
    dispatch({ type: 'asked', by: 'person' });
    await vi.advanceTimersByTimeAsync(0);
    expect(state()).toMatchObject({ status: 'unknown', cause: 'elsewhere' });
    statusSays({ state: 'absent' });
    dispatch({ type: 'asked', by: 'person' });
    await vi.advanceTimersByTimeAsync(0);
    expect(state()).toMatchObject({ status: 'unknown', cause: 'absent' });
    action.mockResolvedValueOnce(success);
    await isShown();
    void submit(new FormData());
    await vi.advanceTimersByTimeAsync(0);
    expect(state().status).toBe('hasSucceeded');
    expect(new Set(sent(action).map(([key]) => key))).toEqual(new Set(['k1']));
  });

  it.each([
    ['a redirect to the route', () => leadsTo(() => Response.json({ state: 'absent' }))],
    [
      'a refusal of ours',
      () =>
        status.mockImplementation(async () =>
          Response.json(refuse('unauthorized', { executed: false }), { status: 401 }),
        ),
    ],
    ['no status route', () => status.mockImplementation(async () => html(404))],
    ['no network', nobodyAnswers],
  ])('B5 is not what this is: %s', async (_, play) => {
    play();
    const { state, action } = await send();
    expect(state().cause).toBeUndefined();
    expect(action).toHaveBeenCalledTimes(DEFAULT_POLICY.attempts);
  });

  it.each([1, 3])('B5 is found out behind the last one of %i attempts', async (attempts) => {
    for (let n = 1; n < attempts - 1; n++) status.mockResolvedValueOnce(Response.json({ state: 'absent' }));
    status.mockImplementation(async () => html(403));
    const { state, action } = await send(attempts);
    expect(state().cause).toBe('elsewhere');
    expect(action).toHaveBeenCalledTimes(attempts);
  });

  it('B5 that is gone by the time that it is asked about leaves the submit to go on', async () => {
    status.mockResolvedValueOnce(html(401));
    statusSays({ state: 'absent' });
    const { action } = await send();
    expect(action).toHaveBeenCalledTimes(DEFAULT_POLICY.attempts);
  });

  it('B5 is said by a page that is loaded again, and by a check that an edit has begun', async () => {
    status.mockImplementation(async () => html(511));
    const before = await send();
    before.stop();
    const again = begin(before.action);
    await vi.advanceTimersByTimeAsync(0);
    expect(again.state()).toMatchObject({ status: 'unknown', key: 'k1', cause: 'elsewhere' });
    again.dispatch({ type: 'edited' });
    await vi.advanceTimersByTimeAsync(0);
    expect(again.state()).toMatchObject({ status: 'unknown', key: 'k1', cause: 'elsewhere' });
    again.stop();
  });
});
