import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { canonicalText, canonicalTexts } from './canonical.ts';

type Field = [name: string, value: string];

function form(...fields: [string, string | File][]): FormData {
  const data = new FormData();
  for (const [name, value] of fields) data.append(name, value);
  return data;
}

const field = fc.tuple(fc.constantFrom('a', 'b', 'c', '$date', ''), fc.string({ unit: 'grapheme', maxLength: 3 }));
const fields = fc.array(field, { maxLength: 6 });

/** Fields by name, each with its values in order. */
function grouped(list: Field[]): string {
  const names = [...new Set(list.map(([name]) => name))].sort();
  const text = (value: string) => value.replace(/\r\n?/g, '\n');
  return JSON.stringify(names.map((name) => [name, list.filter(([n]) => n === name).map(([, value]) => text(value))]));
}

describe('F1 FormData', () => {
  test('F1 names are sorted, values of one name keep their order', async () => {
    await fc.assert(
      fc.asyncProperty(fields, fields, async (a, b) => {
        const same = (await canonicalText(form(...a))) === (await canonicalText(form(...b)));
        expect(same).toBe(grouped(a) === grouped(b));
      }),
      { numRuns: 1000 },
    );
  });

  test('F1 the order of names does not count', async () => {
    const one = form(['a', '1'], ['b', '2'], ['a', '3']);
    const two = form(['b', '2'], ['a', '1'], ['a', '3']);
    expect(await canonicalText(one)).toBe(await canonicalText(two));
  });

  test('F1 the order of the values of one name counts', async () => {
    expect(await canonicalText(form(['a', '1'], ['a', '2']))).not.toBe(
      await canonicalText(form(['a', '2'], ['a', '1'])),
    );
  });

  test('F1 CRLF, CR and LF are the same line end', async () => {
    const texts = ['x\r\ny', 'x\ny', 'x\ry'].map((value) => canonicalText(form(['note', value])));
    expect(new Set(await Promise.all(texts)).size).toBe(1);
    expect(await canonicalText(form(['note', 'x\n\ny']))).not.toBe(await canonicalText(form(['note', 'x\r\ny'])));
  });

  test('F1 a native and a hydrated submit of the same form hash alike', async () => {
    const native = form(['$ACTION_REF_1', ''], ['$ACTION_1:0', '{"id":"old"}'], ['$ACTION_KEY', 'k'], ['sku', 'tea']);
    native.append('idempotency_key', 'k1');
    const hydrated = form(['sku', 'tea'], ['idempotency_key', 'k1'], ['idempotency_attempt', '2']);
    expect(await canonicalText(native)).toBe(await canonicalText(hydrated));
    expect(await canonicalText(native)).toBe(await canonicalText(form(['sku', 'tea'])));
  });

  test('F1 a field whose name only resembles an internal one counts', async () => {
    const plain = await canonicalText(form(['sku', 'tea']));
    for (const name of ['ACTION_x', '$action_x', 'idempotency_key2', 'x$ACTION_']) {
      expect(await canonicalText(form(['sku', 'tea'], [name, '1']))).not.toBe(plain);
    }
  });

  test('F1 declared volatile fields are left out', async () => {
    const plain = [await canonicalText(form(['sku', 'tea']))];
    expect(await canonicalTexts(form(['sku', 'tea'], ['captcha', 'a']), ['captcha'])).toEqual(plain);
    expect(await canonicalTexts(form(['sku', 'tea'], ['captcha', 'a']))).not.toEqual(plain);
  });

  test('F1 usual names, and what lies behind a declared one, are left out of what counts, and not of what older rows count', async () => {
    const sent = form(
      ['sku', 'tea'],
      ['meta.sent', '1'],
      ['meta[at]', '2'],
      ['meta', '3'],
      ['g-recaptcha-response', 'x'],
    );
    expect(await canonicalTexts(sent, ['meta'])).toEqual([
      await canonicalText(form(['sku', 'tea'])),
      await canonicalText(form(['sku', 'tea'], ['meta.sent', '1'], ['meta[at]', '2'], ['g-recaptcha-response', 'x'])),
    ]);
    const file = new File(['one'], 'a.txt');
    expect(await canonicalTexts(form(['file', file], ['_csrf', 'x']))).toEqual([
      await canonicalText(form(['file', file])),
      await canonicalText(form(['file', file], ['_csrf', 'x'])),
    ]);
  });

  test('F1 a form is never the same as JSON of the same content', async () => {
    expect(await canonicalText(form(['a', '1']))).not.toBe(await canonicalText({ a: '1' }));
    expect(await canonicalText(form(['a', '1']))).not.toBe(await canonicalText([['a', ['1']]]));
  });
});

describe('F1 files', () => {
  const file = (content: string, name = 'a.txt', type = 'text/plain') => new File([content], name, { type });
  const text = (value: string | File) => canonicalText(form(['file', value]));

  test('F1 a file counts by name, type, size and content', async () => {
    const base = await text(file('one'));
    expect(await text(file('one'))).toBe(base);
    expect(await text(file('two'))).not.toBe(base);
    expect(await text(file('one', 'b.txt'))).not.toBe(base);
    expect(await text(file('one', 'a.txt', 'text/html'))).not.toBe(base);
  });

  test('F1 the time stamp of a file does not count', async () => {
    const at = (lastModified: number) => new File(['one'], 'a.txt', { type: 'text/plain', lastModified });
    expect(await text(at(1))).toBe(await text(at(2)));
  });

  test('F1 a text cannot pass for a file', async () => {
    const whole = await text(file('one'));
    const description = JSON.parse(whole.slice('form:'.length))[0][1][0];
    expect(description).toMatchObject({ name: 'a.txt', size: 3 });
    expect(await text(JSON.stringify(description))).not.toBe(whole);
  });
});
