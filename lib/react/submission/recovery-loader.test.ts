import { afterEach, describe, expect, it, vi } from 'vitest';
import { uuidV7 } from '../../core/issued-key.ts';
import type { SubmitAction } from '../idempotent-submit.ts';
import { success } from './machine.fixture.ts';
import { initialState } from './machine.ts';
import { openRecords } from './storage.ts';
import { onAPage, status, statusSays, wires } from './submission.fixture.ts';

const LOST = new TypeError('Failed to fetch');

/** A form on a page for which the part that comes later cannot be had, until `arrive`. */
async function isolated(action: SubmitAction<string>, initialKey = 'k1', load?: Promise<void>) {
  const deferred = await import('./recovery-loader.ts');
  const recovery = await import('../recovery/recovery.ts');
  let hasArrived = false;
  vi.resetModules();
  vi.doMock('./recovery-loader.ts', () => ({
    ...deferred,
    get recoveryModule() {
      return hasArrived ? recovery : undefined;
    },
    loadRecovery: async () => await load,
  }));
  const { createSubmission } = await import('./submission.ts');
  const settings = { intent: 'checkout:1', initialKey, action, records: openRecords('memory'), rethrow: () => {} };
  const submission = createSubmission(initialState<string>(initialKey, null), () => settings);
  const stop = submission.start();
  return {
    ...submission,
    stop,
    arrive() {
      hasArrived = true;
      window.dispatchEvent(new Event('online'));
    },
  };
}

