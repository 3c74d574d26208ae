import { inspect } from 'node:util';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { MAX_FIELDS } from '../core/payload-limits.ts';
import { readBody } from './read-body.ts';

function read(body: string): Promise<unknown> {
  const headers = { 'Content-Type': 'application/json' };
  return readBody(new Request('http://localhost/', { method: 'POST', headers, body }));
}

describe('F1 JSON of one meaning', () => {
  test('what has one is read as JSON.parse reads it', async () => {
    await fc.assert(
      fc.asyncProperty(fc.jsonValue(), fc.nat(3), async (value, indent) => {
        const text = JSON.stringify(value, null, indent);
        expect(await read(text)).toEqual(JSON.parse(text));
      }),
    );
  });

  test.each([
    '{"a":1,"a":1}',
    '{"a":1,"\\u0061":2}',
    '{ "x" : { "a" : 1 , "b" : 2 , "a" : 3 } }',
    '[{"a":"{\\"a\\":1}","b":[],"a":0}]',
    '{"":1,"":2}',
  ])('%s holds a name twice', async (text) => {
    await expect(read(text)).rejects.toThrow('twice');
  });

  test.each([
    '[{"a":1},{"a":1}]',
    '{"a":{"a":{"a":1}}}',
    '{"a":"b","b":"a"}',
    '{"a":"\\"a\\":1","b":"{\\"a\\":1,\\"a\\":2}"}',
    '{"a\\\\":1,"a":2}',
    '["a","a"]',
    '{"__proto__":1,"constructor":2}',
  ])('%s does not', async (text) => {
    expect(await read(text)).toEqual(JSON.parse(text));
  });

  test.each(['{', '{"a":}', "{'a':1}", '{"a":1}}', 'undefined', 'NaN', '01'])('%j is none', async (text) => {
    await expect(read(text)).rejects.toThrow('not valid JSON');
  });

  test('X4 too deep, or too many names, is refused', async () => {
    const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);
    expect(await read(nested(100))).toBeDefined();
    await expect(read(nested(101))).rejects.toThrow('too deeply');
    await expect(read(nested(200_000))).rejects.toThrow();
    const wide = (count: number) =>
      JSON.stringify(Object.fromEntries(Array.from({ length: count }, (_, i) => [`n${i}`, i])));
    expect(await read(wide(MAX_FIELDS))).toBeDefined();
    await expect(read(wide(MAX_FIELDS + 1))).rejects.toThrow('too many names');
  });
});

test('what is not JSON is refused without a word of it', async () => {
  const error = await read('{"card": secret-4242}').catch((caught: unknown) => caught);
  expect(error).toMatchObject({ code: 'malformed_body' });
  expect(inspect(error, { depth: Infinity, showHidden: true })).not.toContain('secret');
});
