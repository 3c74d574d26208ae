import vm from 'node:vm';
import { describe, expect, test } from 'vitest';
import { isPromised, proceed, settleWithin, untilAborted } from './wait.ts';

const thenable = vm.runInNewContext('({ then(tell) { tell(1); } })');

describe('what may have to be waited for', () => {
  test.each([
    ['a promise', Promise.resolve(1)],
    ['a promise of another realm', vm.runInNewContext('Promise.resolve(1)')],
    ['what await would wait for, too', thenable],
  ])('%s has', async (_, value) => {
    expect(isPromised(value)).toBe(true);
    expect(await value).toBe(1);
    expect(await proceed(value as PromiseLike<number>, (one) => one + 1)).toBe(2);
  });

  test.each([[undefined], [null], [0], [''], [{}], [JSON.parse('{"then":1}')]])('%j has not', (value) => {
    expect(isPromised(value)).toBe(false);
    expect(proceed(value, (same) => [same])).toEqual([value]);
  });
});

describe('a wait with a limit', () => {
  const never = new Promise<never>(() => {});

  test('gives what comes in time, or what came wrong, and leaves no timer behind', async () => {
    const before = timers();
    expect(await settleWithin(Promise.resolve(1), 60_000, () => 'late')).toBe(1);
    await expect(settleWithin(Promise.reject(new Error('gone')), 60_000, () => 'late')).rejects.toThrow('gone');
    expect(timers()).toBe(before);
  });

  test('ends after its time in what it is told, or throws that', async () => {
    const started = performance.now();
    expect(await settleWithin(never, 30, () => 'late')).toBe('late');
    expect(performance.now() - started).toBeGreaterThanOrEqual(29);
    const thrown = settleWithin(never, 1, () => {
      throw new Error('late');
    });
    await expect(thrown).rejects.toThrow('late');
  });

  test.each([2 ** 31, Number.POSITIVE_INFINITY])('of %d ms is not over at once', async (ms) => {
    const later = new Promise((resolve) => setTimeout(resolve, 20, 'in time'));
    expect(await settleWithin(later, ms, () => 'late')).toBe('in time');
  });

  test.each([true, false])('keeps its process alive: %s', (keepsAlive) => {
    const before = timers();
    void settleWithin(never, 50, () => 'late', { keepsAlive });
    expect(timers() - before).toBe(keepsAlive ? 1 : 0); // Node lists what keeps it alive
  });
});

describe('work under a signal', () => {
  test('ends with the signal, whether the work hears it or not', async () => {
    const controller = new AbortController();
    const work = untilAborted(controller.signal, () => new Promise(() => {}));
    controller.abort(new Error('enough'));
    await expect(work).rejects.toThrow('enough');
  });

  test('is not begun behind it', async () => {
    let isBegun = false;
    const work = untilAborted(AbortSignal.abort(new Error('enough')), async () => {
      isBegun = true;
    });
    await expect(work).rejects.toThrow('enough');
    expect(isBegun).toBe(false);
  });

  test('gives its result', async () => {
    expect(await untilAborted(new AbortController().signal, async () => 1)).toBe(1);
  });
});

function timers(): number {
  return process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
}
