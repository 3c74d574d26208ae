import { expect, test } from 'vitest';
import { isFresh, mayChange } from './preconditions.ts';

test.each([
  ['"a"', true],
  ['*', true],
  [' * ', true],
  ['"b", "a"', true],
  ['"b,c","a"', true],
  ['"b"', false],
  ['W/"a"', false],
  ['W/"b", W/"a"', false],
  ['a', false],
  ['', false],
  ['"b, \\"a\\""', false],
])('If-Match: %s changes "a": %s', (header, may) => {
  expect(mayChange(header, '"a"')).toBe(may);
});

test.each([
  [null, false],
  ['*', true],
  ['"a"', true],
  ['W/"a"', true],
  ['"b", W/"a"', true],
  ['"b"', false],
  ['a', false],
])('If-None-Match: %s has "a": %s', (header, fresh) => {
  expect(isFresh(header, '"a"')).toBe(fresh);
});
