import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { derivedId, derivedKey, derivedUuid } from './derived-key.ts';

const id = { tenant: 'acme', principal: 'ann', operation: 'checkout', key: 'k-1' };

test('P2 is SHA-256 over the length-prefixed parts, so that it never changes', () => {
  const part = (text: string) => `${String.fromCharCode(0, 0, 0, text.length)}${text}`;
  const text = ['shop', 'acme', 'ann', 'checkout', 'k-1', 'charge'].map(part).join('');
  expect(derivedKey('shop', id, 'charge')).toBe(createHash('sha256').update(text, 'latin1').digest('hex'));
  // A literal, too: a change of the formula would charge twice whoever is between two sends.
  expect(derivedKey('shop', id, 'charge')).toMatchInlineSnapshot(
    `"30ac00d74da6c224f0c7f07ec126c24dec7a58e285b4d1d04a6d71e94b91376d"`,
  );
});

test('differs with every part, and no part reaches into another', () => {
  const keys = [
    derivedKey('shop', id, 'charge'),
    derivedKey('shop2', id, 'charge'),
    derivedKey('shop', { ...id, tenant: 'acmeann', principal: 'x' }, 'charge'),
    derivedKey('shop', { ...id, tenant: 'acmean', principal: 'nx' }, 'charge'),
    derivedKey('shop', { ...id, operation: 'refund' }, 'charge'),
    derivedKey('shop', { ...id, key: 'k-2' }, 'charge'),
    derivedKey('shop', id, 'charge2'),
  ];
  expect(new Set(keys).size).toBe(keys.length);
});

test('its UUID is of version 8 and variant 10, the same each time, and another for another key', () => {
  const ids = ['charge', 'refund'].map((step) => derivedUuid(derivedKey('shop', id, step)));
  for (const each of ids) expect(each).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  expect(ids[0]).toMatchInlineSnapshot(`"30ac00d7-4da6-8224-b0c7-f07ec126c24d"`);
  expect(ids[1]).not.toBe(ids[0]);
});

test('an id of what an intent makes is the same in every run, and another for every other intent and thing', () => {
  const { key, ...scope } = id;
  const order = derivedId({ scope, key }, 'order');
  expect(order).toMatchInlineSnapshot(`"a77e94e3-d011-83d5-bdbb-eaf9bec4c952"`);
  const others = [
    derivedId({ scope, key }, 'refund'),
    derivedId({ scope, key: 'k-2' }, 'order'),
    derivedId({ scope: { ...scope, principal: 'bob' }, key }, 'order'),
  ];
  expect(new Set([order, ...others]).size).toBe(4);
});
