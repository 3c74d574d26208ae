import { expect, test } from 'vitest';
import { type Upcasts, upcastData } from './upcast.ts';

const upcasts: Upcasts = {
  1: (name: string) => [name],
  2: (names: string[]) => ({ names }),
  4: () => {
    throw 'no luck';
  },
};
const lead = (from: number, to: number) => {
  const failures: unknown[] = [];
  const errorOf = (...failure: unknown[]) => {
    failures.push(failure);
    return new Error('failed');
  };
  try {
    return upcastData('Ada', { from, to, upcasts }, errorOf);
  } catch {
    return failures;
  }
};

test('leads from version to version, and leaves what is of this one', () => {
  expect(lead(1, 3)).toEqual({ names: ['Ada'] });
  expect(lead(2, 3)).toEqual({ names: 'Ada' });
  expect(lead(3, 3)).toBe('Ada');
});

test('says at which version there is no way, and what was thrown there', () => {
  expect(lead(1, 4)).toEqual([[3]]);
  expect(lead(4, 5)).toEqual([[4, { cause: 'no luck' }]]);
});
