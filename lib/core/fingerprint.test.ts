import { describe, expect, test } from 'vitest';
import { countsMethod, FINGERPRINT_VERSION, type Fingerprint, fingerprint, matchFingerprint } from './fingerprint.ts';
import { deriveKey, NO_SECRET, readSecrets } from './secrets.ts';

const OLD = 'o'.repeat(32);
const NEW = 'n'.repeat(32);
const old = readSecrets([OLD]);
const rotated = readSecrets([NEW, OLD]);
const none = readSecrets([]);
type Sent = Parameters<typeof fingerprint>[0];

const one: Sent = { canonical: ['json:1'] };
const other: Sent = { canonical: ['json:2'] };
const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');

describe('F2 fingerprint', () => {
  test('F2 the same payload of the same tenant under the same secret gives the same 16 bytes', () => {
    const { hash } = fingerprint(one, 'acme', old);
    expect(hash).toHaveLength(16);
    expect(hex(fingerprint(one, 'acme', old).hash)).toBe(hex(hash));
  });

  test('F2 another payload, tenant or secret gives another one', () => {
    const hashes = [
      fingerprint(one, 'acme', old),
      fingerprint(other, 'acme', old),
      fingerprint(one, 'other', old),
      fingerprint(one, 'acme', rotated),
      fingerprint(one, 'acme', none),
    ].map(({ hash }) => hex(hash));
    expect(new Set(hashes).size).toBe(hashes.length);
  });

  test('F2 it is stored with its version and the name of the first secret', () => {
    expect(fingerprint(one, 'acme', rotated)).toMatchObject({
      version: FINGERPRINT_VERSION,
      secretId: rotated.all[0]?.name,
    });
    expect(fingerprint(one, 'acme', none).secretId).toBe(NO_SECRET);
  });

  test.each([
    ['the same secrets', old, old],
    ['a secret that signs no more but still verifies', old, rotated],
    ['no secret, as before', none, none],
  ])('F2 a stored one is compared under %s', (_, writer, reader) => {
    const stored = fingerprint(one, 'acme', writer);
    expect(matchFingerprint(stored, one, 'acme', reader)).toBe('same');
    expect(matchFingerprint(stored, other, 'acme', reader)).toBe('different');
    expect(matchFingerprint(stored, one, 'other', reader)).toBe('different');
  });

  test('R3 a secret that is not known here is unreadable, never a mismatch', () => {
    expect(matchFingerprint(fingerprint(one, 'acme', rotated), one, 'acme', old)).toBe('unreadable');
    expect(matchFingerprint(fingerprint(one, 'acme', old), one, 'acme', none)).toBe('unreadable');
  });

  test('A8 one that was made without a secret says nothing once there is a secret', () => {
    expect(matchFingerprint(fingerprint(one, 'acme', none), one, 'acme', rotated)).toBe('unreadable');
  });

  test.each([0, 6, 99])('R3 version %d is not known here: unreadable', (version) => {
    const stored = { ...fingerprint(one, 'acme', old), version };
    expect(matchFingerprint(stored, one, 'acme', old)).toBe('unreadable');
  });

  describe('one of version 1, which keeps all of the hash and the whole id', () => {
    const rowOf = (hash: string, secretId: string) => ({ hash: Buffer.from(hash, 'hex'), version: 1, secretId });
    const signed = rowOf('1a5a0a8038554ecd3ee7981113c2c4e9c2625956299584ab7da8799020c6eb6c', 'c2d26451a3c0d48d');
    const unsigned = rowOf('f9976748dac679397b39f206300676debc99309507664e313ed82e254282a435', 'none');

    test.each([
      ['its secret', signed, old],
      ['its secret, which signs no more', signed, rotated],
      ['no secret, as before', unsigned, none],
    ])('F2 is compared under %s', (_, stored, reader) => {
      const own = fingerprint(one, 'acme', reader);
      expect(matchFingerprint(stored, { ...one, fingerprint: own }, 'acme', reader)).toBe('same');
      expect(
        matchFingerprint(stored, { ...other, fingerprint: fingerprint(other, 'acme', reader) }, 'acme', reader),
      ).toBe('different');
      expect(matchFingerprint(stored, one, 'other', reader)).toBe('different');
    });

    test('F1 with a field that changes by itself, as it was sent or without it', () => {
      const signedAs = (canonical: [string, string]) => matchFingerprint(signed, { canonical }, 'acme', old);
      expect(signedAs(['json:0', 'json:1'])).toBe('same');
      expect(signedAs(['json:1', 'json:1 a'])).toBe('same');
      expect(signedAs(['json:0', 'json:2'])).toBe('different');
    });

    test('F2 by all of its bytes, not by those alone that are kept today', () => {
      const hash = Buffer.from(signed.hash).fill(0, 16);
      expect(matchFingerprint({ ...signed, hash }, one, 'acme', old)).toBe('different');
      expect(matchFingerprint({ ...signed, hash: hash.subarray(0, 16) }, one, 'acme', old)).toBe('different');
    });
  });

  test('F1 a method counts, in its own version, but for POST; a row of an older version is compared without it', () => {
    const sent = (method?: string) => ({ ...one, method });
    const rows = [undefined, 'POST', 'PATCH', 'DELETE'].map((method) => fingerprint(sent(method), 'acme', old));
    expect(rows.map(({ version }) => version)).toEqual([2, 2, 3, 3]);
    const told = (method?: string) => rows.map((row) => matchFingerprint(row, sent(method), 'acme', old));
    expect(told('DELETE')).toEqual(['same', 'same', 'different', 'same']);
    for (const method of [undefined, 'POST']) expect(told(method)).toEqual(['same', 'same', 'different', 'different']);
  });

  describe('F1 fields that change by themselves', () => {
    /** The payload of `one` with such a field in it, and another value of it in each try. */
    const withToken = (token: string): Sent => ({ canonical: ['json:1', `json:1 ${token}`] });
    const otherWithToken: Sent = { canonical: ['json:2', 'json:2 a'] };
    const told = (stored: Fingerprint, ...sent: Sent[]) =>
      sent.map((each) => [
        matchFingerprint(stored, each, 'acme', old),
        matchFingerprint(stored, { ...each, fingerprint: fingerprint(each, 'acme', old) }, 'acme', old),
      ]);
    const [same, different] = [
      ['same', 'same'],
      ['different', 'different'],
    ];

    test('F1 do not count, under a version of its own, and make no other fingerprint than none', () => {
      const stored = fingerprint(withToken('a'), 'acme', old);
      expect(stored.version).toBe(4);
      expect(hex(stored.hash)).toBe(hex(fingerprint(one, 'acme', old).hash));
      expect(told(stored, withToken('b'), one, other, otherWithToken)).toEqual([same, same, different, different]);
    });

    test('F1 with and without them a fingerprint that is known is not made anew', () => {
      for (const [row, sent] of [
        [one, withToken('a')],
        [withToken('a'), one],
      ] as const) {
        const known = { ...fingerprint(sent, 'acme', old), hash: new Uint8Array(16) };
        const stored = { ...fingerprint(row, 'acme', old), hash: new Uint8Array(16) };
        expect(matchFingerprint(stored, { ...sent, fingerprint: known }, 'acme', old)).toBe('same');
      }
    });

    test('F1 may be missing at first, and come with a retry', () => {
      const stored = fingerprint(one, 'acme', old);
      expect(stored.version).toBe(FINGERPRINT_VERSION);
      expect(told(stored, withToken('a'), otherWithToken)).toEqual([same, different]);
    });

    test.each([2, 3])('F1 count in a row of version %d, which may have been written with them', (version) => {
      const method = version === 3 ? 'PATCH' : undefined;
      const sent = (it: Sent) => ({ ...it, method });
      const older = fingerprint(sent({ canonical: ['json:1 a'] }), 'acme', old);
      expect(older.version).toBe(version);
      expect(told(older, ...[withToken('a'), withToken('b'), one, otherWithToken].map(sent))).toEqual([
        same,
        different,
        different,
        different,
      ]);
    });

    test('F1 are left out beside a method that counts', () => {
      const sent = (token: string, method?: string) => ({ ...withToken(token), method });
      const rows = [undefined, 'POST', 'PATCH', 'DELETE'].map((method) => fingerprint(sent('a', method), 'acme', old));
      expect(rows.map(({ version }) => version)).toEqual([4, 4, 5, 5]);
      expect(rows.map(countsMethod)).toEqual([false, false, true, true]);
      const told = (method?: string) => rows.map((row) => matchFingerprint(row, sent('b', method), 'acme', old));
      expect(told('DELETE')).toEqual(['same', 'same', 'different', 'same']);
      expect(told('POST')).toEqual(['same', 'same', 'different', 'different']);
      expect(
        matchFingerprint(fingerprint({ ...one, method: 'DELETE' }, 'acme', old), sent('a', 'DELETE'), 'acme', old),
      ).toBe('same');
    });
  });

  test('F2 a hash of another length is different, not an error', () => {
    const stored = { ...fingerprint(one, 'acme', old), hash: new Uint8Array(20) };
    expect(matchFingerprint(stored, one, 'acme', old)).toBe('different');
  });

  test('F2 a hash that the driver gives as a plain Uint8Array compares', () => {
    const stored = fingerprint(one, 'acme', old);
    expect(matchFingerprint({ ...stored, hash: Uint8Array.from(stored.hash) }, one, 'acme', old)).toBe('same');
  });
});

