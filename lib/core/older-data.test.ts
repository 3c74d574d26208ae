import { expect, test } from 'vitest';
import { shapeDifference, type Upcasts, upcastData } from './older-data.ts';

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

class Money {
  constructor(readonly cents: number) {}
}

test.each<[string, unknown, unknown]>([
  ['other values', { a: 1, b: 'x', at: new Date(0) }, { a: 2, b: '', at: new Date(1) }],
  ['a field more', { a: 1, more: 2 }, { a: 1 }],
  ['null and undefined where there was a value', { a: 1, b: {} }, { a: null, b: undefined }],
  ['a value where there was null', { a: null }, { a: 1 }],
  ['a field that is undefined, and was not there', {}, { a: undefined }],
  ['nothing where there was something', { a: 1 }, null],
  ['a longer list, and a shorter one', { a: [1], b: [1, 2] }, { a: [1, 2], b: [1] }],
  ['an object without a prototype', Object.assign(Object.create(null), { a: 1 }), { a: 1 }],
  ['another content of a class', { a: new Map([[1, 2]]), b: new Money(1) }, { a: new Map(), b: new Money(2) }],
  ['a field that is called like a method', { constructor: 'x' }, { constructor: 'y' }],
])('P1 no difference: %s', (_, stored, wanted) => {
  expect(shapeDifference(stored, wanted)).toBeUndefined();
});

test.each<[string, unknown, unknown, string, string, string]>([
  ['a field that was not there', { amount: 1 }, { amountCents: 1 }, '.amountCents', 'nothing', 'number'],
  ['a field that an upcast has made of nothing', { cents: undefined }, { cents: 1 }, '.cents', 'nothing', 'number'],
  ['one that every object inherits', {}, { toString: 'x' }, '.toString', 'nothing', 'string'],
  ['another type', { a: '1' }, { a: 1 }, '.a', 'string', 'number'],
  ['a number of another size', { a: 1 }, { a: 1n }, '.a', 'number', 'bigint'],
  ['a class', { at: '2026' }, { at: new Date(0) }, '.at', 'string', 'Date'],
  ['another class', { a: { cents: 1 } }, { a: new Money(1) }, '.a', 'Object', 'Money'],
  ['a list', { a: { 0: 1 } }, { a: [1] }, '.a', 'Object', 'Array'],
  ['deep within', { a: [{ b: 1 }, {}] }, { a: [{ b: 2 }, { b: 3 }] }, '.a[1].b', 'nothing', 'number'],
  ['all of it', null, { a: 1 }, '', 'nothing', 'Object'],
  ['all of it, undefined', undefined, 'x', '', 'nothing', 'string'],
])('P1 a difference: %s', (_, stored, wanted, path, existing, expected) => {
  expect(shapeDifference(stored, wanted)).toEqual({ path, existing, expected });
});

test('what contains itself ends', () => {
  const ring = (more: object) => {
    const one: Record<string, unknown> = { ...more };
    one.self = { one };
    return one;
  };
  expect(shapeDifference(ring({ a: 1 }), ring({ a: 2 }))).toBeUndefined();
  expect(shapeDifference(ring({}), ring({ a: 2 }))).toMatchObject({ path: '.a' });
});
