import { inspect } from 'node:util';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { MAX_FIELDS } from '../core/payload-limits.ts';
import { parseStrictJson } from './strict-json.ts';

describe('F1 JSON of one meaning', () => {
  test('what has one is read as JSON.parse reads it', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.nat(3), (value, indent) => {
        const text = JSON.stringify(value, null, indent);
        expect(parseStrictJson(text)).toEqual(JSON.parse(text));
      }),
    );
  });

  test.each([
    '{"a":1,"a":1}',
    '{"a":1,"\\u0061":2}',
    '{ "x" : { "a" : 1 , "b" : 2 , "a" : 3 } }',
    '[{"a":"{\\"a\\":1}","b":[],"a":0}]',
    '{"":1,"":2}',
  ])('%s holds a name twice', (text) => {
    expect(() => parseStrictJson(text)).toThrow('twice');
  });

  test.each([
    '[{"a":1},{"a":1}]',
    '{"a":{"a":{"a":1}}}',
    '{"a":"b","b":"a"}',
    '{"a":"\\"a\\":1","b":"{\\"a\\":1,\\"a\\":2}"}',
    '{"a\\\\":1,"a":2}',
    '["a","a"]',
    '{"__proto__":1,"constructor":2}',
  ])('%s does not', (text) => {
    expect(parseStrictJson(text)).toEqual(JSON.parse(text));
  });

  test.each(['', '{', '{"a":}', "{'a':1}", '{"a":1}}', 'undefined', 'NaN', '01'])('%j is none', (text) => {
    expect(() => parseStrictJson(text)).toThrow('not valid JSON');
  });

  test('X4 too deep, or too many names, is refused', () => {
    const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);
    expect(parseStrictJson(nested(100))).toBeDefined();
    expect(() => parseStrictJson(nested(101))).toThrow('too deeply');
    expect(() => parseStrictJson(nested(200_000))).toThrow();
    const wide = (count: number) =>
      JSON.stringify(Object.fromEntries(Array.from({ length: count }, (_, i) => [`n${i}`, i])));
    expect(parseStrictJson(wide(MAX_FIELDS))).toBeDefined();
    expect(() => parseStrictJson(wide(MAX_FIELDS + 1))).toThrow('too many names');
  });
});

test('what is not JSON is refused without a word of it', () => {
  let error: unknown;
  try {
    parseStrictJson('{"card": secret-4242}');
  } catch (caught) {
    error = caught;
  }
  expect(error).toMatchObject({ code: 'malformed_body' });
  expect(inspect(error, { depth: Infinity, showHidden: true })).not.toContain('secret');
});
