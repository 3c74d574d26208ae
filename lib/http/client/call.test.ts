import { afterEach, describe, expect, test, vi } from 'vitest';
import { isKey } from '../../core/scope.ts';
import { prepare } from './call.ts';

async function randomKey(): Promise<string | undefined> {
  return (await prepare('https://shop.example/', { method: 'POST' })).key;
}

describe('H5 a random key', () => {
  afterEach(() => {
    vi.unstubAllGlobals();
  });

  test('H5 is a UUID', async () => {
    expect(await randomKey()).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  });

  test('H5 is as random on a page without TLS, where browsers have no randomUUID', async () => {
    const { crypto } = globalThis;
    vi.stubGlobal('crypto', { getRandomValues: (bytes: Uint8Array<ArrayBuffer>) => crypto.getRandomValues(bytes) });
    const keys = await Promise.all(Array.from({ length: 100 }, randomKey));
    expect(new Set(keys).size).toBe(100);
    for (const key of keys) expect(key && isKey(key) && key).toMatch(/^[0-9a-f]{32}$/);
  });
});
