import { expect, test } from 'vitest';
import { bounded } from './with-timeout.ts';

test('what answers in time is passed on, a rejection too', async () => {
  expect(await bounded(Promise.resolve('answer'), 10_000)).toBe('answer');
  await expect(bounded(Promise.reject(new Error('no')), 10_000)).rejects.toThrow('no');
});

test('silence ends in an error that says so', async () => {
  await expect(bounded(new Promise(() => {}), 5)).rejects.toThrow('did not answer within 5 ms');
});