describe('while the part that goes on after a loss has not come', () => {
  onAPage();
  afterEach(() => {
    vi.doUnmock('./recovery-loader.ts');
    vi.resetModules();
  });

  it('a form that hears its answer needs nothing else', async () => {
    const form = await isolated(async () => success);
    expect(await form.submit(new FormData())).toEqual(success);
    expect(form.state().status).toBe('hasSucceeded');
    form.stop();
  });

  it('a lost answer leaves it to the person, with the key on record, and is asked for once the part is there', async () => {
    vi.useRealTimers();
    const action = vi.fn<SubmitAction<string>>().mockRejectedValue(LOST);
    const form = await isolated(action);
    expect(await form.submit(new FormData())).toBeNull();
    expect(form.state()).toMatchObject({ status: 'unknown', isPending: false, key: 'k1' });
    expect(openRecords('memory').read('checkout:1')).toMatchObject({ state: 'unknown', key: 'k1' });
    form.dispatch({ type: 'asked', by: 'person' });
    await new Promise((go) => setTimeout(go));
    expect(form.state()).toMatchObject({ status: 'unknown', isPending: false });
    expect(status).not.toHaveBeenCalled();

    statusSays({ state: 'succeeded', outcome: success });
    form.arrive();
    await vi.waitFor(() => expect(form.state()).toMatchObject({ status: 'hasSucceeded', recovered: true }));
    expect(action, 'nothing was sent again').toHaveBeenCalledTimes(1);
    form.stop();
  });

  it('B5 a form that was sent offline goes out once more by itself when the network and the part are there', async () => {
    vi.useRealTimers();
    const action = vi.fn<SubmitAction<string>>(async () => success).mockRejectedValueOnce(LOST);
    const form = await isolated(action);
    expect(await form.submit(new FormData())).toBeNull();
    expect(form.state()).toMatchObject({ status: 'unknown', isPending: false, key: 'k1' });
    window.dispatchEvent(new Event('online')); // the part cannot be had yet
    form.arrive();
    await vi.waitFor(() => expect(form.state()).toMatchObject({ status: 'hasSucceeded', recovered: false }));
    expect(action.mock.calls.map(([, sent]) => sent.get('idempotency_key'))).toEqual(['k1', 'k1']);
    expect(status, 'there was nothing to ask').not.toHaveBeenCalled();
    form.stop();
  });

  it('A2 what was edited since is not sent by itself', async () => {
    vi.useRealTimers();
    const action = vi.fn<SubmitAction<string>>(async () => success).mockRejectedValueOnce(LOST);
    const form = await isolated(action);
    await form.submit(new FormData());
    form.dispatch({ type: 'edited' });
    statusSays({ state: 'in_progress', retryAfterMs: 60_000 });
    form.arrive();
    await vi.waitFor(() => expect(status).toHaveBeenCalled());
    expect(action).toHaveBeenCalledTimes(1);
    form.stop();
  });

  it('A2 what was edited before the answer was lost is not sent by itself', async () => {
    vi.useRealTimers();
    let lose = (_: Error) => {};
    const action = vi.fn<SubmitAction<string>>(() => new Promise((_, reject) => (lose = reject)));
    const form = await isolated(action);
    const submitted = form.submit(new FormData());
    await vi.waitFor(() => expect(action).toHaveBeenCalled());
    form.dispatch({ type: 'edited' });
    await vi.waitFor(() => expect(form.state()).toMatchObject({ status: 'unknown' }));
    lose(LOST);
    await submitted;
    statusSays({ state: 'in_progress', retryAfterMs: 60_000 });
    form.arrive();
    await vi.waitFor(() => expect(status).toHaveBeenCalled());
    expect(action).toHaveBeenCalledTimes(1);
    form.stop();
  });

  it('B2 a submit on a page that asks waits for the answer, and for the part that hears it', async () => {
    vi.useRealTimers();
    const [first, own] = [uuidV7(Date.now() - 60_000), uuidV7(Date.now())];
    const record = { version: 1, key: first, intent: 'checkout:1', state: 'executing', entry: 'form' } as const;
    openRecords('memory').write('checkout:1', { ...record, submittedAt: Date.now() });
    Object.assign(wires, { navigation: { currentEntry: { key: 'again' } } });
    statusSays({ state: 'succeeded', outcome: success, settledAt: new Date(Date.now() - 30_000) });
    const action = vi.fn<SubmitAction<string>>(async () => success);
    let arrived = () => {};
    const load = new Promise<void>((resolve) => (arrived = resolve));
    const form = await isolated(action, own, load);
    const submitted = form.submit(new FormData());
    form.arrive();
    arrived();
    await submitted;
    expect(action.mock.calls.map(([, sent]) => sent.get('idempotency_key'))).toEqual([own]);
    form.stop();
  });

  it('B5 tells who goes back to the page, though it was left before the part had come', async () => {
    const first = uuidV7(Date.now());
    Object.assign(wires, { navigation: { currentEntry: { key: 'form' } } });
    const redirect = Object.assign(new Error('redirect'), { digest: 'NEXT_REDIRECT;push;/orders/1;303;' });
    const left = await isolated(() => Promise.reject(redirect), first);
    await left.submit(new FormData());
    expect(left.state()).toMatchObject({ status: 'hasNavigated', key: first });
    left.stop();
    // Back, in the same document, to a page that the server renders anew.
    vi.useRealTimers();
    statusSays({ state: 'succeeded', outcome: success, settledAt: new Date(Date.now() + 1000) });
    const back = await isolated(async () => success, uuidV7(Date.now() + 2000));
    back.arrive();
    await vi.waitFor(() => expect(status).toHaveBeenCalled());
    await vi.waitFor(() => expect(back.state()).toMatchObject({ isPending: false }));
    expect(back.state()).toMatchObject({ status: 'hasSucceeded', recovered: true });
    back.stop();
  });

  it('B2 a form that was led to its own page before the part had come can be used again', async () => {
    const redirect = Object.assign(new Error('redirect'), { digest: 'NEXT_REDIRECT;push;/;303;' });
    const form = await isolated(() => Promise.reject(redirect), uuidV7(Date.now()));
    await form.submit(new FormData());
    vi.stubGlobal('history', { state: {} }); // the router has gone
    vi.useRealTimers();
    vi.stubGlobal('requestAnimationFrame', (draw: () => void) => setTimeout(draw));
    statusSays({ state: 'succeeded', outcome: success });
    form.arrive();
    await vi.waitFor(() => expect(form.state()).toMatchObject({ status: 'hasSucceeded' }));
    form.stop();
  });

  it('a page that comes back to an open key keeps it, and locks until the person decides', async () => {
    vi.useRealTimers();
    const record = {
      version: 1,
      key: 'k0',
      intent: 'checkout:1',
      state: 'executing',
      submittedAt: Date.now(),
    } as const;
    openRecords('memory').write('checkout:1', record);
    const form = await isolated(async () => success);
    expect(form.state()).toMatchObject({ status: 'checking', isPending: true, key: 'k0' });
    await vi.waitFor(() => expect(form.state()).toMatchObject({ status: 'unknown', isPending: false, key: 'k0' }));
    expect(openRecords('memory').read('checkout:1')).toMatchObject({ key: 'k0' });
    form.stop();
  });
});
