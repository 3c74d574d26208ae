import { expect, test } from 'vitest';
import { issuedText, keyOfIssued } from './issued-key.ts';

const UUID = '01890000-0000-7000-8000-000000000000';

test('an issued text is the key, with each name behind a space that no name brings along', () => {
  expect(issuedText('k', [])).toBe('k');
  expect(issuedText('k', ['stamp', 'a b', 'ä'])).toBe('k stamp a%20b %C3%A4');
});

test('K1 behind a minted key may stand names, and behind no other', () => {
  for (const key of [UUID, `${UUID}.${'A'.repeat(22)}`]) {
    expect([key, `${key} stamp`, `${key} a%20b c`].map(keyOfIssued)).toEqual([key, key, key]);
    expect(keyOfIssued(` ${key}`)).toBe(` ${key}`);
  }
  for (const key of ['order 1', 'order', '', ' ', '3f0c9f5e-8d1e-4a52-9d5b-0f3a52c7c111 1'])
    expect(keyOfIssued(key)).toBe(key);
});
