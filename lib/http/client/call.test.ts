import { afterEach, describe, expect, test, vi } from 'vitest';
import { isKey } from '../../core/scope.ts';
import { randomKey } from './call.ts';

describe('H5 a random key', () => {
  afterEach(() => {
    vi.unstubAllGlobals();
  });

  test('H5 is a UUID', () => {
    expect(randomKey()).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  });

  test('H5 is as random on a page without TLS, where browsers have no randomUUID', () => {
    const { crypto } = globalThis;
    vi.stubGlobal('crypto', { getRandomValues: (bytes: Uint8Array<ArrayBuffer>) => crypto.getRandomValues(bytes) });
    const keys = Array.from({ length: 100 }, randomKey);
    expect(new Set(keys).size).toBe(100);
    for (const key of keys) expect(isKey(key) && key).toMatch(/^[0-9a-f]{32}$/);
  });
});
