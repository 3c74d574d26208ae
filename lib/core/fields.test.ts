import { describe, expect, test } from 'vitest';
import { formInput } from './fields.ts';

function formOf(...fields: [string, string | File][]): FormData {
  const form = new FormData();
  for (const [name, value] of fields) form.append(name, value);
  return form;
}

describe('formInput', () => {
  test('a name that comes once is a value, one that comes again an array in order', () => {
    const form = formOf(['tag', 'a'], ['sku', 'tea'], ['tag', 'b'], ['note', ''], ['tag', 'a']);
    expect(formInput(form)).toEqual({ sku: 'tea', tag: ['a', 'b', 'a'], note: '' });
  });

  test("the kit's own fields and React's are left out, and nothing else", () => {
    const form = formOf(
      ['idempotency_key', 'k1'],
      ['idempotency_attempt', '2'],
      ['$ACTION_KEY', 'k'],
      ['$ACTION_REF_1', ''],
      ['$ACTION_1:0', '{}'],
      ['$ACTION_ID_abc', ''],
      ['$price', '1'],
      ['ACTION_', '2'],
      ['idempotency_keys', '3'],
    );
    expect(formInput(form)).toEqual({ $price: '1', ACTION_: '2', idempotency_keys: '3' });
  });

  test.each(['__proto__', 'constructor', 'toString'])('%s is a field like any other', (name) => {
    const input = formInput(formOf([name, 'x'], ['sku', 'tea'], [name, 'y']));
    expect(Object.entries(input)).toEqual([
      [name, ['x', 'y']],
      ['sku', 'tea'],
    ]);
    expect(Object.getPrototypeOf(input)).toBe(Object.prototype);
    expect(Object.hasOwn(formInput(formOf([name, 'x'])), name)).toBe(true);
  });

  test('files stay files, also several of one name and mixed with text', async () => {
    const [one, two] = [new File(['1'], 'one.txt'), new File(['22'], 'two.txt')];
    const input = formInput(formOf(['photo', one], ['docs', one], ['docs', two], ['docs', 'text']));
    expect(input.photo).toBeInstanceOf(File);
    expect(await (input.photo as File).text()).toBe('1');
    expect((input.docs as File[]).map((doc) => doc.name ?? doc)).toEqual(['one.txt', 'two.txt', 'text']);
  });

  test('an empty form is an empty object', () => expect(formInput(formOf())).toEqual({}));
});

test('30,000 values of one name take work that grows with their number, not with its square: that takes a minute', () => {
  const form = new FormData();
  for (let at = 0; at < 30_000; at++) form.append('tag', String(at));
  const tags = formInput(form).tag as string[];
  expect([tags.length, tags[0], tags[29_999]]).toEqual([30_000, '0', '29999']);
});
