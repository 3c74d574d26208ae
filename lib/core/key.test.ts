import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { derivedId, derivedKey, derivedUuid, mintKey, parseKey, verifyKey } from './key.ts';
import type { Scope } from './scope.ts';
import { readSecrets } from './secrets.ts';

const { all: secrets } = readSecrets(['a'.repeat(32), 'b'.repeat(32)]);
const [first, second] = secrets;
const scope: Scope = { tenant: 'acme', principal: 'ann', operation: 'checkout' };
const NOW = Date.UTC(2026, 10, 21, 9, 0, 0, 123);
const BASE64URL = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';

/** The arguments of `verifyKey` for a key that has the signed shape. */
function signed(key: string) {
  const parsed = parseKey(key);
  if (parsed.shape !== 'signed') throw new Error(`${key} is ${parsed.shape}`);
  return parsed;
}

describe('K2 minting', () => {
  test('K2 without a secret a key is a UUIDv7: version 7, variant 10', () => {
    for (let i = 0; i < 200; i++) {
      expect(mintKey(NOW, scope, undefined)).toMatch(
        /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
      );
    }
  });

  test('K2 a minted key carries its time to the millisecond', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 2 ** 48 - 1 }), fc.boolean(), (now, withSecret) => {
        const parsed = parseKey(mintKey(now, scope, withSecret ? first : undefined));
        expect(parsed).toMatchObject({ shape: withSecret ? 'signed' : 'unsigned', mintedAt: new Date(now) });
      }),
    );
  });

  test('K2 keys sort by the time at which they were minted', () => {
    const keys = [1, 2, 1000, 2 ** 31, 2 ** 33, NOW].map((now) => mintKey(now, scope, undefined));
    expect([...keys].sort()).toEqual(keys);
  });

  test('K2 no two keys of one millisecond are the same', () => {
    expect(new Set(Array.from({ length: 1000 }, () => mintKey(NOW, scope, undefined))).size).toBe(1000);
  });

  test('K2 the signature is 16 bytes of base64url behind a dot', () => {
    expect(mintKey(NOW, scope, first).split('.')[1]).toMatch(/^[\w-]{22}$/);
  });
});

describe('K1 syntax', () => {
  test.each([
    ['one character', 'a'],
    ['255 characters', 'k'.repeat(255)],
    ['every visible ASCII character but comma and quotes', visibleAscii().replace(/[,"']/g, '')],
  ])('K1 accepts %s', (_, key) => {
    expect(parseKey(key).shape).toBe('foreign');
  });

  test.each([
    ['nothing', ''],
    ['256 characters', 'k'.repeat(256)],
    ['a comma', 'a,b'],
    ['a double quote', 'a"b'],
    ['a single quote', "a'b"],
    ['a space', 'a b'],
    ['a tab', 'a\tb'],
    ['a line end behind it', 'ab\n'],
    ['a line end inside', 'a\nb'],
    ['NUL', 'a\0b'],
    ['DEL', 'a\x7fb'],
    ['a letter beyond ASCII', 'clé'],
    ['an emoji', '🔑'],
  ])('K1 refuses %s', (_, key) => {
    expect(parseKey(key)).toEqual({ shape: 'malformed' });
  });

  test.each([
    ['a UUIDv4', '3f0c9f5e-8d1e-4a52-9d5b-0f3a52c7c111'],
    ['a UUIDv7 in upper case', mintKey(NOW, scope, undefined).toUpperCase().replace(/^\d/, 'A')],
    ['a signature that is too short', `${mintKey(NOW, scope, undefined)}.abc`],
    ['a signature that is too long', `${mintKey(NOW, scope, first)}A`],
    ['a wrong variant', '01890000-0000-7000-c000-000000000000'],
  ])('K2 %s was not minted here', (_, key) => {
    expect(parseKey(key)).toEqual({ shape: 'foreign' });
  });
});

describe('K2 signature', () => {
  test('K2 a key verifies for the scope it was minted for', () => {
    expect(verifyKey(signed(mintKey(NOW, scope, first)), scope, secrets)).toBe(true);
  });

  test('K2 a key that is changed at any one character never verifies', () => {
    const key = mintKey(NOW, scope, first);
    fc.assert(
      fc.property(fc.nat(key.length - 1), fc.constantFrom(...`${BASE64URL}.`), (at, character) => {
        fc.pre(key[at] !== character);
        const tampered = key.slice(0, at) + character + key.slice(at + 1);
        const parsed = parseKey(tampered);
        return parsed.shape !== 'signed' || !verifyKey(parsed, scope, secrets);
      }),
      { numRuns: 2000 },
    );
  });

  test('K2 the unused bits of the last character cannot make a second spelling of one signature', () => {
    const key = mintKey(NOW, scope, first);
    const others = [...BASE64URL].filter((character) => character !== key.at(-1));
    for (const character of others) {
      expect(verifyKey(signed(key.slice(0, -1) + character), scope, secrets)).toBe(false);
    }
  });

  test.each([
    ['tenant', { ...scope, tenant: 'other' }],
    ['principal', { ...scope, principal: 'bob' }],
    ['operation', { ...scope, operation: 'refund' }],
  ])('K2 a key of another %s never verifies', (_, other) => {
    expect(verifyKey(signed(mintKey(NOW, other, first)), scope, secrets)).toBe(false);
  });

  test('K2 no two scopes share a signature, however they are cut', () => {
    const part = fc.string({ minLength: 1, maxLength: 4 });
    const anyScope = fc.record({ tenant: part, principal: part, operation: part });
    fc.assert(
      fc.property(anyScope, anyScope, (mine, theirs) => {
        fc.pre(JSON.stringify(mine) !== JSON.stringify(theirs));
        return !verifyKey(signed(mintKey(NOW, mine, first)), theirs, secrets);
      }),
    );
    const cut = { tenant: 'ac', principal: 'mean', operation: 'ncheckout' };
    expect(verifyKey(signed(mintKey(NOW, cut, first)), scope, secrets)).toBe(false);
  });

  test('K2 rotation: any configured secret verifies, and one that was taken out does not', () => {
    const old = signed(mintKey(NOW, scope, second));
    expect(verifyKey(old, scope, secrets)).toBe(true);
    expect(verifyKey(old, scope, [first as never])).toBe(false);
    expect(verifyKey(old, scope, [])).toBe(false);
  });
});

function visibleAscii(): string {
  return String.fromCharCode(...Array.from({ length: 94 }, (_, index) => 0x21 + index));
}

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
