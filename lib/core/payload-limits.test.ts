import { describe, expect, test } from 'vitest';
import { MAX_ITEMS, unfitValue, VALUES_PER_ITEM } from './payload-limits.ts';

const rows = (length: number, each: unknown = {}) => Array.from({ length }, () => each);
const most = MAX_ITEMS * VALUES_PER_ITEM;

describe('X4 what a schema is asked about', () => {
  test.each<[string, unknown]>([
    ['as long a list as may be', { lines: rows(MAX_ITEMS) }],
    ['a map of as many', new Map(rows(MAX_ITEMS).map((_, n) => [n, n]))],
    ['as many values as may be', rows(10, rows(MAX_ITEMS - 1, 1))],
    ['a file', new File(['x'], 'a')],
    ['nothing', undefined],
    ['a name of every object', { constructor: 1, toString: 2 }],
  ])('%s', (_, value) => {
    expect(unfitValue(value, MAX_ITEMS)).toBeUndefined();
  });

  test.each<[string, unknown, string]>([
    ['a list of one more', { a: [{ lines: rows(MAX_ITEMS + 1) }] }, 'at most 1000'],
    ['a map of one more', new Map(rows(MAX_ITEMS + 1).map((_, n) => [n, n])), 'at most 1000'],
    ['a set of one more', new Set(rows(MAX_ITEMS + 1).map((_, n) => n)), 'at most 1000'],
    ['more values, in lists that are short', rows(11, rows(999, 1)), 'at most 10000'],
    ['more values, in objects', rows(1000, Object.fromEntries(rows(10).map((_, n) => [n, n]))), 'at most 10000'],
    ['names beyond number', Object.fromEntries(rows(most + 1).map((_, n) => [n, n])), 'at most 10000'],
    ['a name that changes what an object is', JSON.parse('{"a":[{"__proto__":{"isAdmin":true}}]}'), '__proto__'],
  ])('not %s', (_, value, words) => {
    expect(unfitValue(value, MAX_ITEMS)).toMatchObject({
      name: 'BadPayloadError',
      code: 'malformed_body',
      message: expect.stringContaining(words),
    });
  });

  test('as many as the operation says, and ten times as many values', () => {
    expect(unfitValue(rows(5000, rows(8)), 5000)).toBeUndefined();
    expect(unfitValue(rows(5001), 5000)).toMatchObject({ message: expect.stringContaining('5000') });
    expect(unfitValue(new Array(2 ** 32 - 1), 5000)).toMatchObject({ message: expect.stringContaining('5000') });
    expect(unfitValue(rows(3), 2)).toMatchObject({ message: expect.stringContaining('at most 2 ') });
  });

  test('a value that refers to itself, or to one value over and over, is counted as far as that', () => {
    const circle: unknown[] = [];
    circle.push(circle, circle);
    const wide = Array.from({ length: 60 }).reduce((inner) => [inner, inner], 'leaf');
    for (const value of [circle, wide]) expect(unfitValue(value, MAX_ITEMS)).toMatchObject({ code: 'malformed_body' });
  });
});
