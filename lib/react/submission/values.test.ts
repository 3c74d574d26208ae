import { describe, expect, it, vi } from 'vitest';
import type { Outcome } from '../../core/outcome.ts';
import type { SubmitAction } from '../idempotent-submit.ts';
import { success } from './machine.fixture.ts';
import { begin, onAPage, status } from './submission.fixture.ts';

const ok = (key: string): Outcome<string> => ({ ...success, key, nextKey: `${key}+` }) as never;

describe('values from code, one after the other', () => {
  onAPage();

  it('a loop over rows goes on behind an unmount, and ends', async () => {
    status.mockImplementation(async () => Response.json({ state: 'absent' }));
    const action = vi.fn<SubmitAction<string>>(() => new Promise(() => {}));
    const { submitByCode, stop } = begin(action);
    const ended: unknown[] = [];
    void (async () => {
      for (const row of ['tea', 'coffee']) {
        const form = new FormData();
        form.set('row', row);
        ended.push(await submitByCode(form));
      }
    })();
    await vi.advanceTimersByTimeAsync(10);
    stop();
    await vi.advanceTimersByTimeAsync(120_000);
    expect(ended).toEqual([null, null]);
  });

  it('values in another order, or without what is undefined, are the same', async () => {
    const action = vi.fn(async (_: unknown, call: { key: string }) => ok(call.key));
    const { submitByCode } = begin(action as never);
    const first = { sku: 'mug', quantity: 1, note: undefined };
    await submitByCode(first);
    await submitByCode({ quantity: 1, sku: 'mug' });
    expect(action).toHaveBeenCalledTimes(1);
  });

  it.each([
    [{ n: null }, { n: Number.NaN }],
    [{ n: 1n }, { n: '1n' }],
    [{ n: new Date(0) }, { n: new Date(0).toISOString() }],
    [{ n: new Blob(['a'], { type: 'x/y' }) }, { n: new Blob(['b'], { type: 'x/y' }) }],
    [{ list: [1, undefined] }, { list: [1, null] }],
  ])('%o and %o are different values', async (one, other) => {
    const action = vi.fn(async (_: unknown, call: { key: string }) => ok(call.key));
    const { submitByCode } = begin(action as never);
    await submitByCode(one);
    await submitByCode(other);
    expect(action).toHaveBeenCalledTimes(2);
  });

  it('a change of the values that were given is no change of what was sent', async () => {
    const action = vi.fn(async (_: unknown, call: { key: string }) => ok(call.key));
    const { submitByCode } = begin(action as never);
    const draft = { quantity: 1 };
    await submitByCode(draft);
    draft.quantity = 2;
    await submitByCode(draft);
    expect(action).toHaveBeenCalledTimes(2);
  });
});
