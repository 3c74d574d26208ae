import { describe, expect, test } from 'vitest';
import { FINGERPRINT_VERSION, fingerprint, matchFingerprint } from './fingerprint.ts';
import { deriveKey, NO_SECRET, readSecrets } from './secrets.ts';

const OLD = 'o'.repeat(32);
const NEW = 'n'.repeat(32);
const old = readSecrets([OLD]);
const rotated = readSecrets([NEW, OLD]);
const none = readSecrets([]);
const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');

describe('F2 fingerprint', () => {
  test('F2 the same payload of the same tenant under the same secret gives the same 32 bytes', () => {
    const { hash } = fingerprint('json:1', 'acme', old);
    expect(hash).toHaveLength(32);
    expect(hex(fingerprint('json:1', 'acme', old).hash)).toBe(hex(hash));
  });

  test('F2 another payload, tenant or secret gives another one', () => {
    const hashes = [
      fingerprint('json:1', 'acme', old),
      fingerprint('json:2', 'acme', old),
      fingerprint('json:1', 'other', old),
      fingerprint('json:1', 'acme', rotated),
      fingerprint('json:1', 'acme', none),
    ].map(({ hash }) => hex(hash));
    expect(new Set(hashes).size).toBe(hashes.length);
  });

  test('F2 it is stored with its version and the id of the first secret', () => {
    expect(fingerprint('json:1', 'acme', rotated)).toMatchObject({
      version: FINGERPRINT_VERSION,
      secretId: rotated.all[0]?.id,
    });
    expect(fingerprint('json:1', 'acme', none).secretId).toBe(NO_SECRET);
  });

  test.each([
    ['the same secrets', old, old],
    ['a secret that signs no more but still verifies', old, rotated],
    ['no secret, as before', none, none],
  ])('F2 a stored one is compared under %s', (_, writer, reader) => {
    const stored = fingerprint('json:1', 'acme', writer);
    expect(matchFingerprint(stored, 'json:1', 'acme', reader)).toBe('same');
    expect(matchFingerprint(stored, 'json:2', 'acme', reader)).toBe('different');
    expect(matchFingerprint(stored, 'json:1', 'other', reader)).toBe('different');
  });

  test('R3 a secret that is not known here is unreadable, never a mismatch', () => {
    expect(matchFingerprint(fingerprint('json:1', 'acme', rotated), 'json:1', 'acme', old)).toBe('unreadable');
    expect(matchFingerprint(fingerprint('json:1', 'acme', old), 'json:1', 'acme', none)).toBe('unreadable');
  });

  test('A8 one that was made without a secret says nothing once there is a secret', () => {
    expect(matchFingerprint(fingerprint('json:1', 'acme', none), 'json:1', 'acme', rotated)).toBe('unreadable');
  });

  test.each([0, 2, 99])('R3 version %d is not known here: unreadable', (version) => {
    const stored = { ...fingerprint('json:1', 'acme', old), version };
    expect(matchFingerprint(stored, 'json:1', 'acme', old)).toBe('unreadable');
  });

  test('F2 a hash of another length is different, not an error', () => {
    const stored = { ...fingerprint('json:1', 'acme', old), hash: new Uint8Array(20) };
    expect(matchFingerprint(stored, 'json:1', 'acme', old)).toBe('different');
  });

  test('F2 a hash that the driver gives as a plain Uint8Array compares', () => {
    const stored = fingerprint('json:1', 'acme', old);
    expect(matchFingerprint({ ...stored, hash: Uint8Array.from(stored.hash) }, 'json:1', 'acme', old)).toBe('same');
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
