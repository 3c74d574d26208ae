import { describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { type StandardSchema, validate } from './standard-schema.ts';

/** A schema of another library than zod: only the specification counts. */
function schema(validated: unknown): StandardSchema {
  return { '~standard': { version: 1, vendor: 'test', validate: () => validated as never } };
}

describe('Standard Schema', () => {
  test('the parsed value is given on, not the raw one', async () => {
    expect(await validate(z.object({ n: z.coerce.number() }), { n: '7', extra: 1 })).toEqual({
      ok: true,
      value: { n: 7 },
    });
  });

  test('messages go by field, nested ones by their path', async () => {
    const order = z.object({ items: z.array(z.object({ sku: z.string() })), email: z.email() });
    const result = await validate(order, { items: [{ sku: 'a' }, { sku: 1 }], email: 'x' });
    if (result.ok) throw new Error('should be refused');
    expect(Object.keys(result.fieldErrors).sort()).toEqual(['email', 'items.1.sku']);
  });

  test('all messages of one field are kept, in order', async () => {
    const issues = [
      { path: ['a'], message: 'one' },
      { path: ['b'], message: 'other' },
      { path: ['a'], message: 'two' },
    ];
    expect(await validate(schema({ issues }), {})).toEqual({
      ok: false,
      fieldErrors: { a: ['one', 'two'], b: ['other'] },
    });
  });

  test("what belongs to no field is under ''", async () => {
    const issues = [{ message: 'no path' }, { path: [], message: 'empty path' }];
    expect(await validate(schema({ issues }), {})).toEqual({
      ok: false,
      fieldErrors: { '': ['no path', 'empty path'] },
    });
  });

  test('path steps may be objects, numbers and symbols', async () => {
    const issues = [
      { path: [{ key: 'a' }, 0, { key: 'b' }], message: 'm' },
      { path: [Symbol('s')], message: 'n' },
    ];
    const result = await validate(schema({ issues }), {});
    expect(result).toEqual({ ok: false, fieldErrors: { 'a.0.b': ['m'], 'Symbol(s)': ['n'] } });
  });

  test('a field called __proto__ is a field', async () => {
    const result = await validate(schema({ issues: [{ path: ['__proto__'], message: 'm' }] }), {});
    expect(Object.entries((result as { fieldErrors: object }).fieldErrors)).toEqual([['__proto__', ['m']]]);
  });

  test('X4 of a great many errors the first hundred are kept and named, and it is said how many there were', async () => {
    const issues = Array.from({ length: 100_000 }, (_, n) => ({ path: [n % 2 ? 'a' : 'b'], message: `m${n}` }));
    const nameOf = vi.fn(String);
    const result = await validate(schema({ issues }), {}, nameOf);
    expect(nameOf).toHaveBeenCalledTimes(100);
    if (result.ok) throw new Error('should be refused');
    const { a = [], b = [], ...rest } = result.fieldErrors;
    expect([a.length, b.length, a.at(-1)]).toEqual([50, 50, 'm99']);
    expect(rest).toEqual({ '': ['These are the first 100 of 100000 errors.'] });
    const few = await validate(schema({ issues: issues.slice(0, 100) }), {});
    expect(few).toEqual({ ok: false, fieldErrors: { a, b } });
  });

  test('an asynchronous schema is awaited', async () => {
    expect(await validate(schema(Promise.resolve({ value: 1 })), {})).toEqual({ ok: true, value: 1 });
    expect(await validate(schema(Promise.resolve({ issues: [] })), {})).toEqual({ ok: false, fieldErrors: {} });
  });
});
