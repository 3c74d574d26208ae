import { Decimal } from '@prisma/client/runtime/client';
import { expect, test } from 'vitest';
import { sendable } from './sendable.ts';

test('what React has no words for becomes text, wherever it stands', () => {
  const at = new Date(5);
  const result = {
    price: new Decimal('12.50'),
    lines: [{ each: new Decimal('1e30'), cents: 5n, at }],
    byName: new Map([['tea', new Decimal(1)]]),
    site: new URL('https://shop.example/'),
    pattern: /a+/g,
    bytes: new Uint8Array([1]),
    bare: Object.assign(Object.create(null), { a: 1 }),
    none: undefined,
  };
  const sent = sendable(result);
  expect(sent).toStrictEqual({
    price: '12.5',
    lines: [{ each: '1e+30', cents: 5n, at }],
    byName: new Map([['tea', '1']]),
    site: 'https://shop.example/',
    pattern: '/a+/g',
    bytes: new Uint8Array([1]),
    bare: { a: 1 },
    none: undefined,
  });
  expect(result.price).toBeInstanceOf(Decimal);
});

test('a circle stays one, and one object that is there twice', () => {
  const inner: { self?: unknown } = {};
  inner.self = inner;
  const sent = sendable({ one: inner, two: inner });
  expect(sent.one).toBe(sent.two);
  expect(sent.one.self).toBe(sent.one);
});
