import { expect, test } from 'vitest';
import { readNamedKeys } from './key-file.ts';

const read = (text: string, tenant?: string) => readNamedKeys('keys.jsonl', Buffer.from(text), tenant);
const line = (more: object = {}) =>
  JSON.stringify({ operation: 'pay', tenant: 'acme', principal: 'ann', key: 'k', ...more });

test('each line names a key, with what is known of it', () => {
  const { tenant, ...rest } = JSON.parse(line({ key: 'k2', payload: { sku: 'mug' }, context: ['/api/orders'] }));
  const [one, two, three] = read(
    `${line({ result: null })}\n\n${JSON.stringify(rest)}\n${line({ key: 'k3', form: { a: ['1', '2'] } })}\n`,
    'main',
  );
  expect(one).toEqual({ operation: 'pay', tenant: 'acme', principal: 'ann', key: 'k', result: { data: null } });
  expect(two).toMatchObject({ tenant: 'main', payload: { sku: 'mug' }, context: ['/api/orders'] });
  const form = three?.payload;
  expect(form instanceof FormData && form.getAll('a')).toEqual(['1', '2']);
});

test.each([
  ['no JSON', '{"operation": "secret', 'it is no JSON object'],
  ['a list', '[]', 'it is no JSON object'],
  ['without a key', line({ key: undefined }), 'it has no key'],
  ['a number for a key', line({ key: 7 }), 'it has no key'],
  ['without a tenant', line({ tenant: undefined }), 'it has no tenant'],
  ['a field that does not exist', line({ payload: 1, paylod: 'secret' }), 'there is no field "paylod"'],
  ['a payload and a form', line({ payload: 1, form: {} }), 'it has a payload and a form'],
  ['a form of numbers', line({ form: { sku: 7 } }), 'its form is no object of texts'],
  ['a context that is no list', line({ context: '/a' }), 'its context is no list'],
  ['a key that was named before', line({ key: 'first' }), 'it names the same key as line 1'],
])('a line with %s is refused by its number, and not quoted', (_, bad, why) => {
  const told = () => read(`${line({ key: 'first' })}\n${bad}`);
  expect(told).toThrow(`keys.jsonl, line 2: ${why}`);
  expect(told).not.toThrow('secret');
});

test('a file without keys is refused', () => {
  expect(() => read('\n')).toThrow('keys.jsonl names no keys.');
});

test('a file of another encoding is refused: its names would be those of nobody', () => {
  const keys = (encoding: BufferEncoding) =>
    readNamedKeys('keys.jsonl', Buffer.from(line({ principal: 'jérôme' }), encoding), undefined);
  expect(keys('utf8')).toMatchObject([{ principal: 'jérôme' }]);
  for (const encoding of ['latin1', 'utf16le'] as const)
    expect(() => keys(encoding)).toThrow('keys.jsonl is not in UTF-8.');
  expect(read(`\ufeff${line()}`)).toHaveLength(1);
});
