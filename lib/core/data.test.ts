import { expect, test, vi } from 'vitest';
import { asItWas, copyOf } from './data.ts';

test('data is copied to any depth, and what is changed in the copy is not in what it was made of', () => {
  const data = () => ({
    text: 'a',
    none: null,
    lines: [{ sku: 'mug', tags: new Set(['x', { deep: 1 }]) }, undefined, 7n],
    at: new Date(5),
    bytes: Uint8Array.of(1, 2),
    buffer: Buffer.from('ab'),
    by: new Map<unknown, unknown>([[{ id: 1 }, { n: 1 }]]),
    bare: Object.assign(Object.create(null), { n: 1 }),
  });
  const original = data();
  const copy = copyOf(original);
  expect(copy).toEqual(data());
  expect(Object.getPrototypeOf(copy.bare)).toBe(null);
  expect(Buffer.isBuffer(copy.buffer)).toBe(true);
  copy.lines.push('more' as never);
  (copy.lines[0] as { sku: string }).sku = 'cap';
  for (const set of [(copy.lines[0] as { tags: Set<unknown> }).tags])
    for (const one of set) Object.assign(Object(one), { deep: 2 });
  copy.at.setTime(0);
  copy.bytes[0] = 9;
  copy.buffer[0] = 9;
  for (const [name, value] of copy.by)
    Object.assign(name as object, { id: 2 }) && Object.assign(value as object, { n: 2 });
  copy.bare.n = 2;
  expect(original).toEqual(data());
});

test('a part that stands in two places, or in itself, is one in the copy', () => {
  const part: { self?: unknown } = {};
  part.self = part;
  const copy = copyOf([part, part]);
  expect(copy[0]).not.toBe(part);
  expect([copy[1], copy[0]?.self]).toEqual([copy[0], copy[0]]);
  expect(copy[1]).toBe(copy[0]);
  const at = new Date(5);
  const dates = copyOf({ from: at, to: at });
  expect(dates.from).not.toBe(at);
  expect(dates.to).toBe(dates.from);
});

test('what is no data is the same in both', () => {
  class Money {
    cents = 1;
  }
  const values = [new Money(), new File(['a'], 'a.txt'), () => 1, Symbol('s'), new Error('no')];
  expect(copyOf({ values }).values.every((value, at) => value === values[at])).toBe(true);
});

test('a form is copied with its files, which are the same', () => {
  const form = new FormData();
  form.append('size', 'L');
  form.append('size', 'M');
  form.append('receipt', new File(['a'], 'a.txt'));
  const copy = copyOf({ form }).form;
  form.delete('size');
  expect([copy.getAll('size'), copy.get('receipt')]).toEqual([['L', 'M'], form.get('receipt')]);
});

test('a name that an object may not have is a name of the copy like any other', () => {
  const copy = copyOf(JSON.parse('{"__proto__":{"isAdmin":true}}'));
  expect([Object.getPrototypeOf(copy), copy.isAdmin]).toEqual([Object.prototype, undefined]);
  expect(Object.keys(copy)).toEqual(['__proto__']);
  const named = { of: 'a' };
  const set = vi.fn();
  Object.defineProperty(Object.prototype, 'of', { set, configurable: true });
  const other = copyOf(named);
  delete (Object.prototype as { of?: unknown }).of;
  expect(other).toEqual(named);
  expect(set).not.toHaveBeenCalled();
});

test('what has become of data is undone in the same objects, of each kind, also where parts were replaced', () => {
  class Money {
    cents = 1;
  }
  const form = new FormData();
  form.append('size', 'L');
  form.append('size', 'M');
  const data = () => ({
    lines: [{ sku: 'mug' }, { sku: 'cap' }],
    tags: new Set(['a', 'b']),
    by: new Map([['x', { n: 1 }]]),
    at: new Date(5),
    bytes: Buffer.from('ab'),
    price: new Money(),
    fixed: Object.freeze([{ n: 1 }]),
    none: undefined,
    self: undefined as unknown,
  });
  const original = data();
  original.self = original;
  const all = { ...original, form };
  const undo = asItWas(all);
  const { lines, tags, by, at, bytes } = original;
  const [mug] = lines;
  for (const _ of [1, 2]) {
    Object.assign(mug as object, { sku: 'pen', more: 1 });
    lines.reverse().push({ sku: 'new' });
    tags.clear();
    Object.assign(by.get('x') as object, { n: 2 });
    by.delete('x');
    at.setTime(0);
    bytes[0] = 9;
    Object.assign(original.fixed[0] as object, { n: 2 });
    for (const name of ['size', 'more']) form.append(name, 'S');
    Object.assign(original, { lines: [], at: 1 }, { price: 2 });
    delete (original as { none?: unknown }).none;
    undo();
    expect(original).toEqual({ ...data(), self: original });
    expect(Object.keys(original)).toEqual(Object.keys(data()));
    expect([original.lines, original.lines[0], original.at]).toEqual([lines, mug, at]);
    expect(original.lines === lines && lines[0] === mug && original.at === at).toBe(true);
    expect([...form]).toEqual([
      ['size', 'L'],
      ['size', 'M'],
    ]);
  }
});
