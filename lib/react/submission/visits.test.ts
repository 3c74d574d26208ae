import { beforeEach, describe, expect, it, vi } from 'vitest';
import { uuidV7 } from '../../core/issued-key.ts';
import type { Outcome } from '../../core/outcome.ts';
import type { SubmitAction } from '../idempotent-submit.ts';
import type { KeyRecord } from './storage.ts';
import { begin, held, onAPage, records, sent, status, statusSays, wires } from './submission.fixture.ts';

const SETTLED_AT = Date.now();
const FIRST = uuidV7(SETTLED_AT - 1000);
const FRESH = uuidV7(SETTLED_AT + 1000);
const NEXT = uuidV7(SETTLED_AT + 2000);

const done: Outcome<string> = { ok: true, data: 'order 1', replayed: true, key: FIRST, nextKey: NEXT };
const answer = { state: 'succeeded', outcome: done, redirect: '/orders/1', settledAt: new Date(SETTLED_AT) };

/** Leaves in storage what it holds of a key that an earlier page has sent. */
function left(more: Partial<KeyRecord> = {}): void {
  const facts = { version: 1, key: FIRST, intent: 'checkout:1', state: 'executing', submittedAt: Date.now() } as const;
  records.write('checkout:1', { ...facts, entry: 'form', ...more });
}

/** The page is at this entry of the browser's history. */
const standAt = (key: string) => Object.assign(wires, { navigation: { currentEntry: { key } } });
const redirect = () =>
  Promise.reject(Object.assign(new Error('redirect'), { digest: 'NEXT_REDIRECT;push;/orders/1;303;' }));
const visit = (action: SubmitAction<string> = vi.fn()) => begin(action, { initialKey: FRESH });
const form = (name: string) => {
  const values = new FormData();
  values.set('name', name);
  return values;
};
/** The status route has been asked, and has answered. */
const asked = () => vi.advanceTimersByTimeAsync(0);
const routerGoes = (to: string) => {
  vi.stubGlobal('location', { ...location, href: to });
  vi.stubGlobal('history', { state: {} });
};
const told = { status: 'hasSucceeded', recovered: true, redirect: '/orders/1', key: FIRST };
const free = { status: 'idle', key: FRESH, attempt: 0, doubt: false, result: null };

