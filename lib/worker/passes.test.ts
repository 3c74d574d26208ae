import { expect, test, vi } from 'vitest';
import { StoreUnavailableError } from '../store/store.ts';
import { complete, type Driven, line, reap } from './passes.ts';

/** Hands out the given batches, each as [taken, unfinished], then empty ones. */
function driven(...batches: [number, number][]) {
  const completeDue = vi.fn<Driven['completeDue']>(async () => {
    const [taken, unfinished] = batches.shift() ?? [0, 0];
    return { taken, settled: taken - unfinished, unknown: 0, unfinished };
  });
  const reaper = vi.fn<Driven['reap']>(async () => 7);
  return { completeDue, reap: reaper };
}

test('the completer takes batch after batch while there is something to take', async () => {
  const idempotency = driven([3, 0], [3, 1], [1, 0], [0, 0], [3, 0]);
  expect(await complete(idempotency, { limit: 3 })).toEqual({ taken: 7, settled: 6, unknown: 0, unfinished: 1 });
  expect(idempotency.completeDue.mock.calls).toEqual(Array.from({ length: 4 }, () => [{ limit: 3 }]));
});

test('a full batch that got nowhere ends the pass', async () => {
  const idempotency = driven([3, 3], [3, 3]);
  expect(await complete(idempotency, { limit: 3 })).toMatchObject({ taken: 3, unfinished: 3 });
});

test('`until` ends a pass between batches, and is not what breaks one off', async () => {
  const until = new AbortController();
  const idempotency = driven([3, 0], [3, 0]);
  const { signal } = new AbortController();
  idempotency.completeDue.mockImplementationOnce(async (options) => {
    expect(options).toEqual({ limit: 3, signal });
    until.abort();
    return { taken: 3, settled: 3, unknown: 0, unfinished: 0 };
  });
  expect(await complete(idempotency, { limit: 3, until: until.signal, signal })).toMatchObject({ taken: 3 });
  expect(signal.aborted).toBe(false);
});

test('`signal` reaches the batch and ends the pass', async () => {
  const idempotency = driven([3, 0], [3, 0]);
  const signal = AbortSignal.abort();
  expect(await complete(idempotency, { limit: 3, signal })).toMatchObject({ taken: 0 });
  expect(idempotency.completeDue).not.toHaveBeenCalled();
});

test.each(['until', 'signal'])('the reaper stops between batches for `%s`', async (which) => {
  const idempotency = driven();
  const stop = new AbortController();
  expect(await reap(idempotency, { [which]: stop.signal })).toEqual({ deleted: 7 });
  stop.abort();
  expect(idempotency.reap.mock.calls[0]?.[0]?.signal?.aborted).toBe(true);
});

test('what one part of the reaper throws is thrown as it is, and of several each is told, in a line', async () => {
  const [one, two] = [new Error('Invalid invocation:\n\ndenied'), new Error('denied')];
  const failing = (error: Error) => ({
    ...driven(),
    relayDue: vi.fn(),
    retryDue: vi.fn(),
    reap: vi.fn().mockRejectedValue(error),
  });
  await expect(reap(failing(one))).rejects.toBe(one);
  const inbox = failing(new Error('not asked'));
  const error = await reap({ ...failing(one), outbox: { ...failing(two), destinations: [] }, inbox }).catch(
    (error) => error,
  );
  expect(error).toMatchObject({ name: 'AggregateError', message: 'denied; denied; not asked' });
  expect(error.errors.slice(0, 2)).toEqual([one, two]);
  expect(one.message).toBe('Invalid invocation:\n\ndenied');
});

test.each(['keys', 'outbox', 'inbox'])(
  'P6 where the database has no answer in time for the reaper of the %s, the others have their turn',
  async (which) => {
    const reaper = (name: string) => ({
      ...driven(),
      destinations: [],
      relayDue: vi.fn(),
      retryDue: vi.fn(),
      reap: vi.fn(async () => {
        if (name === which) throw new StoreUnavailableError('The database did not answer within 60000 ms.');
        return 7;
      }),
    });
    const [keys, outbox, inbox] = [reaper('keys'), reaper('outbox'), reaper('inbox')];
    await expect(reap({ ...keys, outbox, inbox })).rejects.toThrow(StoreUnavailableError);
    for (const { reap } of [keys, outbox, inbox]) expect(reap).toHaveBeenCalledTimes(1);
  },
);

test('a pass is one line of figures', async () => {
  expect(line('complete', await complete(driven([2, 1])))).toBe(
    'complete: 2 taken, 1 settled, 0 unknown, 1 unfinished',
  );
  expect(line('reap', await reap(driven()))).toBe('reap: 7 deleted');
});
