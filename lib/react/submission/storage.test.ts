import { afterEach, describe, expect, it, vi } from 'vitest';
import { type KeyRecord, type KeyStorage, openRecords } from './storage.ts';

const record: KeyRecord = {
  version: 1,
  key: '0198c5d2-5a3e-7000-8000-000000000000.AAAAAAAAAAAAAAAAAAAAAA',
  intent: 'checkout:1',
  state: 'executing',
  submittedAt: Date.now(),
};

function storageOf(entries: Map<string, string>): KeyStorage {
  return {
    getItem: (name) => entries.get(name) ?? null,
    setItem: (name, value) => void entries.set(name, value),
    removeItem: (name) => void entries.delete(name),
  };
}

const broken = () => {
  throw new DOMException('The quota has been exceeded.', 'QuotaExceededError');
};

afterEach(() => {
  openRecords('memory').write(record.intent, null);
  vi.unstubAllGlobals();
});

describe('records', () => {
  it('keeps a record for its intent, and nothing for another', () => {
    const entries = new Map<string, string>();
    const records = openRecords(storageOf(entries));
    records.write(record.intent, { ...record, nextKey: 'k2' });
    expect(openRecords(storageOf(entries)).read('checkout:1')).toEqual({ ...record, nextKey: 'k2' });
    expect(records.read('checkout:2')).toBeNull();
    records.write(record.intent, null);
    expect(entries.size).toBe(0);
  });

  it.each<[string, KeyStorage | 'session']>([
    ['full', { ...storageOf(new Map()), setItem: broken }],
    ['blocked', { getItem: broken, setItem: broken, removeItem: broken }],
    ['forgetful', { ...storageOf(new Map()), setItem: () => {} }],
    ['missing', 'session'],
  ])('degrades to memory when storage is %s', (_, storage) => {
    vi.stubGlobal('window', {
      get sessionStorage(): KeyStorage {
        throw new DOMException('Access is denied.', 'SecurityError');
      },
    });
    const records = openRecords(storage);
    records.write(record.intent, record);
    expect(records.read(record.intent)).toEqual(record);
    records.write(record.intent, null);
    expect(records.read(record.intent)).toBeNull();
  });

  it.each(['local', 'session'] as const)(
    'is read and written by one tab at a time where tabs share it: %s',
    async (storage) => {
      const names: string[] = [];
      const request = async (name: string, work: () => unknown) => {
        names.push(name);
        return await work();
      };
      vi.stubGlobal('navigator', { locks: { request } });
      expect(await openRecords(storage).withLock('checkout:1', () => 'done')).toBe('done');
      expect(names).toEqual(storage === 'local' ? ['oncekit:checkout:1'] : []);
    },
  );

  it('does without the lock where the browser refuses it', async () => {
    const request = () => Promise.reject(new DOMException('Access is denied.', 'SecurityError'));
    vi.stubGlobal('navigator', { locks: { request } });
    expect(await openRecords('local').withLock('checkout:1', () => 'done')).toBe('done');
  });

  it('forgets the copy in memory once storage works again', () => {
    const entries = new Map<string, string>();
    openRecords('memory').write(record.intent, record);
    const records = openRecords(storageOf(entries));
    records.write(record.intent, { ...record, state: 'unknown' });
    entries.clear();
    expect(records.read(record.intent)).toBeNull();
  });

  it.each([
    ['not JSON', '{'],
    ['null', 'null'],
    ['an array', '[]'],
    ['a number', '1'],
    ['another version', JSON.stringify({ ...record, version: 2 })],
    ['a key that is none', JSON.stringify({ ...record, key: 'a key' })],
    ['a key that is too long', JSON.stringify({ ...record, key: 'x'.repeat(256) })],
    ['a key with a quote', JSON.stringify({ ...record, key: 'a"b' })],
    ['a next key that is none', JSON.stringify({ ...record, nextKey: 'a,b' })],
    ['no time', JSON.stringify({ ...record, submittedAt: 'today' })],
    ['an old time', JSON.stringify({ ...record, submittedAt: Date.now() - 8 * 24 * 3600 * 1000 })],
  ])('ignores %s', (_, text) => {
    expect(openRecords(storageOf(new Map([['oncekit:checkout:1', text]]))).read('checkout:1')).toBeNull();
  });
});
