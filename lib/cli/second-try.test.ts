import { expect, test, vi } from 'vitest';
import { StoreUnavailableError } from '../store/store.ts';
import { withSecondTry } from './second-try.ts';

const late = () => new StoreUnavailableError('The database did not answer within 3000 ms.');

test('a database that could not be asked is asked once more', async () => {
  const ask = vi.fn().mockRejectedValueOnce(late()).mockResolvedValueOnce('answer');
  expect(await withSecondTry(ask)).toBe('answer');
});

test('not a third time', async () => {
  const ask = vi.fn().mockRejectedValue(late());
  await expect(withSecondTry(ask)).rejects.toThrow('did not answer');
  expect(ask).toHaveBeenCalledTimes(2);
});

test('any other error is passed on at once', async () => {
  const ask = vi.fn().mockRejectedValue(new Error('no such table'));
  await expect(withSecondTry(ask)).rejects.toThrow('no such table');
  expect(ask).toHaveBeenCalledTimes(1);
});