describe('secrets', () => {
  test('F2 a secret under 32 characters is refused, by number and not by value', () => {
    expect(() => readSecrets(['x'.repeat(32), 'hunter2'])).toThrow(/number 2/);
    expect(() => readSecrets(['hunter2'])).not.toThrow(/hunter2/);
  });

  test('F2 ids are stable, differ, fit their column and tell nothing', () => {
    const [one, two] = rotated.all;
    expect(one?.id).toMatch(/^[0-9a-f]{16}$/);
    expect(one?.id).not.toBe(two?.id);
    expect(readSecrets([OLD]).first?.id).toBe(two?.id);
    expect(one?.id).not.toBe(NO_SECRET);
    expect(one?.name).toMatch(/^[A-Za-z0-9_-]{4}$/);
  });

  test('F2 secrets that rows could not tell apart, or from none, are refused, by number and not by value', () => {
    const [one, two] = ['secret-for-tests-number-00018857', 'secret-for-tests-number-00154319'];
    expect(() => readSecrets([OLD, one, two])).toThrow(/number 3 has the name of another/);
    expect(() => readSecrets([OLD, one, two])).not.toThrow(/00154319/);
    expect(readSecrets([OLD, one, one]).all).toHaveLength(3);
    expect(() => readSecrets(['secret-for-tests-number-01239337'])).toThrow(/number 1 has the name of another/);
  });

  test('F2 keys of different purposes and contexts differ', () => {
    const keys = [
      deriveKey(OLD, 'fingerprint', 'a'),
      deriveKey(OLD, 'fingerprint', 'b'),
      deriveKey(OLD, 'other', 'a'),
      deriveKey(OLD, 'fingerprinta'),
      deriveKey(NEW, 'fingerprint', 'a'),
    ].map(hex);
    expect(new Set(keys).size).toBe(keys.length);
  });
});