describe('a page whose key was made after the end of what is on record', () => {
  onAPage();
  beforeEach(() => {
    standAt('again');
    statusSays(answer);
  });

  it('B4 begins anew, under its own key, once the status route has said so', async () => {
    left();
    const { state } = visit();
    expect(state()).toMatchObject({ status: 'checking', key: FIRST });
    await asked();
    expect(state()).toMatchObject(free);
    expect(records.read('checkout:1')).toBeNull();
    expect(status).toHaveBeenCalledTimes(1);
  });

  it('B4 tells what became of it where the key was made before that', async () => {
    statusSays({ ...answer, settledAt: new Date(SETTLED_AT + 1500) });
    left();
    const { state } = visit();
    await asked();
    expect(state()).toMatchObject(told);
  });

  it('B4 tells what was still under way when the page asked, whatever the two clocks say', async () => {
    statusSays({ state: 'in_progress', retryAfterMs: 200, nextKey: NEXT }, answer);
    left();
    const { state, dispatch } = visit();
    await asked();
    dispatch({ type: 'edited' });
    await vi.advanceTimersByTimeAsync(300);
    expect(state()).toMatchObject(told);
  });

  it('B4 tells it where the server does not say when that was', async () => {
    statusSays({ ...answer, settledAt: undefined });
    left();
    const { state } = visit();
    await asked();
    expect(state()).toMatchObject(told);
  });

  it("tells it where the page's own key tells no time: one of the caller's own, as of a thing", async () => {
    const own = '507f1f77bcf86cd799439011';
    left({ key: own });
    const { state } = begin(vi.fn(), { initialKey: own });
    await asked();
    expect(state()).toMatchObject({ ...told, key: own });
  });

  it("tells what another tab has done where the page's own key tells no time", async () => {
    const { state, dispatch } = begin(vi.fn(), { initialKey: 'e7f1c9a0-5d0e-4b1c-9f5e-2a6f0c1d2e3f' });
    dispatch({ type: 'otherTabSettled', key: FIRST });
    await asked();
    expect(state()).toMatchObject(told);
  });

  it('B5 tells it where the page was loaded again, or gone back to, though a reload makes a later key', async () => {
    standAt('form');
    left();
    const { state } = visit();
    await asked();
    expect(state()).toMatchObject(told);
  });

  it.each(['reload', 'back_forward', 'navigate'])(
    'without a history of entries goes by how the page was loaded: %s',
    async (type) => {
      Object.assign(wires, { navigation: undefined });
      vi.stubGlobal('performance', { ...performance, getEntriesByType: () => [{ type }] });
      left();
      const { state } = visit();
      await asked();
      expect(state()).toMatchObject(type === 'navigate' ? free : told);
    },
  );

  it('B5 tells whom it has left in doubt', async () => {
    left({ state: 'unknown' });
    const { state } = visit();
    await asked();
    expect(state()).toMatchObject(told);
  });

  it('begins anew for a person who types while it is found out', async () => {
    left();
    const { state, dispatch } = visit();
    dispatch({ type: 'edited' });
    await asked();
    expect(state()).toMatchObject(free);
  });

  it('B2 lets what is submitted meanwhile wait, and sends it once', async () => {
    left();
    const action = vi.fn<SubmitAction<string>>(async () => ({ ...done, key: FRESH }));
    const page = visit(action);
    const [first, second] = [page.submit(form('tea')), page.submit(form('tea'))];
    await asked();
    expect([await first, await second]).toEqual([null, expect.objectContaining({ ok: true })]);
    expect(sent(action)).toEqual([[FRESH, '1']]);
  });

  it('sends nothing that was submitted meanwhile where it was not a visit', async () => {
    standAt('form');
    left();
    const action = vi.fn<SubmitAction<string>>();
    const page = visit(action);
    const submitted = page.submit(form('tea'));
    await asked();
    expect(await submitted).toBeNull();
    expect(page.state()).toMatchObject(told);
    expect(action).not.toHaveBeenCalled();
  });

  it('tells it rather than to begin under the key that is on record, where an older one has answered it', async () => {
    // A second key for a thing: the row is of the first one, which is older than the page.
    statusSays({ state: 'absent', nextKey: NEXT, by: 'first-of-its-thing' }, answer);
    left({ key: FRESH });
    const { state } = visit();
    await asked();
    expect(state()).toMatchObject({ ...told, key: FRESH });
  });

  it('B2 lets nobody wait for a page that has gone', async () => {
    left();
    const page = visit();
    page.stop();
    expect(await Promise.race([page.submitByCode(form('tea')), asked().then(() => 'waits')])).toBeNull();
  });

  it.each([{ currentEntry: { key: 'form' } }, undefined])(
    'B4 tells who edits what this page has sent, though it was rendered again since: %j',
    async (navigation) => {
      Object.assign(wires, { navigation });
      vi.stubGlobal('performance', { ...performance, getEntriesByType: () => [{ type: 'navigate' }] });
      const page = begin(held().action, { initialKey: FIRST });
      void page.submit(form('tea'));
      page.settings().initialKey = FRESH;
      page.dispatch({ type: 'edited', isSubmitted: true });
      await asked();
      expect(page.state()).toMatchObject(told);
    },
  );

  it('tells no other tab once more what has ended before: it would take the words of a refusal there', async () => {
    const heard = vi.fn();
    class Channel {
      postMessage = heard;
      close() {}
    }
    vi.stubGlobal('window', Object.assign(wires, { BroadcastChannel: Channel }));
    left();
    const { state } = visit();
    await asked();
    expect(state()).toMatchObject(free);
    expect(heard).not.toHaveBeenCalled();
  });

  it('begins anew behind a refusal, too', async () => {
    const refusal = { ok: false, code: 'failed', message: 'Declined.', retry: 'new-key', executed: false, key: FIRST };
    statusSays({ ...answer, state: 'failed', outcome: refusal });
    left();
    const { state } = visit();
    await asked();
    expect(state()).toMatchObject(free);
  });

  it('notes down from which page it was sent, also where that is sent before the second part listens', async () => {
    const first = held();
    const page = begin(first.action, { initialKey: FIRST });
    void page.submit(form('tea'));
    await asked();
    expect(records.read('checkout:1')).toMatchObject({ key: FIRST, state: 'executing', entry: 'again' });
  });

  it('keeps nothing of one key for the next one', async () => {
    left({ entry: 'elsewhere' });
    const next = held();
    const page = visit(next.action);
    await asked();
    void page.submit(form('tea'));
    await asked();
    expect(records.read('checkout:1')).toMatchObject({ key: FRESH, entry: 'again' });
  });
});

