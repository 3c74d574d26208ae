import vm from 'node:vm';
import { describe, expect, test } from 'vitest';
import { isPromised, proceed } from './wait.ts';

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
