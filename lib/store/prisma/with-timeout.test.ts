import { expect, test } from 'vitest';
import { withTimeout } from './with-timeout.ts';

test('what answers in time is passed on, a rejection too', async () => {
  expect(await withTimeout(Promise.resolve('answer'), 10_000)).toBe('answer');
  await expect(withTimeout(Promise.reject(new Error('no')), 10_000)).rejects.toThrow('no');
});

test('silence ends in an error that says so', async () => {
  await expect(withTimeout(new Promise(() => {}), 5)).rejects.toThrow('did not answer within 5 ms');
});