describe('a form that is still there when its answer has led elsewhere', () => {
  onAPage();
  beforeEach(() => {
    standAt('form');
    statusSays(answer);
  });

  it('B2 waits for the router, then says that it went through, and takes other values', async () => {
    const action = vi.fn<SubmitAction<string>>().mockImplementationOnce(redirect).mockResolvedValue(done);
    const onSettled = vi.fn();
    const page = begin(action, { initialKey: FIRST, onSettled });
    await page.submit(form('tea'));
    await vi.advanceTimersByTimeAsync(5000);
    expect(page.state()).toMatchObject({ status: 'hasNavigated' });
    expect(status).not.toHaveBeenCalled();
    routerGoes('http://localhost/orders/1');
    await vi.advanceTimersByTimeAsync(200);
    expect(page.state()).toMatchObject({ status: 'hasSucceeded', recovered: false, result: null, nextKey: NEXT });
    expect(onSettled).not.toHaveBeenCalled();
    await page.submit(form('tea'));
    expect(page.state()).toMatchObject({ canSendAgain: true });
    await page.submit(form('milk'));
    expect(sent(action)).toEqual([
      [FIRST, '1'],
      [NEXT, '1'],
    ]);
  });

  it('asks where it was led to the page on which it stands', async () => {
    const page = begin(redirect, { initialKey: FIRST });
    await page.submit(form('tea'));
    vi.stubGlobal('history', { state: {} });
    await vi.advanceTimersByTimeAsync(60);
    expect(page.state()).toMatchObject({ status: 'hasSucceeded' });
  });

  it('asks at once where a link was followed meanwhile', async () => {
    const page = begin(redirect, { initialKey: FIRST });
    const submitted = page.submit(form('tea'));
    vi.stubGlobal('location', { ...location, href: 'http://localhost/elsewhere' });
    await submitted;
    await vi.advanceTimersByTimeAsync(60);
    expect(page.state()).toMatchObject({ status: 'hasSucceeded' });
  });

  it('B5 says that nothing has come of it where it was led to sign in first, and sends the same key', async () => {
    statusSays({ state: 'absent', nextKey: NEXT });
    const action = vi.fn<SubmitAction<string>>().mockImplementationOnce(redirect).mockResolvedValue(done);
    const page = begin(action, { initialKey: FIRST });
    await page.submit(form('tea'));
    routerGoes('http://localhost/sign-in');
    await vi.advanceTimersByTimeAsync(200);
    expect(page.state()).toMatchObject({ status: 'unknown', cause: 'absent', isPending: false });
    await page.submit(form('tea'));
    expect(sent(action)).toEqual([
      [FIRST, '1'],
      [FIRST, '2'],
    ]);
  });

  it('asks nothing where it goes with its page', async () => {
    const page = begin(redirect, { initialKey: FIRST });
    await page.submit(form('tea'));
    routerGoes('http://localhost/orders/1');
    page.stop();
    await vi.advanceTimersByTimeAsync(5000);
    expect(status).not.toHaveBeenCalled();
    expect(records.read('checkout:1')).toMatchObject({ state: 'executing', entry: 'form' });
  });
});

/** Shown again by a link, with what was entered: Next keeps the last pages, hidden, with `cacheComponents`. */
describe('a page that was kept', () => {
  onAPage();
  beforeEach(() => {
    standAt('form');
    statusSays(answer);
  });

  it.each(['milk', 'tea'])('B2 sends once what is submitted while it asks: %s behind tea', async (name) => {
    const action = vi.fn<SubmitAction<string>>().mockImplementationOnce(redirect).mockResolvedValue(done);
    const page = begin(action, { initialKey: FIRST });
    await page.submit(form('tea'));
    page.stop();
    standAt('again');
    page.settings().initialKey = FRESH;
    page.start();
    expect(page.state()).toMatchObject({ status: 'checking', by: 'shown' });
    const submitted = page.submit(form(name));
    await asked();
    await submitted;
    expect(sent(action)).toEqual([
      [FIRST, '1'],
      [FRESH, '1'],
    ]);
  });
});
