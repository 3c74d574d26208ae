import { expect, test } from 'vitest';
import { seal, unseal } from './seal.ts';
import { readSecrets } from './secrets.ts';

const id = { tenant: 'acme', principal: 'ann', operation: 'checkout', key: 'k-1' };
const old = readSecrets(['a'.repeat(32)]);
const rotated = readSecrets(['b'.repeat(32), 'a'.repeat(32)]);
const other = readSecrets(['c'.repeat(32)]);
const none = readSecrets([]);

test('gives back what was sealed, also after the secret was rotated, and without one', () => {
  const text = '{"name":"Ada ✓"}';
  const sealed = seal(text, 'input', id, old);
  expect(Buffer.from(sealed).includes('Ada')).toBe(false);
  expect(unseal(sealed, 'input', id, old)).toBe(text);
  expect(unseal(sealed, 'input', id, rotated)).toBe(text);
  expect(unseal(seal(text, 'input', id, none), 'input', id, none)).toBe(text);
});

test('is another each time', () => {
  expect(seal('x', 'input', id, old)).not.toEqual(seal('x', 'input', id, old));
});

test.each([
  ['a secret that is not known here', () => unseal(seal('x', 'input', id, old), 'input', id, other)],
  ['another key', () => unseal(seal('x', 'input', id, old), 'input', { ...id, key: 'k-2' }, old)],
  ['another tenant', () => unseal(seal('x', 'input', id, old), 'input', { ...id, tenant: 'b' }, old)],
  ['another use', () => unseal(seal('x', 'input', id, old), 'arguments of charge', id, old)],
  ['changed bytes', () => unseal(seal('x', 'input', id, old).fill(0, -1), 'input', id, old)],
  ['a newer version', () => unseal(seal('x', 'input', id, old).fill(9, 0, 1), 'input', id, old)],
  ['no secret, though there is one now', () => unseal(seal('x', 'input', id, none), 'input', id, old)],
  ['nothing', () => unseal(new Uint8Array(), 'input', id, old)],
])('is unavailable, not wrong, with %s', (_, open) => {
  expect(open).toThrow(expect.objectContaining({ code: 'unavailable' }));
});
